package stats

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// hollow is a type without values of its own: Unit, Struct, FixedSizeList.
type hollow struct{}

func (hollow) add(arrow.Array) {}

func (hollow) describe(*Collector, *metapb.FieldDescriptor) uint64 { return 0 }

// booleans counts both values.
type booleans struct{ yes, no uint64 }

func (b *booleans) add(a arrow.Array) {
	v := a.(*array.Boolean)
	yes := 0
	if v.NullN() == 0 {
		data := v.Data()
		yes = bitutil.CountSetBits(data.Buffers()[1].Bytes(), data.Offset(), v.Len())
	} else {
		for i := range v.Len() {
			if v.IsValid(i) && v.Value(i) {
				yes++
			}
		}
	}
	b.yes += uint64(yes)
	b.no += uint64(v.Len() - v.NullN() - yes)
}

// describe: alone of all types, a Boolean without any position is a null constant.
func (b *booleans) describe(c *Collector, d *metapb.FieldDescriptor) uint64 {
	d.TypeSpecific = &metapb.FieldDescriptor_BooleanStats{
		BooleanStats: &metapb.BooleanStats{TrueCount: b.yes, FalseCount: b.no},
	}
	if c.positions == 0 {
		d.ConstantValue = nullValue()
	} else if b.yes == c.positions || b.no == c.positions {
		d.ConstantValue = &metapb.AnyValue{Kind: &metapb.AnyValue_BoolValue{BoolValue: b.yes > 0}}
	}
	if c.nulls < c.positions && !c.options.Reference {
		d.Cardinality = exactCount(min(b.yes, 1) + min(b.no, 1))
	}
	return (c.positions + 7) / 8
}

// lists measures lengths in elements.
type lists struct{ extent }

func (l *lists) add(a arrow.Array) {
	v := a.(array.ListLike)
	for i := range v.Len() {
		if v.IsValid(i) {
			start, end := v.ValueOffsets(i)
			l.measure(uint64(end - start))
		}
	}
}

func (l *lists) describe(c *Collector, d *metapb.FieldDescriptor) uint64 {
	if c.positions > 0 {
		d.TypeSpecific = &metapb.FieldDescriptor_ListStats{ListStats: &metapb.ListStats{
			MinLength: l.min, MinNonEmptyLength: l.nonEmpty(), MaxLength: l.max,
		}}
	}
	return 8 * c.positions
}

// unions count one byte of discriminator a position.
type unions struct{}

func (unions) add(arrow.Array) {}

func (unions) describe(c *Collector, _ *metapb.FieldDescriptor) uint64 { return c.positions }

// extent is the range of lengths: 0 to 0 while nothing was measured.
type extent struct {
	measured    bool
	min, max    uint64
	minNonEmpty uint64 // 0 if none
}

func (e *extent) measure(n uint64) {
	if !e.measured {
		e.measured, e.min = true, n
	}
	e.min, e.max = min(e.min, n), max(e.max, n)
	if n > 0 && (e.minNonEmpty == 0 || n < e.minNonEmpty) {
		e.minNonEmpty = n
	}
}

func (e *extent) nonEmpty() *uint64 {
	if e.minNonEmpty == 0 {
		return nil
	}
	return &e.minNonEmpty
}
