// Package backoff has the pauses between the attempts of a catalog's requests and commits.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
	// oldAfter is how many rejections make a change an old one; see Rejected.
	oldAfter = 6
)

// Unknown is the pause after the n-th try of something that may work by itself later: it doubles up to a
// second, with full jitter.
func Unknown(n int) time.Duration {
	return rand.N(min(lastPause, firstPause<<min(n-1, 16)))
}

// Rejected is the pause after the n-th rejection of a change. Writers that collide spread out: the pauses
// double at first. Who has been rejected often then comes sooner and sooner: among writers that spread out more with
// every rejection the one with the most would be the one that hardly ever tries, and it would starve.
func Rejected(n int) time.Duration {
	up := min(n-1, oldAfter)
	down := max(0, n-1-oldAfter)
	return rand.N(max(firstPause/2, firstPause<<up>>min(down, 16)))
}

// Wait pauses, or ends with the context's error.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
