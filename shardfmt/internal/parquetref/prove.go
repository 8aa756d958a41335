package parquetref

import (
	"cmp"
	"context"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

const (
	// proveLeast and proveMost bound a request that reads bytes again; between them the memory limit decides.
	proveLeast, proveMost = 64 << 10, 8 << 20
	// proveGap is how many bytes that nobody wants are read rather than making another request.
	proveGap = 64 << 10
)

// claim is a checksum of bytes that were read once. What the root states about an object is made of these bytes.
type claim struct {
	url        string
	start, end int64
	sum        uint64
}

// claimed notes a claim.
func (b *build) claimed(c claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claims = append(b.claims, c)
}

// prove reads all bytes with a checksum again. A bit that was flipped on the way would otherwise be in the statistics,
// and the root would call the file damaged ever after.
func (b *build) prove(ctx context.Context) error {
	st := b.store
	if c, ok := st.(interface{ Uncached() *blobio.Client }); ok {
		st = c.Uncached()
	}
	// All requests at a time take a quarter of the memory at most.
	most := min(proveMost, max(proveLeast, int64(b.budget.Limit()/4)/int64(b.o.Write.Workers)))
	runs := runsOf(b.claims, most)
	return parallel.Each(ctx, b.o.Write.Workers, len(runs), func(i int) error { return b.proveRun(ctx, st, runs[i], most) })
}

// runsOf puts claims together that one request of most bytes can read; a longer one is a run of its own.
func runsOf(claims []claim, most int64) (runs [][]claim) {
	slices.SortFunc(claims, func(x, y claim) int {
		return cmp.Or(cmp.Compare(x.url, y.url), cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end), cmp.Compare(x.sum, y.sum))
	})
	end := int64(0)
	for i, c := range slices.Compact(claims) {
		if n := len(runs) - 1; i > 0 && c.url == runs[n][0].url && c.start <= end+proveGap && max(end, c.end)-runs[n][0].start <= most {
			runs[n], end = append(runs[n], c), max(end, c.end)
		} else {
			runs, end = append(runs, []claim{c}), c.end
		}
	}
	return runs
}

// proveRun reads a run of claims again, and those a third time of which the two reads differ: one of them is wrong, and
// the root may be written only if it was the second.
func (b *build) proveRun(ctx context.Context, st shardwriter.Store, run []claim, most int64) error {
	sums, err := b.again(ctx, st, run, most)
	if err != nil {
		return err
	}
	for i, c := range run {
		if sums[i].Holds() {
			continue
		}
		third, err := b.again(ctx, st, run[i:i+1], most)
		if err != nil {
			return err
		}
		if !third[0].Holds() {
			return corrupt.Locate(corrupt.At(c.start, "the bytes [%d, %d) differed when they were read again: "+
				"they were damaged in transfer, or the file is being modified", c.start, c.end), c.url, 0)
		}
	}
	return nil
}

// again reads what a run of claims spans, most bytes at a time, and compares.
func (b *build) again(ctx context.Context, st shardwriter.Store, run []claim, most int64) ([]*ranges.Sum, error) {
	start, end := run[0].start, run[0].end
	sums := make([]*ranges.Sum, len(run))
	for i, c := range run {
		sums[i], end = ranges.NewSum(c.start, c.end, c.sum), max(end, c.end)
	}
	mem := b.budget.Account()
	defer mem.Close()
	size := min(most, end-start)
	if err := mem.Hold(uint64(size)); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	for at := start; at < end; at += size {
		part := data[:min(size, end-at)]
		if _, err := st.ReadRange(ctx, run[0].url, at, part); err != nil {
			return nil, err
		}
		for _, s := range sums {
			s.Feed(at, part)
		}
	}
	return sums, nil
}
