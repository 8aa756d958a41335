package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

const url = "mem://leases/vault/_gc/"

// newFolder is a folder in a bucket, by a client of its own.
func newFolder(t *testing.T, bucket blobio.Bucket, clock *fakeclock.Clock) Folder {
	client := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { client.Close() })
	if err := client.MountBucket("mem://leases/", bucket); err != nil {
		t.Fatal(err)
	}
	return Folder{Client: client, URL: url, Table: func() string { return "default.t" }, Now: clock.Now, Log: slog.New(slog.DiscardHandler)}
}

// newTimed is a folder whose objects have times of a clock.
func newTimed(t *testing.T) (Folder, *fakeclock.Clock) {
	clock := fakeclock.New(time.Now())
	return newFolder(t, &fakeclock.Bucket{Bucket: memblob.New(), Clock: clock}, clock), clock
}

// TestRecords: objects in the folder whose names are no lease's hide none, and a released lease leaves neither its own renewals nor what was
// before it.
func TestRecords(t *testing.T) {
	ctx := t.Context()
	f, _ := newTimed(t)
	for _, name := range []string{"-.json", "-=notes.json", "-notes.json"} {
		if err := f.Client.Put(ctx, url+string(Compact)+name, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		l, err := f.Take(ctx, Compact)
		if err != nil || l.Token != fmt.Sprintf("%08d", round+1) {
			t.Fatalf("round %d: token %s, %v", round, l.Token, err)
		}
		if _, err := f.Take(ctx, Compact); !errors.Is(err, caterr.ErrConflict) {
			t.Errorf("round %d: a second lease: %v", round, err)
		}
		if holder, err := f.Holder(ctx, Compact); err != nil || !strings.Contains(holder, "/") {
			t.Errorf("round %d: holder %q, %v", round, holder, err)
		}
		for range 3 {
			if err := l.Renew(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Check(ctx); err != nil {
			t.Error(err)
		}
		l.Release(ctx)
		if holder, err := f.Holder(ctx, Compact); err != nil || holder != "" {
			t.Errorf("round %d: the released lease has the holder %q, %v", round, holder, err)
		}
		for info, err := range f.Client.List(ctx, url) {
			if err != nil {
				t.Fatal(err)
			}
			if name := path.Base(info.URL); strings.Contains(name, "renewed") || round > 0 && strings.Contains(name, fmt.Sprintf("%08d", round)) {
				t.Errorf("round %d: left %s", round, name)
			}
		}
	}
}

// TestTakenOver: a lease ends when its kind's time has passed since it was taken or renewed, and then another process's lease is not this one's. Leases of the
// other kind are apart.
func TestTakenOver(t *testing.T) {
	for kind, other := range map[Kind]Kind{Collect: Compact, Compact: Collect} {
		t.Run(string(kind), func(t *testing.T) {
			ctx := t.Context()
			f, clock := newTimed(t)
			l, err := f.Take(ctx, kind)
			if err != nil || !l.Taken.Equal(clock.Now()) {
				t.Fatalf("taken at %v, %v", l.Taken, err)
			}
			clock.Advance(kind.Time() - time.Second)
			if err := l.Renew(ctx); err != nil {
				t.Fatal(err)
			}
			clock.Advance(kind.Time() - time.Second)
			if _, err := f.Take(ctx, kind); !errors.Is(err, caterr.ErrConflict) {
				t.Errorf("within its time: %v", err)
			}
			clock.Advance(time.Second)
			if _, err := f.Take(ctx, other); err != nil {
				t.Errorf("the other kind: %v", err)
			}
			if err := l.Check(ctx); err != nil {
				t.Errorf("before another process takes it: %v", err)
			}
			if _, err := f.Take(ctx, kind); err != nil {
				t.Errorf("after its time: %v", err)
			}
			if err := l.Check(ctx); !errors.Is(err, caterr.ErrLeaseLost) || !strings.Contains(err.Error(), "of table default.t") {
				t.Errorf("after another process took it: %v", err)
			}
		})
	}
}

// pausedAfterPut is a store that runs between before the response to the first Stat of a key that contains at.
type pausedAfterPut struct {
	blobio.Bucket
	at      string
	between func()
}

func (b *pausedAfterPut) Stat(ctx context.Context, key string, o blobio.ReadOptions) (blobio.Info, error) {
	if run := b.between; run != nil && strings.Contains(key, b.at) {
		b.between = nil
		run()
	}
	return b.Bucket.Stat(ctx, key, o)
}

// TestClearedBeforeUse: a process is stopped right after it has written its lease. Others take over, release and clear the lease away. The process
// that goes on has lost its lease; neither kind of lease makes that a missing object.
func TestClearedBeforeUse(t *testing.T) {
	for _, kind := range []Kind{Collect, Compact} {
		t.Run(string(kind), func(t *testing.T) {
			ctx, clock := t.Context(), fakeclock.New(time.Now())
			bucket := &fakeclock.Bucket{Bucket: memblob.New(), Clock: clock}
			others := newFolder(t, bucket, clock)
			paused := &pausedAfterPut{Bucket: bucket, at: "_gc/" + string(kind) + "-00000001.json"}
			paused.between = func() {
				clock.Advance(kind.Time() + 1)
				next, err := others.Take(ctx, kind)
				if err != nil {
					t.Errorf("the other process: %v", err)
					return
				}
				next.Release(ctx)
			}
			f := newFolder(t, paused, clock)
			if _, err := f.Take(ctx, kind); !errors.Is(err, caterr.ErrLeaseLost) {
				t.Errorf("a lease that was cleared away: %v, want ErrLeaseLost", err)
			}
			if last, err := f.Take(ctx, kind); err != nil || last.number != 3 {
				t.Errorf("the next lease: %+v, %v; want number 3", last, err)
			}
		})
	}
}

// TestKeep: a lease that is kept lasts beyond its kind's time, and no longer than that after its holder stopped.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t, memblob.New(), fakeclock.New(time.Now()))
		f.Now = time.Now
		l, err := f.Take(t.Context(), Compact)
		if err != nil {
			t.Fatal(err)
		}
		alive, stop := context.WithCancel(t.Context())
		go l.Keep(alive)
		time.Sleep(3 * Compact.Time())
		if _, err := f.Take(t.Context(), Compact); !errors.Is(err, caterr.ErrConflict) {
			t.Errorf("while it is kept: %v", err)
		}
		stop()
		synctest.Wait()
		time.Sleep(Compact.Time())
		if _, err := f.Take(t.Context(), Compact); err != nil {
			t.Errorf("after its holder stopped: %v", err)
		}
	})
}

// TestCanceledTake: a process whose context ends while it takes a lease leaves none behind, whether or not the record was written.
func TestCanceledTake(t *testing.T) {
	for request := 1; ; request++ {
		for _, lost := range []bool{false, true} {
			clock := fakeclock.New(time.Now())
			bucket := blobfake.NewCanceling(&fakeclock.Bucket{Bucket: memblob.New(), Clock: clock})
			f := newFolder(t, bucket, clock)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			bucket.CancelAt(request, lost, cancel)
			l, err := f.Take(ctx, Compact)
			if bucket.Canceled() == "" {
				if err != nil || request < 4 {
					t.Errorf("%d requests: %v", request-1, err)
				}
				return
			}
			if err == nil { // canceled in a request whose outcome it had
				l.Release(ctx)
			}
			if _, err := f.Take(t.Context(), Compact); err != nil {
				t.Errorf("after a cancellation in %s, lost %v: %v", bucket.Canceled(), lost, err)
			}
		}
	}
}
