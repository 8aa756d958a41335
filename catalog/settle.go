package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
)

// request is a change of a table that is sent to the catalog until its outcome is known.
type request struct {
	requirements []table.Requirement
	send         func(ctx context.Context) (table.Metadata, string, error)
	// done reports whether a state of the table contains the change.
	done func(table.Metadata) bool
}

// unproven is the error of a change that the catalog rejected, where the table's state does not show that the rejection is true.
// Nothing that the change refers to may be deleted.
type unproven struct{ err error }

func (u *unproven) Error() string { return u.err.Error() }
func (u *unproven) Unwrap() error { return u.err }

// mayBeCommitted reports whether an error leaves it open that the change was, or will be, committed.
func mayBeCommitted(err error) bool {
	return errors.Is(err, ErrUnknownOutcome) || errors.As(err, new(*unproven))
}

const (
	// maxSends bounds how often the identical request is sent: with the pauses, some five seconds and what the catalog requests. While the catalog is
	// away it is sent until the budget of retries has passed.
	maxSends = 10
	// maxGone is the number of requests after which a 404 is a refusal, if the table can be loaded: a failover may show one, and catalogs
	// answer so to those who may read a table and not change it.
	maxGone = 2
	// maxReloads bounds the tries to read the table after a request; while the catalog is away they go on until the budget has passed.
	maxReloads = 5
	// defaultRetryBudget is Options.RetryBudget if 0.
	defaultRetryBudget = 2 * time.Minute
)

// attemptsLeft reports whether something may be tried again after n tries since begin, the last of which ended with err.
func (c *Catalog) attemptsLeft(n, limit int, begin time.Time, err error) bool {
	return n < limit || commiterr.IsOutage(err) && time.Since(begin) < cmp.Or(c.opts.RetryBudget, defaultRetryBudget)
}

// settle sends a request until its outcome is known. No errors: the change is committed, and the table is at a state that contains it.
// rejected: it was not committed; the table is at its new state, on which it may be made again. err: it is refused for good
// (ErrRefused, ErrInvalid, ErrNotFound, ErrConflict), or its outcome is unknown (ErrUnknownOutcome).
//
// A success is final: the state that came with it is the table's, and no later read can take it back. A rejection counts only if no earlier
// request of the same change may have been committed; if one may, the table decides.
func (t *Table) settle(ctx context.Context, r request) (rejected, err error) {
	begin := time.Now()
	doubt := false // an earlier request may have been carried out, or may still be
	gone := 0      // responses that there is no such table, although it is loaded: any of them may be wrong
	for n := 1; ; n++ {
		meta, at, sendErr := r.send(ctx)
		if sendErr == nil && meta != nil && r.done(meta) {
			t.takeOver(ctx, meta, at)
			return nil, nil
		}
		v := commiterr.ClassOf(sendErr)
		doubt = doubt || v == commiterr.Unknown
		switch {
		case !doubt && v == commiterr.Refused && commiterr.NotSent(sendErr), !doubt && v == commiterr.Later && !t.cat.attemptsLeft(n, maxSends, begin, sendErr):
			if err = t.refusal(sendErr); gone > 0 {
				err = &unproven{err}
			}
			return nil, err
		case !doubt && v == commiterr.Later:
		default:
			if done, rejected, err := t.decide(ctx, r, v, doubt, sendErr); done || rejected != nil || err != nil {
				return rejected, err
			}
			if v == commiterr.Gone {
				gone++
			}
			if !doubt && gone == maxGone {
				return nil, t.denied(sendErr)
			}
			if !t.cat.attemptsLeft(n, maxSends, begin, sendErr) {
				return nil, t.exhausted(doubt, sendErr)
			}
		}
		if err := backoff.Wait(ctx, max(backoff.Unknown(n), commiterr.RequestedPause(sendErr))); err != nil {
			switch {
			case doubt:
				err = fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(err, sendErr))
			case gone > 0:
				err = &unproven{err}
			}
			return nil, err
		}
	}
}

