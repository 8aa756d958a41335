package blobio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/zeebo/xxh3"
)

// RetryPolicy bounds repeated attempts by time. Zero fields have defaults, see WithDefaults. Only ErrThrottled,
// ErrTransient, ErrConflict and ErrDamaged are tried again, and only requests that may be made twice: reads, lists,
// deletes, and the begin of a write (Client.Put deals with the end of one). The policy serves catalogs too: any function
// whose errors have these classes is repeated by Do.
type RetryPolicy struct {
	// Attempts without progress, the first one included; 1 is no retry, 0 is as many as the budget has time for.
	Attempts int
	// Budget is the time that attempts without progress and the waits between them may take. The last attempt begins at
	// its end at the latest; a store that requests a longer wait ends the attempts at once.
	Budget time.Duration
	// First and Most bound the waits: before retry n it is random in [0, min(Most, First·2ⁿ)) ("full
	// jitter"), and at least what the store requested.
	First, Most time.Duration
	// Busy is First after an answer that the store is busy.
	Busy time.Duration
	// Stall is how long an attempt may take, and a stream from one read to the next; the end of a write three times as
	// long. Ranged reads and writes get a second more for each slowestRate of their bytes.
	Stall time.Duration
	// Notify, if not nil, is called before each wait, concurrently for requests that run concurrently.
	Notify func(Wait)
	// retried, if not nil, counts each attempt but the first.
	retried *both
}

// Wait is the time between a failed attempt and the next one.
type Wait struct {
	// Err is the error of the failed attempt.
	Err error
	// For is how long the wait is.
	For time.Duration
	// Failed counts the attempts so far, without progress.
	Failed int
	// Since is how long they took, and Left the rest of the budget.
	Since, Left time.Duration
}

// defaultRetry outlasts an outage of two minutes.
var defaultRetry = RetryPolicy{Budget: 2 * time.Minute, First: 100 * time.Millisecond, Busy: time.Second,
	Most: 10 * time.Second, Stall: 20 * time.Second}

// settledAttempts bounds attempts after errors that time does not heal: a conflict that stays, and an object that reads
// back damaged.
const settledAttempts = 6

// pageAttempts bounds attempts at one page of a list. After them the list begins again, for its token may be of no use.
const pageAttempts = 5

// ofPage is the policy for one page of a list.
func (p RetryPolicy) ofPage() RetryPolicy {
	if p.Attempts == 0 || p.Attempts > pageAttempts {
		p.Attempts = pageAttempts
	}
	return p
}

// WithDefaults fills the zero fields: a budget of two minutes, waits from 100 ms, of a second where the store is busy, up to 10 s, and 20 s
// for an attempt. It outlasts an outage of two minutes.
func (p RetryPolicy) WithDefaults() RetryPolicy {
	d := defaultRetry
	for _, field := range []struct{ from, to *time.Duration }{
		{&d.Budget, &p.Budget}, {&d.First, &p.First}, {&d.Busy, &p.Busy}, {&d.Most, &p.Most}, {&d.Stall, &p.Stall},
	} {
		if *field.to <= 0 {
			*field.to = *field.from
		}
	}
	return p
}

// slowestRate in bytes per second is what a ranged read or a write must make to be let go on.
const slowestRate = 256 << 10

// commits is how many times longer the request that ends a write may take than others: a store that puts an object
// together answers when all is done.
const commits = 3

// Allow is the time for one request that moves n bytes, 0 for no limit if Stall is 0.
func (p RetryPolicy) Allow(n int64) time.Duration {
	if p.Stall <= 0 {
		return 0
	}
	return p.Stall + time.Duration(n/slowestRate)*time.Second
}

// AllowEnd is the time for the request that ends a write of n bytes, and for a commit to a catalog.
func (p RetryPolicy) AllowEnd(n int64) time.Duration {
	p.Stall *= commits
	return p.Allow(n)
}

// tries are the attempts at one operation.
type tries struct {
	policy RetryPolicy
	failed int
	begin  time.Time
}

func (p RetryPolicy) begin() *tries { return &tries{policy: p, begin: time.Now()} }

// progress forgets the failures before it.
func (t *tries) progress() { t.failed, t.begin = 0, time.Now() }

