package tablelife

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// underWay is a source that lets something else happen before its first batch.
type underWay struct {
	*source
	first func()
}

func (s *underWay) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if s.first != nil {
		s.first()
		s.first = nil
	}
	return s.source.Next(ctx)
}

// wayIn is how rows get into a table: before is done while nulls are allowed, and in once the column is required, which in states by calling
// require where the rows are under way then.
type wayIn struct {
	name   string
	before func(rows []*row)
	in     func(rows []*row, require func()) error
	// want are the rows of main afterwards, if not those before and rows.
	want func(rows []*row) []*row
	// retried ways end with a conflict where the columns change under them.
	retried bool
}

// waysIn delivers by one of the ways in which rows get into a table. One time of two the rows are on their way while nulls are allowed, and then
// a column is required: rows with a null have to be refused, and those without have to come in.
func (l *life) waysIn() {
	if len(l.branches[mainBranch].history) == 0 {
		return
	}
	if _, there := l.branches["side"]; there {
		l.step("drop side")
		l.must(l.tbl.DropRef(ctx, "side"))
		delete(l.branches, "side")
	}
	c := pick(l.r, l.columns)
	if c.required || l.r.IntN(4) == 0 {
		l.pickTheSameKeys()
		return
	}
	w := l.wayIn(c)
	rows := l.newRows(1 + l.r.IntN(4))
	dirty := l.r.IntN(3) > 0
	for i, x := range rows {
		if x.values[c.id].null {
			x.values[c.id] = newValue(l.r, c.was)
		}
		if dirty && (i == 0 || l.r.IntN(2) == 0) {
			x.values[c.id] = null
		}
	}
	l.step("%d rows by %s while %s is required, refused %v", len(rows), w.name, c.name, dirty)
	if w.before != nil {
		w.before(rows)
	}
	l.deleteNulls(c)
	require := func() {
		l.must(l.other().RequireColumn(ctx, c.name))
		c.required = true
	}
	err := w.in(rows, require)
	switch {
	case !c.required:
		l.fail("%s was not under way: %v", w.name, err)
	case errors.Is(err, catalog.ErrConflict) && w.retried: // nothing came in
	case errors.Is(err, manifest.ErrPartition) && l.partitioned: // the shard has rows of several partitions
	case dirty && !errors.Is(err, manifest.ErrSchema):
		l.fail("rows with nulls in the required column %s, by %s: %v", c.name, w.name, err)
	case !dirty:
		l.must(err)
		l.tbl = l.other()
		l.committed(mainBranch, w.want(rows))
	}
	l.tbl = l.other()
	for range 4 {
		l.refs()
	}
}

// other is the table as another program loads it.
func (l *life) other() *catalog.Table {
	t, err := l.c.Load(ctx, l.tbl.Name())
	l.must(err)
	return t
}

// deleteNulls deletes the rows of main that are null in a column.
func (l *life) deleteNulls(c *column) {
	nulls := condition{c.name + " IS NULL", "", func(w *row) truth { return truthOf(w.value(c.id).null) }}
	e, err := filter.Parse(nulls.text)
	l.must(err)
	_, err = l.tbl.Delete(ctx, e, catalog.DeleteOptions{})
	l.must(err)
	_, left := matching(l.branches[mainBranch].rows, nulls)
	l.committed(mainBranch, left)
}

// wayIn draws one. The column c is about to be required.
func (l *life) wayIn(c *column) wayIn {
	main := func() []*row { return l.branches[mainBranch].rows }
	plain := func(rows []*row) []*row { return slices.Concat(main(), rows) }
	underWayOf := func(rows []*row, require func()) catalog.RecordSource { return &underWay{l.source(rows), require} }
	keys := slices.DeleteFunc(l.keyed(), func(k *column) bool { return k == c })
	if len(keys) == 0 || keys[0].required { // whose values newRows has drawn already
		keys = nil
	}
	switch n := l.r.IntN(7); {
	case n == 0:
		var run string
		job := fmt.Sprintf("late-%d", l.serial)
		return wayIn{"a late commit", func(rows []*row) {
			o := l.options()
			o.JobID = job
			w, err := l.tbl.WriteShards(ctx, l.source(rows), "", o)
			l.must(err)
			run = w.Run
		}, func(_ []*row, require func()) error {
			require()
			_, err := l.tbl.CommitShards(ctx, "", job, []string{run})
			if err != nil { // else no column that the shards may have can be dropped
				_, discard := l.tbl.DiscardShards(ctx, job)
				l.must(discard)
			}
			return err
		}, plain, false}
	case n == 1:
		var snapshot int64
		return wayIn{"cherry-pick", func(rows []*row) { snapshot = l.onSide(rows, l.options()) }, func(_ []*row, require func()) error {
			require()
			_, err := l.tbl.CherryPick(ctx, snapshot)
			return err
		}, plain, false}
	case n == 2:
		some := func(rows []*row) []*row {
			if l.partitioned {
				return rows[:1]
			}
			return rows
		}
		return wayIn{"register", nil, func(rows []*row, require func()) error {
			require()
			return l.registerRows(some(rows))
		}, func(rows []*row) []*row { return plain(some(rows)) }, false}
	case n == 3:
		return wayIn{"an overwrite", nil, func(rows []*row, require func()) error {
			e, err := filter.Parse("serial < 0")
			l.must(err)
			_, err = l.tbl.Overwrite(ctx, e, underWayOf(rows, require), l.options())
			return err
		}, plain, false}
	case n == 4 && len(keys) > 0:
		k := keys[0]
		return wayIn{"an upsert by " + k.name, nil, func(rows []*row, require func()) error {
			for _, w := range rows {
				if w.values[k.id].null {
					w.values[k.id] = newValue(l.r, k.was)
				}
			}
			o := l.options()
			o.UpsertBy = []string{k.name}
			_, err := l.tbl.Ingest(ctx, underWayOf(rows, require), o)
			return err
		}, func(rows []*row) []*row {
			want, _, _ := byKey(main(), rows, []int{k.id}, false)
			return want
		}, true}
	}
	return wayIn{"an ingest", nil, func(rows []*row, require func()) error {
		_, err := l.tbl.Ingest(ctx, underWayOf(rows, require), l.options())
		return err
	}, plain, false}
}

