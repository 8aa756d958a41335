package lance

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// layout is a field with the columns that hold it: a column of its own, in front of those of its children. Since version
// 2.1 only fields without children have one.
type layout struct {
	node     *Node
	t        arrow.DataType
	column   *column
	children []*layout
	// asList: strings that are stored as lists of bytes.
	asList bool
}

// maxEmptyRows bounds rows of only nulls, of which a few bytes could claim any number.
const maxEmptyRows = 1 << 32

// layouts deals out the columns of a file to its fields, in their order.
func (f *File) layouts() error {
	if n := f.desc.rows; n > maxEmptyRows && n/8 > uint64(f.c.size) {
		return corrupt.Unsupported(-1, "%d rows in %d bytes, which can't hold any values", n, f.c.size)
	}
	next := 0
	for i, n := range f.nodes {
		l, err := f.layout(n, f.schema.Field(i).Type, &next)
		if err != nil {
			return err
		}
		f.top = append(f.top, l)
		if err := f.checkRows(l, f.desc.rows); err != nil {
			return err
		}
	}
	if next != len(f.columns) {
		return corrupt.At(-1, "%d columns, but the schema has %d", len(f.columns), next)
	}
	return nil
}

func (f *File) layout(n *Node, t arrow.DataType, next *int) (*layout, error) {
	if f.c.version.IsStructural() {
		return f.structuralLayout(n, t, next)
	}
	if *next >= len(f.columns) {
		return nil, corrupt.At(-1, "field %q: column %d of a file that has %d", n.Name, *next, len(f.columns))
	}
	l := &layout{node: n, t: t, column: f.columns[*next]}
	*next++
	if _, ok := storageType(t).(arrow.BinaryDataType); ok {
		if l.asList = l.startsWith(listKind); l.asList {
			return l, f.bytesOf(l, next)
		}
	}
	return l, l.addChildren(f.layout, next)
}

// structuralLayout deals out the columns of version 2.1 and later, which only values have: a struct or a list has none.
func (f *File) structuralLayout(n *Node, t arrow.DataType, next *int) (*layout, error) {
	l := &layout{node: n, t: t}
	if err := l.addChildren(f.structuralLayout, next); err != nil {
		return nil, err
	}
	if len(l.children) > 0 {
		return l, nil
	}
	if *next >= len(f.columns) {
		return nil, corrupt.At(-1, "field %q: column %d of a file that has %d", n.Name, *next, len(f.columns))
	}
	l.column = f.columns[*next]
	*next++
	return l, nil
}

// addChildren deals out the columns of the fields of a struct, unless it is packed, and of the items of a list.
func (l *layout) addChildren(deal func(n *Node, t arrow.DataType, next *int) (*layout, error), next *int) error {
	var of []arrow.Field
	switch storage := storageType(l.t).(type) {
	case *arrow.StructType:
		if !l.isPacked() {
			of = storage.Fields()
		}
	case arrow.ListLikeType:
		if storage.ID() != arrow.FIXED_SIZE_LIST {
			of = []arrow.Field{storage.ElemField()}
		}
	}
	for i, field := range of {
		child, err := deal(l.node.Children[i], field.Type, next)
		if err != nil {
			return err
		}
		l.children = append(l.children, child)
	}
	return nil
}

// storageType is the type that values of a type are stored in.
func storageType(t arrow.DataType) arrow.DataType {
	if ext, ok := t.(arrow.ExtensionType); ok {
		return ext.StorageType()
	}
	return t
}

// bytesOf gives strings that are stored as lists the column of their bytes.
func (f *File) bytesOf(l *layout, next *int) error {
	bytes := &Node{Field: Field{Name: l.node.Name}}
	child, err := f.layout(bytes, arrow.PrimitiveTypes.Uint8, next)
	l.children = []*layout{child}
	return err
}

// isPacked reports whether the rows of a struct lie in one column.
func (l *layout) isPacked() bool {
	for _, key := range []string{packedKey, packedOldKey} {
		if v := l.node.Metadata[key]; v == "true" {
			return true
		}
	}
	return l.column != nil && l.startsWith(packedKind)
}

