package catalog

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Who commits on an old state of the table is rejected, and stages again. Among many writers one may be rejected again
// and again while others come and win. So a writer that was rejected takes a number, and those who come later wait
// until it has committed: it can lose only to those who had begun before it took the number. Compactions take none as
// long as somebody waits: their work keeps.
//
// The line is not a lock. It saves work; whether a commit is right is decided by the commit alone, so a writer that can't
// reach the line, or knows nothing of it, is as safe as the others.

// commitLine keeps the numbers of the writers that wait for a table: in the catalog's database, or as objects beside the table.
type commitLine interface {
	// costly reports that each look is a request to an object store: an append that was not rejected looks only after a commit of the last seconds, and all look seldom.
	costly() bool
	// waiting are the numbers in the line, the smallest first.
	waiting(ctx context.Context, table uuid.UUID) ([]placed, error)
	// take takes the next number.
	take(ctx context.Context, table uuid.UUID) (number int64, err error)
	// beat shows that the holder of a number lives; false reports that the number was taken away.
	beat(ctx context.Context, table uuid.UUID, number int64) (bool, error)
	// leave gives a number back, or takes it from a holder whose beats are still the given ones; anyBeats takes
	// it in any case.
	leave(ctx context.Context, table uuid.UUID, number, beats int64) error
}

// placed is a number in the line and how often its holder has beaten. The zero value is nobody.
type placed struct{ number, beats int64 }

const (
	// anyBeats: see commitLine.
	anyBeats = -1
	// deadAfter is how long a holder may be seen to do nothing: longer than a commit takes on a slow store. A holder
	// that is slower still loses its number and takes the next.
	deadAfter = 15 * time.Second
	// beatEvery is how often a holder that waits shows that it lives.
	beatEvery = time.Second
	// yieldFor bounds how long a compaction lets others go first; then it takes a number like everybody. Where writers come all the time
	// somebody is always in line: longer than a few commits take, a compaction waits for nothing.
	yieldFor = 2 * time.Second
	// yieldTries bounds how often a compaction is rejected without a number: writers that meet nobody take none, and could beat it for ever.
	yieldTries = 3
	// busyFor is how long after a commit somebody may stand in line whom it has beaten.
	busyFor = 5 * time.Second
	// costlyBeat is beatEvery where a beat is three requests to an object store.
	costlyBeat = 4 * time.Second
	// lookFirst and lookLast bound the pauses between two looks at the line, lookCostly and lastCostly those at one that is objects.
	lookFirst, lookLast    = 2 * time.Millisecond, 50 * time.Millisecond
	lookCostly, lastCostly = 40 * time.Millisecond, time.Second
)

// turn is one change on its way to a commit.
type turn struct {
	table *Table
	// yields: a compaction, which lets others go first.
	yields bool
	// waited is how long it has let others go first.
	waited time.Duration
	// number in the line, 0 for none, and when its holder last showed life.
	number int64
	beaten time.Time
	// deadAfter: see there; tests have less time.
	deadAfter time.Duration
}

// turn begins a change. Its leave must be called when the change has ended.
func (t *Table) turn(yields bool) *turn {
	return &turn{table: t, yields: yields, deadAfter: deadAfter}
}

// await waits before attempt n, counted from 1, until it is this change's turn, and reads the table again if others
// may have committed meanwhile.
func (q *turn) await(ctx context.Context, n int) error {
	waited := false
	if line := q.table.cat.line; line != nil && q.table.creation == nil && (n > 1 || q.yields || !line.costly() || q.busy()) {
		var err error
		if waited, err = q.stand(ctx, line, n-1); err != nil && ctx.Err() == nil {
			q.table.cat.opts.Log.Debug("the commit queue can't be reached", "table", q.table.name.String(), "error", err)
		}
	}
	if n > 1 && q.number == 0 {
		if err := wait(ctx, rejectedPause(n-1)); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case waited:
		return q.table.Refresh(ctx)
	}
	return nil
}

