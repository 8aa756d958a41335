package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// disturbed are a catalog's options with a clock that jumps, a store that fails and commits that get lost. Everything that goes wrong
// is drawn from r at once, so that the order in which goroutines run changes nothing.
func disturbed(t *testing.T, ctx context.Context, dir string, r *rand.Rand) catalog.Options {
	var offset atomic.Int64
	go jump(ctx, &offset, rand.New(rand.NewPCG(r.Uint64(), 2)))
	o := options(dir, func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	o.MetadataCache = metadataCache
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	for _, client := range []*blobio.Client{o.Client, o.Metadata} {
		if err := client.MountBucket("file:///", blobfake.NewFaulty(t, fileblob.Open("/"), script(r))); err != nil {
			t.Fatal(err)
		}
	}
	if r.IntN(4) != 0 { // others stand in the catalog's line of writers, which a wrapped one lacks
		lossy := rand.New(rand.NewPCG(r.Uint64(), 3))
		icebergaccess.Wrap(&o, func(inner icecatalog.Catalog) icecatalog.Catalog { return &lossyCatalog{Catalog: inner, r: lossy} })
	}
	return o
}

// jump sets a clock forward and back by an hour, again and again.
func jump(ctx context.Context, offset *atomic.Int64, r *rand.Rand) {
	for ctx.Err() == nil {
		offset.Store(int64(time.Duration(r.IntN(3)-1) * time.Hour))
		pause(ctx, time.Duration(500+r.IntN(4000))*time.Millisecond)
	}
}

// faults are what happens to requests, in the language of internal/testkit/fault.
var faults = []string{"drop", "lost", "fail throttled", "fail transient", "fail 503 SlowDown", "stall 100ms", "cut 7"}

// script breaks one request in a hundred or so.
func script(r *rand.Rand) string {
	var b strings.Builder
	for n, at := 0, 0; n < 200; n++ {
		at += 1 + r.IntN(200)
		fmt.Fprintf(&b, "any %d: %s\n", at, faults[r.IntN(len(faults))])
	}
	return b.String()
}

// lossyCatalog loses a commit in thirty on the way there, and the answer of another.
type lossyCatalog struct {
	icecatalog.Catalog

	mu sync.Mutex
	r  *rand.Rand
}

var errLost = errors.New("connection reset by a test")

func (l *lossyCatalog) loses() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.IntN(30) == 0
}

// CommitTable implements catalog.Catalog.
func (l *lossyCatalog) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if l.loses() {
		return nil, "", errLost
	}
	meta, at, err := l.Catalog.CommitTable(ctx, ident, reqs, updates)
	if err == nil && l.loses() {
		return nil, "", errLost
	}
	return meta, at, err
}

// expected reports whether the text of an error is that of a fault that was injected, or of a race.
func expected(text string) bool {
	for _, fine := range []error{
		errLost, blobio.ErrTransient, blobio.ErrThrottled, blobio.ErrUnknown, catalog.ErrConflict, catalog.ErrUnknownOutcome, context.Canceled,
	} {
		if strings.Contains(text, fine.Error()) {
			return true
		}
	}
	return false
}
