package textindex

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// termsSchema is that of the terms shard; List items are called item.
const termsSchema = `level: UInt8, entries: List<Struct<term: Binary, child_position: UInt64, ` +
	`term_positions: List<Struct<stripe_id: UInt16, fields: List<Struct<field_schema_id: UInt32, repr_type: UInt8, pos_list_end_offset: UInt64>>>>>>, ` +
	`pos_list_start_offset: UInt64`

const (
	// leafBytes and innerBytes are the estimated sizes beyond which a page is full.
	leafBytes, innerBytes = 8192, 4096
	// listBytes and separatorBytes are what a list and a separator count besides the bytes of a term.
	listBytes, separatorBytes = 16, 24
	// batchPages are written at a time.
	batchPages = 64
)

// tree builds the pages: the leaves as they fill up, and behind them level by level the pages above, so that those lie
// together at the end of the artifact, where a reader begins, and the root comes last.
type tree struct {
	out   *shardwriter.Writer
	rows  *array.RecordBuilder
	pages uint64 // written
	leaf  openPage
	// separators are those of the leaves.
	separators *separators
	spill      *colstream.Spill
}

// openPage is a page that is being filled.
type openPage struct {
	entries []pageEntry
	bytes   int
}

// newTree makes a tree whose separators go to a Spill, if it is not nil.
func newTree(out *shardwriter.Writer, s *arrow.Schema, spill *colstream.Spill) *tree {
	return &tree{out: out, rows: array.NewRecordBuilder(memory.DefaultAllocator, s), separators: newSeparators(spill), spill: spill}
}

// add appends a list of a term, which is not below those before.
func (t *tree) add(ctx context.Context, term string, l listAt) error {
	leaf := &t.leaf
	if n := len(leaf.entries); n == 0 || string(leaf.entries[n-1].term) != term {
		leaf.begin(term)
		leaf.bytes += len(term)
	}
	last := &leaf.entries[len(leaf.entries)-1]
	last.lists = append(last.lists, l)
	if leaf.bytes += listBytes; leaf.bytes > leafBytes {
		return t.endLeaf(ctx)
	}
	return nil
}

// begin appends an entry without lists, in the memory of one of an earlier page.
func (p *openPage) begin(term string) {
	n := len(p.entries)
	p.entries = slices.Grow(p.entries, 1)[:n+1]
	e := &p.entries[n]
	e.term, e.lists = append(e.term[:0], term...), e.lists[:0]
}

// endLeaf writes the leaf and notes its separator.
func (t *tree) endLeaf(ctx context.Context) error {
	if err := t.separators.add(t.leaf.greatest(), t.pages); err != nil {
		return err
	}
	return t.write(ctx, 0, &t.leaf)
}

// greatest is the last term of the page.
func (p *openPage) greatest() []byte { return p.entries[len(p.entries)-1].term }

// finish writes the last leaf and the pages above, the root last.
func (t *tree) finish(ctx context.Context) error {
	if len(t.leaf.entries) > 0 {
		if err := t.endLeaf(ctx); err != nil {
			return err
		}
	}
	below := t.separators
	for level := 1; below.n > 0; level++ {
		above, err := t.writeLevel(ctx, level, below)
		if err != nil {
			return err
		}
		if above.n == 1 {
			break
		}
		below = above
	}
	return t.flush(ctx)
}

// writeLevel writes the pages of a level, and gives their separators.
func (t *tree) writeLevel(ctx context.Context, level int, below *separators) (above *separators, err error) {
	var p openPage
	above = newSeparators(t.spill)
	err = below.each(func(e pageEntry, last bool) error {
		p.entries = append(p.entries, e)
		p.bytes += separatorBytes + len(e.term)
		if p.bytes <= innerBytes && !last {
			return nil
		}
		if err := above.add(p.greatest(), t.pages); err != nil {
			return err
		}
		return t.write(ctx, level, &p)
	})
	return above, err
}

// write appends a page and empties it.
func (t *tree) write(ctx context.Context, level int, p *openPage) error {
	t.rows.Field(0).(*array.Uint8Builder).Append(uint8(level))
	entries := t.rows.Field(1).(*array.LargeListBuilder)
	entries.Append(true)
	for i := range p.entries {
		appendEntry(entries.ValueBuilder().(*array.StructBuilder), level, &p.entries[i])
	}
	if start := t.rows.Field(2).(*array.Uint64Builder); level == 0 {
		start.Append(p.entries[0].lists[0].start)
	} else {
		start.AppendNull()
	}
	p.entries, p.bytes = p.entries[:0], 0
	if t.pages++; t.pages%batchPages == 0 {
		return t.flush(ctx)
	}
	return nil
}

func appendEntry(b *array.StructBuilder, level int, e *pageEntry) {
	b.Append(true)
	b.FieldBuilder(0).(*array.BinaryBuilder).Append(e.term)
	child, stripes := b.FieldBuilder(1).(*array.Uint64Builder), b.FieldBuilder(2).(*array.LargeListBuilder)
	if level > 0 {
		child.Append(e.child)
		stripes.AppendNull()
		return
	}
	child.AppendNull()
	stripes.Append(true)
	stripe := stripes.ValueBuilder().(*array.StructBuilder)
	for i, l := range e.lists {
		if i == 0 || l.stripe != e.lists[i-1].stripe {
			stripe.Append(true)
			stripe.FieldBuilder(0).(*array.Uint16Builder).Append(l.stripe)
			stripe.FieldBuilder(1).(*array.LargeListBuilder).Append(true)
		}
		field := stripe.FieldBuilder(1).(*array.LargeListBuilder).ValueBuilder().(*array.StructBuilder)
		field.Append(true)
		field.FieldBuilder(0).(*array.Uint32Builder).Append(l.field)
		field.FieldBuilder(1).(*array.Uint8Builder).Append(uint8(l.kind))
		field.FieldBuilder(2).(*array.Uint64Builder).Append(l.end)
	}
}

func (t *tree) flush(ctx context.Context) error {
	b := t.rows.NewRecordBatch()
	defer b.Release()
	return t.out.Write(ctx, b)
}
