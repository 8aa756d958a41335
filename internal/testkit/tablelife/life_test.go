package tablelife

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/testkit/seed"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// life is a table, and what it ought to hold.
type life struct {
	t *testing.T
	r *rand.Rand
	c *catalog.Catalog
	// bucket holds the table, and shards of others.
	bucket string
	tbl    *catalog.Table
	// columns besides serial, in order; used are those that partitions, orders or indexes have ever named, by number.
	columns []*column
	used    map[int]bool
	names   int
	serial  int64
	// branches, with their rows and their histories, oldest first; snapshots are the rows of each state.
	branches  map[string]*branch
	snapshots map[int64][]*row
	deliv     []delivery
	// partitioned reports whether new shards are.
	partitioned bool
	// order and where are the columns that the policy names, nil for none.
	order, where *column
	steps        []string
	asked        []question
}

type branch struct {
	rows    []*row
	history []int64
}

// delivery is what a snapshot of a side branch appended, by which key.
type delivery struct {
	snapshot int64
	rows     []*row
	key      []int
	unique   bool
}

// source gives one batch.
type source struct {
	schema *schema.Schema
	left   []arrow.RecordBatch
}

func (s *source) Schema() *schema.Schema { return s.schema }

func (s *source) Next(context.Context) (arrow.RecordBatch, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	b := s.left[0]
	s.left = s.left[1:]
	return b, nil
}

var ctx = context.Background()

const mainBranch = "main"

// name is one that no column has.
func (l *life) name() string {
	for {
		l.names++
		if name := fmt.Sprintf("c%d", l.r.IntN(l.names+2)); !slices.ContainsFunc(l.columns, func(c *column) bool { return c.name == name }) {
			return name
		}
	}
}

var lastColumn int

func (l *life) newColumn(required bool) *column {
	lastColumn++
	k := kind(l.r.IntN(len(kindText)))
	if l.r.IntN(6) == 0 {
		k = kTime // whose partitions are of the most kinds
	}
	return &column{id: lastColumn, name: l.name(), kind: k, was: k, required: required}
}

// newRows draws rows without nulls in required columns.
func (l *life) newRows(n int) []*row {
	out := make([]*row, n)
	for i := range out {
		l.serial++
		out[i] = &row{serial: l.serial, values: map[int]*value{}}
		for _, c := range l.columns {
			v := drawn(l.r, c.was)
			if c.required && v.null {
				v = newValue(l.r, c.was)
			}
			out[i].values[c.id] = v
			if c.seen = append(c.seen, v); len(c.seen) > maxSeen {
				c.seen = c.seen[1:]
			}
		}
	}
	return out
}

func (l *life) source(rows []*row) *source {
	return &source{schemaOf(l.columns), []arrow.RecordBatch{batchOf(l.columns, rows)}}
}

func (l *life) options() catalog.IngestOptions {
	return catalog.IngestOptions{ShardRows: int64(2 + l.r.IntN(8)), StripeRows: 1 + l.r.IntN(4)}
}

// step notes what is about to be done.
func (l *life) step(format string, args ...any) {
	l.steps = append(l.steps, fmt.Sprintf(format, args...))
}

func (l *life) fail(format string, args ...any) {
	l.t.Helper()
	from := max(0, len(l.steps)-40)
	l.t.Fatalf("%s\nafter %d steps:\n%s", fmt.Sprintf(format, args...), len(l.steps), strings.Join(l.steps[from:], "\n"))
}

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.fail("%v", err)
	}
}

// committed notes the rows of a branch after a commit.
func (l *life) committed(name string, rows []*row) {
	b := l.branches[name]
	b.rows = rows
	for _, ref := range l.tbl.Refs() {
		if ref.Name == name {
			l.snapshots[ref.SnapshotID] = rows
			if n := len(b.history); n == 0 || b.history[n-1] != ref.SnapshotID {
				b.history = append(b.history, ref.SnapshotID)
			}
		}
	}
}

