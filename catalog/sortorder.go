package catalog

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/rowsort"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// SortBy declares the order of the rows of new shards: what is ingested is sorted, and so is what compaction rebuilds; shards
// that are there stay as they are. No keys end it.
func (t *Table) SortBy(ctx context.Context, keys []OrderKey) error {
	return t.update(ctx, func() (*metaUpdate, error) {
		order, err := sortOrder(keys, t.schema.Shard, func(n *schema.Node, _ string) int { return t.schema.IDs[n.ID] })
		if err != nil {
			return nil, err
		}
		meta := t.ice.Metadata()
		u := &metaUpdate{
			requirements: []table.Requirement{table.AssertDefaultSortOrderID(meta.DefaultSortOrder())},
			done: func(meta table.Metadata) bool {
				is := meta.SortOrder()
				return sameOrder(&is, &order)
			},
		}
		if u.done(meta) {
			return nil, nil
		}
		next := 0
		for _, o := range meta.SortOrders() {
			if sameOrder(&o, &order) {
				u.updates = []table.Update{table.NewSetDefaultSortOrderUpdate(o.OrderID())}
				return u, nil
			}
			next = max(next, o.OrderID()+1)
		}
		if len(keys) > 0 {
			order, err = table.NewSortOrder(next, slices.Collect(valuesOf(order.Fields())))
		}
		u.updates = []table.Update{table.NewAddSortOrderUpdate(&order), table.NewSetDefaultSortOrderUpdate(-1)}
		return u, err
	})
}

// SortOrder is the declared order of new shards, nil if there is none, or one by transforms that another engine declared:
// that one is not kept here, and shards don't claim it.
func (t *Table) SortOrder() []OrderKey {
	order := t.ice.Metadata().SortOrder()
	var keys []OrderKey
	for _, f := range order.Fields() {
		path := t.pathOf(f.SourceID())
		if _, plain := f.Transform.(iceberg.IdentityTransform); !plain || len(f.SourceIDs) != 1 || path == nil {
			return nil
		}
		keys = append(keys, OrderKey{
			Column: schema.JoinPath(path...), Descending: f.Direction == table.SortDESC, NullsFirst: f.NullOrder == table.NullsFirst,
		})
	}
	return keys
}

// pathOf names the steps to a field of the current schema, nil if it has none of that id.
func (t *Table) pathOf(id int) []string {
	var find func(nodes []*schema.Node) []string
	find = func(nodes []*schema.Node) []string {
		for _, n := range nodes {
			if t.schema.IDs[n.ID] == id {
				return []string{n.Name}
			}
			if n.Basic != schema.Struct {
				continue
			}
			if below := find(n.Children); below != nil {
				return append([]string{n.Name}, below...)
			}
		}
		return nil
	}
	return find(t.schema.Shard.Fields)
}

// firstOrder is the order of a table that is being made.
func firstOrder(o *CreateOptions, ice *iceberg.Schema) (table.SortOrder, error) {
	return sortOrder(o.SortOrder, o.Schema, func(_ *schema.Node, column string) int {
		f, _ := ice.FindFieldByName(strings.Join(schema.SplitPath(column), "."))
		return f.ID
	})
}

// sortOrder is an order in Iceberg's terms, numbered 1, or the unsorted one; id reports the field id of a column.
func sortOrder(keys []OrderKey, s *schema.Schema, id func(n *schema.Node, column string) int) (table.SortOrder, error) {
	if len(keys) == 0 {
		return table.UnsortedSortOrder, nil
	}
	var fields []table.SortField
	for _, k := range keys {
		n, err := s.Lookup(k.Column)
		if err != nil {
			return table.SortOrder{}, fmt.Errorf("%w: sort order: %w", ErrInvalid, err)
		}
		if n.IsDecimal() || n.IsDynamic() || n.Basic >= schema.List {
			return table.SortOrder{}, fmt.Errorf("%w: sort order: column %q is of type %s, which other engines order differently or not at all",
				ErrInvalid, k.Column, n.BareType())
		}
		f := table.SortField{
			SourceIDs: []int{id(n, k.Column)}, Transform: iceberg.IdentityTransform{}, Direction: table.SortASC, NullOrder: table.NullsLast,
		}
		if k.Descending {
			f.Direction = table.SortDESC
		}
		if k.NullsFirst {
			f.NullOrder = table.NullsFirst
		}
		if slices.ContainsFunc(fields, func(g table.SortField) bool { return g.SourceID() == f.SourceID() }) {
			return table.SortOrder{}, fmt.Errorf("%w: sort order: column %q is listed twice", ErrInvalid, k.Column)
		}
		fields = append(fields, f)
	}
	return table.NewSortOrder(1, fields)
}

