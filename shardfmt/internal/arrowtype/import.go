package arrowtype

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ImportOptions determine what an Importer may change.
type ImportOptions struct {
	// DropUnknown ignores columns that the schema lacks; without it they are refused.
	DropUnknown bool
	// Strict refuses what is cut otherwise: digits below 100 ns.
	Strict bool
	// Codes leaves columns coded that come so and may stay so (Codable).
	Codes bool
}

// Importer turns the batches of one Arrow schema into canonical batches of one shard schema. Not for
// concurrent use.
type Importer struct {
	to      *schema.Schema
	arrow   *arrow.Schema
	columns []int // for each field of the schema the column it comes from, or −1
	imports importing
}

// importing is what converts.
type importing struct {
	ImportOptions
	report *Report
}

// ErrColumn is a column that doesn't fit the schema.
var ErrColumn = errors.New("column does not fit the schema")

// NewImporter matches columns to fields by name, then by alias, or, where a column has no name, all of them by
// position. Fields without a column are null in every row. The types need not be those of FromArrow: whole
// numbers are widened and narrowed, text is parsed into guids and decimals, as long as each value is held
// exactly.
func NewImporter(from *arrow.Schema, to *schema.Schema, o ImportOptions) (*Importer, error) {
	if err := Check(to); err != nil {
		return nil, err
	}
	im := &Importer{to: to, arrow: Schema(to), imports: importing{o, &Report{}}}
	used, err := im.match(from)
	if err != nil {
		return nil, err
	}
	for i, f := range from.Fields() {
		if !used[i] && !o.DropUnknown {
			return nil, fmt.Errorf("%w: the schema has no field %q", ErrColumn, f.Name)
		}
	}
	for i, n := range to.Fields {
		if im.columns[i] < 0 && !n.Nullable {
			return nil, fmt.Errorf("%w: no column %q, and the field is not nullable", ErrColumn, n.Name)
		}
	}
	return im, nil
}

// match fills in the columns, and reports which are used.
func (im *Importer) match(from *arrow.Schema) (used []bool, err error) {
	used = make([]bool, from.NumFields())
	byName := map[string]int{}
	for i := from.NumFields() - 1; i >= 0; i-- {
		byName[from.Field(i).Name] = i
	}
	if _, unnamed := byName[""]; unnamed && from.NumFields() != len(im.to.Fields) {
		return nil, fmt.Errorf("%w: %d unnamed columns for %d fields", ErrColumn, from.NumFields(), len(im.to.Fields))
	} else if unnamed {
		for i := range used {
			used[i], im.columns = true, append(im.columns, i)
		}
		return used, nil
	}
	for _, n := range im.to.Fields {
		column := -1
		for _, name := range append([]string{n.Name}, n.Aliases...) {
			if i, ok := byName[name]; ok && !used[i] {
				column, used[i] = i, true
				break
			}
		}
		im.columns = append(im.columns, column)
	}
	return used, nil
}

// Report reports what was changed so far.
func (im *Importer) Report() *Report { return im.imports.report }

// Import converts a batch. A value that the field can't hold is a *RowError. The result is the caller's to
// release; it shares memory with the batch where nothing had to be converted.
func (im *Importer) Import(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(im.to.Fields))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, n := range im.to.Fields {
		if im.columns[i] < 0 {
			columns[i] = nulls(Type(n), int(batch.NumRows()))
			continue
		}
		var err error
		columns[i], err = im.imports.column(batch.Column(im.columns[i]), place{n: n, path: n.Name, row: sameRow})
		if err != nil {
			return nil, err
		}
	}
	return BatchOf(im.arrow, columns, batch.NumRows()), nil
}

// column converts a column, which stays coded where that is wanted.
func (im *importing) column(a arrow.Array, p place) (arrow.Array, error) {
	if d, ok := a.(*array.Dictionary); ok && im.Codes && Codable(p.n) {
		return im.coded(d, p)
	}
	return im.array(a, p)
}

// place is where an array of values belongs: a node, its path, and the row of the batch of each value.
type place struct {
	n    *schema.Node
	path string
	row  func(i int) int
	// hidden means that value i is below something null, nil if none is.
	hidden func(i int) bool
}

func sameRow(i int) int { return i }

// refuse is the error of value i.
func (p place) refuse(i int, format string, args ...any) error {
	return &RowError{Field: p.path, Row: int64(p.row(i)), Err: fmt.Errorf(format, args...)}
}

// child is the place of a child, whose value i belongs to value up(i) of p.
func (p place) child(i int, up func(i int) int) place {
	n := p.n.Children[i]
	name := n.Name
	switch p.n.Basic {
	case schema.List, schema.FixedSizeList:
		name = "item"
	case schema.Map:
		name = [2]string{"key", "value"}[i]
	}
	out := place{n: n, path: p.path + "." + name, row: func(i int) int { return p.row(up(i)) }}
	if p.hidden != nil {
		out.hidden = func(i int) bool { return p.hidden(up(i)) }
	}
	return out
}