func newLife(t *testing.T, seed uint64) *life {
	dir, bucket := t.TempDir(), fmt.Sprintf("life-%d", seed)
	c, err := catalog.Open(ctx, catalog.Options{URI: "sqlite:" + dir + "/c.db", Warehouse: "mem://" + bucket + "/wh", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	l := &life{t: t, bucket: bucket, r: rand.New(rand.NewPCG(seed, 1)), c: c, used: map[int]bool{}, branches: map[string]*branch{mainBranch: {}}, snapshots: map[int64][]*row{}}
	for range 2 + l.r.IntN(4) {
		l.columns = append(l.columns, l.newColumn(l.r.IntN(8) == 0))
	}
	o := catalog.CreateOptions{Schema: schemaOf(l.columns), CreateNamespace: true, Properties: map[string]string{
		"commit.manifest.min-count-to-merge": strconv.Itoa(2 + l.r.IntN(6)),
	}}
	partition := l.partition()
	l.step("create %s partition %v", o.Schema, partition)
	o.Partition, l.partitioned = partition, len(partition) > 0
	l.tbl, err = c.Create(ctx, catalog.Name{Namespace: "default", Table: "t"}, o)
	l.must(err)
	return l
}

// oddPartitions tries partitions of types that make none: what is accepted takes rows.
func (l *life) oddPartitions() {
	for i, text := range []string{"x: Decimal", "x: Dynamic", "x: List<Int64>", "x: Union<Int64, String>", "x: UInt8", "x: Guid", "x: Binary", "x: TimeSpan"} {
		s, err := schema.Parse(text)
		l.must(err)
		transform := pick(l.r, []string{"x", "bucket(3, x)", "truncate(2, x)"})
		l.step("partition %s of %s", transform, text)
		t, err := l.c.Create(ctx, catalog.Name{Namespace: "default", Table: fmt.Sprintf("odd%d", i)}, catalog.CreateOptions{Schema: s, CreateNamespace: true, Partition: []string{transform}})
		if errors.Is(err, catalog.ErrInvalid) {
			continue
		}
		l.must(err)
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
		b.Field(0).AppendNull()
		b.Field(0).AppendEmptyValue()
		_, err = t.Ingest(ctx, &source{s, []arrow.RecordBatch{b.NewRecordBatch()}}, catalog.IngestOptions{})
		l.must(err)
	}
}

// partition draws partition fields.
func (l *life) partition() (out []string) {
	fixed := false
	for range l.r.IntN(3) {
		c := pick(l.r, l.columns)
		name, k := c.name, c.kind
		if k == kStruct {
			i := l.r.IntN(2)
			name, k = name+"."+"ab"[i:i+1], []kind{kInt64, kString}[i]
		}
		var text string
		switch k {
		case kList:
			continue
		case kTime:
			text = fmt.Sprintf(pick(l.r, []string{"%s", "%s", "hour(%s)", "hour(%s)", "day(%s)", "month(%s)", "year(%s)", "bucket(3, %s)"}), name)
		case kInt64, kInt32, kUInt64, kString:
			text = fmt.Sprintf(pick(l.r, []string{"%s", "bucket(3, %s)", "truncate(5, %s)"}), name)
		default:
			text = name
		}
		if k == kUInt64 && !strings.HasPrefix(text, "bucket") { // manifests hold one such field
			if fixed {
				continue
			}
			fixed = true
		}
		if l.used[c.id] = true; !slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, name) }) {
			out = append(out, text)
		}
	}
	return out
}

func (l *life) someBranch() string {
	names := []string{}
	for name := range l.branches {
		names = append(names, name)
	}
	slices.Sort(names)
	return pick(l.r, names)
}

func refOf(name string) string {
	if name == mainBranch {
		return ""
	}
	return name
}

func (l *life) append() {
	on, rows, o := l.someBranch(), l.newRows(1+l.r.IntN(12)), l.options()
	o.Ref = refOf(on)
	l.step("append %d rows to %s from serial %d", len(rows), on, rows[0].serial)
	_, err := l.tbl.Ingest(ctx, l.source(rows), o)
	l.must(err)
	l.committed(on, slices.Concat(l.branches[on].rows, rows))
	if on != mainBranch {
		h := l.branches[on].history
		l.deliv = append(l.deliv, delivery{snapshot: h[len(h)-1], rows: rows})
	}
}

