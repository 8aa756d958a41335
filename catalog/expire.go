package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/iceberg-go/table"
)

// ExpireOptions say which snapshots may go.
type ExpireOptions struct {
	// OlderThan keeps every snapshot that was made since; Age ago if zero.
	OlderThan time.Time
	// Age of the youngest snapshot that may go, DefaultExpireAge if 0.
	Age time.Duration
	// RetainLast keeps at least so many snapshots of each branch, 1 if 0.
	RetainLast int
}

// DefaultExpireAge is Iceberg's default.
const DefaultExpireAge = 5 * 24 * time.Hour

// ExpirePlan lists the snapshots that an expiry removes.
type ExpirePlan struct {
	Snapshots []int64 `json:"snapshots"`
	Retained  int     `json:"retained"`

	table *Table
}

// PlanExpire finds the snapshots that no ref needs: of each branch the head, the last RetainLast and everything
// younger than OlderThan stay, of each tag its snapshot.
func (t *Table) PlanExpire(o ExpireOptions) (*ExpirePlan, error) {
	if o.RetainLast < 0 {
		return nil, fmt.Errorf("%w: retain-last %d", ErrInvalid, o.RetainLast)
	}
	if o.OlderThan.IsZero() {
		o.OlderThan = t.cat.opts.Now().Add(-cmp.Or(o.Age, DefaultExpireAge))
	}
	keep := t.needed(max(o.RetainLast, 1), o.OlderThan.UnixMilli())
	p := &ExpirePlan{table: t, Retained: len(keep), Snapshots: []int64{}}
	for _, s := range t.ice.Metadata().Snapshots() {
		// A snapshot off every branch (staged, or rolled back over) goes by age alone.
		if !keep[s.SnapshotID] && s.TimestampMs < o.OlderThan.UnixMilli() {
			p.Snapshots = append(p.Snapshots, s.SnapshotID)
		} else if !keep[s.SnapshotID] {
			p.Retained++
		}
	}
	return p, nil
}

// needed are the snapshots that a ref keeps.
func (t *Table) needed(retain int, cutoff int64) map[int64]bool {
	meta := t.ice.Metadata()
	keep := map[int64]bool{}
	for _, ref := range meta.Refs() {
		keep[ref.SnapshotID] = true
		if ref.SnapshotRefType != table.BranchRef {
			continue
		}
		s := meta.SnapshotByID(ref.SnapshotID)
		for n := 1; s != nil && s.ParentSnapshotID != nil; n++ {
			if s = meta.SnapshotByID(*s.ParentSnapshotID); s != nil && (n < retain || s.TimestampMs >= cutoff) {
				keep[s.SnapshotID] = true
			}
		}
	}
	return keep
}

// Execute removes the planned snapshots from the table's metadata. No object is deleted: what nothing reaches any
// more is collection's business. If a ref has moved since the plan was made the error is ErrConflict.
func (p *ExpirePlan) Execute(ctx context.Context) error {
	t := p.table
	if len(p.Snapshots) == 0 {
		return nil
	}
	requirements := []table.Requirement{table.AssertTableUUID(t.ice.Metadata().TableUUID())}
	for name, ref := range t.ice.Metadata().Refs() {
		requirements = append(requirements, table.AssertRefSnapshotID(name, &ref.SnapshotID))
	}
	sendErr := t.send(ctx, requirements, []table.Update{table.NewRemoveSnapshotsUpdate(p.Snapshots, false)})
	if err := t.reload(ctx, sendErr); err != nil {
		return err
	}
	if slices.ContainsFunc(p.Snapshots, func(id int64) bool { return t.ice.Metadata().SnapshotByID(id) != nil }) {
		if errors.Is(sendErr, table.ErrInvalidMetadata) {
			return fmt.Errorf("table %s: %w", t.name, t.refused(sendErr))
		}
		return fmt.Errorf("%w: table %s moved while snapshots were expired: %w", ErrConflict, t.name, orNothing(sendErr))
	}
	return nil
}

var errNoChange = errors.New("the catalog changed nothing")

func orNothing(err error) error {
	if err == nil {
		return errNoChange
	}
	return err
}
