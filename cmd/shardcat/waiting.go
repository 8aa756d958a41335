package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/blobio"
)

// retryFlags bound repeated requests to object stores and catalogs.
type retryFlags struct {
	budget, timeout time.Duration
	attempts        int
}

func (r *retryFlags) add(root *cobra.Command) {
	f := root.PersistentFlags()
	d := blobio.RetryPolicy{}.WithDefaults()
	f.DurationVar(&r.budget, "retry-budget", d.Budget, "time limit for retries of requests to an object store or catalog; 0s disables retries")
	f.IntVar(&r.attempts, "retry-attempts", 0, "maximum number of attempts per request to an object store (default: limited by --retry-budget)")
	f.DurationVar(&r.timeout, "request-timeout", d.Stall, "timeout of a request to an object store without a response; three times as long for the end of a write")
}

// policy is what the flags say; each wait is reported to notify.
func (r *retryFlags) policy(notify func(blobio.Wait)) (blobio.RetryPolicy, error) {
	switch {
	case r.budget < 0:
		return blobio.RetryPolicy{}, usagef("--retry-budget %v: must not be negative", r.budget)
	case r.attempts < 0:
		return blobio.RetryPolicy{}, usagef("--retry-attempts %d: must not be negative", r.attempts)
	case r.timeout <= 0:
		return blobio.RetryPolicy{}, usagef("--request-timeout %v: must be a positive duration", r.timeout)
	}
	p := blobio.RetryPolicy{Budget: r.budget, Attempts: r.attempts, Stall: r.timeout, Notify: notify}
	if r.budget == 0 {
		p.Attempts = 1
	}
	return p, nil
}

// A wait that ends within waitNotice of the first failure is not worth a line; later ones get one in waitRepeat.
const waitNotice, waitRepeat = time.Second, 10 * time.Second

// waitReporter prints a line on stderr while requests wait for a store or catalog that is busy or away.
type waitReporter struct {
	a    *app
	mu   sync.Mutex
	last time.Time
}

// report is called before each wait, by concurrent requests.
func (w *waitReporter) report(wait blobio.Wait) {
	if wait.Since+wait.For < waitNotice {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.last) < waitRepeat {
		return
	}
	w.last = time.Now()
	w.a.warn(waitLine(wait))
}

// waitLine is what a person reads while requests wait.
func waitLine(wait blobio.Wait) string {
	err := wait.Err
	var cause *blobio.Error
	if errors.As(err, &cause) {
		err = cause
	}
	return fmt.Sprintf("%v; attempt %d failed, retrying for up to %v", err, wait.Failed, wait.Left.Round(time.Second))
}