// appendNulls tries to put a null into a required column.
func (l *life) appendNulls() {
	for _, c := range l.columns {
		if !c.required {
			continue
		}
		rows := l.newRows(3)
		rows[1].values[c.id] = null
		l.step("append a null to %s", c.name)
		if _, err := l.tbl.Ingest(ctx, l.source(rows), l.options()); err == nil {
			l.fail("a null came into the required column %s", c.name)
		}
		return
	}
}

// keyed are columns that can be a key.
func (l *life) keyed() (out []*column) {
	for _, c := range l.columns {
		if c.kind <= kTime || c.kind == kBool {
			out = append(out, c)
		}
	}
	l.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(len(out), 1+l.r.IntN(2))]
}

func keyOf(w *row, ids []int) (key string, ok bool) {
	for _, id := range ids {
		v := w.value(id)
		if v.null {
			return "", false
		}
		key += strconv.Quote(v.text)
	}
	return key, true
}

// byKey is what a delivery makes of rows; ok is false if it is refused.
func byKey(there, rows []*row, ids []int, unique bool) (out, last []*row, ok bool) {
	keys := map[string]*row{}
	for _, w := range rows {
		key, _ := keyOf(w, ids)
		if keys[key] != nil && unique {
			return nil, nil, false
		}
		keys[key] = w
	}
	for _, w := range there {
		key, has := keyOf(w, ids)
		switch {
		case !has || keys[key] == nil:
			out = append(out, w)
		case unique:
			return nil, nil, false
		}
	}
	for _, w := range rows {
		if key, _ := keyOf(w, ids); keys[key] == w {
			last = append(last, w)
		}
	}
	return append(out, last...), last, true
}

func (l *life) deliver() {
	key := l.keyed()
	if len(key) == 0 {
		return
	}
	on, rows, o := l.someBranch(), l.newRows(1+l.r.IntN(8)), l.options()
	o.Ref = refOf(on)
	var names []string
	var ids []int
	for _, c := range key {
		names, ids = append(names, c.name), append(ids, c.id)
		for _, w := range rows {
			if w.values[c.id].null {
				w.values[c.id] = newValue(l.r, c.was)
			}
		}
	}
	unique := l.r.IntN(3) == 0
	if o.UpsertBy = names; unique {
		o.UpsertBy, o.Unique = nil, names
	}
	l.step("deliver %d rows to %s by %v, unique %v, from serial %d", len(rows), on, names, unique, rows[0].serial)
	was := l.branches[on].rows
	want, last, ok := byKey(was, rows, ids, unique)
	out, err := l.tbl.Ingest(ctx, l.source(rows), o)
	if !ok {
		if !errors.Is(err, catalog.ErrExists) {
			l.fail("a key that is there: %v", err)
		}
		return
	}
	l.must(err)
	if out.Replaced != int64(len(was)+len(last)-len(want)) {
		l.fail("replaced %d rows of %d, want %d", out.Replaced, len(was), len(was)+len(last)-len(want))
	}
	l.committed(on, want)
	if on != mainBranch && out.Replaced == 0 {
		h := l.branches[on].history
		l.deliv = append(l.deliv, delivery{h[len(h)-1], last, ids, unique})
	}
}

func (l *life) condition() (condition, filter.Expr) {
	c := newCondition(l.r, l.columns, 2)
	e, err := filter.Parse(c.text)
	l.must(err)
	return c, e
}

func matching(rows []*row, c condition) (is, not []*row) {
	for _, w := range rows {
		if c.eval(w) == yes {
			is = append(is, w)
		} else {
			not = append(not, w)
		}
	}
	return is, not
}

func (l *life) remove() {
	c, e := l.condition()
	l.step("delete %s", c.text)
	gone, left := matching(l.branches[mainBranch].rows, c)
	d, err := l.tbl.Delete(ctx, e, catalog.DeleteOptions{})
	l.must(err)
	if d.Rows != int64(len(gone)) {
		l.fail("deleted %d rows, want %d", d.Rows, len(gone))
	}
	l.committed(mainBranch, left)
}

func (l *life) overwrite() {
	c, e := l.condition()
	rows := l.newRows(l.r.IntN(4))
	l.step("overwrite %s by %d rows", c.text, len(rows))
	_, left := matching(l.branches[mainBranch].rows, c)
	_, err := l.tbl.Overwrite(ctx, e, l.source(rows), l.options())
	l.must(err)
	l.committed(mainBranch, slices.Concat(left, rows))
}