// startsWith reports whether the first page of the column has an encoding of this kind.
func (l *layout) startsWith(k kind) bool {
	if len(l.column.pages) == 0 {
		return false
	}
	b, err := l.column.pages[0].encoding.message(arrayEncodingType)
	if err != nil {
		return false
	}
	e, err := parseEncoding(b, 0)
	return err == nil && e.kind == k
}

// checkRows compares the number of values of a field with that of the rows it belongs to.
func (f *File) checkRows(l *layout, rows uint64) error {
	if l.column == nil {
		for _, c := range l.children {
			if err := f.checkRows(c, rows); err != nil {
				return err
			}
		}
		return nil
	}
	if l.column.length != rows {
		return corrupt.At(f.c.columns[l.column.index].at, "column %d, of field %q, has %d values for %d rows", l.column.index, l.node.Name, l.column.length, rows)
	}
	if arrow.IsNested(l.t.ID()) && l.t.ID() == arrow.STRUCT {
		for _, c := range l.children {
			if err := f.checkRows(c, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// decoder makes the decoder of a field.
func (l *layout) decoder(ctx context.Context, f *File) (decoder, error) {
	if f.c.version.IsStructural() {
		return l.structural(ctx, f)
	}
	b := &builder{f: f, column: l.column, shared: map[sharedKey]*items{}}
	var fields []decoder
	for _, c := range l.children {
		d, err := c.decoder(ctx, f)
		if err != nil {
			return nil, err
		}
		fields = append(fields, d)
	}
	storage := l.t
	if ext, ok := storage.(arrow.ExtensionType); ok {
		storage = ext.StorageType()
	}
	switch {
	case storage.ID() == arrow.STRUCT:
		b.fields = fields
		if len(l.column.pages) != 1 && !l.isPacked() {
			return nil, corrupt.At(f.c.columns[l.column.index].at, "field %q: a struct has one page, this one has %d", l.node.Name, len(l.column.pages))
		}
	case len(fields) == 1:
		b.items = fields[0]
	}
	out, err := b.chain(ctx, l)
	return out, corrupt.Locate(err, "", f.c.columns[l.column.index].at)
}

// chain makes the decoders of all pages.
func (b *builder) chain(ctx context.Context, l *layout) (*chain, error) {
	encodings, err := b.f.encodings(ctx, l.column)
	if err != nil {
		return nil, err
	}
	out := &chain{t: l.t}
	for i, e := range encodings {
		b.page = &l.column.pages[i]
		if b.page.length > 0 {
			d, err := b.decoder(e, l.t, b.page.length)
			if err != nil {
				return nil, corrupt.Locate(err, "", b.f.c.columns[l.column.index].at)
			}
			out.pages = append(out.pages, link{b.page.first, b.page.first + b.page.length, d})
		}
		inner := e
		for inner.kind == nullableKind && inner.values != nil {
			inner = inner.values
		}
		if inner.kind != listKind {
			continue
		}
		if b.base+inner.count < b.base {
			return nil, corrupt.At(-1, "lists of more items than 64 bits count")
		}
		b.base += inner.count
	}
	if b.items != nil && len(l.children) == 1 && b.base > l.children[0].column.length {
		return nil, corrupt.At(-1, "field %q: lists of %d items, but their column has %d", l.node.Name, b.base, l.children[0].column.length)
	}
	return out, nil
}

// encodings parses those of all pages of a column; what lies elsewhere is fetched.
func (f *File) encodings(ctx context.Context, c *column) ([]*encoding, error) {
	messages, err := f.pageMessages(ctx, c, arrayEncodingType)
	if err != nil {
		return nil, err
	}
	out := make([]*encoding, len(messages))
	for i, b := range messages {
		if out[i], err = parseEncoding(b, 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pageMessages are the messages that describe the pages of a column; what lies elsewhere is fetched.
func (f *File) pageMessages(ctx context.Context, c *column, want string) ([][]byte, error) {
	var elsewhere []extent
	for i := range c.pages {
		if x := c.pages[i].encoding.indirect; x != nil {
			elsewhere = append(elsewhere, *x)
		}
	}
	fetched, err := f.c.fetch(ctx, f.src, elsewhere)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(c.pages))
	for i := range c.pages {
		s := c.pages[i].encoding
		if s.indirect != nil {
			s, fetched = stored{direct: fetched[0]}, fetched[1:]
		}
		if out[i], err = s.message(want); err != nil {
			return nil, err
		}
	}
	return out, nil
}
