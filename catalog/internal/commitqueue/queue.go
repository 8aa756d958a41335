// Package commitqueue orders the writers of a table.
//
// Who commits on an old state of the table is rejected, and stages again. Among many writers one may be rejected again
// and again while others come and win. So a writer that was rejected takes a number, and those who come later wait
// until it has committed: it can lose only to those who had begun before it took the number. Compactions take none as
// long as somebody waits: their work keeps.
//
// The queue is not a lock. It saves work; whether a commit is right is decided by the commit alone, so a writer that can't
// reach the queue, or knows nothing of it, is as safe as the others.
package commitqueue

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/catalog/internal/backoff"
)

// Queue keeps the numbers of the writers that wait for a table: in the catalog's database, or as objects beside the table.
type Queue interface {
	pace() pace
	// waiting are the tickets in the queue, the smallest number first.
	waiting(ctx context.Context, table uuid.UUID) ([]ticket, error)
	// take takes the next number.
	take(ctx context.Context, table uuid.UUID) (number int64, err error)
	// beat shows that the holder of a number lives; false means that the number was taken away.
	beat(ctx context.Context, table uuid.UUID, number int64) (bool, error)
	// leave gives a number back, or takes it from a holder whose beats are still the given ones; anyBeats takes
	// it in any case.
	leave(ctx context.Context, table uuid.UUID, number, beats int64) error
}

// ticket is a number in the queue and how often its holder has beaten. The zero value is nobody.
type ticket struct{ number, beats int64 }

// pace is how often writers look at a queue, by what a look costs.
type pace struct {
	// idle: an append looks before its first attempt also where nobody has committed in the last seconds.
	idle bool
	// beat is how often a holder that waits shows that it lives.
	beat time.Duration
	// pause is the one after so many looks, counted from 0, with so many writers ahead.
	pause func(looks, ahead int) time.Duration
}

const (
	// anyBeats: see Queue.
	anyBeats = -1
	// takeTries bounds the tries to take a number that another writer takes at the same moment.
	takeTries = 10
	// deadAfter is how long a holder may be seen to do nothing: longer than a commit takes on a slow store. A holder
	// that is slower still loses its number and takes the next.
	deadAfter = 15 * time.Second
	// yieldFor bounds how long a compaction lets others go first; then it takes a number like everybody. Where writers come all the time
	// somebody is always in the queue: longer than a few commits take, a compaction waits for nothing.
	yieldFor = 2 * time.Second
	// yieldTries bounds how often a compaction is rejected without a number: writers that meet nobody take none, and could beat it for ever.
	yieldTries = 3
	// busyFor is how long after a commit somebody may wait whom it has beaten.
	busyFor = 5 * time.Second
)

// Table is a table that a change is committed to.
type Table interface {
	UUID() uuid.UUID
	Name() string
	// Exists is false for a table that its first commit creates: nobody waits for it.
	Exists() bool
	// LastCommit is when the current state was committed, by the clock of whoever did; zero if nothing was.
	LastCommit() time.Time
	Refresh(ctx context.Context) error
}

// Writer is one change on its way to a commit. Leave must be called when the change has ended.
type Writer struct {
	// Queue is nil where the catalog keeps none.
	Queue Queue
	Table Table
	// Yields: a compaction, which lets others go first.
	Yields bool
	Now    func() time.Time
	Log    *slog.Logger

	// waited is how long it has let others go first.
	waited time.Duration
	// number in the queue, 0 for none, and when its holder last showed life.
	number int64
	beaten time.Time
	// deadAfter of tests, which have less time.
	deadAfter time.Duration
}

// Await waits before attempt n, counted from 1, until it is this change's turn, and reads the table again if others
// may have committed meanwhile.
func (w *Writer) Await(ctx context.Context, n int) error {
	waited := false
	if w.Queue != nil && w.Table.Exists() && (n > 1 || w.Yields || w.Queue.pace().idle || w.busy()) {
		var err error
		if waited, err = w.stand(ctx, n-1); err != nil && ctx.Err() == nil {
			w.Log.Debug("the commit queue can't be reached", "table", w.Table.Name(), "error", err)
		}
	}
	if n > 1 && w.number == 0 {
		if err := backoff.Wait(ctx, backoff.Rejected(n-1)); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case waited:
		return w.Table.Refresh(ctx)
	}
	return nil
}

