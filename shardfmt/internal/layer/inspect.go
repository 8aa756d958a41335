package layer

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Inspect implements fileformat.File: the columns; from detail 2 on the levels of their trees, which are read for it.
func (f *File) Inspect(ctx context.Context, detail int) (*fileformat.Inspection, error) {
	x := &fileformat.Inspection{URL: f.url, Format: Format.Name, Version: fmt.Sprint(f.t.version), Records: f.Rows(len(f.t.columns) - 1), SizeBytes: f.size, Schema: []*schema.Node{}}
	if f.types != nil {
		s, _, err := arrowtype.FromArrow(arrowtype.Named(f.Schema()))
		if err != nil {
			return nil, err
		}
		x.Schema = s.Fields
	} else {
		x.Warnings = append(x.Warnings, "the file has no types: --"+optionTypes+" sets them")
	}
	x.Parts = append(x.Parts, fileformat.Part{Name: "trailer", Facts: []fileformat.Fact{
		{Name: "compression", Value: f.t.compression.String()}, {Name: "columns", Value: len(f.t.columns)},
		{Name: "filter", Value: f.filterName()}, {Name: "filter_bytes", Value: f.t.filter.size}}})
	x.Parts = append(x.Parts, f.describeRecord()...)
	for i, c := range f.t.columns {
		part := fileformat.Part{Name: fmt.Sprintf("column %d", i), Facts: []fileformat.Fact{
			{Name: "rows", Value: c.rows}, {Name: "root_offset", Value: c.offset}, {Name: "root_bytes", Value: c.size}}}
		if f.keyless(i) {
			part.Facts = append(part.Facts, fileformat.Fact{Name: "value_index", Value: "off"})
		}
		if detail >= 2 && c.rows > 0 {
			w := &walker{f: f, column: i}
			if _, err := w.node(ctx, f.top(i)); err != nil {
				return nil, err
			}
			part.Parts = w.describe()
			part.Facts = append(part.Facts, w.overhead())
		}
		x.Parts = append(x.Parts, part)
	}
	return x, nil
}

func (f *File) filterName() string {
	switch {
	case f.x.table.size > 0:
		return string(Partitioned)
	case f.t.filter.size == 0:
		return string(NoFilter)
	case f.t.incompatible&incompatibleRoar != 0:
		return string(Roaring)
	case f.t.incompatible&incompatibleModule != 0:
		return "bloom in modules"
	}
	return string(Bloom)
}

// describeRecord is what the file states about itself.
func (f *File) describeRecord() []fileformat.Part {
	if f.x.empty() {
		return nil
	}
	p := fileformat.Part{Name: "record"}
	fact := func(name string, value any) { p.Facts = append(p.Facts, fileformat.Fact{Name: name, Value: value}) }
	if f.x.Name != "" {
		fact("name", f.x.Name)
	}
	if f.x.Types != nil {
		fact("types", TypesText(f.x.Types))
	}
	if f.x.Writer != "" {
		fact("writer", f.x.Writer)
	}
	for _, s := range f.x.Settings {
		fact(s.Key, s.Value)
	}
	if f.x.table.size > 0 {
		fact("filter_table_bytes", f.x.table.size)
		fact("filter_bits", f.x.bits)
	}
	return []fileformat.Part{p}
}

// overhead is the size of the index in percent of the data it is for.
func (w *walker) overhead() fileformat.Fact {
	var index, data int64
	for _, l := range w.levels {
		if l.index {
			index += l.bytes
		} else {
			data += l.bytes
		}
	}
	return fileformat.Fact{Name: "index_percent", Value: float64(index*10000/data) / 100}
}

// level sums up the blocks of one depth of a tree.
type level struct {
	index             bool
	blocks            int
	bytes             int64
	entries           uint64 // rows of leaves, children of others
	fewest, mostEntry int
}

// walker goes through the tree of a column.
type walker struct {
	f        *File
	column   int
	levels   []level
	extents  []location
	check    bool
	progress func(int64)

	last      Value // the key before, for the order within a group
	hasLast   bool
	nextGroup uint64  // where the next row's group must begin
	owner     *Cursor // the row of the column before that owns the rows available
	groupEnd  uint64  // of the rows available
	keys      func(row uint64, key Value) error
}

