package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/manifest"
)

// metaUpdate is a change of a table's metadata that adds no snapshot: its schema, its refs, its properties.
type metaUpdate struct {
	requirements []table.Requirement
	updates      []table.Update
	// done reports whether a table is as the update leaves it. It distinguishes a lost answer from a lost request.
	done func(table.Metadata) bool
}

// update commits a change of the table's metadata. plan is called on each state of the table that the change is tried
// on; no update and no error means that there is nothing to do. The table is at its new state when update returns
// nil.
func (t *Table) update(ctx context.Context, plan func() (*metaUpdate, error)) (err error) {
	queued := t.queued(false)
	defer queued.Leave(ctx)
	doubt := false // an attempt was rejected, but not proven not to have happened
	defer func() {
		if err != nil && doubt && !mayBeCommitted(err) {
			err = &unproven{err}
		}
	}()
	for n := 1; ; n++ {
		if err := queued.Await(ctx, n); err != nil {
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
		}
		doubt = doubt || mayBeCommitted(rejected)
		if n >= t.cat.opts.CommitAttempts {
			return fmt.Errorf("%w: table %s: %d attempts were rejected, the last with: %w", ErrConflict, t.name, n, rejected)
		}
	}
}

// tryUpdate sends an update until its outcome is known: committed (both nil), rejected, or neither (err, see settle).
func (t *Table) tryUpdate(ctx context.Context, u *metaUpdate) (rejected, err error) {
	return t.settle(ctx, request{
		requirements: u.requirements,
		send: func(ctx context.Context) (table.Metadata, string, error) {
			return t.send(ctx, u.requirements, u.updates)
		},
		done: u.done,
	})
}

// send sends a change of the table's metadata. Iceberg's library stamps it with this computer's clock, and refuses what would be older than the
// table's last snapshot: where somebody whose clock is ahead has committed rows, it would take no other change until that time has come. Snapshots
// carry a time of their own, so the change goes along with one that changes no row.
func (t *Table) send(ctx context.Context, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	meta, at, err := t.cat.ice.CommitTable(ctx, t.name.identifier(), requirements, updates)
	if !errors.Is(err, table.ErrInvalidMetadata) || t.ahead() <= 0 || t.Head() == 0 || slices.ContainsFunc(updates, movesMain) {
		return meta, at, err
	}
	carrier, stageErr := t.stage("", change{Change: manifest.Change{Operation: table.OpReplace}})
	if stageErr != nil {
		t.discard(ctx, carrier)
		return nil, "", errors.Join(err, stageErr)
	}
	meta, at, err = t.cat.ice.CommitTable(ctx, t.name.identifier(), slices.Concat(requirements, carrier.Requirements), slices.Concat(updates, carrier.Updates))
	if commiterr.NotSent(err) || errors.Is(err, table.ErrInvalidMetadata) { // a refusal may be that of a gateway whose server carried the change out
		t.discard(ctx, carrier)
	}
	return meta, at, err
}

// movesMain reports whether an update reports where main is.
func movesMain(u table.Update) bool {
	text, err := json.Marshal(u)
	return err != nil || u.Action() == table.UpdateSetSnapshotRef && bytes.Contains(text, []byte(`"ref-name":"`+table.MainBranch+`"`))
}

// ahead is how far in the future the table's last change is stamped; 0 or less if it isn't.
func (t *Table) ahead() time.Duration {
	return time.Until(time.UnixMilli(t.ice.Metadata().LastUpdatedMillis()))
}

// refused is a change that iceberg-go did not send, because the metadata would not be valid.
func (t *Table) refused(why error) error {
	if ahead := t.ahead(); ahead > 0 {
		stamped := time.UnixMilli(t.ice.Metadata().LastUpdatedMillis())
		return fmt.Errorf("%w: nothing was changed: the table's last change is stamped %s, %s ahead of this machine's clock; correct the wrong clock, or retry after that time: %w",
			ErrConflict, stamped.UTC().Format(time.RFC3339), ahead.Round(time.Second), why)
	}
	return fmt.Errorf("%w: nothing was changed: %w", ErrInvalid, why)
}
