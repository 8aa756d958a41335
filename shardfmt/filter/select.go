package filter

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Select reports which rows of a batch the expression selects: those for which it is true. The batch holds the
// expression's top-level fields by name, in the canonical types of package arrowtype, or as dictionary-encoded arrays
// of them, of which each entry is evaluated once. The answer is a bitmap,
// least significant bit first, of ceil(rows/8) bytes, and the number of bits set.
func (b *Bound) Select(batch arrow.RecordBatch) (bitmap []byte, selected int, err error) {
	n := int(batch.NumRows())
	bitmap = make([]byte, (n+7)/8)
	if err := b.selectRows(&rows{batch: batch, n: n, charge: b.charge}, bitmap); err != nil {
		return nil, 0, err
	}
	return bitmap, simd.Ones(bitmap, n), nil
}

// SelectOf writes what Select gives of a batch that has one column, that of the only top-level field that the expression reads.
func (b *Bound) SelectOf(column arrow.Array, bitmap []byte) error {
	return b.selectRows(&rows{only: column, n: column.Len(), charge: b.charge}, bitmap)
}

func (b *Bound) selectRows(r *rows, bitmap []byte) error {
	out := newTruths(r.n)
	if err := b.root.eval(r, out); err != nil {
		return err
	}
	out.put(bitmap, r.n)
	return nil
}

// rows is the current batch, or its only column.
type rows struct {
	batch arrow.RecordBatch
	only  arrow.Array
	n     int
	// charge is that of the Bound.
	charge func(comparisons uint64) error
}

// compare charges n values, each of which is compared with so many literals.
func (r *rows) compare(n, literals int) error {
	if r.charge == nil {
		return nil
	}
	return r.charge(uint64(n) * uint64(literals))
}

// top finds the column of a top-level field.
func (r *rows) top(f *boundField) (arrow.Array, error) {
	if r.only != nil {
		return r.only, nil
	}
	at := r.batch.Schema().FieldIndices(f.nodes[0].Name)
	if len(at) == 0 {
		return nil, fmt.Errorf("filter: the batch lacks field %s", f.path)
	}
	return r.batch.Column(at[0]), nil
}

// column finds a field's values: the leaf array, and in which rows it or one of its parents is null.
func (r *rows) column(f *boundField) (leaf arrow.Array, null nulls, err error) {
	top, err := r.top(f)
	if err != nil {
		return nil, null, err
	}
	chain := []arrow.Array{top}
	for _, node := range f.nodes[1:] {
		parent, ok := chain[len(chain)-1].(*array.Struct)
		if !ok {
			return nil, null, fmt.Errorf("filter: field %s is not a struct in the batch", f.path)
		}
		i, ok := parent.DataType().(*arrow.StructType).FieldIdx(node.Name)
		if !ok {
			return nil, null, fmt.Errorf("filter: the batch lacks field %s", f.path)
		}
		chain = append(chain, parent.Field(i))
	}
	leaf = chain[len(chain)-1]
	if leaf.DataType().ID() == arrow.NULL {
		return leaf, nulls{all: true}, nil
	}
	null.of = slices.DeleteFunc(chain, func(a arrow.Array) bool { return a.NullN() == 0 })
	if coded, ok := leaf.(*array.Dictionary); ok && coded.Dictionary().NullN() > 0 {
		null.coded = coded
	}
	return leaf, null, nil
}

func (p andPredicate) eval(r *rows, out truths) error {
	return evalPair(r, p.left, p.right, out, truths.and)
}

func (p orPredicate) eval(r *rows, out truths) error {
	return evalPair(r, p.left, p.right, out, truths.or)
}

func evalPair(r *rows, left, right predicate, out truths, join func(t, other truths)) error {
	if err := left.eval(r, out); err != nil {
		return err
	}
	other := newTruths(r.n)
	if err := right.eval(r, other); err != nil {
		return err
	}
	join(out, other)
	return nil
}

func (p notPredicate) eval(r *rows, out truths) error {
	if err := p.x.eval(r, out); err != nil {
		return err
	}
	out.not()
	return nil
}

func (p nullPredicate) eval(r *rows, out truths) error {
	_, null, err := r.column(p.field)
	if err != nil {
		return err
	}
	for i := range out.sure {
		bits := null.bits(i*wordBits, min(wordBits, r.n-i*wordBits))
		out.sure[i], out.maybe[i] = bits, bits
	}
	return nil
}

func (p leafPredicate) eval(r *rows, out truths) error {
	leaf, null, err := r.column(p.field)
	if err != nil {
		return err
	}
	if err := p.evalArray(r, leaf, out.sure); err != nil {
		return fmt.Errorf("filter: field %s: %w", p.field.path, err)
	}
	out.settle(r.n, p.test.unknown(), null)
	return nil
}

// evalArray sets the bits of the values of an array that the test holds for; those of null slots mean nothing.
func (p leafPredicate) evalArray(r *rows, a arrow.Array, out []uint64) error {
	if d, ok := a.(*array.Dictionary); ok {
		return p.evalEntries(r, d, out)
	}
	if c, ok := p.test.(*compareTest); ok {
		if err := r.compare(a.Len(), 1); err != nil {
			return err
		}
		if c.eval(a, out) {
			return nil
		}
	}
	return p.evalEach(r, a, a.Len(), func(i int) int { return i }, out)
}

