package indexshard

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/scan"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

const (
	// KeptBytes is how much of the end of an artifact is read when it is opened, if nothing else is reported: the metadata of most, and all of
	// a small one. Five of them stay below the half MiB that looking a term up may cost.
	KeptBytes = 96 << 10
	// maxMemory bounds what one read of records may take, whatever the artifact claims.
	maxMemory = 256 << 20
	// maxRecords bounds the records of one read: of lists of positions, 128 MiB.
	maxRecords = 16 << 20
)

// Shard is an opened artifact. Safe for concurrent use.
type Shard struct {
	store   meta.Store
	root    *meta.Root
	schema  *schema.Schema
	stripes []scan.Stripe
}

// Open opens the artifact at url, a canonical URL.
func Open(ctx context.Context, st meta.Store, url string, p urlresolve.Policy) (*Shard, error) {
	all, err := OpenAll(ctx, st, []string{url}, []int64{KeptBytes}, p)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// branching is a store that distinguishes requests which wait for one another from those that don't; a *blobio.Client is one.
type branching interface {
	Each(ctx context.Context, n int, do func(ctx context.Context, c *blobio.Client, i int) error) error
}

// OpenAll opens several artifacts at the same time. Of each the last tails[i] bytes are kept.
func OpenAll(ctx context.Context, st meta.Store, urls []string, tails []int64, p urlresolve.Policy) ([]*Shard, error) {
	return openAll(ctx, st, urls, p, func(ctx context.Context, st meta.Store, i int) (*held, error) {
		return hold(ctx, st, urls[i], tails[i])
	})
}

// OpenOnce opens several artifacts whose records are read once, in order: of each no more than the last tail bytes are kept.
func OpenOnce(ctx context.Context, st meta.Store, urls []string, p urlresolve.Policy, tail int64) ([]*Shard, error) {
	return openAll(ctx, st, urls, p, func(ctx context.Context, st meta.Store, i int) (*held, error) {
		h, err := hold(ctx, st, urls[i], tail)
		if h != nil {
			h.again = nil
		}
		return h, err
	})
}

func openAll(ctx context.Context, st meta.Store, urls []string, p urlresolve.Policy, hold func(ctx context.Context, st meta.Store, i int) (*held, error)) ([]*Shard, error) {
	kept := make([]*held, len(urls))
	read := func(ctx context.Context, st meta.Store, i int) (err error) {
		kept[i], err = hold(ctx, st, i)
		return meta.Missing(err, urls[i])
	}
	var err error
	if b, ok := st.(branching); ok {
		err = b.Each(ctx, len(urls), func(ctx context.Context, c *blobio.Client, i int) error { return read(ctx, c, i) })
	} else {
		err = parallel.Each(ctx, len(urls), len(urls), func(i int) error { return read(ctx, st, i) })
	}
	if err != nil {
		return nil, err
	}
	out := make([]*Shard, len(urls))
	for i, url := range urls {
		kept[i].Store = st // what comes later waits for what the caller waits for
		if out[i], err = open(ctx, kept[i], url, p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// open opens an artifact of which the end is there.
func open(ctx context.Context, kept *held, url string, p urlresolve.Policy) (*Shard, error) {
	root, err := meta.OpenRoot(ctx, kept, url, meta.Options{Policy: p})
	if err != nil {
		return nil, err
	}
	props, err := root.Properties(ctx)
	if err != nil {
		return nil, err
	}
	kept.prime(meta.Copies(meta.Properties(props.CustomProperties).Get(meta.PropertyCopies)))
	s := &Shard{store: kept, root: root}
	if s.schema, err = root.Schema(ctx); err != nil {
		return nil, err
	}
	if err := arrowtype.Check(s.schema); err != nil {
		return nil, s.Corrupt("%v", err)
	}
	dirs, err := root.Stripes(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		s.stripes = append(s.stripes, stripeOf(d))
	}
	return s, nil
}

func stripeOf(d *metapb.StripeDirectory) scan.Stripe {
	return scan.Stripe{Position: d.ShardPosition, Records: d.TotalRecordCount, Deleted: d.DeletedRecordCount}
}

// URL of the artifact.
func (s *Shard) URL() string { return s.root.URL() }

// Held is how many bytes of the artifact are kept in memory.
func (s *Shard) Held() int { return len(s.store.(*held).tail) }

// Records is how many records the artifact has.
func (s *Shard) Records() uint64 { return s.root.Directory().TotalRecordCount }

// Schema of the artifact.
func (s *Shard) Schema() *schema.Schema { return s.schema }

// Corrupt is the error of an artifact that contradicts its format.
func (s *Shard) Corrupt(format string, args ...any) error {
	return corrupt.Locate(corrupt.At(-1, format, args...), s.URL(), 0)
}

// Read reads records [start, end), at most maxRecords, as batches of the canonical types.
func (s *Shard) Read(ctx context.Context, start, end uint64) (out []arrow.RecordBatch, err error) {
	return s.ReadWithin(ctx, start, end, 0)
}

// ReadWithin is Read of records that may take so many bytes of memory, as many as an artifact's may if 0. Larger ones are a corrupt.ErrUnsupported.
func (s *Shard) ReadWithin(ctx context.Context, start, end uint64, memory int64) (out []arrow.RecordBatch, err error) {
	if memory <= 0 || memory > maxMemory {
		memory = maxMemory
	}
	switch {
	case start > end || end > s.Records():
		return nil, s.Corrupt("reference to records [%d, %d) of %d", start, end, s.Records())
	case end-start > maxRecords:
		return nil, corrupt.Locate(corrupt.Unsupported(-1, "%d records at a time, more than the limit of %d", end-start, maxRecords), s.URL(), 0)
	case start == end:
		return nil, nil
	}
	q := &scan.Request{
		Root: s.root, Stripes: s.stripes, Project: s.schema, Start: start, End: end,
		BatchRows: maxRecords, Workers: 1, Budget: budget.New(memory),
	}
	rows := uint64(0)
	err = scan.Run(ctx, s.store, q, new(scan.Counts), func(b arrow.RecordBatch) bool {
		out, rows = append(out, b), rows+uint64(b.NumRows())
		return true
	})
	if errors.Is(err, budget.ErrBatch) {
		err = corrupt.Locate(corrupt.Unsupported(-1, "records [%d, %d), which take more than %d bytes", start, end, memory), s.URL(), 0)
	}
	if err == nil && rows != end-start {
		err = s.Corrupt("%d records of [%d, %d) are present", rows, start, end)
	}
	return out, err
}
