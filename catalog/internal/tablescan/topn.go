package tablescan

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog/internal/arrowint"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/rowsort"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// topRows is the largest N of a scan of the first N rows in an order that reads keys alone before the rows.
const topRows = 100_000

// topBytes is the least stored size of the shards for that: a small table is read once. A variable for tests.
var topBytes int64 = 16 << 20

// atMostLast narrows a scan of the first N rows in an order: it reads the first key alone, finds the N-th value, and adds the filter that
// values behind it fail. Where the row behind the N-th has the same value, it reads the other keys of the remaining rows, and adds a filter of
// all keys. Bounds of shards, stripes and blocks then rule most rows out before other columns are read. The plan stays as it
// is where that does not pay, or where the filter language has no word for a value. The result is the N-th row if rows behind it are equal to it in
// all keys, else nil.
func (p *Plan) atMostLast(ctx context.Context, stats *ScanStats) (*topRow, error) {
	keys := p.topKeys()
	for n := 1; n <= len(keys); n = max(n+1, len(keys)) {
		last, err := p.lastOf(ctx, stats, keys[:n])
		if last == nil || err != nil {
			return nil, err
		}
		if !p.narrow(last.upTo()) {
			return nil, nil // a value has no literal in the filter language: sort all rows
		}
		if !last.tied {
			return nil, nil
		}
		if len(last.keys) == len(p.options.OrderBy) {
			return last, nil
		}
	}
	return nil, nil
}

