package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/manifest"
)

// sourceSnapshotKey is Iceberg's summary property that names the snapshot a cherry-picked one repeats.
const sourceSnapshotKey = "source-snapshot-id"

// CherryPick appends to main what a snapshot of another branch appended. The shards are shared, not copied. Picked
// twice, it is there once.
func (t *Table) CherryPick(ctx context.Context, snapshot int64) (*Committed, error) {
	s, err := t.snapshotOrHead(snapshot)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(t.ancestors(t.head("")), snapshot):
		return nil, fmt.Errorf("%w: table %s: snapshot %d is in the history of main", ErrExists, t.name, snapshot)
	case s.Summary == nil || s.Summary.Operation != table.OpAppend:
		return nil, fmt.Errorf("%w: table %s: snapshot %d is no append; only what appends can be picked", ErrInvalid, t.name, snapshot)
	}
	entries, err := t.addedBy(ctx, s)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(entries))
	for i, e := range entries {
		if paths[i] = e.Path; t.owns(e.Path) {
			if err := t.checkTombstones(ctx, t.cat.client, e.Path); err != nil {
				return nil, err
			}
		}
	}
	j, before, err := t.BeginJob(ctx, JobPick, fmt.Sprintf("cherry-pick-%d", snapshot), nil, func(string) []string { return paths })
	if before != nil || err != nil {
		return before, err
	}
	done, err := j.commit(ctx, change{
		Change: manifest.Change{
			Operation: table.OpAppend, Add: entries, CheckDuplicates: true,
			Properties: map[string]string{sourceSnapshotKey: fmt.Sprint(snapshot)},
		},
		validate: func(t *Table) error { return j.checkEntries(t, entries) },
	})
	if err != nil {
		j.Fail(ctx, nil)
		return nil, err
	}
	return done, nil
}

// addedBy reads the entries that a snapshot has added.
func (t *Table) addedBy(ctx context.Context, s *table.Snapshot) ([]*manifest.Entry, error) {
	var out []*manifest.Entry
	err := t.ownEntries(ctx, s, func(e iceberg.ManifestEntry) {
		if e.Status() == iceberg.EntryStatusADDED {
			out = append(out, manifest.EntryOfManifest(e))
		}
	})
	return out, err
}

// ownEntries visits the entries that a snapshot has added or removed.
func (t *Table) ownEntries(ctx context.Context, s *table.Snapshot, visit func(iceberg.ManifestEntry)) error {
	manifests, err := t.manifests(s)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	for _, m := range manifests {
		if m.SnapshotID() != s.SnapshotID || m.ManifestContent() != iceberg.ManifestContentData {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := manifest.Entries(t.fs, m)
		if err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		for _, e := range entries {
			if e.Status() != iceberg.EntryStatusEXISTING && e.SnapshotID() == s.SnapshotID {
				visit(e)
			}
		}
	}
	return nil
}
