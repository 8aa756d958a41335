package textindex

import (
	"context"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
)

// page is one record of the terms shard.
type page struct {
	level   uint8
	entries []pageEntry
}

// pageEntry is a term of a leaf, or a separator of another page.
type pageEntry struct {
	term []byte
	// child is the page of a separator.
	child uint64
	lists []listAt
}

// listAt is where a list lies in the positions shard.
type listAt struct {
	stripe     uint16
	field      uint32
	kind       Kind
	start, end uint64
}

// readPage reads and checks page n of a terms shard; limit is the size of the positions shard.
func readPage(ctx context.Context, s *indexshard.Shard, n, limit uint64) (*page, error) {
	pages, err := readPages(ctx, s, n, n+1, limit)
	if err != nil {
		return nil, err
	}
	return pages[0], nil
}

// readPages reads and checks pages [from, to).
func readPages(ctx context.Context, s *indexshard.Shard, from, to, limit uint64) ([]*page, error) {
	batches, err := s.Read(ctx, from, to)
	if err != nil {
		return nil, err
	}
	var out []*page
	for _, b := range batches {
		d := &pageDecoder{shard: s, limit: limit}
		if !d.open(b) {
			return nil, s.Corrupt("the schema is not that of the terms of a text index: %v", s.Schema())
		}
		for row := range int(b.NumRows()) {
			d.n = from + uint64(len(out))
			p, err := d.page(row)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// pageDecoder takes pages out of their columns.
type pageDecoder struct {
	shard    *indexshard.Shard
	n, limit uint64

	level        *array.Uint8
	entries      *indexshard.List
	term         *array.LargeBinary
	child, start *array.Uint64
	stripes      *indexshard.List
	stripe       *array.Uint16
	fields       *indexshard.List
	field        *array.Uint32
	kind         *array.Uint8
	end          *array.Uint64
	next         uint64 // where the next list starts
}

// open finds the columns by name; false if one is missing or of another type.
func (d *pageDecoder) open(b arrow.RecordBatch) (ok bool) {
	column := func(name string) arrow.Array {
		if at := b.Schema().FieldIndices(name); len(at) == 1 {
			return b.Column(at[0])
		}
		return nil
	}
	all := true
	d.level = typed[*array.Uint8](column("level"), &all)
	d.start = typed[*array.Uint64](column("pos_list_start_offset"), &all)
	if d.entries = indexshard.NewList(column("entries")); d.entries == nil {
		return false
	}
	d.term = typed[*array.LargeBinary](indexshard.Member(d.entries.Items, "term"), &all)
	d.child = typed[*array.Uint64](indexshard.Member(d.entries.Items, "child_position"), &all)
	if d.stripes = indexshard.NewList(indexshard.Member(d.entries.Items, "term_positions")); d.stripes == nil {
		return false
	}
	d.stripe = typed[*array.Uint16](indexshard.Member(d.stripes.Items, "stripe_id"), &all)
	if d.fields = indexshard.NewList(indexshard.Member(d.stripes.Items, "fields")); d.fields == nil {
		return false
	}
	d.field = typed[*array.Uint32](indexshard.Member(d.fields.Items, "field_schema_id"), &all)
	d.kind = typed[*array.Uint8](indexshard.Member(d.fields.Items, "repr_type"), &all)
	d.end = typed[*array.Uint64](indexshard.Member(d.fields.Items, "pos_list_end_offset"), &all)
	return all
}

// typed takes a column for one of a type; ok becomes false if it is none.
func typed[A arrow.Array](a arrow.Array, ok *bool) A {
	c, is := a.(A)
	*ok = *ok && is
	return c
}

// page decodes a record of the columns.
func (d *pageDecoder) page(row int) (*page, error) {
	p := &page{level: d.level.Value(row)}
	first, last := d.entries.Range(row)
	if first == last {
		return nil, d.shard.Corrupt("page %d has no entries", d.n)
	}
	if p.level == 0 {
		if d.start.IsNull(row) {
			return nil, d.shard.Corrupt("leaf %d lacks the start of its lists", d.n)
		}
		d.next = d.start.Value(row)
	}
	p.entries = make([]pageEntry, 0, last-first)
	for i := first; i < last; i++ {
		e, err := d.entry(i, p.level)
		if err != nil {
			return nil, err
		}
		p.entries = append(p.entries, e)
	}
	return p, nil
}

// entry decodes an entry of the page.
func (d *pageDecoder) entry(i int, level uint8) (e pageEntry, err error) {
	if e.term = d.term.Value(i); d.term.IsNull(i) || !utf8.Valid(e.term) {
		return e, d.shard.Corrupt("page %d holds a term that is not text", d.n)
	}
	if level > 0 {
		if e.child = d.child.Value(i); d.child.IsNull(i) || e.child >= d.n {
			return e, d.shard.Corrupt("page %d refers to page %d, which is not before it", d.n, e.child)
		}
		return e, nil
	}
	if d.stripes.IsNull(i) {
		return e, d.shard.Corrupt("leaf %d has a term without lists", d.n)
	}
	from, to := d.stripes.Range(i)
	for k := from; k < to; k++ {
		first, last := d.fields.Range(k)
		for f := first; f < last; f++ {
			l := listAt{stripe: d.stripe.Value(k), field: d.field.Value(f), kind: Kind(d.kind.Value(f)), start: d.next, end: d.end.Value(f)}
			if l.kind > ApproximateRanges {
				return e, d.shard.Corrupt("leaf %d has a list of the unknown form %d", d.n, l.kind)
			}
			if l.end < l.start || l.end > d.limit {
				return e, d.shard.Corrupt("leaf %d has a list at [%d, %d) of %d positions", d.n, l.start, l.end, d.limit)
			}
			e.lists = append(e.lists, l)
			d.next = l.end
		}
	}
	return e, nil
}