func (w *walker) count(n node, entries int) {
	for len(w.levels) < n.depth {
		w.levels = append(w.levels, level{fewest: entries})
	}
	l := &w.levels[n.depth-1]
	l.index = n.index
	l.blocks++
	l.bytes += n.size
	l.entries += uint64(entries)
	l.fewest, l.mostEntry = min(l.fewest, entries), max(l.mostEntry, entries)
	w.extents = append(w.extents, n.location)
	if w.progress != nil {
		w.progress(n.size)
	}
}

// node visits a block and those below it, in order of rows, and gives the first key.
func (w *walker) node(ctx context.Context, n node) (first Value, err error) {
	if !n.index {
		d, err := w.f.data(ctx, w.column, n.location, n.end-n.start)
		if err != nil {
			return first, err
		}
		w.count(n, d.n)
		if w.check {
			return w.leaf(ctx, n, d)
		}
		return first, nil
	}
	x, err := n.open(ctx, w.f)
	if err != nil {
		return first, err
	}
	w.count(n, x.n)
	for i := range x.n {
		low, err := w.node(ctx, n.child(x, i))
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = low
		}
		if w.check && w.f.types != nil && !w.f.keyless(w.column) {
			if err := w.bounds(x, n, i, low); err != nil {
				return first, err
			}
		}
	}
	return first, nil
}

// bounds compares the keys that an index block gives for a child with those that were seen.
func (w *walker) bounds(x *indexBlock, n node, i int, first Value) error {
	t := w.f.pair(w.column).Key
	for j, seen := range []Value{first, w.last} {
		key, err := w.f.bound(w.column, x, n, 2*i+j)
		if err != nil {
			return err
		}
		if t.Kind != Opaque && t.compare(key, seen) != 0 {
			return corrupt.Locate(corrupt.At(n.offset, "a bound of child %d is not the key of its row", i), w.f.url, 0)
		}
	}
	return nil
}

// leaf checks the values of a data block, and their order within each group.
func (w *walker) leaf(ctx context.Context, n node, d *dataBlock) (first Value, err error) {
	p := w.f.pair(w.column)
	for i := range d.n {
		if w.column < len(w.f.t.columns)-1 {
			g, err := w.f.groupOf(w.column, n, d, i)
			if err != nil {
				return first, err
			}
			if g.start != w.nextGroup {
				return first, corrupt.Locate(corrupt.At(n.offset, "row %d owns rows from %d, expected from %d", n.start+uint64(i), g.start, w.nextGroup), w.f.url, 0)
			}
			w.nextGroup = g.end
		}
		if w.f.types == nil {
			continue
		}
		key, err := w.f.item(d, n, i, p.Key, p.keyAt)
		if err == nil {
			_, err = w.f.item(d, n, i, p.Aux, p.auxAt)
		}
		if err == nil {
			err = w.order(ctx, n, n.start+uint64(i), key)
		}
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = key
		}
	}
	return first, nil
}

// order checks that a key is greater than the one before in its group.
func (w *walker) order(ctx context.Context, n node, row uint64, key Value) error {
	if w.owner != nil && row == w.groupEnd {
		if err := w.owner.Next(ctx); err != nil {
			return err
		}
		g, err := w.owner.Group()
		if err != nil {
			return corrupt.Locate(corrupt.At(n.offset, "row %d belongs to no group", row), w.f.url, 0)
		}
		w.groupEnd, w.hasLast = g.end, false
	}
	t := w.f.pair(w.column).Key
	if w.hasLast && t.Kind != Opaque && t.compare(w.last, key) >= 0 {
		return corrupt.Locate(corrupt.At(n.offset, "row %d of column %d: %v", row, w.column, ErrOrder), w.f.url, 0)
	}
	w.last, w.hasLast = key, true
	if w.keys != nil {
		return w.keys(row, key)
	}
	return nil
}