func (l *life) truncate() {
	if l.r.IntN(4) > 0 {
		return
	}
	l.step("truncate")
	_, err := l.tbl.Truncate(ctx, catalog.DeleteOptions{})
	l.must(err)
	l.committed(mainBranch, nil)
}

// someNull reports whether a live row of a branch, or one of rows, is null in a column.
func someNull(rows []*row, c *column) bool {
	return slices.ContainsFunc(rows, func(w *row) bool { return w.value(c.id).null })
}

// violates reports whether rows may not be live.
func (l *life) violates(rows []*row) bool {
	return slices.ContainsFunc(l.columns, func(c *column) bool { return c.required && someNull(rows, c) })
}

func (l *life) alter() {
	c := pick(l.r, l.columns)
	switch l.r.IntN(6) {
	case 0:
		fresh := l.newColumn(false)
		l.step("add %s %s", fresh.name, kindText[fresh.kind])
		n := schemaOf([]*column{fresh}).Fields[1]
		l.must(l.tbl.AddColumn(ctx, fresh.name, n))
		l.columns = append(l.columns, fresh)
	case 1:
		if len(l.columns) == 1 {
			return
		}
		l.step("drop %s", c.name)
		err := l.tbl.DropColumn(ctx, c.name)
		if l.used[c.id] && errors.Is(err, catalog.ErrInvalid) {
			return
		}
		l.must(err)
		l.columns = slices.DeleteFunc(l.columns, func(x *column) bool { return x == c })
	case 2, 3:
		name := l.name()
		l.step("rename %s %s", c.name, name)
		l.must(l.tbl.RenameColumn(ctx, c.name, name))
		c.name = name
	case 4:
		if c.kind != kInt32 {
			return
		}
		l.step("widen %s", c.name)
		n, err := schema.Parse("x: Int64")
		l.must(err)
		if err := l.tbl.WidenColumn(ctx, c.name, n.Fields[0]); !l.used[c.id] || !errors.Is(err, catalog.ErrInvalid) {
			l.must(err)
			c.kind = kInt64
		}
	case 5:
		if c.required {
			l.step("optional %s", c.name)
			l.must(l.tbl.OptionalColumn(ctx, c.name))
			c.required = false
			return
		}
		refused := false
		for _, b := range l.branches {
			refused = refused || someNull(b.rows, c)
		}
		l.step("require %s, refused %v", c.name, refused)
		err := l.tbl.RequireColumn(ctx, c.name)
		if (err != nil) != refused {
			l.fail("require %s: %v", c.name, err)
		}
		c.required = !refused
	}
}

func (l *life) layout() {
	switch l.r.IntN(5) {
	case 4:
		c, filter := pick(l.r, l.columns), pick(l.r, l.columns)
		if c.kind >= kStruct || filter.kind >= kStruct {
			return
		}
		l.used[c.id], l.used[filter.id] = true, true
		settings := map[string]string{"order": c.name + " desc", "where": filter.name + " IS NOT NULL"}
		l.step("policy %v", settings)
		l.must(compaction.SetPolicy(ctx, l.tbl, settings))
		l.order, l.where = c, filter
	case 0:
		p := l.partition()
		l.step("partition %v", p)
		l.must(l.tbl.Repartition(ctx, p))
		l.partitioned = len(p) > 0
	case 1:
		c := pick(l.r, l.columns)
		if c.kind >= kStruct {
			return
		}
		l.used[c.id] = true
		keys := []catalog.OrderKey{{Column: c.name, Descending: l.r.IntN(2) == 0, NullsFirst: l.r.IntN(2) == 0}}
		l.step("order %v", keys)
		l.must(l.tbl.SortBy(ctx, keys))
	case 2:
		c := pick(l.r, l.columns)
		text := "layer:" + c.name
		switch {
		case c.kind == kString:
			text = pick(l.r, []string{"text:", "hash:", "layer:"}) + c.name
		case c.kind >= kFloat:
			return
		case l.r.IntN(2) == 0:
			text = "hash:" + c.name
		}
		var s shardfmt.IndexSpec
		err := s.Set(text)
		l.must(err)
		l.step("index %s", text)
		_, err = l.tbl.AddIndex(ctx, s, catalog.IndexOptions{NewShardsOnly: l.r.IntN(3) == 0})
		l.must(err)
		l.committed(mainBranch, l.branches[mainBranch].rows)
	case 3:
		key := l.keyed()
		if len(key) == 0 || l.tbl.HasKeyIndexes() {
			return
		}
		l.step("key index %s", key[0].name)
		_, err := l.tbl.AddKeyIndex(ctx, "keys:"+key[0].name, catalog.IndexOptions{})
		l.must(err)
	}
}

