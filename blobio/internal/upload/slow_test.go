package upload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// late is a shelf that takes its time to make an object.
type late struct {
	*shelf
	takes time.Duration
}

func (l late) wait(ctx context.Context) error {
	select {
	case <-time.After(l.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l late) Whole(ctx context.Context, body []byte) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	return l.shelf.Whole(ctx, body)
}

func (l late) Commit(ctx context.Context, n int) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	return l.shelf.Commit(ctx, n)
}

// TestSlowEnds: the request that ends a write may take longer than others, 35 s for one, but not for ever. The time is virtual.
func TestSlowEnds(t *testing.T) {
	for _, test := range []struct {
		takes time.Duration
		bytes int
		done  bool
	}{
		{35 * time.Second, 10, true}, {35 * time.Second, 250, true}, {59 * time.Second, 250, true},
		{10 * time.Minute, 10, false}, {10 * time.Minute, 250, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := late{newShelf(), test.takes}
			w := NewWriter(t.Context(), s, Options{PartSize: 100, Retry: blobio.RetryPolicy{}.WithDefaults()})
			begin := time.Now()
			_, err := w.Write(pattern(test.bytes))
			if err == nil {
				err = w.Close()
			}
			if took := time.Since(begin); (err == nil) != test.done || len(s.object) == test.bytes != test.done || took > 5*time.Minute {
				t.Errorf("%d bytes, an end of %s: %v after %s, object of %d bytes", test.bytes, test.takes, err, took, len(s.object))
			}
			w.Abort()
		})
	}
}
