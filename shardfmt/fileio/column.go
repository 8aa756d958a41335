package fileio

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// column appends JSON values to the builder of one node. After an error its builders are of no more use.
type column interface {
	// value appends the value under the cursor, which is not null.
	value(c *cursor) error
	// null appends a null, or reports that the node has none.
	null() error
}

// readState is what all columns of a source share.
type readState struct {
	times     *timeText
	guidOrder GuidOrder
	unknown   UnknownFields
	warn      func(string)
	told      map[string]bool // what was given
	// exact is set while a union looks for its variant: numbers must be held as they are written.
	exact bool
	// exactTimes refuses times with digits below 100 ns instead of cutting them.
	exactTimes bool
	// texts are the top-level columns that were requested to be String: they hold any JSON value as its text.
	texts map[string]bool
}

func newReadState(o SourceOptions) (*readState, error) {
	times, err := newTimeText(o)
	texts := map[string]bool{}
	for _, c := range o.Types {
		texts[c.Name] = c.Basic == schema.String
	}
	return &readState{times: times, guidOrder: o.GuidOrder, unknown: o.UnknownFields, warn: o.Warn, exactTimes: o.Exact, texts: texts, told: map[string]bool{}}, err
}

// knowing leaves out the notes on times that an inference told.
func (s *readState) knowing(found *Inference) *readState {
	if found == nil {
		return s
	}
	for _, f := range found.Fields {
		for _, note := range f.Notes {
			for _, known := range s.times.notes {
				s.told[known] = s.told[known] || known != "" && strings.HasSuffix(note, known)
			}
		}
	}
	return s
}

// tell passes a note on, once for each of what.
func (s *readState) tell(what, format string, args ...any) {
	if !s.exact && !s.told[what] {
		s.told[what] = true
		s.warn(fmt.Sprintf(format, args...))
	}
}

// element appends whatever is under the cursor.
func element(col column, c *cursor) error {
	isNull, err := c.null()
	if err != nil {
		return err
	}
	if isNull {
		return col.null()
	}
	return col.value(c)
}

// newColumn makes the column of a node over its builder.
func newColumn(n *schema.Node, path string, b array.Builder, s *readState) column {
	base := nullable{n: n, path: path, b: b}
	switch n.Basic {
	case schema.Unit:
		return &unitColumn{base}
	case schema.Struct:
		return newStructColumn(base, s)
	case schema.List:
		lb := b.(*array.LargeListBuilder)
		return &listColumn{base, lb, newColumn(n.Children[0], path+".item", lb.ValueBuilder(), s)}
	case schema.FixedSizeList:
		lb := b.(*array.FixedSizeListBuilder)
		return &fixedListColumn{base, lb, newColumn(n.Children[0], path+".item", lb.ValueBuilder(), s)}
	case schema.Map:
		return newMapColumn(base, s)
	case schema.Union:
		return newUnionColumn(base, s)
	}
	if n.IsDynamic() {
		return &dynamicColumn{base, storageBuilder(b).(*array.BinaryBuilder)}
	}
	c := &scalarColumn{base, newScalar(n, path, b, s)}
	if n.Basic == schema.String && n.Name == path && s.texts[path] {
		return &textColumn{c}
	}
	return c
}

// storageBuilder is the builder below an extension type.
func storageBuilder(b array.Builder) array.Builder {
	if e, ok := b.(interface{ StorageBuilder() array.Builder }); ok {
		return e.StorageBuilder()
	}
	return b
}

// nullable is the part all columns share.
type nullable struct {
	n    *schema.Node
	path string
	b    array.Builder
}

func (c *nullable) null() error {
	if !c.n.Nullable {
		return inField(c.path, "null, and the field is not nullable")
	}
	c.b.AppendNull()
	return nil
}

func (c *nullable) mismatch(cur *cursor) error {
	if cur.peek() == 0 {
		return errTruncated
	}
	return wanting(c.path, "Dynamic", nil, "%s where %s was expected", cur.what(), c.n.TypeName())
}

// unitColumn holds nulls only.
type unitColumn struct{ nullable }

func (c *unitColumn) value(cur *cursor) error { return c.mismatch(cur) }

// scalarColumn holds values that JSON writes as one string, number or boolean.
type scalarColumn struct {
	nullable
	scalar scalar
}

