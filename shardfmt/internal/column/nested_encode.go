package column

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"

	"github.com/shardcat/shardcat/internal/view"
)

// nest is what encoders of nested types have.
type nest struct {
	base
	children []Encoder
	valid    bitmap
	n        int
	// presence are the first validity bits as blocks, where finished blocks go to a file; valid and n are then those behind them.
	presence *presence
}

// presence cuts blocks of validity bits.
type presence struct {
	enc *encode.Encoder
	out colstream.StreamWriter
}

// level takes what belongs to the field itself.
func (e *nest) level(a arrow.Array) error {
	e.stats.Add(a)
	if e.o.Spill != nil && e.valid.n == 0 && a.NullN() > 0 { // what came before is all set
		for e.n >= 8*encode.FlushValues {
			ones := bytes.Repeat([]byte{0xFF}, encode.FlushValues)
			taken, err := e.cut(ones)
			if err != nil {
				return err
			}
			e.n -= 8 * taken
		}
	}
	e.valid.add(a, 0, a.Len(), e.n)
	e.n += a.Len()
	if e.o.Spill == nil || e.valid.n == 0 || e.n < 8*encode.FlushValues {
		return nil
	}
	taken, err := e.cut(e.valid.bits[:e.n/8])
	e.valid.drop(8 * taken)
	e.n -= 8 * taken
	return err
}

// cut makes blocks of validity bits.
func (e *nest) cut(bits []byte) (taken int, err error) {
	if e.presence == nil {
		e.presence = &presence{e.encoder(true), e.stream()}
	}
	return encode.CutNumbers(e.presence.enc, bits, nil, false, e.presence.out.Add)
}

// addPresence appends the validity bits to the buffers of a field, if anything is null.
func (e *nest) addPresence(out *Encoded) error {
	if e.presence == nil {
		return out.addPresence(&e.valid, e.n, e.encoder(true))
	}
	e.valid.grow(e.n)
	bits := lastBits(e.valid.bits, e.n)
	if _, err := encode.CutNumbers(e.presence.enc, bits, nil, true, e.presence.out.Add); err != nil {
		return err
	}
	out.add(&metapb.EncodedBuffer{Kind: metapb.BufferKind_PRESENCE}, e.presence.out.Finish())
	return nil
}

// finishChildren finishes all children, before the field itself.
func (e *nest) finishChildren(yield func(*Encoded) error) error {
	for _, c := range e.children {
		if err := c.Finish(yield); err != nil {
			return err
		}
	}
	return nil
}

func (e *nest) Size() int {
	n := cap(e.valid.bits)
	if e.presence != nil {
		n += e.presence.out.Len()
	}
	for _, c := range e.children {
		n += c.Size()
	}
	return n
}

// listEncoder is a field of lists or maps.
type listEncoder struct {
	nest
	offsets numberWriter[uint64]
	last    uint64
}

func newListEncoder(n nest) *listEncoder {
	e := &listEncoder{nest: n, offsets: numberWriter[uint64]{enc: n.encoder(true), out: n.stream()}}
	e.offsets.vals = append(e.offsets.vals, 0)
	return e
}

// NewApart makes the encoder of a node of lists, maps or structs whose children are encoded apart: it takes lists of any items, also for
// maps, and structs without members.
func NewApart(node *schema.Node, o *Options) (Encoder, error) {
	n := nest{base: newBase(node, o)}
	switch node.Basic {
	case schema.List, schema.Map:
		n.children = []Encoder{apart{}}
		return newListEncoder(n), nil
	case schema.Struct:
		return &structEncoder{nest: n}, nil
	}
	return nil, fmt.Errorf("field %q of type %s: only lists, maps and structs are encoded separately from their children", node.Name, node.TypeName())
}

// apart takes values that another encoder encodes.
type apart struct{}

func (apart) Add(arrow.Array) error             { return nil }
func (apart) Finish(func(*Encoded) error) error { return nil }
func (apart) Size() int                         { return 0 }