func (l *life) refs() {
	main := l.branches[mainBranch]
	side, there := l.branches["side"]
	switch n := l.r.IntN(6); {
	case !there && n < 3 && len(main.history) > 0:
		from := len(main.history) - 1
		if n == 0 {
			from = l.r.IntN(len(main.history))
		}
		id := main.history[from]
		rows := l.snapshots[id]
		l.step("branch side at %d", from)
		_, err := l.tbl.CreateBranch(ctx, "side", id)
		if l.violates(rows) {
			if err == nil {
				l.fail("a branch has nulls in a required column")
			}
			return
		}
		l.must(err)
		l.branches["side"] = &branch{rows, slices.Clone(main.history[:from+1])}
	case there && n == 1:
		last := main.history[len(main.history)-1]
		can := slices.Contains(side.history, last)
		l.step("fast-forward main to side, possible %v", can)
		if _, err := l.tbl.FastForward(ctx, mainBranch, catalog.At{Ref: "side"}); (err == nil) != can {
			l.fail("fast-forward: %v", err)
		}
		if can {
			l.branches[mainBranch] = &branch{side.rows, slices.Clone(side.history)}
		}
	case there && n == 2:
		l.step("drop side")
		l.must(l.tbl.DropRef(ctx, "side"))
		delete(l.branches, "side")
	case n == 3 && len(main.history) > 1:
		at := l.r.IntN(len(main.history) - 1)
		rows := l.snapshots[main.history[at]]
		bad := l.violates(rows) && !(there && side.history[len(side.history)-1] == main.history[at])
		l.step("rollback to %d, refused %v", at, bad)
		if err := l.tbl.Rollback(ctx, main.history[at]); (err == nil) == bad {
			l.fail("rollback: %v", err)
		}
		if !bad {
			l.branches[mainBranch] = &branch{rows, main.history[: at+1 : at+1]}
		}
	case n >= 4 && len(l.deliv) > 0:
		l.cherryPick()
	}
}

func (l *life) cherryPick() {
	i := l.r.IntN(len(l.deliv))
	d, main := l.deliv[i], l.branches[mainBranch]
	l.deliv = slices.Delete(l.deliv, i, i+1)
	if slices.Contains(main.history, d.snapshot) || icebergaccess.MetadataOf(l.tbl).SnapshotByID(d.snapshot) == nil {
		return
	}
	want, ok := slices.Concat(main.rows, d.rows), true
	if d.key != nil {
		for _, id := range d.key {
			ok = ok && slices.ContainsFunc(l.columns, func(c *column) bool { return c.id == id })
		}
		if ok {
			want, _, ok = byKey(main.rows, d.rows, d.key, d.unique)
		}
	}
	ok = ok && !l.violates(d.rows)
	l.step("cherry-pick %d rows by %v, unique %v, possible %v", len(d.rows), d.key, d.unique, ok)
	if _, err := l.tbl.CherryPick(ctx, d.snapshot); (err == nil) != ok {
		l.fail("cherry-pick: %v", err)
	}
	if ok {
		l.committed(mainBranch, want)
	}
}

