package webui

// picture shows the shards of a table over their creation time: bars of how many there are, each cut by how many stripes they
// have. It has at most so many bars, whatever the number of shards.
type picture struct {
	Bars        []bar
	First, Last string
	Most        int
	// Unknown shards do not report when their records were created.
	Unknown int
	// Classes count all shards by their stripes, in the order of stripeClasses.
	Classes []classCount
}

// bar is a span of time; its parts stand one above the other.
type bar struct {
	X     int
	Parts []barPart
	Label string
}

type barPart struct {
	Y, Height int
	Class     string
}

type classCount struct {
	Class, Label string
	Shards       int
}

const (
	bars      = 120
	barHeight = 100
	barPitch  = 8
)

// stripeClasses are the colours, by the most stripes of a shard.
var stripeClasses = []struct {
	most         int64
	class, label string
}{{1, "s1", "1 stripe"}, {10, "s10", "2 to 10"}, {100, "s100", "11 to 100"}, {1<<63 - 1, "s1000", "more than 100"}}

// classOf is the index of a number of stripes among the classes.
func classOf(stripes int64) int {
	for i, c := range stripeClasses {
		if stripes <= c.most {
			return i
		}
	}
	return len(stripeClasses) - 1
}

// newPicture draws shards that are sorted by their creation time, the youngest first.
func newPicture(lines []shardLine) *picture {
	p := &picture{}
	for _, c := range stripeClasses {
		p.Classes = append(p.Classes, classCount{Class: c.class, Label: c.label})
	}
	known := 0
	for _, l := range lines {
		p.Classes[classOf(l.Stripes)].Shards++
		if l.First == "" {
			p.Unknown++
		} else {
			known++
		}
	}
	if known == 0 {
		return p
	}
	oldest, youngest := lines[known-1].created, lines[0].created // those of unknown time come last
	p.First, p.Last = clock(oldest), clock(youngest)
	var counts [bars][4]int
	width := max(1, (youngest-oldest)/bars+1)
	for _, l := range lines[:known] {
		counts[min(bars-1, int((l.created-oldest)/width))][classOf(l.Stripes)]++
	}
	for _, c := range counts {
		p.Most = max(p.Most, c[0]+c[1]+c[2]+c[3])
	}
	for i, c := range counts {
		if n := c[0] + c[1] + c[2] + c[3]; n > 0 {
			p.Bars = append(p.Bars, bar{X: i * barPitch, Parts: p.stack(c), Label: clock(oldest+int64(i)*width) + ": " + counted(n, "shard")})
		}
	}
	return p
}

// stack draws the parts of a bar from below; each can be seen, however few shards it stands for.
func (p *picture) stack(counts [4]int) (parts []barPart) {
	const least = 2
	y := barHeight
	for i, n := range counts {
		if n == 0 {
			continue
		}
		height := min(y, max(least, n*barHeight/p.Most))
		y -= height
		parts = append(parts, barPart{Y: y, Height: height, Class: stripeClasses[i].class})
	}
	return parts
}
