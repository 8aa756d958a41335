package sqlcat

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/resthttp"
)

// TestSQLReadsAreRetried: reads of a database that is away are tried again for the budget, with one report of the outage and one of its end;
// one that never responds ends after two; any other error ends at once.
func TestSQLReadsAreRetried(t *testing.T) {
	away := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, tc := range map[string]struct {
		read       func(ctx context.Context, since time.Duration) error
		took       [2]time.Duration
		failed     error
		told, back int
	}{
		"at once":          {func(context.Context, time.Duration) error { return nil }, [2]time.Duration{0, 0}, nil, 0, 0},
		"another error":    {func(context.Context, time.Duration) error { return caterr.ErrInvalid }, [2]time.Duration{0, 0}, caterr.ErrInvalid, 0, 0},
		"away for 90 s":    {func(_ context.Context, d time.Duration) error { return errorUnless(d > 90*time.Second, away) }, [2]time.Duration{90 * time.Second, 101 * time.Second}, nil, 1, 1},
		"away for a blink": {func(_ context.Context, d time.Duration) error { return errorUnless(d > 0, away) }, [2]time.Duration{0, time.Second}, nil, 0, 0},
		"away for ever":    {func(context.Context, time.Duration) error { return away }, [2]time.Duration{105 * time.Second, 2 * time.Minute}, away, 1, 0},
		"never responds": {func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() }, [2]time.Duration{50 * time.Second, 52 * time.Second},
			resthttp.ErrTimeout, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told, back, begin := 0, 0, time.Now()
				r := Reads{Budget: resthttp.DefaultBudget, Timeout: resthttp.DefaultReadTimeout}
				r.Waiting, r.Recovered = func(error, time.Time) { told++ }, func(time.Duration) { back++ }
				err := r.Do(t.Context(), func(ctx context.Context) error { return tc.read(ctx, time.Since(begin)) })
				if took := time.Since(begin); !errors.Is(err, tc.failed) || (err == nil) != (tc.failed == nil) || took < tc.took[0] || took > tc.took[1] {
					t.Errorf("%v after %s", err, took)
				}
				if told != tc.told || back != tc.back {
					t.Errorf("%d reports, %d of the end", told, back)
				}
			})
		})
	}
}

func errorUnless(ok bool, err error) error {
	if ok {
		return nil
	}
	return err
}
