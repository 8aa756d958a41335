package scan

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Audit reads every field of every stripe as a scan does, column by column, Request.Workers at the same time, and compares its values, those
// of nested fields too, with what the descriptors and range indexes state about them: counts, ranges, sizes, sketches, Bloom filters, of
// the stripe and of the shard. What a scan would refuse, and statistics that lie, are given to found, one for each column
// and stripe and in their order; the error is for what is not about stored data. Of a column that stores nothing only its first row is read.
func Audit(ctx context.Context, store Store, q *Request, found func(error) error) error {
	a := &audit{plan: newPlan(q), decode: newDecoder(q), found: found, waiting: map[int]*audited{}}
	a.shard = newShardClaims(a.plan)
	fields := q.Project.Fields
	branch, join := (&fetcher{store: store}).branches()
	defer join()
	err := parallel.Each(ctx, q.Workers, len(q.Stripes)*len(fields), func(k int) error {
		s := &scanner{plan: a.plan, fetch: branch(), decode: a.decode}
		return a.put(k, a.column(ctx, s, k/len(fields), fields[k%len(fields)]))
	})
	if err != nil {
		return err
	}
	return found(a.shard.check(ctx))
}

// Restored is what Audit finds where statistics contradict bits that readers restore by them: no damage.
type Restored struct {
	Stripe int
	Err    error
}

func (r *Restored) Error() string { return fmt.Sprintf("stripe %d, %v", r.Stripe, r.Err) }

// audit is the work on all columns of all stripes.
type audit struct {
	plan   *plan
	decode *decoder
	found  func(error) error
	// alone is held by who reads a column alone, and shared by who doesn't.
	alone sync.RWMutex

	mu sync.Mutex
	// shard is what was counted of the columns up to next, waiting what came out of some behind it.
	shard   *shardClaims
	next    int
	waiting map[int]*audited
	failed  error
}

// audited is what came out of one column of one stripe.
type audited struct {
	errs    []error
	counted *shardClaims
}

// put takes what came out of column k of all, and reports it after those before it.
func (a *audit) put(k int, out *audited) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting[k] = out
	for out := a.waiting[a.next]; out != nil && a.failed == nil; out = a.waiting[a.next] {
		delete(a.waiting, a.next)
		a.next++
		a.shard.addAll(out.counted)
		for _, err := range out.errs {
			if a.failed = a.found(err); a.failed != nil {
				break
			}
		}
	}
	return a.failed
}

// column checks a column of a stripe: alone if others took the memory that it needs.
func (a *audit) column(ctx context.Context, s *scanner, i int, n *schema.Node) *audited {
	a.alone.RLock()
	out := s.auditEncodings(ctx, i, n)
	a.alone.RUnlock()
	if a.plan.q.Workers > 1 && out.exceeded() {
		a.alone.Lock()
		defer a.alone.Unlock()
		return s.auditEncodings(ctx, i, n)
	}
	return out
}

// exceeded reports whether the memory did not suffice.
func (x *audited) exceeded() bool {
	for _, err := range x.errs {
		if errors.Is(err, budget.ErrExceeded) {
			return true
		}
	}
	return false
}

// auditEncodings checks a column in each of its encodings that can be read, which must all hold the same values.
func (s *scanner) auditEncodings(ctx context.Context, i int, n *schema.Node) *audited {
	out := &audited{counted: newShardClaims(s.plan)}
	d, _, err := s.plan.q.Root.StripeField(ctx, i, n.ID)
	if err != nil {
		out.errs = append(out.errs, err)
		return out
	}
	if of := s.plan.q.Stripes[i]; d.GetField() == nil && of.Deleted > 0 && n.Internal == schema.InternalDeletedRecord {
		st := &stripe{plan: s.plan, index: i}
		out.errs = append(out.errs, st.lie(n, "no record is marked as deleted, the stripe says %d", of.Deleted))
	}
	encodings, read, unread, shard := len(d.GetEncodings()), false, error(nil), out.counted
	for only := min(1, encodings); only <= encodings; only++ {
		err := s.audit(ctx, auditedColumn{i, n, s.plan.q.Stripes[i].Records, only}, shard)
		if encodings > 1 && errors.Is(err, corrupt.ErrUnsupported) && !errors.Is(err, budget.ErrExceeded) {
			unread = err
			continue
		}
		if err != nil {
			out.errs = append(out.errs, err)
		}
		read, shard = true, newShardClaims(s.plan) // the shard's own count each column once
	}
	if !read && unread != nil {
		out.errs = append(out.errs, unread)
	}
	for _, err := range s.restored {
		out.errs = append(out.errs, &Restored{Stripe: i, Err: err})
	}
	s.restored = nil
	return out
}
