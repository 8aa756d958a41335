package vparquet

import (
	"context"
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Converted types, by their number in the format. Readers that don't know logical types need them.
const (
	convertedUTF8    = 0
	convertedMap     = 1
	convertedList    = 3
	convertedDecimal = 5
	convertedDate    = 6
	convertedMicros  = 10
)

// Members of the union of logical types.
const (
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTimestamp = 8
	logicalUUID      = 14
)

// span is what the footer states about a chunk that need not be known for the layout.
type span struct{ entries, size, indexLength int64 }

// extents finds the sizes of all chunks.
func (f *File) extents(ctx context.Context) ([]span, error) {
	out := make([]span, 0, len(f.groups)*len(f.leaves))
	for g := range f.groups {
		for c, l := range f.leaves {
			k := &f.groups[g].chunks[c]
			s := span{k.entries, k.size, k.indexRoom}
			if !k.exact {
				n, err := f.count(ctx, g, c)
				if err != nil {
					return nil, err
				}
				s.entries, s.size = n.entries, n.bytes
				s.indexLength = indexBytes(int64(len(n.pages)))
			} else {
				s.indexLength = indexBytes(ceil(f.groups[g].rows, int64(l.rowsPerPage())))
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// encodeFooter writes the footer. Its length does not depend on the spans, which are zero if there are none.
func (f *File) encodeFooter(all []span) []byte {
	if all == nil {
		all = make([]span, len(f.groups)*len(f.leaves))
	}
	t := &thrift{}
	t.open()
	t.i32(1, 1, 0)
	t.list(2, thriftStruct, len(f.elements))
	for i := range f.elements {
		t.element(&f.elements[i])
	}
	t.i64(3, f.rows, 0)
	t.list(4, thriftStruct, len(f.groups))
	for g := range f.groups {
		f.encodeGroup(t, g, all[g*len(f.leaves):])
	}
	t.bytes(6, []byte("shardcat"))
	t.list(7, thriftStruct, len(f.leaves))
	for range f.leaves { // values are ordered by their types
		t.open()
		t.structure(1)
		t.close()
		t.close()
	}
	t.close()
	return t.b
}

func (f *File) encodeGroup(t *thrift, g int, all []span) {
	group := &f.groups[g]
	t.open()
	t.list(1, thriftStruct, len(group.chunks))
	total := int64(0)
	for c, l := range f.leaves {
		t.chunk(l, &group.chunks[c], all[c])
		total += all[c].size
	}
	t.i64(2, total, padI64)
	t.i64(3, group.rows, 0)
	if len(group.chunks) > 0 {
		t.i64(5, group.chunks[0].start, 0)
	}
	t.i64(6, total, padI64)
	t.close()
}

func (t *thrift) chunk(l *leaf, k *chunk, s span) {
	t.open()
	t.i64(2, 0, 0)
	t.structure(3)
	t.i32(1, int32(l.physical), 0)
	t.list(2, thriftI32, 2)
	t.varint(zigzag(0), 0) // PLAIN
	t.varint(zigzag(3), 0) // RLE
	t.list(3, thriftBinary, len(l.path))
	for _, name := range l.path {
		t.text(name)
	}
	t.i32(4, 0, 0) // uncompressed
	t.i64(5, s.entries, padI64)
	t.i64(6, s.size, padI64)
	t.i64(7, s.size, padI64)
	t.i64(9, k.start, 0)
	if st := &k.stats; st.counted || st.low != nil || st.high != nil {
		t.structure(12)
		if st.counted {
			t.i64(3, st.nulls, 0)
		}
		if st.high != nil {
			t.bytes(5, st.high)
		}
		if st.low != nil {
			t.bytes(6, st.low)
		}
		t.close()
	}
	t.close()
	t.i64(4, k.index, 0)
	t.i32(5, int32(s.indexLength), padI32)
	t.close()
}

// element writes a node of the schema.
func (t *thrift) element(e *element) {
	t.open()
	l := e.leaf
	if l != nil {
		t.i32(1, int32(l.physical), 0)
		if l.physical == fixed {
			t.i32(2, int32(l.width), 0)
		}
	}
	if e.repetition >= 0 {
		t.i32(3, e.repetition, 0)
	}
	t.bytes(4, []byte(e.name))
	if l == nil {
		t.i32(5, int32(e.children), 0)
	}
	logical := e.annotate(t)
	if e.id > 0 {
		t.i32(9, int32(e.id), 0)
	}
	if logical > 0 {
		t.structure(10)
		t.structure(int16(logical))
		switch logical {
		case logicalDecimal:
			t.i32(1, int32(l.scale), 0)
			t.i32(2, int32(l.precision), 0)
		case logicalTimestamp:
			if l.local {
				t.field(1, thriftFalse)
			} else {
				t.field(1, thriftTrue)
			}
			t.structure(2)
			t.structure(2) // microseconds
			t.close()
			t.close()
		}
		t.close()
		t.close()
	}
	t.close()
}

// annotate writes the converted type of an element and gives its logical type, 0 for none.
func (e *element) annotate(t *thrift) (logical int) {
	l := e.leaf
	switch {
	case e.list:
		t.i32(6, convertedList, 0)
		return logicalList
	case e.dict:
		t.i32(6, convertedMap, 0)
		return logicalMap
	case l == nil:
		return 0
	case l.isText():
		t.i32(6, convertedUTF8, 0)
		return logicalString
	case l.precision > 0:
		t.i32(6, convertedDecimal, 0)
		t.i32(7, int32(l.scale), 0)
		t.i32(8, int32(l.precision), 0)
		return logicalDecimal
	case l.form == asDate:
		t.i32(6, convertedDate, 0)
		return logicalDate
	case l.form == asMicros:
		if !l.local {
			t.i32(6, convertedMicros, 0)
		}
		return logicalTimestamp
	case l.node.Basic == schema.Guid:
		return logicalUUID
	}
	return 0
}

// indexPerPage is what a page takes in an offset index: three integers behind a byte each, and an end.
const indexPerPage = 1 + padOffset + 1 + padI32 + 1 + padOffset + 1

// indexBytes is the size of an offset index of so many pages, whose number stands behind the head of the list from 15 on.
func indexBytes(pages int64) int64 {
	n := 3 + pages*indexPerPage
	if pages >= 15 {
		n += int64(bits.Len64(uint64(pages))+6) / 7
	}
	return n
}

// offsetIndex is the offset index of a chunk.
func (f *File) offsetIndex(ctx context.Context, group, column int) ([]byte, error) {
	g, l := &f.groups[group], f.leaves[column]
	at, row := g.chunks[column].start, int64(0)
	t := &thrift{}
	page := func(rows, size int64) {
		t.open()
		t.i64(1, at, padOffset)
		t.i32(2, int32(size), padI32)
		t.i64(3, row, padOffset)
		t.close()
		at, row = at+size, row+rows
	}
	t.open()
	if l.uniform() {
		most := int64(l.rowsPerPage())
		t.list(1, thriftStruct, int(ceil(g.rows, most)))
		for row < g.rows {
			n := min(most, g.rows-row)
			page(n, l.pageSize(n, n, 0))
		}
	} else {
		c, err := f.count(ctx, group, column)
		if err != nil {
			return nil, err
		}
		t.list(1, thriftStruct, len(c.pages))
		for _, p := range c.pages {
			page(int64(p.rows), int64(p.size))
		}
	}
	t.close()
	return t.b, nil
}