func (c *scalarColumn) value(cur *cursor) error {
	switch cur.peek() {
	case '"':
		if c.scalar.text == nil {
			return c.mismatch(cur)
		}
		s, err := cur.str()
		if err != nil {
			return err
		}
		return c.scalar.text(s)
	case 't', 'f':
		if c.scalar.boolean == nil {
			return c.mismatch(cur)
		}
		v, err := cur.boolean()
		if err != nil {
			return err
		}
		c.scalar.boolean(v)
		return nil
	case '{', '[', 0:
		return c.mismatch(cur)
	}
	number, err := cur.number()
	if err != nil {
		return err
	}
	if c.scalar.number == nil {
		return wanting(c.path, "Dynamic", nil, "a number where %s was expected", c.n.TypeName())
	}
	if c.scalar.plain != nil && c.scalar.plain(number) {
		return nil
	}
	return c.scalar.number(number)
}

// textColumn holds the characters of JSON strings and the JSON text of other values.
type textColumn struct{ *scalarColumn }

func (c *textColumn) value(cur *cursor) error {
	if cur.peek() == '"' {
		return c.scalarColumn.value(cur)
	}
	raw, err := cur.raw()
	if err != nil {
		return err
	}
	return c.scalar.text(raw)
}

// dynamicColumn keeps the JSON text of the value.
type dynamicColumn struct {
	nullable
	storage *array.BinaryBuilder
}

func (c *dynamicColumn) value(cur *cursor) error {
	raw, err := cur.raw()
	if err != nil {
		return err
	}
	c.storage.Append(raw)
	return nil
}

// listColumn holds lists of any length.
type listColumn struct {
	nullable
	lb   *array.LargeListBuilder
	item column
}

func (c *listColumn) value(cur *cursor) error {
	if cur.peek() != '[' {
		return c.mismatch(cur)
	}
	c.lb.Append(true)
	return cur.array(func() error { return element(c.item, cur) })
}

// fixedListColumn holds lists of one length.
type fixedListColumn struct {
	nullable
	lb   *array.FixedSizeListBuilder
	item column
}

func (c *fixedListColumn) value(cur *cursor) error {
	if cur.peek() != '[' {
		return c.mismatch(cur)
	}
	c.lb.Append(true)
	count := uint64(0)
	err := cur.array(func() error {
		count++
		if count > c.n.FixedSize {
			return inField(c.path, "more than %s", plural.Count(c.n.FixedSize, "element"))
		}
		return element(c.item, cur)
	})
	if err == nil && count < c.n.FixedSize {
		return inField(c.path, "%s, expected %d", plural.Count(count, "element"), c.n.FixedSize)
	}
	return err
}

// newBuilder makes the builder of a node's canonical type.
func newBuilder(n *schema.Node) array.Builder {
	return array.NewBuilder(memory.DefaultAllocator, arrowtype.Type(n))
}

// unionColumn holds, for each value, the first variant that holds it exactly.
type unionColumn struct {
	nullable
	ub       *arrowtype.UnionBuilder
	variants []column
	state    *readState
}

func newUnionColumn(base nullable, s *readState) *unionColumn {
	c := &unionColumn{nullable: base, ub: arrowtype.UnionBuilderOf(base.b.(*array.SparseUnionBuilder), len(base.n.Children)), state: s}
	for i, v := range base.n.Children {
		c.variants = append(c.variants, newColumn(v, base.path+"."+v.Name, c.ub.Variants[i], s))
	}
	return c
}

func (c *unionColumn) null() error {
	if len(c.variants) == 0 {
		return inField(c.path, "a union without variants cannot hold a value")
	}
	return c.nullable.null()
}

func (c *unionColumn) value(cur *cursor) error {
	raw, err := cur.raw()
	if err != nil {
		return err
	}
	for i, v := range c.variants {
		if !c.holds(c.n.Children[i], raw) {
			continue
		}
		c.ub.Append(i)
		return v.value(&cursor{b: raw})
	}
	return inField(c.path, "no variant of the union holds %.60s", raw)
}

// holds tries a value on a builder that is thrown away.
func (c *unionColumn) holds(variant *schema.Node, raw []byte) bool {
	b := newBuilder(variant)
	defer b.Release()
	trial := &readState{times: c.state.times, guidOrder: c.state.guidOrder, unknown: ErrorOnUnknown, exact: true}
	return newColumn(variant, "", b, trial).value(&cursor{b: raw}) == nil
}