// again waits before the next attempt, or returns the error with which to end.
func (t *tries) again(ctx context.Context, err error) error {
	first, most := t.policy.First, t.policy.Attempts
	switch Class(err) {
	case ErrTransient:
	case ErrThrottled:
		first = max(first, t.policy.Busy)
	case ErrConflict, ErrDamaged:
		if most == 0 || most > settledAttempts {
			most = settledAttempts
		}
	default:
		return err
	}
	t.failed++
	spent, asked := time.Since(t.begin), retryAfter(err)
	left := t.policy.Budget - spent
	switch {
	case most > 0 && t.failed >= most || left <= 0:
		return err
	case asked > left:
		return fmt.Errorf("%w; the store requests a delay of %s, longer than the remaining --retry-budget", err, asked.Round(time.Second))
	}
	wait := min(max(t.wait(first), asked), left)
	if t.policy.Notify != nil {
		t.policy.Notify(Wait{Err: err, For: wait, Failed: t.failed, Since: spent, Left: left})
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		if t.policy.retried != nil {
			t.policy.retried.add(Counters{Retries: 1})
		}
		return nil
	case <-ctx.Done():
		return errors.Join(&Error{Op: "wait", URL: urlOf(err), Class: ErrCanceled, Err: context.Cause(ctx)}, err)
	}
}

// wait is the jitter after the failures so far.
func (t *tries) wait(ceiling time.Duration) time.Duration {
	for range t.failed - 1 {
		if ceiling *= 2; ceiling >= t.policy.Most {
			break
		}
	}
	return rand.N(max(1, min(ceiling, t.policy.Most)))
}

func urlOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.URL
	}
	return ""
}

// Do makes attempts until one succeeds or the policy ends them. The zero policy makes one.
func (p RetryPolicy) Do(ctx context.Context, attempt func() error) error {
	err := attempt()
	for t := p.begin(); err != nil; err = attempt() {
		if err := t.again(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// retrying tries again what failed for a fault that may pass, and goes on where a body broke.
type retrying struct {
	Bucket
	policy RetryPolicy
}

// ReadRange resumes at the exact byte where a body broke, on the same object: what the first response reported about it
// becomes the condition of the next.
func (r *retrying) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts ReadOptions) (filled int, info Info, err error) {
	t := r.policy.begin()
	for {
		var n int
		n, info, err = r.Bucket.ReadRange(ctx, key, off+int64(filled), dst[filled:], opts)
		filled += n
		if err == nil {
			return filled, info, nil
		}
		if n > 0 {
			t.progress()
			if opts.IfMatch == "" {
				opts.IfMatch = info.ETag
			}
		}
		if err := t.again(ctx, err); err != nil {
			return filled, info, err
		}
	}
}

// ReadSuffix goes on by ranges, which resume, where the body of an answer broke that reports which object it is of: a body that
// breaks each time at some byte would never come to its end.
func (r *retrying) ReadSuffix(ctx context.Context, key string, n int64, opts ReadOptions) (b []byte, info Info, err error) {
	for t := r.policy.begin(); ; {
		if b, info, err = r.Bucket.ReadSuffix(ctx, key, n, opts); err == nil {
			return b, info, nil
		}
		if err := t.again(ctx, err); err != nil {
			return nil, info, err
		}
		if size := min(n, info.Size); info.ETag != "" && size > 0 {
			if opts.IfMatch == "" {
				opts.IfMatch = info.ETag
			}
			b = make([]byte, size)
			_, info, err = r.ReadRange(ctx, key, info.Size-size, b, opts)
			return b, info, err
		}
	}
}

func (r *retrying) Stat(ctx context.Context, key string, opts ReadOptions) (info Info, err error) {
	err = r.policy.Do(ctx, func() error {
		info, err = r.Bucket.Stat(ctx, key, opts)
		return err
	})
	return info, err
}

// Open gives a reader that resumes.
func (r *retrying) Open(ctx context.Context, key string, off int64, opts ReadOptions) (io.ReadCloser, Info, error) {
	s := &stream{r: r, ctx: ctx, key: key, off: off, opts: opts, tries: r.policy.begin()}
	for {
		err := s.open()
		if err == nil {
			return s, s.info, nil
		}
		if err := s.tries.again(ctx, err); err != nil {
			return nil, s.info, err
		}
	}
}

// List begins again behind what it gave. Objects that are written meanwhile may be missed, as in any list. An object is
// given once, whatever the store repeats.
func (r *retrying) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		g, t := given{sum: xxh3.New()}, r.policy.begin()
		for {
			failed := error(nil)
			g.begin()
			for info, err := range r.Bucket.List(ctx, prefix, opts) {
				fresh := false
				if err == nil {
					fresh, err = g.take(info.Key)
				}
				if err != nil {
					failed = err
					break
				}
				if !fresh {
					continue
				}
				t.progress()
				if !yield(info, nil) {
					return
				}
			}
			if failed == nil {
				failed = g.ended()
			}
			switch {
			case failed == nil:
				return
			case failed == errUnordered: // from the start on, with a set
				continue
			}
			if err := t.again(ctx, failed); err != nil {
				yield(Info{}, wrap("list", prefix, err))
				return
			}
		}
	}
}

