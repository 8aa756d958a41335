package tablescan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/urlresolve"
)

// Damage is what of a shard can't be read.
type Damage struct {
	Shard string `json:"shard"`
	// Stripes are the numbers of those that can't be read, of as many as Of states.
	Stripes []int `json:"stripes"`
	Of      int   `json:"of"`
	// Rows of these stripes, deleted ones left out.
	Rows int64 `json:"rows"`
	// Why the first of them can't be read.
	Why string `json:"why"`
}

// all reports whether no stripe can be read.
func (d *Damage) all() bool { return len(d.Stripes) >= d.Of }

// String is the damage in one line.
func (d *Damage) String() string {
	if d.all() {
		return fmt.Sprintf("%s: %s can't be read: %s", d.Shard, plural.Count(d.Rows, "row"), d.Why)
	}
	return fmt.Sprintf("%s: %s of %d of its %s can't be read: %s", d.Shard, plural.Count(d.Rows, "row"), len(d.Stripes), plural.Count(d.Of, "stripe"), d.Why)
}

// LeaveOut reads all shards of the plan once and takes from it the stripes that can't be read, which it notes in Damaged.
// Indexes are not used: the rows of a shard with a damaged index can be read without it.
func LeaveOut(ctx context.Context, p *Plan) error {
	p.options.IgnoreIndexes = true
	found := make([]*Damage, len(p.Shards))
	err := p.state.Client.EachUpTo(ctx, ShardsAtOnce, len(p.Shards), func(ctx context.Context, _ *blobio.Client, i int) (err error) {
		found[i], err = DamageOf(ctx, p, p.Shards[i], -1)
		return err
	})
	if err != nil {
		return err
	}
	var readable []*manifest.Entry
	p.leftOut = map[string][]bool{}
	for i, e := range p.Shards {
		d := found[i]
		if d == nil || len(d.Stripes) == 0 {
			readable = append(readable, e)
			continue
		}
		p.Damaged = append(p.Damaged, *d)
		if d.all() {
			continue
		}
		out := make([]bool, d.Of)
		for _, s := range d.Stripes {
			out[s] = true
		}
		p.leftOut[e.Path] = out
		readable = append(readable, e)
	}
	p.Shards = readable
	return nil
}

// DamageOf reads a shard as the plan does, whole and, if that fails, stripe by stripe; nil if all of it can be read. The shard
// must have as many rows as rows states, if that is not negative. An error is one of the way to the shard, not of its bytes.
func DamageOf(ctx context.Context, p *Plan, e *manifest.Entry, rows int64) (*Damage, error) {
	whole := p.reads(ctx, &reread{entry: e, rows: rows})
	if whole == nil {
		return nil, nil
	}
	if !rowsAreLost(whole) {
		return nil, whole
	}
	lost := &Damage{Shard: e.Path, Of: int(e.Stripes), Rows: e.Records, Why: whole.Error()}
	var shard *shardfmt.Shard
	err := nocache.Retry(ctx, rowsAreLost, func(ctx context.Context) (err error) {
		shard, err = p.state.Open(ctx, p.state.Client, e)
		return err
	})
	if err != nil {
		if !rowsAreLost(err) {
			return nil, err
		}
		for i := range lost.Of {
			lost.Stripes = append(lost.Stripes, i)
		}
		return lost, nil
	}
	defer shard.Close()
	return lost, p.damagedStripes(ctx, e, shard.Stripes(), lost)
}

// damagedStripes reads each stripe by itself.
func (p *Plan) damagedStripes(ctx context.Context, e *manifest.Entry, stripes []shardfmt.StripeInfo, lost *Damage) error {
	lost.Of, lost.Rows = len(stripes), 0
	var mu sync.Mutex
	first := len(stripes)
	err := p.state.Client.EachUpTo(ctx, ShardsAtOnce, len(stripes), func(ctx context.Context, _ *blobio.Client, i int) error {
		s := stripes[i]
		if s.Records == 0 {
			return nil
		}
		rows := int64(s.Records - s.Deleted)
		want := rows
		if p.bound != nil {
			want = -1
		}
		err := nocache.Retry(ctx, rowsAreLost, func(ctx context.Context) error {
			return p.reads(ctx, &reread{entry: e, window: &window{s.Position, s.Position + s.Records}, rows: want})
		})
		if err == nil {
			return nil
		}
		if !rowsAreLost(err) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		lost.Stripes, lost.Rows = append(lost.Stripes, i), lost.Rows+rows
		if i < first {
			first, lost.Why = i, err.Error()
		}
		return nil
	})
	slices.Sort(lost.Stripes)
	return err
}

// reread is a shard that is read to see whether it can be, or a window of it.
type reread struct {
	entry  *manifest.Entry
	window *window
	// rows that must come, unless it is negative.
	rows int64
}

// reads reads the rows that the plan would, and nothing of indexes.
func (p *Plan) reads(ctx context.Context, r *reread) error {
	one := &Plan{state: p.state, bound: p.bound, columns: p.columns, window: r.window,
		Shards: []*manifest.Entry{r.entry}, Total: 1}
	one.options = ScanOptions{Select: p.options.Select, Where: p.options.Where, Ordered: true, IgnoreIndexes: true, ReuseBatches: true,
		MaxMemory: p.options.MaxMemory}
	n := int64(0)
	for b, err := range one.Run(ctx, nil) {
		if err != nil {
			return err
		}
		n += b.NumRows()
	}
	if r.rows >= 0 && n != r.rows {
		return fmt.Errorf("%w: expected %d, got %d", errRows, r.rows, n)
	}
	return nil
}

// errRows is a shard that reads to another number of rows than its entry states.
var errRows = errors.New("rows are missing")

// rowsAreLost reports an error of the stored bytes, which no further attempt will correct, from one of the way to them: a store
// that denies or does not answer, a memory limit, a cancelled context.
func rowsAreLost(err error) bool {
	switch {
	case errors.Is(err, shardfmt.ErrBudget):
		return false
	case errors.Is(err, errRows), errors.Is(err, corrupt.ErrCorrupt), errors.Is(err, corrupt.ErrUnsupported):
		return true
	}
	return errors.Is(err, blobio.ErrNotFound) || errors.Is(err, blobio.ErrRange) || errors.Is(err, urlresolve.ErrRefused)
}
