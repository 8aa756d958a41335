package scan

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// selector applies a filter and the marker of deleted records to rows of a stripe: to those that indexes have chosen, where they could. The parts of the filter that must all be true
// are tested one after the other, those first that rule out most rows for what they cost. Columns of a part are decoded only
// where a batch has rows left, and where it has few left, only these rows.
type selector struct {
	parts []*part
	// columns are those of the filter, whose types are types, and behind them that of the marker, if there is one.
	columns []column.Column
	types   *arrow.Schema
	mem     *budget.Account
	chosen  *[]ranges.Range // by indexes, nil for all rows
	bitmaps bitmaps
	decoded []arrow.ArrayData // of rows, to be used again
	decode  *decoder
	// ctx is that of the rows available: a batch may take seconds with a filter of thousands of literals.
	ctx context.Context
}

// charge ends the comparisons of a scan that was cancelled, or has a filter out of proportion to what is read.
func (x *selector) charge(comparisons uint64) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	return x.mem.Compare(comparisons)
}

// part is a part of the filter, with the columns it reads.
type part struct {
	filter  *filter.Bound
	columns []int // ascending
	types   []arrow.Field
	needle  *simd.Needle // the only value that the filter is true of, nil if it isn't known
	// interval is the numbers that the filter is true of, nil if they aren't known.
	interval *simd.Interval
	// stored is the size of the columns in bytes; asked and passed are the rows it was evaluated on, and those it left.
	stored, asked, passed float64
}

// fewShare: a column's rows are read one by one where fewer than one of so many is left.
const fewShare = 16

func newSelector(s *stripe) *selector {
	d := s.decode
	x := &selector{columns: s.filter, types: d.needed, mem: s.mem, chosen: s.chosen, decode: d}
	if d.needed == nil {
		return x
	}
	for k, f := range d.conjuncts {
		p := &part{filter: f.Charged(x.charge), needle: d.needles[k]}
		p.interval, _ = f.Interval()
		for i, field := range d.needed.Fields() {
			if slices.ContainsFunc(f.Tops(), func(n *schema.Node) bool { return n.Name == field.Name }) {
				p.columns = append(p.columns, i)
				p.types = append(p.types, field)
				p.stored += float64(s.filter[i].Size())
			}
		}
		x.parts = append(x.parts, p)
	}
	return x
}

// marker is the column that marks deleted records, nil if there is none.
func (x *selector) marker() column.Column {
	n := 0
	if x.types != nil {
		n = x.types.NumFields()
	}
	if n == len(x.columns) {
		return nil
	}
	return x.columns[n]
}

// rank is what it costs to rule out a row by the part: it is evaluated before those of higher ranks. One that was not asked yet is
// taken to leave half.
func (p *part) rank() float64 {
	const rows, half = 1024, 512 // as if it had been asked of so many rows, and left so many
	return (1 + p.stored) / (1 - (half+p.passed)/(rows+p.asked) + 1e-3)
}

// rows gives a bitmap of the rows of r that are left, and how many they are.
func (x *selector) rows(ctx context.Context, r colstream.Range) (bitmap []byte, left int, err error) {
	n := int(r.Len())
	x.ctx = ctx
	bitmap, left = x.start(r)
	slices.SortStableFunc(x.parts, func(a, b *part) int { return cmp.Compare(a.rank(), b.rank()) })
	x.decoded = slices.Grow(x.decoded[:0], len(x.columns))[:len(x.columns)] // those decoded whole
	decoded := x.decoded
	clear(decoded)
	for _, p := range x.parts {
		if left == 0 {
			return bitmap, 0, nil
		}
		if err := x.charge(uint64(left)); err != nil {
			return nil, 0, err
		}
		before := left
		if left, err = x.apply(ctx, p, r, bitmap, left, decoded); err != nil {
			return nil, 0, err
		}
		p.asked += float64(before)
		p.passed += float64(left)
	}
	if m := x.marker(); m != nil && left > 0 {
		data, err := m.Read(r)
		if err != nil {
			return nil, 0, err
		}
		hideDeleted(bitmap, array.NewBooleanData(data))
		left = simd.Ones(bitmap, n)
	}
	return bitmap, left, nil
}