func (e *listEncoder) Add(a arrow.Array) error {
	if err := e.level(a); err != nil {
		return err
	}
	if a.Len() == 0 {
		return nil
	}
	start, end := uint64(0), uint64(0)
	add := func(at uint64) error {
		end = at
		e.offsets.vals = append(e.offsets.vals, e.last+at-start)
		return e.offsets.flush(false)
	}
	children, err := e.walk(a, &start, add)
	if err != nil {
		return err
	}
	e.last += end - start
	for i, c := range children {
		if err := addSlice(e.children[i], c, int64(start), int64(end)); err != nil {
			return err
		}
	}
	return nil
}

// walk calls add with the end of each list, after setting start, and gives the children.
func (e *listEncoder) walk(a arrow.Array, start *uint64, add func(uint64) error) ([]arrow.Array, error) {
	d := a.Data()
	switch a := a.(type) {
	case *array.LargeList:
		return []arrow.Array{a.ListValues()}, walkEnds(offsetsOf[int64](d), start, add)
	case *array.Map:
		return []arrow.Array{keysOf(a), a.Items()}, walkEnds(offsetsOf[int32](d), start, add)
	}
	return nil, fmt.Errorf("field %q: lists of type %v", e.node.Name, a.DataType())
}

// keysOf gives the keys of maps with their nulls counted: see mapData.
func keysOf(a *array.Map) arrow.Array {
	d := a.Keys().Data()
	if len(d.Buffers()) == 0 || d.Buffers()[0] == nil {
		return a.Keys()
	}
	return array.MakeFromData(array.NewData(d.DataType(), d.Len(), d.Buffers(), d.Children(), array.UnknownNullCount, d.Offset()))
}

func offsetsOf[T int32 | int64](d arrow.ArrayData) []T {
	b := d.Buffers()[1].Bytes()
	all := view.Of[T](b, len(b)/int(unsafe.Sizeof(*new(T))))
	return all[d.Offset() : d.Offset()+d.Len()+1]
}

func walkEnds[T int32 | int64](offsets []T, start *uint64, add func(uint64) error) error {
	*start = uint64(offsets[0])
	for _, o := range offsets[1:] {
		if err := add(uint64(o)); err != nil {
			return err
		}
	}
	return nil
}

// addSlice adds the slots [start, end) of an array.
func addSlice(e Encoder, a arrow.Array, start, end int64) error {
	s := array.NewSlice(a, start, end)
	defer s.Release()
	return e.Add(s)
}

func (e *listEncoder) Finish(yield func(*Encoded) error) error {
	if err := e.finishChildren(yield); err != nil {
		return err
	}
	out := e.encoded()
	if err := e.offsets.flush(true); err != nil {
		return err
	}
	out.add(&metapb.EncodedBuffer{Kind: metapb.BufferKind_OFFSETS}, e.offsets.out.Finish())
	if err := e.addPresence(out); err != nil {
		return err
	}
	return yield(out)
}

func (e *listEncoder) Size() int { return e.nest.Size() + e.offsets.size() }

// structEncoder is a field of structs.
type structEncoder struct{ nest }

