package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apache/iceberg-go/table"
)

// ExpireOptions determine which snapshots may go.
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

	table  *Table
	retain int
	cutoff int64
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
	p := &ExpirePlan{table: t, Snapshots: []int64{}, retain: max(o.RetainLast, 1), cutoff: o.OlderThan.UnixMilli()}
	keep := t.needed(p.retain, p.cutoff)
	p.Retained = len(keep)
	for _, s := range t.ice.Metadata().Snapshots() {
		// A snapshot off every branch (staged, or rolled back over) goes by age alone.
		if !keep[s.SnapshotID] && s.TimestampMs < p.cutoff {
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
// more is collection's business. If another writer commits meanwhile, a snapshot of the plan that a ref needs now stays.
func (p *ExpirePlan) Execute(ctx context.Context) error {
	t := p.table
	if len(p.Snapshots) == 0 {
		return nil
	}
	// A tag that was made since the plan would go with its snapshot on a REST server.
	if err := t.refreshMoved(ctx); err != nil {
		return err
	}
	return t.update(ctx, func() (*metaUpdate, error) {
		needed := t.needed(p.retain, p.cutoff)
		goes := []int64{}
		for _, id := range p.Snapshots {
			if !needed[id] && t.ice.Metadata().SnapshotByID(id) != nil {
				goes = append(goes, id)
			}
		}
		if len(goes) == 0 {
			return nil, nil
		}
		u := &metaUpdate{updates: []table.Update{table.NewRemoveSnapshotsUpdate(goes, false)}, done: func(meta table.Metadata) bool {
			return !slices.ContainsFunc(goes, func(id int64) bool { return meta.SnapshotByID(id) != nil })
		}}
		for name, ref := range t.ice.Metadata().Refs() {
			u.requirements = append(u.requirements, table.AssertRefSnapshotID(name, &ref.SnapshotID))
		}
		return u, nil
	})
}