// busy reports that somebody has committed in the last seconds, by the clock of whoever did.
func (q *turn) busy() bool {
	head := q.table.ice.CurrentSnapshot()
	return head != nil && q.table.cat.opts.Now().Sub(time.UnixMilli(head.TimestampMs)).Abs() < busyFor
}

// stand waits until nobody is before this change, which was rejected so often, and reports whether somebody was.
func (q *turn) stand(ctx context.Context, line commitLine, rejections int) (waited bool, err error) {
	id, began := q.table.ice.Metadata().TableUUID(), time.Now()
	defer func() { q.waited += time.Since(began) }()
	seen := sightings{}
	for look := 0; ; look++ {
		ahead, err := line.waiting(ctx, id)
		var first placed
		if len(ahead) > 0 {
			first = ahead[0]
		}
		if err == nil && q.takesPart(first, rejections, q.waited+time.Since(began)) {
			err = q.hold(ctx, line, id)
		}
		if err != nil || first.number == 0 || first.number == q.number {
			return waited, err
		}
		waited = true
		for _, dead := range seen.lifeless(ahead, q.deadAfter) {
			if dead.number == q.number {
				continue
			}
			if err := line.leave(ctx, id, dead.number, dead.beats); err != nil {
				return waited, err
			}
		}
		if err := wait(ctx, q.lookPause(line, look, ahead)); err != nil {
			return waited, err
		}
	}
}

// takesPart reports whether this change has, or should have, a number of its own.
func (q *turn) takesPart(first placed, rejections int, waited time.Duration) bool {
	switch {
	case q.number != 0:
		return true
	case q.yields:
		return waited > yieldFor || rejections >= yieldTries
	}
	return rejections > 0 || first.number != 0
}

// hold takes a number, or shows that the holder of the number lives. One that was taken away is replaced.
func (q *turn) hold(ctx context.Context, line commitLine, id uuid.UUID) (err error) {
	there := false
	if q.number != 0 {
		every := beatEvery
		if line.costly() {
			every = costlyBeat
		}
		if time.Since(q.beaten) < every {
			return nil
		}
		if there, err = line.beat(ctx, id, q.number); err != nil {
			return err
		}
	}
	if !there {
		if q.number, err = line.take(ctx, id); err != nil {
			return err
		}
	}
	q.beaten = time.Now()
	return nil
}

// leave ends the change.
func (q *turn) leave(ctx context.Context) {
	if q.number == 0 {
		return
	}
	err := q.table.cat.line.leave(context.WithoutCancel(ctx), q.table.ice.Metadata().TableUUID(), q.number, anyBeats)
	if err != nil {
		q.table.cat.opts.Log.Debug("a ticket in the commit queue remains until other writers remove it", "error", err)
	}
	q.number = 0
}

// lookPause spreads the looks of those who wait. At a line of objects those look less often who have more before them.
func (q *turn) lookPause(line commitLine, look int, ahead []placed) time.Duration {
	if !line.costly() {
		return lookFirst + rand.N(min(lookLast, lookFirst<<min(look, 8)))
	}
	place := slices.IndexFunc(ahead, func(p placed) bool { return p.number == q.number })
	if place < 0 {
		place = len(ahead)
	}
	return lookCostly/2 + rand.N(min(lastCostly, lookCostly*time.Duration(max(1, place))))
}

// sightings remember, by number, who was seen in the line and since when in the same state: by the watcher's own clock, so that
// clocks need not agree. All are watched at once: many may have died, and the line must not stand still for each of them.
type sightings map[int64]sighting

type sighting struct {
	beats int64
	since time.Time
}

// lifeless are those that have shown no life for so long.
func (s sightings) lifeless(now []placed, limit time.Duration) (dead []placed) {
	there := make(map[int64]bool, len(now))
	for _, p := range now {
		there[p.number] = true
		last, known := s[p.number]
		switch {
		case !known || last.beats != p.beats:
			s[p.number] = sighting{p.beats, time.Now()}
		case time.Since(last.since) > limit:
			dead = append(dead, p)
		}
	}
	maps.DeleteFunc(s, func(number int64, _ sighting) bool { return !there[number] })
	return dead
}