// start gives a bitmap of the rows of r that the filter is to be evaluated on, and how many they are: those that indexes have chosen.
func (x *selector) start(r colstream.Range) (bitmap []byte, left int) {
	n := int(r.Len())
	bitmap = x.bitmaps.take(r.Len())
	if x.chosen == nil {
		bitutil.SetBitsTo(bitmap, 0, int64(n), true)
		return bitmap, n
	}
	chosen := *x.chosen
	for _, c := range chosen[sort.Search(len(chosen), func(i int) bool { return chosen[i].End > r.Start }):] {
		if c.Start >= r.End {
			break
		}
		from, to := max(c.Start, r.Start), min(c.End, r.End)
		if from < to {
			bitutil.SetBitsTo(bitmap, int64(from-r.Start), int64(to-from), true)
		}
	}
	return bitmap, bitutil.CountSetBits(bitmap, 0, n)
}

// apply clears the bits of rows that a part of the filter rules out, and reports how many are left.
func (x *selector) apply(ctx context.Context, p *part, r colstream.Range, bitmap []byte, left int, decoded []arrow.ArrayData) (int, error) {
	few := left < int(r.Len())/fewShare
	if len(p.columns) == 1 && !few {
		switch c := x.columns[p.columns[0]].(type) {
		case column.Evaluating:
			return x.eval(p, func(r ranges.Range, bitmap []byte, eval column.EvalFunc) error {
				return c.Eval(r, bitmap, eval, p.interval)
			}, r, bitmap)
		case column.Searching:
			if p.needle != nil {
				return x.eval(p, func(r ranges.Range, bitmap []byte, eval column.EvalFunc) error {
					return c.Search(r, bitmap, p.needle, eval)
				}, r, bitmap)
			}
		}
	}
	var missing []column.Column
	for _, i := range p.columns {
		if decoded[i] == nil {
			missing = append(missing, x.columns[i])
		} else {
			few = false // it is there already, or all are read alike
		}
	}
	got, err := x.decode.each(ctx, missing, readingFunc(func(c column.Column) (arrow.ArrayData, error) {
		if few {
			return column.PickCoded(c, r, bitmap, left, x.mem)
		}
		if coded, ok := c.(column.Coded); ok {
			return coded.ReadCoded(r) // the filter looks at each entry once
		}
		return c.Read(r)
	}))
	if err != nil {
		return 0, err
	}
	data, fields := make([]arrow.ArrayData, len(p.columns)), slices.Clone(p.types)
	for k, i := range p.columns {
		if data[k] = decoded[i]; data[k] == nil {
			data[k], got = got[0], got[1:]
			if !few {
				decoded[i] = data[k]
			}
		}
		fields[k].Type = data[k].DataType() // which may be dictionary-encoded
	}
	n := int(r.Len())
	if few {
		n = left
	}
	selected, some, err := p.filter.Select(record(arrow.NewSchema(fields, nil), data, n))
	if err != nil {
		return 0, err
	}
	if few {
		keep(bitmap, selected)
		return some, nil
	}
	simd.AndBits(bitmap, selected)
	return simd.Ones(bitmap, n), nil
}

// eval is apply for a part that reads one column, which it evaluates block by block.
func (x *selector) eval(p *part, eval func(ranges.Range, []byte, column.EvalFunc) error, r colstream.Range, bitmap []byte) (int, error) {
	n := uint64(len(bitmap))
	if err := x.mem.Take(n); err != nil {
		return 0, err
	}
	selected := x.mem.Lend(n)
	err := eval(r, selected, func(values arrow.ArrayData, out []byte) error {
		return p.filter.SelectOf(array.MakeFromData(values), out)
	})
	if err != nil {
		return 0, err
	}
	simd.AndBits(bitmap, selected)
	return simd.Ones(bitmap, int(r.Len())), nil
}

// keep clears those bits that are set in a bitmap for which selected has none, which has a bit for each of them.
func keep(bitmap, selected []byte) {
	k := 0
	for i, b := range bitmap {
		for rest := b; rest != 0; rest &= rest - 1 {
			if selected[k/8]>>(k%8)&1 == 0 {
				bitmap[i] &^= rest & -rest
			}
			k++
		}
	}
}

// hideDeleted clears the bits of rows that are marked deleted.
func hideDeleted(bitmap []byte, marker *array.Boolean) {
	for i := range marker.Len() {
		if marker.IsValid(i) && marker.Value(i) {
			bitutil.ClearBit(bitmap, i)
		}
	}
}

// spanOf gives the range from the first set bit to the last; any is false if none is set.
func spanOf(bitmap []byte) (span ranges.Range, any bool) {
	first := slices.IndexFunc(bitmap, func(b byte) bool { return b != 0 })
	if first < 0 {
		return span, false
	}
	last := len(bitmap) - 1
	for bitmap[last] == 0 {
		last--
	}
	return ranges.Range{
		Start: uint64(8*first + bits.TrailingZeros8(bitmap[first])),
		End:   uint64(8*last + bits.Len8(bitmap[last])),
	}, true
}
