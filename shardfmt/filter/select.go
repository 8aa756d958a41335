package filter

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Select tells which rows of a batch the expression selects: those for which it is true. The batch holds the
// expression's top-level fields by name, in the canonical types of package arrowtype, or as dictionary-encoded arrays
// of them, of which each entry is judged once. The answer is a bitmap,
// least significant bit first, of ceil(rows/8) bytes, and the number of bits set.
func (b *Bound) Select(batch arrow.RecordBatch) (bitmap []byte, selected int, err error) {
	n := int(batch.NumRows())
	out := make([]byte, n)
	if err := b.Judge(batch, out); err != nil {
		return nil, 0, err
	}
	bitmap = make([]byte, (n+7)/8)
	return bitmap, Pack(bitmap, out), nil
}

// Judge writes what the expression is for each row of a batch, a byte each, which Pack makes a bitmap of. The batch is as for
// Select.
func (b *Bound) Judge(batch arrow.RecordBatch, out []byte) error {
	truths := unsafe.Slice((*truth)(unsafe.Pointer(unsafe.SliceData(out))), len(out))
	return b.root.eval(&rows{batch: batch, n: len(out)}, truths)
}

// rows is the batch at hand.
type rows struct {
	batch arrow.RecordBatch
	n     int
}

// column finds a field's values: the leaf array, and in which rows it or one of its parents is null.
func (r *rows) column(f *boundField) (leaf arrow.Array, null nulls, err error) {
	at := r.batch.Schema().FieldIndices(f.nodes[0].Name)
	if len(at) == 0 {
		return nil, null, fmt.Errorf("filter: the batch lacks field %s", f.path)
	}
	chain := []arrow.Array{r.batch.Column(at[0])}
	for _, node := range f.nodes[1:] {
		parent, ok := chain[len(chain)-1].(*array.Struct)
		if !ok {
			return nil, null, fmt.Errorf("filter: field %s is no struct in the batch", f.path)
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

func (p andPredicate) eval(r *rows, out []truth) error { return evalPair(r, p.left, p.right, out, and) }

func (p orPredicate) eval(r *rows, out []truth) error { return evalPair(r, p.left, p.right, out, or) }

func evalPair(r *rows, left, right predicate, out []truth, join func(out, other []truth)) error {
	if err := left.eval(r, out); err != nil {
		return err
	}
	other := make([]truth, len(out))
	if err := right.eval(r, other); err != nil {
		return err
	}
	join(out, other)
	return nil
}

func (p notPredicate) eval(r *rows, out []truth) error {
	if err := p.x.eval(r, out); err != nil {
		return err
	}
	not(out)
	return nil
}

func (p nullPredicate) eval(r *rows, out []truth) error {
	_, null, err := r.column(p.field)
	if err != nil {
		return err
	}
	for i := range out {
		out[i] = isFalse
	}
	null.set(out, isTrue)
	return nil
}

func (p leafPredicate) eval(r *rows, out []truth) error {
	leaf, null, err := r.column(p.field)
	if err != nil {
		return err
	}
	if err := p.judge(leaf, out); err != nil {
		return fmt.Errorf("filter: field %s: %w", p.field.path, err)
	}
	null.set(out, isUnknown)
	return nil
}

// judge writes the truth of each value of an array; those of null slots mean nothing.
func (p leafPredicate) judge(a arrow.Array, out []truth) error {
	if d, ok := a.(*array.Dictionary); ok {
		return p.judgeEntries(d, out)
	}
	if c, ok := p.test.(*compareTest); ok && c.judge(a, out) {
		return nil
	}
	return p.judgeEach(a, func(i int) int { return i }, out)
}

// judgeEach judges a value for each row, by its place among the values. Rows whose value is null are null.
func (p leafPredicate) judgeEach(values arrow.Array, place func(row int) int, out []truth) error {
	load, err := loader(values)
	if err != nil {
		return err
	}
	otherwise := isFalse
	if p.test.unknown() {
		otherwise = isUnknown
	}
	var v Value
	for i := range out {
		at := place(i)
		if values.IsNull(at) {
			continue
		}
		load(at, &v)
		out[i] = otherwise
		if p.test.holds(&v) {
			out[i] = isTrue
		}
	}
	return nil
}

// judgeEntries judges the entries of a dictionary, each once, unless it has more than there are rows. Rows whose entries are
// null are null.
func (p leafPredicate) judgeEntries(d *array.Dictionary, out []truth) error {
	entries := d.Dictionary()
	if entries.Len() > len(out) {
		return p.judgeEach(entries, func(row int) int {
			if d.IsNull(row) {
				return 0 // the index may be anything
			}
			return d.GetValueIndex(row)
		}, out)
	}
	verdicts := make([]truth, entries.Len())
	if err := p.judge(entries, verdicts); err != nil {
		return err
	}
	if codes, ok := d.Indices().(*array.Uint32); ok && d.NullN() == 0 {
		for i, c := range codes.Uint32Values() {
			out[i] = verdicts[c]
		}
		return nil
	}
	for i := range out {
		if d.IsValid(i) {
			out[i] = verdicts[d.GetValueIndex(i)]
		}
	}
	return nil
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