func (w *walker) describe() (out []fileformat.Part) {
	for i, l := range w.levels {
		kind, entries := "data", "rows"
		if l.index {
			kind, entries = "index", "children"
		}
		out = append(out, fileformat.Part{Name: fmt.Sprintf("level %d (%s)", i, kind), Facts: []fileformat.Fact{
			{Name: "blocks", Value: l.blocks}, {Name: "bytes", Value: l.bytes}, {Name: entries, Value: l.entries},
			{Name: "fewest", Value: l.fewest}, {Name: "most", Value: l.mostEntry}}})
	}
	return out
}

// Verify implements fileformat.File: every block that is reachable is read and checked by its checksum, its arrays and
// what its parent states about it; with types every value is read too, the order of the keys in their
// groups checked, and every key of the first column asked of the filter.
func (f *File) Verify(ctx context.Context, o fileformat.VerifyOptions) (*corrupt.Report, error) {
	r := &corrupt.Report{Objects: 1, Errors: []corrupt.Finding{}, Bytes: trailerSize}
	keys, err := f.verifyFilters(ctx, r)
	if err := r.Judge(err); err != nil {
		return nil, err
	}
	r.Bytes += f.t.filter.size + f.recordBytes
	for i := range f.t.columns {
		if f.Rows(i) == 0 {
			continue
		}
		w := &walker{f: f, column: i, check: true, progress: o.Progress}
		if i == 0 {
			w.keys = keys
		}
		if i > 0 && f.types != nil {
			w.owner = Group{f, i - 1, 0, f.Rows(i - 1)}.Cursor()
		}
		_, err := w.node(ctx, f.top(i))
		if err == nil && i < len(f.t.columns)-1 && w.nextGroup != f.Rows(i+1) {
			err = corrupt.Locate(corrupt.At(f.size-trailerSize, "column %d owns %d rows of the %d of the next one", i, w.nextGroup, f.Rows(i+1)), f.url, 0)
		}
		if err := r.Judge(err); err != nil {
			return nil, err
		}
		for _, e := range w.extents {
			r.Bytes += e.size
		}
	}
	if spare := f.size - r.Bytes; spare > 0 {
		r.UnprotectedBytes = spare
		if len(r.Errors) == 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%d bytes belong to no reachable block", spare))
		}
	}
	r.OK = len(r.Errors) == 0
	return r, nil
}

// verifyFilters gives a function that asks the filter for every key, where the keys are known; checksums are checked
// anyhow.
func (f *File) verifyFilters(ctx context.Context, r *corrupt.Report) (func(row uint64, key Value) error, error) {
	if f.x.table.size > 0 {
		return f.verifyPartitions(ctx, r)
	}
	if f.t.filter.size > 0 {
		b, err := f.stored(ctx, f.t.filter)
		if err == nil {
			err = corrupt.Locate(checkSeal(b, f.filterMagic()), f.url, f.t.filter.offset)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.types == nil || f.types[0].Key.Kind == Opaque { // what is hashed of an opaque key only its own code knows
		return nil, nil
	}
	whole, err := f.Filter(ctx)
	if whole == nil || err != nil {
		return nil, err
	}
	return func(_ uint64, key Value) error {
		if whole.MayContain(key) {
			return nil
		}
		return f.denied(f.t.filter.offset)
	}, nil
}

func (f *File) denied(offset int64) error {
	return corrupt.Locate(corrupt.At(offset, "the filter excludes an existing key"), f.url, 0)
}

// verifyPartitions checks the table of filters, and each filter when the first of its rows comes.
func (f *File) verifyPartitions(ctx context.Context, r *corrupt.Report) (func(row uint64, key Value) error, error) {
	table, err := f.partitions(ctx)
	if err != nil {
		return nil, err
	}
	r.Bytes += f.x.table.size
	for _, p := range table {
		r.Bytes += p.size
		if f.types == nil {
			if _, err := f.checkPartition(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	var at partition
	var admits func(Value) bool
	return func(row uint64, key Value) (err error) {
		if row >= at.first+at.rows {
			at, _ = partOf(table, row)
			if admits, err = f.checkPartition(ctx, at); err != nil {
				return err
			}
		}
		if f.types[0].Key.Kind == Opaque || admits(key) {
			return nil
		}
		return f.denied(at.offset)
	}, nil
}
