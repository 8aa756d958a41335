package merge

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// places are where the data of a shard lies, and where it moves to. A shard is gone through twice: first to learn which ranges of
// which objects it refers to, and then, once it is settled what moves, to rewrite the references.
type places struct {
	spans map[string]*span
	// stays are objects that something names as a whole: where a range of them went could not be reported.
	stays map[string]bool
	sums  []summed
	// into is the object that spans move into, "" while they are learned.
	into string
}

// span is what a shard refers to of one object: [start, end).
type span struct {
	object     string
	start, end int64
	// moves: the bytes lie at to in the new object.
	moves bool
	to    int64
}

func (s *span) size() int64 { return s.end - s.start }

// summed is a range whose checksum the shard reports.
type summed struct {
	object     string
	start, end int64
	sum        uint64
}

// of reports the object and the shift of a range, and learns it if nothing is settled.
func (p *places) of(object string, start, end int64) (string, int64) {
	s := p.spans[object]
	switch {
	case p.into == "" && s == nil:
		p.spans[object] = &span{object: object, start: start, end: end}
	case p.into == "":
		s.start, s.end = min(s.start, start), max(s.end, end)
	case s.moves:
		return p.into, s.to - s.start
	}
	return object, 0
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
	var c *metapb.IndexCollection
	switch m := m.(type) {
	case *metapb.IndexCollection:
		c = m
	case *metapb.StripeFieldDescriptor:
		c = m.GetField().GetIndexes()
	case *metapb.FieldDescriptor:
		c = m.Indexes
	}
	for _, d := range c.GetIndexDescriptors() {
		for _, a := range d.Artifacts {
			if d.GetIndexType() != meta.TermFilterType {
				p.leave(s, anchor, a.GetDataRef().GetUrl())
			}
		}
	}
}

// noteSums learns the checksums among a stripe's properties.
func (p *places) noteSums(s *shard, anchor string, m proto.Message) {
	properties, ok := m.(*metapb.StripeProperties)
	if !ok || p.into != "" {
		return
	}
	for _, sum := range meta.ObjectSums(meta.Properties(properties.CustomProperties).Get(meta.PropertyObjects)) {
		object, err := s.root.Resolve(anchor, sum.Ref.Url)
		start, end, bad := meta.RefRange(sum.Ref)
		if err == nil && bad == nil {
			p.sums = append(p.sums, summed{object, start, end, sum.Sum})
		}
	}
}

// Which objects Pack copies.
const (
	// PackBelow is the size from which on an object stays where it is: a request for it takes longer to transfer than to begin, at
	// 64 MiB/s and 30 ms.
	PackBelow = 2 << 20
	// PackGrowth is how many times as large the new object is as the largest that goes into it, so that a byte is copied at most
	// log₈(2 MiB / its first object) times, however often it is packed.
	PackGrowth = 8
)

// settle chooses the spans that move and lays them out; size is that of the new object, 0 if none moves. Every object
// moves that can, or those that PackBelow and PackGrowth say.
func (p *places) settle(into string, o PackOptions) (moving []*span, size int64) {
	for _, s := range p.spans {
		if !p.stays[s.object] && s.size() > 0 {
			moving = append(moving, s)
		}
	}
	slices.SortFunc(moving, func(a, b *span) int { return cmp.Or(cmp.Compare(a.size(), b.size()), cmp.Compare(a.object, b.object)) })
	if !o.All && !o.Copy {
		sizes := make([]int64, len(moving))
		for i, s := range moving {
			sizes[i] = s.size()
		}
		moving = moving[:PackCount(sizes)]
	}
	if p.into = into; len(moving) < 2 && !o.Copy || len(moving) == 0 {
		return nil, 0
	}
	size = int64(len(meta.Magic))
	for _, s := range moving {
		const mask = colstream.Alignment - 1
		size += (s.start - size) & mask // a buffer keeps its alignment
		s.moves, s.to = true, size
		size += s.size()
	}
	return moving, size + int64(len(meta.Magic))
}

// PackCount is how many of some objects, of sizes in rising order, are worth to be packed into one: as many of the smallest as make an object
// of PackGrowth times the size of the largest among them, which is below PackBelow. Fewer than 2 are none.
func PackCount(sizes []int64) int {
	sum, count := int64(0), 0
	for i, size := range sizes {
		if size >= PackBelow {
			break
		}
		if sum += size; sum >= PackGrowth*size {
			count = i + 1
		}
	}
	if count < 2 {
		return 0
	}
	return count
}
