package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/iceberg-go/table"
)

// metaUpdate is a change of a table's metadata that adds no snapshot: its schema, its refs, its properties.
type metaUpdate struct {
	requirements []table.Requirement
	updates      []table.Update
	// done reports whether a table is as the update leaves it. It tells a lost answer from a lost request.
	done func(table.Metadata) bool
}

// update commits a change of the table's metadata. plan is asked on each state of the table that the change is tried
// on; no update and no error says that there is nothing to do. The table is at its new state when update returns
// nil.
func (t *Table) update(ctx context.Context, plan func() (*metaUpdate, error)) error {
	turn := t.turn(false)
	defer turn.leave(ctx)
	for n := 1; ; n++ {
		if err := turn.await(ctx, n); err != nil {
			return err
		}
		u, err := plan()
		if err != nil || u == nil {
			return err
		}
		u.requirements = append(u.requirements, table.AssertTableUUID(t.ice.Metadata().TableUUID()))
		rejected, err := t.tryUpdate(ctx, u)
		switch {
		case err != nil:
			return fmt.Errorf("table %s: %w", t.name, err)
		case rejected == nil:
			return nil
		case n >= t.cat.opts.CommitAttempts:
			return fmt.Errorf("%w: table %s: %d attempts were rejected, the last with: %w", ErrConflict, t.name, n, rejected)
		}
	}
}

// tryUpdate sends an update until it is known what became of it: committed (both nil), rejected, or neither (err).
func (t *Table) tryUpdate(ctx context.Context, u *metaUpdate) (rejected, err error) {
	for send := 1; ; send++ {
		_, _, sendErr := t.cat.ice.CommitTable(ctx, t.name.identifier(), u.requirements, u.updates)
		if err := t.reload(ctx, sendErr); err != nil {
			return nil, err
		}
		switch {
		case sendErr == nil || u.done(t.ice.Metadata()):
			return nil, nil
		case errors.Is(sendErr, table.ErrInvalidMetadata):
			return nil, t.refused(sendErr)
		case authoritative(sendErr) || t.outdated(u.requirements):
			return sendErr, nil
		case send >= maxSends:
			return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, sendErr)
		}
		if err := wait(ctx, unknownPause(send)); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(err, sendErr))
		}
	}
}

// refused is a change that iceberg-go did not send, because the metadata would not be valid. A table that was changed by
// somebody whose clock is ahead takes no other change than a commit of rows until that time has come.
func (t *Table) refused(why error) error {
	stamped := time.UnixMilli(t.ice.Metadata().LastUpdatedMillis())
	if ahead := time.Until(stamped); ahead > 0 {
		return fmt.Errorf("%w: nothing was changed: the table's last change is stamped %s, %s ahead of this computer's clock; mend the clock that is wrong, or try again then: %w",
			ErrConflict, stamped.UTC().Format(time.RFC3339), ahead.Round(time.Second), why)
	}
	return fmt.Errorf("%w: nothing was changed: %w", ErrInvalid, why)
}