// onSide appends rows to a branch that goes again, and gives the snapshot.
func (l *life) onSide(rows []*row, o catalog.IngestOptions) int64 {
	_, err := l.tbl.CreateBranch(ctx, "side", 0)
	l.must(err)
	o.Ref = "side"
	in, err := l.tbl.Ingest(ctx, l.source(rows), o)
	l.must(err)
	l.snapshots[in.SnapshotID] = slices.Concat(l.branches[mainBranch].rows, rows)
	l.must(l.tbl.DropRef(ctx, "side"))
	return in.SnapshotID
}

// pickTheSameKeys delivers rows by a key to a branch, then rows of the same keys to main, and picks the first.
func (l *life) pickTheSameKeys() {
	key := l.keyed()
	if len(key) == 0 {
		return
	}
	k := key[0]
	rows := l.newRows(1 + l.r.IntN(4))
	// None may be on the branch before, else the delivery replaces rows, and is nothing that can be picked.
	taken := map[string]bool{}
	for _, w := range l.branches[mainBranch].rows {
		text, _ := keyOf(w, []int{k.id})
		taken[text] = true
	}
	rows = slices.DeleteFunc(rows, func(w *row) bool {
		text, ok := keyOf(w, []int{k.id})
		was := taken[text]
		taken[text] = true
		return !ok || was
	})
	if len(rows) == 0 {
		return
	}
	unique := l.r.IntN(2) == 0
	o := l.options()
	if o.UpsertBy = []string{k.name}; unique {
		o.UpsertBy, o.Unique = nil, o.UpsertBy
	}
	l.step("cherry-pick %d rows by %s, unique %v, whose keys main has", len(rows), k.name, unique)
	snapshot := l.onSide(rows, o)
	same := l.newRows(len(rows))
	for i, w := range same {
		w.values[k.id] = rows[i].values[k.id]
	}
	_, err := l.tbl.Ingest(ctx, l.source(same), l.options())
	l.must(err)
	l.committed(mainBranch, slices.Concat(l.branches[mainBranch].rows, same))
	_, err = l.tbl.CherryPick(ctx, snapshot)
	if unique {
		if !errors.Is(err, catalog.ErrExists) {
			l.fail("cherry-pick of a key that is there: %v", err)
		}
		return
	}
	l.must(err)
	want, _, _ := byKey(l.branches[mainBranch].rows, rows, []int{k.id}, false)
	l.committed(mainBranch, want)
}

// registerRows registers a shard of rows that somebody else wrote, whose fields may all be null.
func (l *life) registerRows(rows []*row) error {
	var columns []*column
	for _, c := range l.columns {
		free := *c
		free.required = false
		columns = append(columns, &free)
	}
	url := fmt.Sprintf("mem://%s/elsewhere/%d.amudai.shard", l.bucket, rows[0].serial)
	w, err := shardfmt.NewWriter(ctx, l.c.Client(), url, schemaOf(columns), shardfmt.WriterOptions{})
	l.must(err)
	l.must(w.Write(ctx, batchOf(columns, rows)))
	_, err = w.Close(ctx)
	l.must(err)
	_, err = l.tbl.Register(ctx, []string{url}, catalog.RegisterOptions{})
	if errors.Is(err, catalog.ErrInvalid) { // names that are those of other columns in shards from before
		l.step("register a copy: %v", err)
		_, err = l.tbl.Register(ctx, []string{url}, catalog.RegisterOptions{Copy: true})
	}
	return err
}

// register registers a shard. One with rows of several partitions, or with bounds that identify none, is refused.
func (l *life) register() {
	rows := l.newRows(1 + l.r.IntN(3))
	if l.partitioned {
		rows = rows[:1]
	}
	l.step("register %d rows from serial %d", len(rows), rows[0].serial)
	err := l.registerRows(rows)
	if l.partitioned && errors.Is(err, manifest.ErrPartition) {
		return
	}
	l.must(err)
	l.committed(mainBranch, slices.Concat(l.branches[mainBranch].rows, rows))
}
