package column

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// constant makes the reader of a field whose descriptor alone reports what its values are, if that is so.
func (f *stored) constant() (Column, bool, error) {
	if f.node.Basic == schema.Unit {
		return nil, false, nil
	}
	if v := f.desc.GetConstantValue(); v != nil && !nested(f.node.Basic) {
		_, isNull := v.Kind.(*metapb.AnyValue_NullValue)
		stored := f.isStoredBesides()
		if !isNull && (!stored || f.o.audit) { // who looks for contradictions refuses what others would
			raw, err := f.rawConstant(v)
			if err != nil {
				return nil, true, err
			}
			if !stored {
				presence, err := f.presence()
				return &constantColumn{nullColumn{f.typ, f.o.mem}, f.node, raw, presence}, true, err
			}
		}
		if !stored {
			return &nullColumn{f.typ, f.o.mem}, true, nil
		}
	}
	// Values that are stored are read, whatever the count of nulls states about them.
	allNull := f.desc.NullCount != nil && f.desc.GetNullCount() == f.count && f.count > 0
	if allNull && len(f.encoding.GetBuffers()) == 0 && (f.parquet == nil || nested(f.node.Basic) || stats.Contradiction(f.desc) == "") {
		return &nullColumn{f.typ, f.o.mem}, true, nil
	}
	return nil, false, nil
}

// isStoredBesides reports whether the field has buffers to read instead of its constant: where its descriptor contradicts itself, and where
// contradictions are looked for.
func (f *stored) isStoredBesides() bool {
	if f.parquet == nil && f.buffer(metapb.BufferKind_DATA) == nil {
		return false
	}
	return f.o.audit || stats.Contradiction(f.desc) != ""
}

// nested reports whether a type has children.
func nested(b schema.Basic) bool {
	switch b {
	case schema.List, schema.FixedSizeList, schema.Struct, schema.Map, schema.Union:
		return true
	}
	return false
}

// rawConstant gives the bytes of one value, as they lie in an array.
func (f *stored) rawConstant(v *metapb.AnyValue) ([]byte, error) {
	var raw []byte
	switch k := v.Kind.(type) {
	case *metapb.AnyValue_BoolValue:
		if f.node.Basic == schema.Boolean {
			raw = []byte{0}
			if k.BoolValue {
				raw[0] = 1
			}
		}
	case *metapb.AnyValue_I64Value:
		raw = f.rawInteger(uint64(k.I64Value), k.I64Value < 0)
	case *metapb.AnyValue_U64Value:
		raw = f.rawInteger(k.U64Value, false)
	case *metapb.AnyValue_DatetimeValue:
		raw = f.rawInteger(k.DatetimeValue.GetTicks(), false)
	case *metapb.AnyValue_TimespanValue:
		ticks := k.TimespanValue.GetTicks()
		raw = f.rawInteger(ticks, int64(ticks) < 0)
	case *metapb.AnyValue_DoubleValue:
		raw = f.rawFloat(k.DoubleValue)
	case *metapb.AnyValue_StringValue:
		raw = f.rawBytes([]byte(k.StringValue))
	case *metapb.AnyValue_BytesValue:
		raw = f.rawBytes(k.BytesValue)
	case *metapb.AnyValue_DecimalValue:
		raw = f.rawBytes(k.DecimalValue)
	}
	if raw == nil {
		return nil, f.corrupt("constant value of kind %s does not fit type %s", meta.Kind(v), f.node.TypeName())
	}
	return raw, nil
}

// rawInteger gives v in the width of the field, nil if it does not fit. v is in two's complement if negative.
func (f *stored) rawInteger(v uint64, negative bool) []byte {
	width := numberWidth(f.node.Basic)
	if width == 0 || f.node.Basic == schema.Float32 || f.node.Basic == schema.Float64 || negative && !f.node.Signed {
		return nil
	}
	spare := 64 - 8*width
	if f.node.Signed && int64(v)<<spare>>spare != int64(v) || !f.node.Signed && v<<spare>>spare != v || f.node.Signed && !negative && int64(v) < 0 {
		return nil
	}
	return binary.LittleEndian.AppendUint64(nil, v)[:width]
}

func (f *stored) rawFloat(v float64) []byte {
	switch f.node.Basic {
	case schema.Float32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
	case schema.Float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	}
	return nil
}

// rawBytes gives b if the field holds byte strings of its length, else nil.
func (f *stored) rawBytes(b []byte) []byte {
	switch f.node.Basic {
	case schema.String, schema.Binary:
		return append([]byte{}, b...)
	case schema.FixedSizeBinary, schema.Guid:
		if uint64(len(b)) == f.node.FixedSize && len(b) > 0 {
			return b
		}
	}
	return nil
}

// constantColumn repeats one value, where it is present if the field has a bitmap of presence.
type constantColumn struct {
	nullColumn
	node     *schema.Node
	raw      []byte
	presence *bitReader
}

func (c *constantColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	return c.presence.Need(ranges, whole)
}

func (c *constantColumn) Release(pos uint64) { c.presence.Release(pos) }
func (c *constantColumn) Size() uint64       { return c.presence.Size() }

func (c *constantColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	if r.Len() > maxRead {
		return nil, ErrTooLarge
	}
	if err := c.mem.Take(r.Len()*uint64(len(c.raw)) + 8*r.Len()); err != nil {
		return nil, err
	}
	v := &validity{n: int(r.Len())}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	switch c.node.Basic {
	case schema.Boolean:
		b := make([]byte, (v.n+7)/8)
		if c.raw[0] == 1 {
			b = ones(v.n)
		}
		return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(b)}), nil
	case schema.String, schema.Binary:
		offsets := budget.LendOf[int64](c.mem, r.Len()+1)
		simd.Ramp(simd.Cast[uint64](offsets), 0, uint64(len(c.raw)))
		return newData(c.typ, v, []*memory.Buffer{bufferOf(offsets), memory.NewBufferBytes(c.repeated(v.n))}), nil
	}
	return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(c.repeated(v.n))}), nil
}

// repeated is the value n times.
func (c *constantColumn) repeated(n int) []byte {
	all := c.mem.Lend(uint64(n) * uint64(len(c.raw)))
	simd.Repeat(all, c.raw)
	return all
}
