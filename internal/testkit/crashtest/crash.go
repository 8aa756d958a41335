// Package crashtest kills a piece of work at each of its steps, for tests.
//
// A step is a change that outlives the process: an object created or deleted, a commit sent. A Killer counts them;
// at the chosen one, before or after it is done, everything behind the killer goes dead, as if the process had
// been killed: no request succeeds any more, so no clean-up runs either. The test then opens the rest with
// fresh buckets and asserts that it is as before or as after.
package crashtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/testkit/fault"
)

// ErrKilled is the answer to everything after the kill.
var ErrKilled = errors.New("killed")

// Killer lets steps pass until the one at which it kills.
type Killer struct {
	mu   sync.Mutex
	at   int
	seen int
	dead bool
	last string
	// Kill, if not nil, is called at the chosen step: a test in a process of its own may end it there.
	Kill func()
}

// KillAt makes a killer that kills at the n-th step, counted from 1; 0 never.
func KillAt(n int) *Killer { return &Killer{at: n} }

// Killed reports whether the killer has killed, and at which step.
func (g *Killer) Killed() (step string, killed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last, g.dead
}

// Steps is how many steps passed.
func (g *Killer) Steps() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen
}

// pass counts a step.
func (g *Killer) pass(step string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return ErrKilled
	}
	if g.seen++; g.seen == g.at {
		g.dead, g.last = true, step
		if g.Kill != nil {
			g.Kill()
		}
		return ErrKilled
	}
	return nil
}

// alive fails after the kill; it counts nothing.
func (g *Killer) alive() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return ErrKilled
	}
	return nil
}

// Bucket is a bucket behind a killer. A killed request is denied rather than transient, so that nobody waits for
// it to come back.
type Bucket struct {
	blobio.Bucket
	Killer *Killer
}

func denied(op, key string, err error) error {
	if err == nil {
		return nil
	}
	return blobio.NewError(op, key, blobio.ErrDenied, err)
}

// ReadRange implements blobio.BucketReader.
func (b *Bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	if err := b.Killer.alive(); err != nil {
		return 0, blobio.Info{}, denied("read", key, err)
	}
	return b.Bucket.ReadRange(ctx, key, off, dst, opts)
}

// ReadSuffix implements blobio.BucketReader.
func (b *Bucket) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	if err := b.Killer.alive(); err != nil {
		return nil, blobio.Info{}, denied("read", key, err)
	}
	return b.Bucket.ReadSuffix(ctx, key, n, opts)
}

// Create implements blobio.Bucket; the step is the Close of the writer.
func (b *Bucket) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	if err := b.Killer.alive(); err != nil {
		return nil, denied("create", key, err)
	}
	w, err := b.Bucket.Create(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return &writer{Writer: w, killer: b.Killer, key: key}, nil
}

type writer struct {
	blobio.Writer
	killer *Killer
	key    string
}

func (w *writer) Close() error {
	if err := w.killer.pass("before create " + w.key); err != nil {
		w.Abort()
		return denied("create", w.key, err)
	}
	if err := w.Writer.Close(); err != nil {
		return err
	}
	return denied("create", w.key, w.killer.pass("after create "+w.key))
}

// Delete implements blobio.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	if err := b.Killer.pass("before delete " + key); err != nil {
		return denied("delete", key, err)
	}
	if err := b.Bucket.Delete(ctx, key, opts); err != nil {
		return err
	}
	return denied("delete", key, b.Killer.pass("after delete "+key))
}

// Catalog is an Iceberg catalog behind a killer.
type Catalog struct {
	icecatalog.Catalog
	Killer *Killer
}

// CommitTable implements catalog.Catalog.
func (c *Catalog) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if err := c.Killer.pass("before commit"); err != nil {
		return nil, "", err
	}
	meta, at, err := c.Catalog.CommitTable(ctx, ident, reqs, updates)
	if err == nil {
		err = c.Killer.pass("after commit")
	}
	return meta, at, err
}

// LoadTable implements catalog.Catalog.
func (c *Catalog) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	if err := c.Killer.alive(); err != nil {
		return nil, err
	}
	return c.Catalog.LoadTable(ctx, ident)
}

// CreateTable implements catalog.Catalog.
func (c *Catalog) CreateTable(ctx context.Context, ident table.Identifier, schema *iceberg.Schema, opts ...icecatalog.CreateTableOpt) (*table.Table, error) {
	if err := c.Killer.pass("before create table"); err != nil {
		return nil, err
	}
	t, err := c.Catalog.CreateTable(ctx, ident, schema, opts...)
	if err == nil {
		err = c.Killer.pass("after create table")
	}
	return t, err
}

// DropTable implements catalog.Catalog.
func (c *Catalog) DropTable(ctx context.Context, ident table.Identifier) error {
	if err := c.Killer.pass("before drop table"); err != nil {
		return err
	}
	if err := c.Catalog.DropTable(ctx, ident); err != nil {
		return err
	}
	return c.Killer.pass("after drop table")
}

// Walk calls work with a killer that kills at step n = 1, 2, … until a run ends without having been killed. work
// makes its own fresh ground and asserts what must hold afterwards. Walk returns the number of kills.
func Walk(work func(n int, g *Killer) error) (int, error) {
	return fault.Walk(func(n int) (int, error) {
		g := KillAt(n)
		err := work(n, g)
		step, killed := g.Killed()
		if err != nil {
			return 0, fmt.Errorf("killed at %s: %w", step, err)
		}
		if !killed {
			return n - 1, nil
		}
		return n, nil
	})
}