// busy reports whether somebody has committed in the last seconds.
func (w *Writer) busy() bool {
	last := w.Table.LastCommit()
	return !last.IsZero() && w.Now().Sub(last).Abs() < busyFor
}

// stand waits until nobody is before this change, which was rejected so often, and reports whether somebody was.
func (w *Writer) stand(ctx context.Context, rejections int) (waited bool, err error) {
	id, began := w.Table.UUID(), time.Now()
	defer func() { w.waited += time.Since(began) }()
	seen := sightings{}
	for look := 0; ; look++ {
		tickets, err := w.Queue.waiting(ctx, id)
		var first ticket
		if len(tickets) > 0 {
			first = tickets[0]
		}
		if err == nil && w.takesPart(first, rejections, w.waited+time.Since(began)) {
			err = w.hold(ctx, id)
		}
		if err != nil || first.number == 0 || first.number == w.number {
			return waited, err
		}
		waited = true
		for _, dead := range seen.lifeless(tickets, cmp.Or(w.deadAfter, deadAfter)) {
			if dead.number == w.number {
				continue
			}
			if err := w.Queue.leave(ctx, id, dead.number, dead.beats); err != nil {
				return waited, err
			}
		}
		ahead := slices.IndexFunc(tickets, func(t ticket) bool { return t.number == w.number })
		if ahead < 0 {
			ahead = len(tickets)
		}
		if err := backoff.Wait(ctx, w.Queue.pace().pause(look, ahead)); err != nil {
			return waited, err
		}
	}
}

// takesPart reports whether this change has, or should have, a number of its own.
func (w *Writer) takesPart(first ticket, rejections int, waited time.Duration) bool {
	switch {
	case w.number != 0:
		return true
	case w.Yields:
		return waited > yieldFor || rejections >= yieldTries
	}
	return rejections > 0 || first.number != 0
}

// hold takes a number, or shows that the holder of the number lives. One that was taken away is replaced.
func (w *Writer) hold(ctx context.Context, id uuid.UUID) (err error) {
	there := false
	if w.number != 0 {
		if time.Since(w.beaten) < w.Queue.pace().beat {
			return nil
		}
		if there, err = w.Queue.beat(ctx, id, w.number); err != nil {
			return err
		}
	}
	if !there {
		if w.number, err = w.Queue.take(ctx, id); err != nil {
			return err
		}
	}
	w.beaten = time.Now()
	return nil
}

// Leave ends the change.
func (w *Writer) Leave(ctx context.Context) {
	if w.number == 0 {
		return
	}
	if err := w.Queue.leave(context.WithoutCancel(ctx), w.Table.UUID(), w.number, anyBeats); err != nil {
		w.Log.Debug("a ticket in the commit queue remains until other writers remove it", "error", err)
	}
	w.number = 0
}

// sightings remember, by number, who was seen in the queue and since when in the same state: by the watcher's own clock, so that
// clocks need not agree. All are watched at once: many may have died, and the queue must not stand still for each of them.
type sightings map[int64]sighting

type sighting struct {
	beats int64
	since time.Time
}

// lifeless are those that have shown no life for so long.
func (s sightings) lifeless(now []ticket, limit time.Duration) (dead []ticket) {
	there := make(map[int64]bool, len(now))
	for _, t := range now {
		there[t.number] = true
		last, known := s[t.number]
		switch {
		case !known || last.beats != t.beats:
			s[t.number] = sighting{t.beats, time.Now()}
		case time.Since(last.since) > limit:
			dead = append(dead, t)
		}
	}
	maps.DeleteFunc(s, func(number int64, _ sighting) bool { return !there[number] })
	return dead
}

// jitter is a pause of a part that is fixed and one that is random.
func jitter(fixed, random time.Duration) time.Duration { return fixed + rand.N(random) }