// comparedTogether is about how many comparisons are charged together: what takes some milliseconds at most.
const comparedTogether = 4096

// evalEach evaluates a value for each of n rows, by its place among the values.
func (p leafPredicate) evalEach(r *rows, values arrow.Array, n int, place func(row int) int, out []uint64) error {
	load, err := loader(values)
	if err != nil {
		return err
	}
	literals := 1
	if in, ok := p.test.(*inTest); ok {
		literals = max(1, len(in.any))
	}
	var v Value
	holds := func(row int) bool {
		at := place(row)
		if values.IsNull(at) {
			return false
		}
		load(at, &v)
		return p.test.holds(&v)
	}
	step := max(1, comparedTogether/literals/wordBits) * wordBits
	for from := 0; from < n; from += step {
		some := min(step, n-from)
		if err := r.compare(some, literals); err != nil {
			return err
		}
		setBits(out[from/wordBits:(from+some+wordBits-1)/wordBits], some, func(row int) bool { return holds(from + row) })
	}
	return nil
}

// evalEntries evaluates the entries of a dictionary, each once, unless it has more than there are rows.
func (p leafPredicate) evalEntries(r *rows, d *array.Dictionary, out []uint64) error {
	entries := d.Dictionary()
	if entries.Len() > d.Len() {
		return p.evalEach(r, entries, d.Len(), func(row int) int {
			if d.IsNull(row) {
				return 0 // the index may be anything
			}
			return d.GetValueIndex(row)
		}, out)
	}
	verdicts := make([]uint64, (entries.Len()+wordBits-1)/wordBits)
	if err := p.evalArray(r, entries, verdicts); err != nil {
		return err
	}
	if codes, ok := d.Indices().(*array.Uint32); ok && d.NullN() == 0 {
		lookUp(out, verdicts, codes.Uint32Values())
		return nil
	}
	setBits(out, d.Len(), func(row int) bool {
		if d.IsNull(row) {
			return false
		}
		at := d.GetValueIndex(row)
		return verdicts[at/wordBits]>>(at%wordBits)&1 == 1
	})
	return nil
}

// lookUp sets the bit of each code whose entry's bit is set.
func lookUp(out, verdicts []uint64, codes []uint32) {
	for k := range out {
		some := codes[:min(wordBits, len(codes))]
		codes = codes[len(some):]
		w := uint64(0)
		for i, c := range some {
			w |= verdicts[c/wordBits] >> (c % wordBits) & 1 << (i % wordBits)
		}
		out[k] = w
	}
}

// loader gives the function that reads a row of a leaf array.
func loader(a arrow.Array) (func(int, *Value), error) {
	if ext, ok := a.(array.ExtensionArray); ok {
		a = ext.Storage()
	}
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int, v *Value) { v.Bool = a.Value(i) }, nil
	case *array.Float32:
		return func(i int, v *Value) { v.Float = float64(a.Value(i)) }, nil
	case *array.Float64:
		return func(i int, v *Value) { v.Float = a.Value(i) }, nil
	case *array.String:
		return func(i int, v *Value) { v.Bytes = []byte(a.Value(i)) }, nil
	case *array.LargeString:
		offsets, data := a.ValueOffsets(), a.Data().Buffers()[2]
		if data == nil {
			return func(_ int, v *Value) { v.Bytes = nil }, nil
		}
		return func(i int, v *Value) { v.Bytes = data.Bytes()[offsets[i]:offsets[i+1]] }, nil
	case *array.Binary:
		return func(i int, v *Value) { v.Bytes = a.Value(i) }, nil
	case *array.LargeBinary:
		return func(i int, v *Value) { v.Bytes = a.Value(i) }, nil
	case *array.FixedSizeBinary:
		return func(i int, v *Value) { v.Bytes = a.Value(i) }, nil
	case *array.Null:
		return func(int, *Value) {}, nil
	}
	return integerLoader(a)
}

func integerLoader(a arrow.Array) (func(int, *Value), error) {
	switch a := a.(type) {
	case *array.Int8:
		return func(i int, v *Value) { v.Int = int64(a.Value(i)) }, nil
	case *array.Int16:
		return func(i int, v *Value) { v.Int = int64(a.Value(i)) }, nil
	case *array.Int32:
		return func(i int, v *Value) { v.Int = int64(a.Value(i)) }, nil
	case *array.Int64:
		return func(i int, v *Value) { v.Int = a.Value(i) }, nil
	case *array.Uint8:
		return func(i int, v *Value) { v.Uint = uint64(a.Value(i)) }, nil
	case *array.Uint16:
		return func(i int, v *Value) { v.Uint = uint64(a.Value(i)) }, nil
	case *array.Uint32:
		return func(i int, v *Value) { v.Uint = uint64(a.Value(i)) }, nil
	case *array.Uint64:
		return func(i int, v *Value) { v.Uint = a.Value(i) }, nil
	}
	return nil, fmt.Errorf("arrays of type %s can't be compared", a.DataType())
}
