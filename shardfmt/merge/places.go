package merge

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// places are where the data of a shard lies, and where it moves to. A shard is gone through to learn which ranges of which objects it
// refers to, and again, once it is settled what moves, to rewrite the references.
type places struct {
	origins map[string]*origin
	// stays are objects that something names as a whole: where a range of them went could not be reported.
	stays map[string]bool
	// into is the object that spans move into, "" while they are learned.
	into string
	// sums are the spans, by stripe, whose checksums its properties get.
	sums map[int32][]*span
}

// chunk is what a reference belongs to: a top-level column in a stripe, by their numbers. -1 is no stripe.
type chunk struct{ stripe, column int32 }

// What has no number of a column comes before them: what belongs to none, and the range indexes of all, which a filter asks before it reads values.
const noColumn, rangeIndexes = -2, -1

// wholeShard is the chunk of what belongs to no stripe.
var wholeShard = chunk{-1, noColumn}

// origin is an object that the shard refers to.
type origin struct {
	url string
	// start and end enclose all references and checksums.
	start, end int64
	// moves: all spans lie in the new object.
	moves bool
	// byColumns: each span is of one chunk, and gets a checksum of its own. Else there is one span, once it is settled what moves.
	byColumns bool
	spans     []span
	sums      []summed
}

func (o *origin) size() int64 { return o.end - o.start }

// span is a range of an origin that moves as it is: [start, end).
type span struct {
	of *origin
	chunk
	start, end int64
	// to is where the bytes lie in the new object, sum their XXH3-64 once they were copied.
	to  int64
	sum uint64
}

func (s *span) size() int64 { return s.end - s.start }

// summed is a range of an origin whose checksum a stripe reports.
type summed struct {
	stripe     int32
	start, end int64
	sum        uint64
}

// origin is the origin of a range that is learned.
func (p *places) origin(object string, start, end int64) *origin {
	o := p.origins[object]
	if o == nil {
		o = &origin{url: object, start: start, end: end}
		p.origins[object] = o
	}
	o.start, o.end = min(o.start, start), max(o.end, end)
	return o
}

// of reports the object and the shift of a range, and learns it if nothing is settled.
func (p *places) of(c chunk, object string, start, end int64) (string, int64, error) {
	if p.into == "" {
		p.origin(object, start, end).learn(c, start, end)
		return object, 0, nil
	}
	o := p.origins[object]
	if o == nil || !o.moves {
		return object, 0, nil
	}
	i, _ := slices.BinarySearchFunc(o.spans, start, func(s span, start int64) int { return cmp.Or(cmp.Compare(s.start, start), -1) })
	if i == 0 || end > o.spans[i-1].end {
		return "", 0, fmt.Errorf("merge: the range [%d, %d) of %s was not learned", start, end, object)
	}
	return p.into, o.spans[i-1].to - o.spans[i-1].start, nil
}

// learn adds a range to the spans: to the last, if that is of the same chunk and nothing but padding lies between.
func (o *origin) learn(c chunk, start, end int64) {
	if n := len(o.spans); n > 0 {
		if s := &o.spans[n-1]; s.chunk == c && start < s.end+colstream.Alignment && s.start < end+colstream.Alignment {
			s.start, s.end = min(s.start, start), max(s.end, end)
			return
		}
	}
	o.spans = append(o.spans, span{of: o, chunk: c, start: start, end: end})
}

// disjoin sorts the learned spans, and joins those that overlap, and those of one chunk with nothing but padding between them.
func (o *origin) disjoin() {
	slices.SortFunc(o.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.stripe, b.stripe), cmp.Compare(a.column, b.column))
	})
	joined := o.spans[:min(1, len(o.spans))]
	for _, s := range o.spans[len(joined):] {
		last := &joined[len(joined)-1]
		if s.start < last.end || s.end <= last.end || s.chunk == last.chunk && s.start < last.end+colstream.Alignment {
			last.end = max(last.end, s.end)
		} else {
			joined = append(joined, s)
		}
	}
	o.spans = joined
}

// leave keeps the object of a reference without a range where it is.
func (p *places) leave(s *shard, anchor, ref string) {
	if object, err := s.root.Resolve(anchor, ref); err == nil {
		p.stays[object] = true
	}
}

// keepArtifacts keeps the artifacts of indexes where they are: each is a shard, which starts and ends with its object. The matrix of a term
// filter may move.
func (p *places) keepArtifacts(s *shard, anchor string, m proto.Message) {
	for _, d := range indexesOf(m) {
		for _, a := range d.Artifacts {
			if d.GetIndexType() != meta.TermFilterType {
				p.leave(s, anchor, a.GetDataRef().GetUrl())
			}
		}
	}
}

// takeSum learns a checksum. Once it is settled what moves, it reports whether the checksums of spans take its place.
func (p *places) takeSum(object string, sum summed) bool {
	if p.into != "" {
		o := p.origins[object]
		return o != nil && o.byColumns
	}
	o := p.origin(object, sum.start, sum.end)
	o.sums = append(o.sums, sum)
	return true
}

// Which objects Pack copies.
const (
	// PackBelow is the size from which on an object stays where it is: a request for it takes longer to transfer than to begin, at
	// 64 MiB/s and 30 ms.
	PackBelow = 2 << 20
	// packGrowth is how many times as large the new object is as the largest that goes into it, so that a byte is copied at most
	// log₈(2 MiB / its first object) times, however often it is packed.
	packGrowth = 8
)

// choose chooses the objects that move, in the order of their sizes: all that can, or those that PackBelow and packGrowth say.
func (p *places) choose(o PackOptions) (moving []*origin) {
	for _, from := range p.origins {
		if !p.stays[from.url] && from.size() > 0 {
			moving = append(moving, from)
		}
	}
	slices.SortFunc(moving, func(a, b *origin) int { return cmp.Or(cmp.Compare(a.size(), b.size()), cmp.Compare(a.url, b.url)) })
	if !o.All && !o.Copy {
		sizes := make([]int64, len(moving))
		for i, from := range moving {
			sizes[i] = from.size()
		}
		moving = moving[:PackCount(sizes)]
	}
	if p.into = o.Object; len(moving) < 2 && !o.Copy {
		return nil
	}
	for _, from := range moving {
		from.moves = true
	}
	return moving
}

// PackCount is how many of some objects, of sizes in rising order, are worth to be packed into one: as many of the smallest as make an object
// of packGrowth times the size of the largest among them, which is below PackBelow. Fewer than 2 are none.
func PackCount(sizes []int64) int {
	sum, count := int64(0), 0
	for i, size := range sizes {
		if size >= PackBelow {
			break
		}
		if sum += size; sum >= packGrowth*size {
			count = i + 1
		}
	}
	if count < 2 {
		return 0
	}
	return count
}