// decide reads the table to find out what became of a request. Neither done, nor rejected, nor an error: it is to be sent again.
func (t *Table) decide(ctx context.Context, r request, v commiterr.Class, doubt bool, sendErr error) (done bool, rejected, err error) {
	state := t.look(ctx)
	if state.err == nil && !doubt && (v == commiterr.Refused || v == commiterr.Bad) && !r.done(t.ice.Metadata()) && !commiterr.NotSent(sendErr) {
		// A gateway may refuse what its server has carried out, and the state may be of before: two responses may be wrong in a row.
		if backoff.Wait(ctx, backoff.Unknown(1)) == nil {
			state = t.look(ctx)
		} else {
			state.err = context.Cause(ctx)
		}
	}
	switch {
	case state.err == nil && r.done(t.ice.Metadata()):
		return true, nil, nil
	case !doubt && v == commiterr.Refused:
		if err = t.refusal(sendErr); state.err != nil {
			err = &unproven{err}
		}
		return false, nil, err
	case state.renamed || state.gone:
		return false, nil, t.moved(state, v, doubt, sendErr)
	case state.err == nil && t.outdated(r.requirements):
		return false, cmp.Or(sendErr, errNoChange), nil
	case doubt && (state.err != nil || v == commiterr.Refused || v == commiterr.Bad):
		return false, nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(sendErr, state.err))
	case doubt:
		return false, nil, nil
	case v == commiterr.Bad && state.err != nil:
		return false, nil, &unproven{t.refusal(sendErr)}
	case v == commiterr.Bad:
		return false, nil, t.refusal(sendErr)
	case state.err != nil && commiterr.NotSent(sendErr):
		return false, nil, fmt.Errorf("%w: nothing was committed: %w", ErrConflict, errors.Join(sendErr, state.err))
	case state.err != nil:
		return false, nil, &unproven{fmt.Errorf("%w: %w", ErrConflict, errors.Join(sendErr, state.err))}
	case v == commiterr.Conflict:
		return false, &unproven{sendErr}, nil
	}
	return false, nil, nil // commiterr.Gone, but the table is there
}

// exhausted is the error of a request that was sent often enough.
func (t *Table) exhausted(doubt bool, sendErr error) error {
	if doubt {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, cmp.Or(sendErr, errUnseen))
	}
	return t.refusal(sendErr)
}

// refusal is the error of a change that was not committed, for a reason that another attempt does not change.
func (t *Table) refusal(why error) error {
	known := (*commiterr.Error)(nil)
	errors.As(why, &known)
	switch {
	case errors.Is(why, table.ErrInvalidMetadata), known != nil && known.Invalid:
		return t.refused(why)
	case errors.Is(why, icecatalog.ErrNoSuchTable), errors.Is(why, icecatalog.ErrNoSuchNamespace):
		return fmt.Errorf("nothing was committed: %w", translate(why))
	case known != nil && known.Local:
		return fmt.Errorf("nothing was committed: %w", why)
	}
	return fmt.Errorf("%w; nothing was committed: %w", ErrRefused, why)
}

// denied is the error of a change that the catalog answered with "no such table", where it loads that table.
func (t *Table) denied(why error) error {
	return fmt.Errorf("%w; nothing was committed: the catalog loads the table, but reports it as missing on changes; check that these credentials may change it: %w", ErrRefused, why)
}

// errUnseen is the reason of an outcome that is unknown although the catalog reported success.
var errUnseen = errors.New("the catalog reported success, but the change is not in the table")

var errNoChange = errors.New("the catalog changed nothing")

// state is what a look at the table after a request found.
type state struct {
	// err: the table could not be read, or only older states of it.
	err error
	// gone: no table of this UUID stands under the name; renamed: it stands under another one, and was loaded from there.
	gone, renamed bool
}