// sameOrder compares orders without their numbers.
func sameOrder(a, b *table.SortOrder) bool {
	return slices.EqualFunc(slices.Collect(valuesOf(a.Fields())), slices.Collect(valuesOf(b.Fields())), table.SortField.Equals)
}

func valuesOf[K, V any](pairs iter.Seq2[K, V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range pairs {
			if !yield(v) {
				return
			}
		}
	}
}

// orderID is the number of the table's order if keys are it, 0 otherwise: that of shards in no declared order.
func (t *Table) orderID(keys []OrderKey) int {
	if len(keys) == 0 || !slices.Equal(keys, t.SortOrder()) {
		return 0
	}
	return t.ice.Metadata().DefaultSortOrder()
}

// formatOrder writes keys as ParseOrder reads them.
func formatOrder(keys []OrderKey) string {
	var out []string
	for _, k := range keys {
		text := quotedPath(k.Column)
		if k.Descending {
			text += " desc"
		}
		if k.NullsFirst {
			text += " nulls first"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// quotedPath is a dotted path with quotes around names that ParseOrder would cut.
func quotedPath(path string) string {
	names := schema.SplitPath(path)
	for i, name := range names {
		if strings.ContainsAny(name, "\"\\., \t\n") || name == "" {
			names[i] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
	}
	return strings.Join(names, ".")
}

// inOrder sorts rows by the table's declared order, with bounded memory and temporary files; without one they pass.
func (t *Table) inOrder(ctx context.Context, rows iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return t.sorted(ctx, t.SortOrder(), rows)
}

// sorted is inOrder for an order of the caller's; with an empty one rows pass.
func (t *Table) sorted(ctx context.Context, order []OrderKey, rows iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	if len(order) == 0 {
		return rows
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		var keys []rowsort.Key
		for _, k := range order {
			keys = append(keys, rowsort.Key{Path: schema.SplitPath(k.Column), Descending: k.Descending, NullsFirst: k.NullsFirst})
		}
		s, err := rowsort.New(arrowtype.Schema(t.schema.Shard), keys, rowsort.Options{})
		if err != nil {
			yield(nil, fmt.Errorf("%w: sort order: %w", ErrInvalid, err))
			return
		}
		s.Drain(ctx, rows, t.cat.opts.Log)(yield)
	}
}

// ParseOrder reads keys as they are typed: "a, b.c desc, d nulls first".
func ParseOrder(text string) ([]OrderKey, error) {
	var keys []OrderKey
	for rest, more := text, true; more; {
		column, words, behind, found := cutKey(rest)
		if rest, more = behind, found; column == "" {
			return nil, fmt.Errorf("%w: order %q: missing column", ErrInvalid, text)
		}
		k := OrderKey{Column: column}
		switch rest := strings.ToLower(strings.Join(strings.Fields(words), " ")); rest {
		case "", "asc", "nulls last", "asc nulls last":
		case "desc", "desc nulls last":
			k.Descending = true
		case "nulls first", "asc nulls first":
			k.NullsFirst = true
		case "desc nulls first":
			k.Descending, k.NullsFirst = true, true
		default:
			return nil, fmt.Errorf("%w: order %q: expected asc, desc, nulls first or nulls last after a column, not %q", ErrInvalid, text, rest)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// cutKey cuts off the first key of an order: its column, as a dotted path, and the words behind it. Names in double quotes may hold
// anything, dots, spaces and commas too; a quote in them is doubled.
func cutKey(text string) (column, words, rest string, more bool) {
	text = strings.TrimLeft(text, " \t\n")
	var path []byte
	for text != "" && !strings.ContainsRune(" \t\n,", rune(text[0])) {
		if text[0] != '"' {
			path, text = append(path, text[0]), text[1:]
			continue
		}
		var name []byte
		for text = text[1:]; text != ""; text = text[1:] {
			if strings.HasPrefix(text, `""`) {
				text = text[1:]
			} else if text[0] == '"' {
				text = text[1:]
				break
			}
			name = append(name, text[0])
		}
		path = append(path, schema.JoinPath(string(name))...)
	}
	words, rest, more = strings.Cut(text, ",")
	return string(path), words, rest, more
}