// given is what a list gave so far. In an ordered list the last key states it all. Some stores keep no order: where that
// shows, the list begins again and all keys are remembered; those that were given before are the first ones, which
// count and checksum prove.
type given struct {
	count int
	last  string
	sum   *xxh3.Hasher // of the keys in the order in which they came
	set   map[[16]byte]struct{}

	at     int    // keys of this pass
	before string // the last one of this pass
	again  *xxh3.Hasher
}

// errUnordered requests another pass.
var errUnordered = errors.New("keys are not in order")

// errShuffled ends a list of which nothing is known.
var errShuffled = fmt.Errorf("%w: the store lists keys unordered, in a different order each time", ErrUnknown)

// ended is an error if the keys that were given before did not all come again.
func (g *given) ended() error {
	if g.set != nil && len(g.set) < g.count {
		return errShuffled
	}
	return nil
}

// begin begins a pass.
func (g *given) begin() {
	g.at, g.before = 0, ""
	if g.set != nil && g.again == nil {
		g.again = xxh3.New()
	}
}

// take reports whether a key is to be given.
func (g *given) take(key string) (fresh bool, err error) {
	g.at++
	if g.set != nil {
		return g.takeUnordered(key)
	}
	switch {
	case g.at > 1 && key < g.before:
		g.set = map[[16]byte]struct{}{}
		return false, errUnordered
	case g.count > 0 && key <= g.last:
		g.before = key
		return false, nil
	}
	g.before, g.last = key, key
	g.count++
	_, _ = g.sum.WriteString(key + "\x00")
	return true, nil
}

func (g *given) takeUnordered(key string) (fresh bool, err error) {
	mark := xxh3.HashString128(key).Bytes()
	if len(g.set) < g.count && g.again != nil { // the keys of the first pass come again
		if _, ok := g.set[mark]; !ok {
			g.set[mark] = struct{}{}
			_, _ = g.again.WriteString(key + "\x00")
		}
		if len(g.set) == g.count && g.again.Sum128() != g.sum.Sum128() {
			return false, errShuffled
		}
		return false, nil
	}
	if _, ok := g.set[mark]; ok {
		return false, nil
	}
	g.set[mark] = struct{}{}
	g.count++
	_, _ = g.sum.WriteString(key + "\x00")
	return true, nil
}

func (r *retrying) Create(ctx context.Context, key string, opts CreateOptions) (w Writer, err error) {
	t := r.policy.begin()
	for {
		if w, err = r.Bucket.Create(ctx, key, opts); err == nil {
			return w, nil
		}
		if err := t.again(ctx, err); err != nil {
			return nil, err
		}
	}
}

// Delete takes "gone" for success if an attempt before may have done it.
func (r *retrying) Delete(ctx context.Context, key string, opts DeleteOptions) error {
	unsure := false
	return r.policy.Do(ctx, func() error {
		err := r.Bucket.Delete(ctx, key, opts)
		switch Class(err) {
		case ErrNotFound:
			if unsure {
				return nil
			}
		case ErrTransient, ErrCanceled:
			unsure = true
		}
		return err
	})
}