// look reads the table after a request was sent. It takes over no state older than the one the request was made on, and
// looks for a table that is missing under the other names of the catalog.
func (t *Table) look(ctx context.Context) state {
	asked, ctx := ctx, context.WithoutCancel(ctx)
	begin, err := time.Now(), error(nil)
	for n := 1; n == 1 || t.cat.attemptsLeft(n-1, maxReloads, begin, err) && backoff.Wait(asked, backoff.Unknown(n-1)) == nil; n++ {
		var there *table.Table
		there, err = t.cat.ice.LoadTable(ctx, t.name.identifier())
		switch err = translate(err); {
		case errors.Is(err, ErrNotFound), err == nil && there.Metadata().TableUUID() != t.ice.Metadata().TableUUID():
			return t.lookElsewhere(ctx, cmp.Or(err, errOtherTable))
		case err == nil && older(there, t.ice):
			err = errStale
		case err == nil:
			if err = t.set(ctx, there); err == nil {
				return state{}
			}
		}
	}
	return state{err: err}
}

var (
	errStale      = errors.New("the catalog returned a stale state of the table")
	errOtherTable = errors.New("it has another UUID")
)

// lookElsewhere searches the catalog for the table's UUID.
func (t *Table) lookElsewhere(ctx context.Context, why error) state {
	name, err := t.cat.nameOf(ctx, t.UUID())
	if err != nil || name == nil {
		return state{gone: true, err: errors.Join(why, err)}
	}
	there, err := t.cat.ice.LoadTable(ctx, name.identifier())
	if err == nil && there.Metadata().TableUUID() != t.ice.Metadata().TableUUID() {
		err = errOtherTable
	}
	if err == nil && older(there, t.ice) {
		err = errStale
	}
	if err == nil {
		err = t.set(ctx, there)
	}
	if err != nil {
		return state{gone: true, err: errors.Join(why, err)}
	}
	if *name == t.name {
		return state{} // the name was missing for a moment
	}
	t.cat.opts.Log.Warn("the table has another name now", "was", t.name.String(), "is", name.String())
	t.name = *name
	return state{renamed: true}
}

// moved is the error of a change to a table that is no longer under its name.
func (t *Table) moved(s state, v commiterr.Class, doubt bool, sendErr error) error {
	where, class := "it was dropped, or renamed", ErrNotFound
	switch {
	case s.renamed:
		where = "it is " + t.name.String() + " now"
	case errors.Is(s.err, errOtherTable):
		where, class = "it was dropped or renamed, and another one has its name", ErrConflict
	}
	if doubt {
		return fmt.Errorf("%w: %s: %w", ErrUnknownOutcome, where, errors.Join(sendErr, s.err))
	}
	err := fmt.Errorf("%w: %s: %w", class, where, errors.Join(sendErr, s.err))
	if s.gone && !commiterr.NotSent(sendErr) { // a dropped table's files are collected with it
		return &unproven{err}
	}
	return err
}

// older reports whether one state of a table is older than another. Sequence numbers and times of change only grow; where they are
// equal, or a clock was set back, the names of earlier metadata files decide.
func older(a, b *table.Table) bool {
	switch {
	case a.MetadataLocation() == b.MetadataLocation(), b.MetadataLocation() == "":
		return false
	case follows(b, a):
		return true
	case follows(a, b):
		return false
	}
	was, is := b.Metadata(), a.Metadata()
	if is.LastSequenceNumber() != was.LastSequenceNumber() {
		return is.LastSequenceNumber() < was.LastSequenceNumber()
	}
	return is.LastUpdatedMillis() < was.LastUpdatedMillis()
}

// follows reports whether a's log of metadata files names b's.
func follows(a, b *table.Table) bool {
	for entry := range a.Metadata().PreviousFiles() {
		if entry.MetadataFile == b.MetadataLocation() {
			return true
		}
	}
	return false
}

// takeOver uses over the state that came with a success. The commit stands whether or not it can be used.
func (t *Table) takeOver(ctx context.Context, meta table.Metadata, at string) {
	if err := t.set(ctx, table.New(t.name.identifier(), meta, at, t.cat.fs, t.cat.ice)); err != nil {
		t.cat.opts.Log.Warn("the change is committed, but the table's new state can't be read", "table", t.name.String(), "error", err)
	}
}

// outdated reports whether the table has moved on so that a staged change can't be committed any more, not even by
// a request that is still under way.
func (t *Table) outdated(requirements []table.Requirement) bool {
	return slices.ContainsFunc(requirements, func(r table.Requirement) bool {
		return r.Validate(t.ice.Metadata()) != nil
	})
}
