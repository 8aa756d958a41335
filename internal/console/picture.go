package console

// picture shows the shards of a table over their creation time: bars of how many there are, coloured by how many stripes they
// have. It has at most so many bars, whatever the number of shards.
type picture struct {
	Bars        []bar
	First, Last string
	Most        int
	// Unknown shards do not say when their records were created.
	Unknown int
}

type bar struct {
	X, Y, Height int
	Class        string
	Label        string
}

const (
	bars      = 120
	barHeight = 100
)

// newPicture draws shards that are sorted by their creation time, the youngest first.
func newPicture(lines []shardLine) *picture {
	p := &picture{}
	var known []shardLine
	for _, l := range lines {
		if l.First == "" {
			p.Unknown++
		} else {
			known = append(known, l)
		}
	}
	if len(known) == 0 {
		return p
	}
	oldest, youngest := known[len(known)-1].created, known[0].created
	p.First, p.Last = clock(oldest), clock(youngest)
	var counts [bars]int
	var stripes [bars]int64
	width := max(1, (youngest-oldest)/bars+1)
	for _, l := range known {
		i := min(bars-1, int((l.created-oldest)/width))
		counts[i]++
		stripes[i] += l.Stripes
		p.Most = max(p.Most, counts[i])
	}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		height := max(2, n*barHeight/p.Most)
		from := clock(oldest + int64(i)*width)
		p.Bars = append(p.Bars, bar{X: i * 8, Y: barHeight - height, Height: height, Class: stripeClass(stripes[i] / int64(n)),
			Label: from + ": " + plural(n, "shard") + " of " + plural(int(stripes[i])/n, "stripe")})
	}
	return p
}

// stripeClass is the colour of a bar.
func stripeClass(stripes int64) string {
	switch {
	case stripes <= 1:
		return "s1"
	case stripes <= 10:
		return "s10"
	case stripes <= 100:
		return "s100"
	}
	return "s1000"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return exact(int64(n)) + " " + what + "s"
}
