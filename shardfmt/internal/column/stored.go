package column

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// stored is a field as a stripe describes it.
type stored struct {
	o        *opener
	group    *group // of the parent, nil if it is stored as others are
	node     *schema.Node
	typ      arrow.DataType
	desc     *metapb.FieldDescriptor
	encoding *metapb.NativeDataEncoding
	parquet  *metapb.ExternalParquetDataEncoding
	anchor   string
	count    uint64
	scratch  *block.Scratch
}

// corrupt is an error of the field's descriptor.
func (f *stored) corrupt(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	return corrupt.Locate(corrupt.At(-1, "field %q (%d): %s", f.o.pathOf(f.node), f.node.ID, what), f.anchor, 0)
}

func (f *stored) unsupported(what string) error {
	return corrupt.Locate(corrupt.Unsupported(-1, "field %q (%d): %s", f.o.pathOf(f.node), f.node.ID, what), f.anchor, 0)
}

// choose opens the first encoding that can be read: later ones say the same in other forms, and are read where the first
// turns out to be damaged. A number other than 0 opens that encoding alone.
func (f *stored) choose(encodings []*metapb.DataEncoding, only int) (Column, error) {
	if len(encodings) == 0 {
		return nil, f.corrupt("no data encoding")
	}
	if only > 0 {
		return f.as(encodings[only-1])
	}
	var open []func() (Column, error)
	var refused []string
	for _, e := range encodings {
		if why := f.refusal(e); why != "" {
			refused = append(refused, why)
			continue
		}
		open = append(open, func() (Column, error) { return f.as(e) })
	}
	if len(open) == 0 {
		return nil, f.unsupported(strings.Join(refused, "; "))
	}
	for _, why := range refused {
		f.o.skip(f.unsupported(why))
	}
	return newAlternatives(open, f.o.skip)
}

// newScratch is working memory of decoders for the columns of an account.
func newScratch(mem *budget.Account, opaque *block.Opaque) *block.Scratch {
	return &block.Scratch{Opaque: opaque, Lend: func(words int) []uint64 { return budget.ToEndOf[uint64](mem, uint64(words)) }}
}

// as opens the field in one of its encodings.
func (f *stored) as(e *metapb.DataEncoding) (Column, error) {
	one := *f
	one.scratch = newScratch(f.o.mem, nil)
	if err := one.take(e); err != nil {
		return nil, err
	}
	c, err := one.column()
	if err != nil || c.Size() == 0 {
		return c, err
	}
	return one.withDictionaries(c)
}

// take makes an encoding the one that is read.
func (f *stored) take(e *metapb.DataEncoding) error {
	if why := f.refusal(e); why != "" {
		return f.unsupported(why)
	}
	f.parquet, f.encoding = e.GetParquet(), e.GetNative()
	return f.checkBuffers(f.encoding)
}

// native gives the first native encoding that can be read, nil if there is none.
func (f *stored) native(encodings []*metapb.DataEncoding) *metapb.NativeDataEncoding {
	for _, e := range encodings {
		if e.GetNative() != nil && f.refusal(e) == "" {
			return e.GetNative()
		}
	}
	return nil
}

// refusal names what in an encoding can't be read, "" if nothing.
func (f *stored) refusal(e *metapb.DataEncoding) string {
	n := e.GetNative()
	switch {
	case e.GetParquet() != nil:
		return ""
	case n == nil:
		return "unknown data encoding"
	case n.PackedGroup && f.node.Basic != schema.Struct:
		return "packed group of a type other than Struct"
	}
	for _, b := range n.Buffers {
		switch {
		case meta.IsPackedMember(b) && f.group == nil:
			return "member of a packed group, but its struct is not stored as a packed group"
		case metapb.BufferKind_name[int32(b.Kind)] == "":
			return fmt.Sprintf("buffer of unknown kind %d", b.Kind)
		}
	}
	return ""
}

// checkBuffers refuses two buffers with one id, and two streams of one kind, of which nothing reports which one holds. (The
// reference gives every range index the id 0.)
func (f *stored) checkBuffers(n *metapb.NativeDataEncoding) error {
	seen, kinds := make(map[uint32]bool), make(map[metapb.BufferKind]bool)
	for _, b := range n.GetBuffers() {
		switch b.Kind {
		case metapb.BufferKind_DATA, metapb.BufferKind_PRESENCE, metapb.BufferKind_OFFSETS:
			if kinds[b.Kind] {
				return f.unsupported(fmt.Sprintf("two buffers of kind %v", b.Kind))
			}
			kinds[b.Kind] = true
		}
		if b.BufferId == nil || b.Kind == metapb.BufferKind_RANGE_INDEX {
			continue
		}
		if seen[*b.BufferId] {
			return f.corrupt("two buffers with id %d", *b.BufferId)
		}
		seen[*b.BufferId] = true
	}
	return nil
}

// buffer gives the first buffer of a kind, or nil.
func (f *stored) buffer(kind metapb.BufferKind) *metapb.EncodedBuffer {
	for _, b := range f.encoding.GetBuffers() {
		if b.Kind == kind {
			return b
		}
	}
	return nil
}

// stream opens the block stream of a kind, which must have the given number of values.
func (f *stored) stream(kind metapb.BufferKind, values uint64) (*colstream.Stream, error) {
	b := f.buffer(kind)
	if b == nil {
		return nil, f.corrupt("no buffer of kind %v", kind)
	}
	if meta.IsPackedMember(b) {
		return f.member(b)
	}
	url, start, end, err := f.locate(b.Buffer)
	if err != nil {
		return nil, err
	}
	if b.BlockMap == nil {
		return nil, f.corrupt("buffer of kind %v without block map", kind)
	}
	mapStart, mapEnd, err := meta.RefRange(b.BlockMap)
	if err != nil {
		return nil, f.corrupt("block map of %v: %v", kind, err)
	}
	if mapStart < start || mapEnd != end || mapStart >= mapEnd || (mapEnd-mapStart)%8 != 0 {
		return nil, f.corrupt("block map [%d, %d) of a buffer [%d, %d)", mapStart, mapEnd, start, end)
	}
	s := &colstream.Stream{
		URL: url, Start: uint64(start), MapStart: uint64(mapStart), End: uint64(end),
		Checksums: b.BlockChecksums, NoPresence: !b.EmbeddedPresence && !f.encoding.PackedGroup, Blocks: -1, Values: -1,
	}
	if b.BlockCount != nil && *b.BlockCount <= 1<<62 {
		s.Blocks = int64(*b.BlockCount)
	}
	if values <= 1<<62 {
		s.Values = int64(values)
	}
	return s, nil
}

// locate gives the object and the bytes of a buffer.
func (f *stored) locate(ref *metapb.DataRef) (url string, start, end int64, err error) {
	if ref == nil {
		return "", 0, 0, f.corrupt("buffer without reference")
	}
	if start, end, err = meta.RefRange(ref); err != nil {
		return "", 0, 0, f.corrupt("buffer: %v", err)
	}
	url, err = f.o.src.Resolve(f.anchor, ref.GetUrl())
	return url, start, end, err
}

// opaque is a buffer without blocks that is fetched whole.
type opaque struct {
	url        string
	start, end uint64
	fetched    bool
}

// need gives the request for the buffer, if it was not fetched yet.
func (b *opaque) need(parse func([]byte) error) []colstream.Request {
	if b.fetched {
		return nil
	}
	return []colstream.Request{{URL: b.url, Start: b.start, End: b.end, Stays: true, Fill: func(p []byte) error {
		b.fetched = true
		return corrupt.Locate(parse(p), b.url, int64(b.start))
	}}}
}