func (e *structEncoder) Add(a arrow.Array) error {
	s, ok := a.(*array.Struct)
	if !ok || s.NumField() != len(e.children) {
		return fmt.Errorf("field %q: structs of type %v", e.node.Name, a.DataType())
	}
	if err := e.level(a); err != nil {
		return err
	}
	for i, c := range e.children {
		if err := c.Add(s.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func (e *structEncoder) Finish(yield func(*Encoded) error) error { return e.finishPresence(yield) }

// finishPresence finishes a field that has no buffer but PRESENCE.
func (e *nest) finishPresence(yield func(*Encoded) error) error {
	if err := e.finishChildren(yield); err != nil {
		return err
	}
	out := e.encoded()
	if err := e.addPresence(out); err != nil {
		return err
	}
	return yield(out)
}

// fixedListEncoder is a field of lists of one length.
type fixedListEncoder struct{ nest }

func (e *fixedListEncoder) Add(a arrow.Array) error {
	l, ok := a.(*array.FixedSizeList)
	if !ok {
		return fmt.Errorf("field %q: lists of type %v", e.node.Name, a.DataType())
	}
	if err := e.level(a); err != nil {
		return err
	}
	size, at := int64(e.node.FixedSize), int64(a.Data().Offset())
	return addSlice(e.children[0], l.ListValues(), at*size, (at+int64(a.Len()))*size)
}

func (e *fixedListEncoder) Finish(yield func(*Encoded) error) error { return e.finishPresence(yield) }

// unionEncoder is a field of unions.
type unionEncoder struct {
	nest
	variants numberWriter[uint8]
	// offsets of the sparse form, nil for the dense one, and how many values each variant has.
	offsets *numberWriter[uint64]
	counts  []uint64
}

func newUnionEncoder(n nest) (*unionEncoder, error) {
	if len(n.children) == 0 {
		return nil, errors.New("a union needs a variant")
	}
	e := &unionEncoder{nest: n, variants: numberWriter[uint8]{enc: n.encoder(false), out: n.stream()}, counts: make([]uint64, len(n.children))}
	if n.o.SparseUnions {
		e.offsets = &numberWriter[uint64]{enc: n.encoder(true), out: n.stream()}
	}
	return e, nil
}

func (e *unionEncoder) Add(a arrow.Array) error {
	u, ok := arrowtype.UnionOf(a, len(e.children))
	if !ok {
		return fmt.Errorf("field %q: unions of type %v", e.node.Name, a.DataType())
	}
	e.stats.Add(a)
	for i := range a.Len() {
		child := u.Variant(i)
		if child < 0 || child >= len(e.children) {
			return fmt.Errorf("field %q: variant %d of %d", e.node.Name, child, len(e.children))
		}
		e.variants.valid.set(!arrowtype.IsNull(u.Fields[child], i), len(e.variants.vals))
		e.variants.vals = append(e.variants.vals, uint8(child))
		if err := e.addOffset(child); err != nil {
			return err
		}
		if err := e.variants.flush(false); err != nil {
			return err
		}
	}
	e.n += a.Len()
	if e.offsets != nil {
		return e.addRuns(u, a.Len())
	}
	for i, c := range e.children {
		if err := c.Add(u.Fields[i]); err != nil {
			return err
		}
	}
	return nil
}

// addOffset notes where the next value of a variant lies.
func (e *unionEncoder) addOffset(child int) error {
	if e.offsets == nil {
		return nil
	}
	e.offsets.vals = append(e.offsets.vals, e.counts[child])
	e.counts[child]++
	return e.offsets.flush(false)
}

// addRuns gives each variant its own values only.
func (e *unionEncoder) addRuns(u arrowtype.Union, n int) error {
	for i := 0; i < n; {
		child, j := u.Variant(i), i+1
		for j < n && u.Variant(j) == child {
			j++
		}
		if err := addSlice(e.children[child], u.Fields[child], int64(i), int64(j)); err != nil {
			return err
		}
		i = j
	}
	return nil
}

func (e *unionEncoder) Finish(yield func(*Encoded) error) error {
	if err := e.finishChildren(yield); err != nil {
		return err
	}
	out := e.encoded()
	if err := e.variants.flush(true); err != nil {
		return err
	}
	out.add(&metapb.EncodedBuffer{Kind: metapb.BufferKind_DATA, EmbeddedPresence: true}, e.variants.out.Finish())
	if e.offsets != nil {
		if err := e.offsets.flush(true); err != nil {
			return err
		}
		out.add(&metapb.EncodedBuffer{Kind: metapb.BufferKind_OFFSETS}, e.offsets.out.Finish())
	}
	return yield(out)
}