// array converts an array to the canonical type of its place, and checks that it holds no null it may not.
func (im *importing) array(a arrow.Array, p place) (arrow.Array, error) {
	out, err := im.convert(a, p)
	if err != nil {
		return nil, err
	}
	if !p.n.Nullable && out.NullN() > 0 {
		for i := range out.Len() {
			if out.IsNull(i) && (p.hidden == nil || !p.hidden(i)) {
				out.Release()
				return nil, p.refuse(i, "null, and the field is not nullable")
			}
		}
	}
	return out, nil
}

func (im *importing) convert(a arrow.Array, p place) (arrow.Array, error) {
	switch a := a.(type) {
	case *array.Dictionary:
		return im.dictionary(a, p)
	case *array.RunEndEncoded:
		return im.runs(a, p)
	case *array.Null:
		return nulls(Type(p.n), a.Len()), nil
	case *extensions.VariantArray:
		if p.n.IsDynamic() {
			return im.variants(a, p)
		}
	case *Int96Array:
		if p.n.Basic != schema.DateTime {
			return nil, p.mismatch(a)
		}
		return im.int96(a, p)
	}
	if arrow.TypeEqual(a.DataType(), Type(p.n)) && len(p.n.Children) == 0 && p.n.Basic != schema.String {
		a.Retain()
		return a, im.inRange(a, p)
	}
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	switch p.n.Basic {
	case schema.Unit:
		if a.NullN() < a.Len() {
			return nil, p.mismatch(a)
		}
		return nulls(arrow.Null, a.Len()), nil
	case schema.List, schema.FixedSizeList, schema.Struct, schema.Map, schema.Union:
		return im.nested(a, p)
	}
	return im.leaf(a, p)
}

// mismatch is the error of an array that has no way to its place.
func (p place) mismatch(a arrow.Array) error {
	return fmt.Errorf("field %q: %w: %s, expected %s", p.path, ErrColumn, a.DataType(), p.n.TypeName())
}

// dictionary unpacks a dictionary-encoded array.
func (im *importing) dictionary(a *array.Dictionary, p place) (arrow.Array, error) {
	dict, err := im.entries(a, p)
	if err != nil {
		return im.unpacked(a, p, err)
	}
	defer dict.Release()
	return expand(dict, a.Len(), func(i int) int {
		if a.IsNull(i) {
			return -1
		}
		return a.GetValueIndex(i)
	}), nil
}

// entries converts the values of a dictionary.
func (im *importing) entries(a *array.Dictionary, p place) (arrow.Array, error) {
	// A value belongs to no row of its own; an error names the first that has it.
	values := p
	values.row = func(v int) int {
		for i := range a.Len() {
			if a.IsValid(i) && a.GetValueIndex(i) == v {
				return p.row(i)
			}
		}
		return 0
	}
	n := *p.n
	n.Nullable = true
	values.n = &n
	return im.array(a.Dictionary(), values)
}

// unpacked converts the values of the rows where not all of the dictionary could be: what no row has may be anything.
func (im *importing) unpacked(a *array.Dictionary, p place, cause error) (arrow.Array, error) {
	var refused *RowError
	if !errors.As(cause, &refused) || a.Len() == 0 {
		return nil, cause
	}
	entries, rows := a.Dictionary(), make([]arrow.Array, a.Len())
	for i := range rows {
		if a.IsNull(i) {
			rows[i] = array.MakeArrayOfNull(memory.DefaultAllocator, entries.DataType(), 1)
		} else {
			v := int64(a.GetValueIndex(i))
			rows[i] = array.NewSlice(entries, v, v+1)
		}
		defer rows[i].Release()
	}
	all, err := array.Concatenate(rows, memory.DefaultAllocator)
	if err != nil {
		return nil, cause
	}
	defer all.Release()
	return im.array(all, p)
}

// runs unpacks a run-end encoded array.
func (im *importing) runs(a *array.RunEndEncoded, p place) (arrow.Array, error) {
	physical := make([]int, a.Len())
	first := map[int]int{}
	for i := range physical {
		physical[i] = a.GetPhysicalIndex(i)
		if _, ok := first[physical[i]]; !ok {
			first[physical[i]] = i
		}
	}
	values := p
	values.row = func(v int) int { return p.row(first[v]) }
	n := *p.n
	n.Nullable = true
	values.n = &n
	runs, err := im.array(a.Values(), values)
	if err != nil {
		return nil, err
	}
	defer runs.Release()
	return expand(runs, a.Len(), func(i int) int { return physical[i] }), nil
}