// firstRows reads the rows of a scan of the first N rows in an order: where many rows are equal to the N-th, those before it and then as many
// of its equals as are wanted, which keep their order.
func (p *Plan) firstRows(ctx context.Context, stats *ScanStats) (iter.Seq2[arrow.RecordBatch, error], error) {
	last, err := p.atMostLast(ctx, stats)
	if last == nil || err != nil {
		return p.read(ctx, stats, -1), err
	}
	before, equal := *p, *p
	if expr := last.before(); expr == nil {
		before.Shards = nil
	} else if !before.narrow(expr) {
		return p.read(ctx, stats, -1), nil
	}
	if !equal.narrow(last.equal()) {
		return p.read(ctx, stats, -1), nil
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		missing := p.options.Limit + p.options.Offset
		for b, err := range before.read(ctx, stats, -1) {
			if err == nil {
				missing -= b.NumRows()
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
		equal.read(ctx, stats, max(0, missing))(yield)
	}, nil
}

// narrow adds a filter to the plan; false if the types of the table do not have it.
func (p *Plan) narrow(expr filter.Expr) bool {
	bound, err := Bind(filter.And(p.options.Where, expr), p.state.Schema)
	if err != nil {
		return false
	}
	p.options.Where, p.bound, p.stats = bound, bound, nil
	p.Total -= len(p.Shards) // keeps counts them again
	p.Shards = slices.DeleteFunc(slices.Clone(p.Shards), func(e *manifest.Entry) bool { return !p.keeps(e) })
	return true
}

// lastOf reads some keys alone and returns the last of the first N rows in their order; nil if there are fewer rows, or if filters can't compare
// with its first value. Where a sample of the rows has N of them, only rows before the last of these are read: bounds rule most others out, and where
// there are fewer than N, the last of the sample is the last of all. It may have equals then.
func (p *Plan) lastOf(ctx context.Context, stats *ScanStats, keys []topKey) (*topRow, error) {
	narrow := p.only(keys)
	if last := p.lastOfPart(ctx, stats, narrow, keys); last != nil {
		last.tied = true
		before := last.before()
		if before == nil {
			return last, nil
		}
		if least := *narrow; least.narrow(before) && pays(keys, least.Shards, narrow.Shards) {
			found, err := least.first(ctx, stats, keys)
			if err == nil && found.err == nil && found.rows < found.limit {
				return last, nil
			}
			return found.last(), cmp.Or(err, found.err)
		}
	}
	found, err := narrow.first(ctx, stats, keys)
	return found.last(), cmp.Or(err, found.err)
}

// pays reports whether some keys are better read with a filter that leaves some shards of all. Comparing strings with a value costs more than
// sorting them does: they are read so only where the filter leaves less than half.
func pays(keys []topKey, some, all []*manifest.Entry) bool {
	left := int64(0)
	for _, e := range some {
		left += 2 * e.Records
	}
	for _, e := range all {
		left -= e.Records
	}
	return left < 0 || !slices.ContainsFunc(keys, func(k topKey) bool { return k.node.Basic == schema.String })
}

// only is the plan of some keys alone.
func (p *Plan) only(keys []topKey) *Plan {
	narrow := *p
	narrow.options.Select, narrow.columns = nil, nil
	for _, k := range keys {
		narrow.options.Select, narrow.columns = append(narrow.options.Select, k.Column), append(narrow.columns, k.node)
	}
	return &narrow
}

// first reads the keys of the first N rows in their order, and of the one behind them, from a plan that has these keys only.
func (p *Plan) first(ctx context.Context, stats *ScanStats, keys []topKey) (*topValues, error) {
	found, rows := &topValues{keys: keys, limit: p.options.Limit + p.options.Offset}, &ScanStats{}
	var by []rowsort.Key
	for _, k := range keys {
		by = append(by, rowsort.Key{Path: []string{k.node.Name}, Descending: k.Descending, NullsFirst: k.NullsFirst})
	}
	s, err := rowsort.New(p.Schema(), by, rowsort.Options{Memory: p.options.SortMemory, Dir: p.options.SortDir, Limit: found.limit + 1})
	if err != nil {
		return found, fmt.Errorf("%w: %w", caterr.ErrInvalid, err)
	}
	s.Drain(ctx, p.read(ctx, rows, -1), p.state.Log)(found.add)
	if stats != nil {
		stats.BlocksRead += rows.BlocksRead
		stats.BlocksPruned += rows.BlocksPruned
		stats.IndexGets += rows.IndexGets
		stats.IndexBytes += rows.IndexBytes
	}
	return found, nil
}

// topSample is how many rows of one shard are read before others are, at least four times N and at most a quarter of all. A variable for tests.
var topSample int64 = 1 << 17

// lastOfPart is the last of the first N rows of one shard's first or, in a descending order, last rows, since rows mostly come in the order of time; nil
// where that does not pay, or where a filter finds other rows before it than the order does. narrow is the plan of the keys.
func (p *Plan) lastOfPart(ctx context.Context, stats *ScanStats, narrow *Plan, keys []topKey) *topRow {
	all := int64(0)
	for _, e := range p.Shards {
		all += e.Records
		for _, k := range keys {
			if c, ok := e.Columns[p.state.Schema.IDs[k.node.ID]]; (!ok || c.NaNs != 0) && k.Descending && k.mayBeNaN() {
				return nil // NaN is behind all numbers, and no filter finds it
			}
		}
	}
	last := p.options.Limit + p.options.Offset
	if !p.state.Client.Nearby(ctx, p.Shards[0].Path) && (p.keyBytes(keys) < remoteSample || last > topSample/remoteShare) {
		return nil
	}
	few := len(p.Shards) < leastSampled && p.bound != nil // the shard may have no row that matches, and be half of what is read
	if few || all < 4*topSample || last > topSample/4 {
		return nil
	}
	one, shard := *narrow, p.Shards[0]
	if keys[0].Descending {
		shard = p.Shards[len(p.Shards)-1]
	}
	rows := min(topSample, shard.Records)
	one.Shards, one.Total, one.window = []*manifest.Entry{shard}, 1, &window{0, uint64(rows)}
	if keys[0].Descending {
		one.window = &window{uint64(shard.Records - rows), uint64(shard.Records)}
	}
	found, err := one.first(ctx, stats, keys)
	if err != nil {
		return nil // it is found again by reading all rows
	}
	return found.last()
}

// remoteSample is from how many bytes of keys on a sample is read of a remote store, where its steps wait for one another: at 1 Gbit/s they take
// half a second. A variable for tests.
var remoteSample int64 = 64 << 20

// remoteShare is how many rows of a sample there must be, of a remote store, for each of the first N: else so many blocks have a row before the N-th of the
// sample that requests, which join over gaps, read all.
const remoteShare = 8192

// keyBytes is what the keys take in all shards, as far as their entries state it.
func (p *Plan) keyBytes(keys []topKey) (n int64) {
	for _, e := range p.Shards {
		for _, k := range keys {
			n += e.Columns[p.state.Schema.IDs[k.node.ID]].Bytes
		}
	}
	return n
}

// leastSampled is from how many shards on a scan with a filter reads a sample of one. A variable for tests.
var leastSampled = 8

// topKey is a key of an order with its column.
type topKey struct {
	OrderKey
	node *schema.Node
}

func (k topKey) path() filter.Path { return filter.Path{k.node.Name} }

// mayBeNaN reports whether values of the key's type may be NaN.
func (k topKey) mayBeNaN() bool {
	return k.node.Basic == schema.Float32 || k.node.Basic == schema.Float64 || k.node.IsDecimal()
}

// topKeys are the first keys of the order, as far as filters can compare their values; none if reading them before the rows does not pay.
func (p *Plan) topKeys() (keys []topKey) {
	limit := p.options.Limit
	if limit <= 0 || limit+p.options.Offset > topRows || p.options.SkipDamaged || p.window != nil {
		return nil
	}
	for _, k := range p.options.OrderBy {
		path := schema.SplitPath(k.Column)
		n, err := p.state.Schema.Shard.Lookup(k.Column)
		if err != nil || len(path) != 1 || !topType(n) || slices.ContainsFunc(keys, func(o topKey) bool { return o.node == n }) {
			break
		}
		keys = append(keys, topKey{k, n})
	}
	others, stored := false, int64(0)
	for _, c := range p.columns {
		others = others || len(keys) > 0 && c.ID != keys[0].node.ID
	}
	for _, e := range p.Shards {
		stored += e.StoredBytes
	}
	if !others || stored < topBytes {
		return nil
	}
	return keys
}

// topType reports whether values of a type have literals and ranges by which they are found again.
func topType(n *schema.Node) bool {
	if n.IsTimeSpan() || n.IsDynamic() {
		return false
	}
	switch n.Basic {
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64, schema.Float32, schema.Float64, schema.DateTime, schema.String:
		return true
	}
	return n.IsDecimal()
}

// topValues are the sorted values of keys, of the first rows and of the one behind them.
type topValues struct {
	keys  []topKey
	limit int64
	// usable is how many of the first keys filters can compare.
	usable int
	rows   int64
	at     []arrow.Array // each of one value: of the last row
	tied   bool
	err    error
}

func (v *topValues) add(b arrow.RecordBatch, err error) bool {
	if err != nil {
		v.err = err
		return false
	}
	if v.rows == 0 {
		v.usable = len(v.keys)
	}
	here, columns := min(b.NumRows(), v.limit-v.rows), v.columns(b)
	for i := range v.usable {
		if !v.keys[i].comparable(columns[i], here) {
			v.usable = i
		}
	}
	if here > 0 {
		v.at = nil
		for _, c := range columns {
			v.at = append(v.at, array.NewSlice(c, here-1, here))
		}
	}
	if here < b.NumRows() {
		v.tied = true
		for i, c := range columns {
			v.tied = v.tied && array.Equal(v.at[i], array.NewSlice(c, here, here+1))
		}
	}
	v.rows += b.NumRows()
	return true
}

// columns are those of the keys.
func (v *topValues) columns(b arrow.RecordBatch) (out []arrow.Array) {
	for _, k := range v.keys {
		out = append(out, b.Column(b.Schema().FieldIndices(k.node.Name)[0]))
	}
	return out
}

// comparable reports whether the first values of an array sort as filters compare them.
func (k topKey) comparable(a arrow.Array, values int64) bool {
	switch a.(type) {
	case *array.Float32, *array.Float64, *arrowtype.DecimalArray, array.ExtensionArray:
		for i := range values {
			if one := array.NewSlice(a, i, i+1); !one.IsNull(0) {
				if _, ok := k.literal(one); !ok {
					return false
				}
			}
		}
	}
	return true
}

// last is the last of the first rows, nil if there are fewer or nothing can be compared with it.
func (v *topValues) last() *topRow {
	if v.err != nil || v.rows < v.limit || v.usable == 0 || v.at[0].IsNull(0) && !v.keys[0].NullsFirst {
		return nil // nulls come last: all values are wanted
	}
	return &topRow{keys: v.keys[:v.usable], values: v.at, tied: v.tied}
}

// topRow is the last of the first rows in an order.
type topRow struct {
	keys   []topKey
	values []arrow.Array // each of one value
	// tied: the row behind it has the same values.
	tied bool
}

// upTo is what the rows fulfil that do not come behind the row.
func (t *topRow) upTo() filter.Expr {
	n := len(t.keys) - 1
	k := t.keys[n]
	if t.values[n].IsNull(0) {
		return t.inOrder(filter.Or(t.less(n), t.same(n)))
	}
	op := "<="
	if k.Descending {
		op = ">="
	}
	return t.inOrder(t.compare(n, op))
}

// before is what the rows fulfil that come before the row; nil if none can.
func (t *topRow) before() filter.Expr { return t.inOrder(t.less(len(t.keys) - 1)) }

// equal is what the rows fulfil that have the values of the row.
func (t *topRow) equal() filter.Expr {
	expr := t.same(0)
	for i := 1; i < len(t.keys); i++ {
		expr = filter.And(expr, t.same(i))
	}
	return expr
}

// inOrder is what the rows fulfil that come before the row in all keys but the last, or that have its values there and fulfil rest.
func (t *topRow) inOrder(rest filter.Expr) filter.Expr {
	for i := len(t.keys) - 2; i >= 0; i-- {
		if rest != nil {
			rest = filter.And(t.same(i), rest)
		}
		rest = filter.Or(t.less(i), rest)
	}
	return rest
}

// less is what values of a key fulfil that come before that of the row; nil if none can.
func (t *topRow) less(i int) filter.Expr {
	k := t.keys[i]
	if t.values[i].IsNull(0) {
		if k.NullsFirst {
			return nil
		}
		return filter.Not(filter.IsNull(k.path()))
	}
	op := "<"
	if k.Descending {
		op = ">"
	}
	return t.compare(i, op)
}

// same is what values of a key fulfil that are that of the row.
func (t *topRow) same(i int) filter.Expr {
	if t.values[i].IsNull(0) {
		return filter.IsNull(t.keys[i].path())
	}
	return t.compare(i, "=")
}

// compare compares the values of a key with that of the row, which is not null; nulls that come first are less.
func (t *topRow) compare(i int, op string) filter.Expr {
	value, _ := t.keys[i].literal(t.values[i])
	expr := filter.Compare(t.keys[i].path(), op, value)
	if t.keys[i].NullsFirst && op != "=" {
		return filter.Or(filter.IsNull(t.keys[i].path()), expr)
	}
	return expr
}

// literal is the first value of an array as a literal; false for those that have none, or that compare in another way than they sort,
// such as NaN.
func (k topKey) literal(a arrow.Array) (filter.Literal, bool) {
	v, ok := topValue(a)
	if !ok {
		return filter.Literal{}, false
	}
	return filter.LiteralOf(k.node, v)
}

// topValue is the first value of an array; false for null and for arrays of types that no order is narrowed by.
func topValue(a arrow.Array) (v filter.Value, ok bool) {
	if a.IsNull(0) {
		return v, false
	}
	if integer, _, ok := arrowint.Values(a); ok {
		v.Uint = integer(0)
		v.Int = int64(v.Uint)
		return v, true
	}
	switch a := a.(type) {
	case *array.Float32:
		v.Float = float64(a.Value(0))
	case *array.Float64:
		v.Float = a.Value(0)
	case *array.LargeString:
		v.Bytes = []byte(a.Value(0))
	case *arrowtype.DecimalArray:
		v.Bytes = a.Value(0)
	case array.ExtensionArray:
		ticks, ok := a.Storage().(*array.Int64)
		if !ok {
			return v, false
		}
		v.Int = ticks.Value(0)
	default:
		return v, false
	}
	return v, true
}
