package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/keysearch"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// sourceSnapshotKey is Iceberg's summary property that names the snapshot a cherry-picked one repeats.
const sourceSnapshotKey = "source-snapshot-id"

// CherryPick appends to main what a snapshot of another branch appended. The shards are shared, not copied. Picked
// twice, it is there once. What was delivered by a key is picked by it: its rows replace those of main that have their keys, or
// are refused (ErrExists) where keys are unique.
func (t *Table) CherryPick(ctx context.Context, snapshot int64) (*CommitResult, error) {
	s, err := t.snapshotOrHead(snapshot)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(t.ancestors(t.head("")), snapshot):
		return nil, fmt.Errorf("%w: table %s: snapshot %d is in the history of main", ErrExists, t.name, snapshot)
	case s.Summary == nil || s.Summary.Operation != table.OpAppend:
		return nil, fmt.Errorf("%w: table %s: snapshot %d is not an append; only appends can be cherry-picked", ErrInvalid, t.name, snapshot)
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
	outputs := func(attempt string) []string { return append(t.Outputs(attempt), paths...) }
	j, before, err := t.BeginJob(ctx, jobPick, fmt.Sprintf("cherry-pick-%d", snapshot), nil, outputs)
	if before != nil || err != nil {
		return before, err
	}
	u := &upsert{removal: removal{job: j, add: entries}, marked: map[string]*manifest.Entry{}}
	done, err := u.pick(ctx, s)
	if err != nil {
		j.Fail(ctx, u.objects)
		return nil, err
	}
	return done, nil
}

// pick commits the entries that a snapshot has added.
func (u *upsert) pick(ctx context.Context, s *table.Snapshot) (_ *CommitResult, err error) {
	t := u.job.table
	c := change{
		Change: manifest.Change{
			Operation: table.OpAppend, Add: u.add, CheckDuplicates: true,
			Properties: map[string]string{sourceSnapshotKey: fmt.Sprint(s.SnapshotID)},
		},
		validate: func(t *Table) error { return u.job.checkEntries(t, u.add) },
	}
	if text := s.Summary.Properties[deliveryKeyProperty]; text != "" {
		d, err := t.pickedKeys(ctx, s, text, u.add)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, d.close()) }()
		u.search = &keysearch.Search{Key: d.key, Keys: &d.keys}
		if d.unique {
			u.search.Refuse = func(_ int64, key []byte) error {
				return fmt.Errorf("%w: snapshot %d has a key that main has: %s", ErrExists, s.SnapshotID, d.key.Text(key))
			}
		}
		c.prepare = func(ctx context.Context) (manifest.Change, error) {
			keyed, err := u.prepare(ctx)
			keyed.CheckDuplicates = true
			keyed.Properties[sourceSnapshotKey] = fmt.Sprint(s.SnapshotID)
			return keyed, err
		}
	}
	return u.job.commit(ctx, c)
}

// pickedKeys reads the keys of rows that were delivered by a key.
func (t *Table) pickedKeys(ctx context.Context, s *table.Snapshot, text string, entries []*manifest.Entry) (*keyedRows, error) {
	by, err := parseDeliveryKey(text)
	if err != nil {
		return nil, fmt.Errorf("table %s: snapshot %d: %w", t.name, s.SnapshotID, err)
	}
	key, ok := rowkey.OfIDs(t.schema, by.ids)
	if !ok {
		return nil, fmt.Errorf("%w: table %s: snapshot %d was ingested by a key whose columns were dropped or can't be a key any more", ErrInvalid, t.name, s.SnapshotID)
	}
	key.SchemaID = t.ice.Schema().ID
	var columns []string
	for _, n := range key.Columns {
		columns = append(columns, schema.JoinPath(n.Name))
	}
	p, err := t.PlanOf(entries, ScanOptions{Select: columns})
	if err != nil {
		return nil, err
	}
	d, sorter := &keyedRows{table: t, key: key, unique: by.unique}, extsort.New(deliveryMemory)
	for b, runErr := range p.Run(ctx, nil) {
		if err = runErr; err == nil {
			err = d.addKeys(b, sorter)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = d.distinct(sorter)
	}
	if err = errors.Join(err, sorter.Close()); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// deliveryKeyProperty is the snapshot property that names the key by which rows were delivered: unique or upsert, and field ids.
const deliveryKeyProperty = "shardcat.key"

// deliveryKey is the key of a delivery.
type deliveryKey struct {
	unique bool
	ids    []int
}

func (k deliveryKey) String() string {
	text := "upsert"
	if k.unique {
		text = "unique"
	}
	for _, id := range k.ids {
		text += " " + strconv.Itoa(id)
	}
	return text
}

func parseDeliveryKey(text string) (k deliveryKey, err error) {
	words := strings.Fields(text)
	if len(words) < 2 || words[0] != "unique" && words[0] != "upsert" {
		return k, fmt.Errorf("%w: property %s: %q", ErrInvalid, deliveryKeyProperty, text)
	}
	k.unique = words[0] == "unique"
	for _, word := range words[1:] {
		id, err := strconv.Atoi(word)
		if err != nil {
			return k, fmt.Errorf("%w: property %s: %q", ErrInvalid, deliveryKeyProperty, text)
		}
		k.ids = append(k.ids, id)
	}
	return k, nil
}

// newRowKey finds the columns of a key.
func (t *Table) newRowKey(columns []string) (*rowkey.Key, error) {
	return rowkey.New(t.schema.Shard, t.ice.Schema().ID, columns)
}

// idsOfKey are the field ids of the columns of a key.
func (t *Table) idsOfKey(key *rowkey.Key) (ids []int) {
	for _, n := range key.Columns {
		ids = append(ids, t.schema.IDs[n.ID])
	}
	return ids
}

// addedBy reads the entries that a snapshot has added.
func (t *Table) addedBy(ctx context.Context, s *table.Snapshot) ([]*manifest.Entry, error) {
	var out []*manifest.Entry
	err := t.ownEntries(ctx, s, func(e iceberg.ManifestEntry) {
		if e.Status() == iceberg.EntryStatusADDED {
			out = append(out, manifest.EntryOf(e))
		}
	})
	return out, err
}

// ownEntries visits the entries that a snapshot has added or removed.
func (t *Table) ownEntries(ctx context.Context, s *table.Snapshot, visit func(iceberg.ManifestEntry)) error {
	t = t.within(ctx)
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