func (l *life) compact() {
	policies := map[string]compaction.Policy{
		"auto": {}, "concat": {NoPack: true, NoRebuild: true}, "pack": {PackAll: true, NoConcat: true, NoRebuild: true}, "rebuild": {RebuildAll: true, NoConcat: true, NoPack: true},
	}
	mode := pick(l.r, []string{"auto", "concat", "pack", "rebuild", "rebuild"})
	p := policies[mode]
	if mode == "auto" {
		own, err := compaction.Overrides{}.Effective(ctx, l.tbl)
		l.must(err)
		p = own.Policy
	}
	if l.r.IntN(2) == 0 {
		p.TargetRecords = int64(8 + l.r.IntN(40))
	}
	if mode == "rebuild" && l.r.IntN(2) == 0 {
		p.Order = "serial desc"
	}
	if l.r.IntN(4) == 0 {
		p.Where = fmt.Sprintf("serial < %d", 1+l.r.Int64N(l.serial+1))
		mode += " where " + p.Where
	}
	if p.External = l.r.IntN(2) == 0; p.External {
		mode += " external"
	}
	l.step("compact %s, target %d", mode, p.TargetRecords)
	_, err := compaction.Compact(ctx, l.tbl, p, compaction.Options{Check: l.r.IntN(2) == 0})
	if !errors.Is(err, compaction.ErrNeedsRebuild) && !errors.Is(err, merge.ErrNothingToPack) { // forced modes find some groups impossible
		l.must(err)
	}
	l.committed(mainBranch, l.branches[mainBranch].rows)
}

func (l *life) cleanUp() {
	l.step("expire")
	p, err := l.tbl.PlanExpire(catalog.ExpireOptions{OlderThan: time.Now().Add(time.Hour), RetainLast: 1 + l.r.IntN(3)})
	l.must(err)
	l.must(p.Execute(ctx))
	l.forget()
	if l.r.IntN(2) == 0 {
		return
	}
	l.step("collect")
	for range 2 {
		_, err := l.tbl.Collect(ctx, catalog.CollectOptions{Execute: true, MinAge: 1, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1})
		l.must(err)
	}
}

