package scan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// decoder makes arrays of columns, and batches of arrays.
type decoder struct {
	workers int
	reuse   bool          // the memory of a batch, for the next one
	types   *arrow.Schema // of what comes out
	// conjuncts are the parts of the filter that must all be true, needles the only values that they are true of, nil where they
	// aren't known, and needed is what they need; nil without a filter.
	conjuncts []*filter.Bound
	needles   []*simd.Needle
	needed    *arrow.Schema
	root      string // for errors
	// required are the columns that the shard states hold no null, or hold none somewhere below.
	required []requiredColumn
}

// requiredColumn is a column of the output.
type requiredColumn struct {
	at   int
	node *schema.Node
}

func newDecoder(q *Request) *decoder {
	d := &decoder{workers: q.Workers, reuse: q.ReuseBatches, types: arrowtype.Schema(q.Project), root: q.Root.URL()}
	for i, n := range q.Project.Fields {
		if n.Demands() {
			d.required = append(d.required, requiredColumn{i, n})
		}
	}
	if q.Needed != nil {
		d.needed, d.conjuncts = arrowtype.Schema(q.Needed), q.Filter.Conjuncts()
		d.needles = make([]*simd.Needle, len(d.conjuncts))
		for i, f := range d.conjuncts {
			if want, ok := f.Equals(); ok {
				d.needles[i] = simd.NewNeedle(want)
			}
		}
	}
	return d
}

// reading reads something of a column.
type reading interface {
	of(c column.Column) (arrow.ArrayData, error)
}

// readingFunc is a function that reads.
type readingFunc func(c column.Column) (arrow.ArrayData, error)

func (f readingFunc) of(c column.Column) (arrow.ArrayData, error) { return f(c) }

// chosen reads the rows of a span, or those some of its n rows that a bitmap selects.
type chosen struct {
	span     colstream.Range
	selected []byte
	some, n  int
	mem      *budget.Account
}

func (x *chosen) of(c column.Column) (arrow.ArrayData, error) {
	if x.some == x.n {
		return c.Read(x.span)
	}
	return column.Pick(c, x.span, x.selected, x.some, x.mem)
}

// each reads every column, several at a time.
func (d *decoder) each(ctx context.Context, columns []column.Column, what reading) ([]arrow.ArrayData, error) {
	return d.eachInto(ctx, make([]arrow.ArrayData, len(columns)), columns, what)
}

// eachInto is each whose results are put into out.
func (d *decoder) eachInto(ctx context.Context, out []arrow.ArrayData, columns []column.Column, what reading) ([]arrow.ArrayData, error) {
	if d.workers <= 1 || len(columns) == 1 {
		for i, c := range columns {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			var err error
			if out[i], err = what.of(c); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	err := parallel.Each(ctx, d.workers, len(columns), func(i int) (err error) {
		out[i], err = what.of(columns[i])
		return err
	})
	return out, err
}

// read decodes columns.
func (d *decoder) read(ctx context.Context, columns []column.Column, r colstream.Range) ([]arrow.ArrayData, error) {
	return d.each(ctx, columns, readingFunc(func(c column.Column) (arrow.ArrayData, error) { return c.Read(r) }))
}

// batch makes a record batch of the rows of a match that are selected, nil if none is, for a stripe or a lane of one.
func (d *decoder) batch(ctx context.Context, columns []column.Column, m match, s *stripe) (arrow.RecordBatch, error) {
	n := int(m.span.Len())
	some, mine := n, []byte(nil)
	if m.selected != nil {
		mine = s.mem.Lend(uint64(n+7) / 8)
		clear(mine)
		simd.CopyBits(mine, 0, m.selected, int(m.span.Start-m.rows.Start), n)
		if some = simd.Ones(mine, n); some == 0 {
			return nil, nil
		}
	}
	s.picked = chosen{m.span, mine, some, n, s.mem}
	data, err := d.eachInto(ctx, s.list(len(columns)), columns, &s.picked)
	if err != nil {
		return nil, err
	}
	b := d.record(data, some, s)
	clear(data)
	for _, c := range d.required {
		if err := checkRequired(d.root, b.Column(c.at), c.node); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// checkRequired refuses a null where the shard reports that there is none: who gets the records may rely on it.
func checkRequired(root string, a arrow.Array, n *schema.Node) error {
	path, _, found := arrowtype.FindNull(a, n)
	if !found {
		return nil
	}
	return corrupt.Locate(corrupt.At(-1, "field %q has a null, contrary to the property %s", path, meta.PropertyRequired), root, 0)
}

// record makes a record batch of n rows of the output: one that its reader may keep, or one for which the memory of the batch
// before is used again.
func (d *decoder) record(columns []arrow.ArrayData, n int, s *stripe) arrow.RecordBatch {
	if d.reuse {
		return s.record(d.types, columns, n)
	}
	return givenRecord(d.types, columns, n, s)
}
