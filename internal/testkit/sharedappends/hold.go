// Package sharedappends makes appends of one process share a snapshot, for tests: the commit of the first one is delayed until the others
// wait for it, so that they become one group.
package sharedappends

import (
	"context"
	"sync"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// Hold delays a commit. The zero value delays none.
type Hold struct {
	mu    sync.Mutex
	first *first
}

// first is the delayed commit of a Run.
type first struct {
	cat *catalog.Catalog
	// begun is closed when the commit is delayed, or when the append ended without one.
	begun chan struct{}
	once  sync.Once
	// others is how many appends come behind it, ended how many of these have ended.
	others, ended int
}

// Wrap puts the delay in front of a catalog.
func (h *Hold) Wrap(c icecatalog.Catalog) icecatalog.Catalog { return &held{c, h} }

type held struct {
	icecatalog.Catalog
	hold *Hold
}

// CommitTable implements catalog.Catalog.
func (c *held) CommitTable(ctx context.Context, ident table.Identifier, r []table.Requirement, u []table.Update) (table.Metadata, string, error) {
	c.hold.delay(ctx)
	return c.Catalog.CommitTable(ctx, ident, r, u)
}

// delay returns when all other appends of a Run wait for this commit or have ended. It delays one commit of each Run.
func (h *Hold) delay(ctx context.Context) {
	h.mu.Lock()
	f := h.first
	h.first = nil
	h.mu.Unlock()
	if f == nil {
		return
	}
	f.once.Do(func() { close(f.begun) })
	for ctx.Err() == nil && !h.complete(f) {
		time.Sleep(time.Millisecond)
	}
}

func (h *Hold) complete(f *first) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return icebergaccess.WaitingAppends(f.cat)+f.ended >= f.others
}

// Run makes appends to a table of c, whose Iceberg catalog is behind the Hold, and returns the error of each. All share a snapshot but the
// first, unless one ends before its commit.
func (h *Hold) Run(c *catalog.Catalog, appends ...func() error) []error {
	f := &first{cat: c, begun: make(chan struct{}), others: len(appends) - 1}
	h.mu.Lock()
	h.first = f
	h.mu.Unlock()
	out := make([]error, len(appends))
	var all sync.WaitGroup
	for i, do := range appends {
		if i == 1 {
			<-f.begun
		}
		all.Go(func() {
			out[i] = do()
			f.once.Do(func() { close(f.begun) })
			h.mu.Lock()
			defer h.mu.Unlock()
			f.ended++
		})
	}
	all.Wait()
	return out
}