// retire drops a column that partitions, orders or indexes were made of: nothing has them any more.
func (l *life) retire() {
	if len(l.columns) == 1 || len(l.branches[mainBranch].history) == 0 {
		return
	}
	c := pick(l.r, l.columns)
	if _, there := l.branches["side"]; there {
		l.must(l.tbl.DropRef(ctx, "side"))
		delete(l.branches, "side")
	}
	l.step("retire %s", c.name)
	l.must(l.tbl.Repartition(ctx, nil))
	l.partitioned = false
	l.must(l.tbl.SortBy(ctx, nil))
	l.must(compaction.SetPolicy(ctx, l.tbl, map[string]string{"order": "", "where": ""}))
	l.order, l.where = nil, nil
	_, err := compaction.Compact(ctx, l.tbl, compaction.Policy{RebuildAll: true, NoConcat: true, NoPack: true, External: true}, compaction.Options{})
	l.must(err)
	l.committed(mainBranch, l.branches[mainBranch].rows)
	p, err := l.tbl.PlanExpire(catalog.ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
	l.must(err)
	l.must(p.Execute(ctx))
	l.forget()
	l.must(l.tbl.DropColumn(ctx, c.name))
	l.columns = slices.DeleteFunc(l.columns, func(x *column) bool { return x == c })
}

// forget forgets states that were expired.
func (l *life) forget() {
	there := func(id int64) bool { return icebergaccess.MetadataOf(l.tbl).SnapshotByID(id) != nil }
	for id := range l.snapshots {
		if !there(id) {
			delete(l.snapshots, id)
		}
	}
	for _, b := range l.branches {
		// States before an expired one are no history any more, even if another branch keeps them. One operation may make several
		// snapshots, of which the model knows the last: parents decide.
		if len(b.history) == 0 {
			continue
		}
		linked := map[int64]bool{}
		for id := b.history[len(b.history)-1]; ; {
			state := icebergaccess.MetadataOf(l.tbl).SnapshotByID(id)
			if state == nil {
				break
			}
			linked[id] = true
			if state.ParentSnapshotID == nil {
				break
			}
			id = *state.ParentSnapshotID
		}
		for i := len(b.history) - 1; i >= 0; i-- {
			if !linked[b.history[i]] {
				b.history = slices.Clone(b.history[i+1:])
				break
			}
		}
	}
}

// serials reads the serial numbers of the rows that a scan gives.
func (l *life) serials(o catalog.ScanOptions) (out []int64) {
	o.Select = []string{"serial"}
	for b, err := range l.tbl.Scan(ctx, o, nil) {
		l.must(err)
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	slices.Sort(out)
	return out
}

func serialsOf(rows []*row) (out []int64) {
	for _, w := range rows {
		out = append(out, w.serial)
	}
	slices.Sort(out)
	return out
}

// check compares the table with the model.
func (l *life) check() {
	if l.r.IntN(3) == 0 {
		tbl, err := l.c.Load(ctx, l.tbl.Name())
		l.must(err)
		l.tbl = tbl
	}
	for name, b := range l.branches {
		if len(b.history) == 0 {
			continue
		}
		var got []string
		for batch, err := range l.tbl.Scan(ctx, catalog.ScanOptions{At: catalog.At{Ref: refOf(name)}}, nil) {
			l.must(err)
			got = append(got, texts(batch)...)
		}
		want := texts(batchOf(l.columns, b.rows))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			l.fail("branch %s holds\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	l.checkPolicy()
	main := l.branches[mainBranch]
	for range 6 {
		c, e := l.condition()
		is, _ := matching(main.rows, c)
		if got, want := l.serials(catalog.ScanOptions{Where: e}), serialsOf(is); !slices.Equal(got, want) {
			l.fail("%s: rows %v, want %v of %d", c.text, got, want, len(main.rows))
		}
		l.ask(c, serialsOf(is))
	}
	for id, rows := range l.snapshots { // one, by the order of the map
		if icebergaccess.MetadataOf(l.tbl).SnapshotByID(id) != nil {
			if got := l.serials(catalog.ScanOptions{At: catalog.At{SnapshotID: id}}); !slices.Equal(got, serialsOf(rows)) {
				l.fail("snapshot %d holds %v, want %v", id, got, serialsOf(rows))
			}
		}
		break
	}
}

// run lives for so many steps.
func (l *life) run(steps int) {
	for range steps {
		switch n := l.r.IntN(22); {
		case n < 4:
			l.append()
		case n < 5:
			l.register()
		case n < 8:
			l.deliver()
		case n < 10:
			l.remove()
		case n < 11:
			l.overwrite()
		case n < 14:
			l.alter()
		case n < 15:
			l.layout()
		case n < 18:
			l.waysIn()
		case n < 19:
			l.refs()
		case n < 20:
			pick(l.r, []func(){l.compact, l.compact, l.compactPartly, l.export})()
		case n < 21:
			l.cleanUp()
		case l.r.IntN(3) == 0:
			l.retire()
		default:
			l.truncate()
			l.appendNulls()
		}
		l.check()
	}
	v, err := l.tbl.Verify(ctx, catalog.VerifyOptions{})
	l.must(err)
	if len(v.Errors) > 0 {
		l.fail("verify: %+v", v.Errors)
	}
}

// TestTableLife compares random lives of tables with the model, from a fresh seed that is printed: half a minute of them, an hour with
// SHARDCAT_FULL if go test has so much time, or as long as SHARDCAT_TABLE_LIFE states. SHARDCAT_SEED lives one life again.
func TestTableLife(t *testing.T) {
	during := 25 * time.Second
	if os.Getenv("SHARDCAT_FULL") != "" {
		during = time.Hour
	}
	if text := os.Getenv("SHARDCAT_TABLE_LIFE"); text != "" {
		var err error
		if during, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		during = 5 * time.Second
	}
	if end, ok := t.Deadline(); ok {
		during = min(during, time.Until(end)-time.Minute)
	}
	seed, one := seed.Of(t)
	duck := newDuck(t)
	lives := 0
	for end := time.Now().Add(during); lives == 0 || !one && time.Now().Before(end); lives++ {
		t.Run(fmt.Sprintf("SHARDCAT_SEED=%d", seed+uint64(lives)), func(t *testing.T) {
			lastColumn = 0
			l := newLife(t, seed+uint64(lives))
			if (seed+uint64(lives))%8 == 0 { // so that a seed alone names a life
				l.oddPartitions()
			}
			l.run(40)
			duck.compare(l)
		})
		if t.Failed() {
			break
		}
	}
	t.Logf("%d lives of 40 steps from seed %d on", lives, seed)
}
