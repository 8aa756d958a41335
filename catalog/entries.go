package catalog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// snapshot finds the selected snapshot; nil without error for a table that has none yet.
func (t *Table) snapshot(at At) (*table.Snapshot, error) {
	meta := t.ice.Metadata()
	switch {
	case at.SnapshotID != 0 && (at.Ref != "" || !at.AsOf.IsZero()), at.Ref != "" && !at.AsOf.IsZero():
		return nil, fmt.Errorf("%w: snapshot id, time and ref exclude each other", ErrInvalid)
	case at.SnapshotID != 0:
		if s := meta.SnapshotByID(at.SnapshotID); s != nil {
			return s, nil
		}
		return nil, fmt.Errorf("table %s: snapshot %d: %w; available: %s", t.name, at.SnapshotID, ErrNotFound,
			suggestNames(fmt.Sprint(at.SnapshotID), snapshotIDs(meta)))
	case at.Ref != "" && at.Ref != table.MainBranch:
		if s := meta.SnapshotByName(at.Ref); s != nil {
			return s, nil
		}
		return nil, fmt.Errorf("table %s: ref %q: %w; available: %s", t.name, at.Ref, ErrNotFound, suggestNames(at.Ref, refNames(meta)))
	case !at.AsOf.IsZero():
		return t.snapshotAsOf(at.AsOf)
	}
	return t.branch(""), nil
}

// snapshotAsOf finds the last snapshot that was current at a time.
func (t *Table) snapshotAsOf(when time.Time) (*table.Snapshot, error) {
	meta := t.ice.Metadata()
	var found, first *table.Snapshot
	for entry := range meta.SnapshotLogs() {
		s := meta.SnapshotByID(entry.SnapshotID)
		if s == nil {
			continue
		}
		if first == nil {
			first = s
		}
		if entry.TimestampMs <= when.UnixMilli() {
			found = s
		}
	}
	if found == nil && first != nil {
		return nil, fmt.Errorf("table %s: no snapshot at %s: %w; the oldest is of %s", t.name,
			when.UTC().Format(time.RFC3339), ErrNotFound, time.UnixMilli(first.TimestampMs).UTC().Format(time.RFC3339Nano))
	}
	if found == nil {
		return nil, fmt.Errorf("table %s: no snapshots: %w", t.name, ErrNotFound)
	}
	return found, nil
}

// AtTime selects the snapshot that was current at a time, at the beginning of year 1 too, which is Go's zero time.
func AtTime(when time.Time) At {
	if when.IsZero() {
		when = when.Add(1)
	}
	return At{AsOf: when}
}

type number int64

func (n number) String() string { return fmt.Sprint(int64(n)) }

func snapshotIDs(meta table.Metadata) (ids []number) {
	for _, s := range meta.Snapshots() {
		ids = append(ids, number(s.SnapshotID))
	}
	return ids
}

type refName string

func (n refName) String() string { return string(n) }

func refNames(meta table.Metadata) (names []refName) {
	for name := range meta.Refs() {
		names = append(names, refName(name))
	}
	return names
}

// Entries yields the live entries of a state of the table, in the order of its manifests. It stops at the first
// error, which it yields.
func (t *Table) Entries(ctx context.Context, at At) iter.Seq2[*manifest.Entry, error] {
	return t.entriesAt(ctx, at, nil)
}

// BriefEntries is Entries with the named columns only, by field id. Each entry is valid until the next one is requested: a
// million of them need the memory of one.
func (t *Table) BriefEntries(ctx context.Context, at At, columns []int) iter.Seq2[*manifest.Entry, error] {
	return t.entriesAt(ctx, at, &manifest.Projection{Columns: columns})
}

// BriefEntriesWhere is BriefEntries of the table's head, without the manifests whose partitions prove that a filter selects none of their
// rows; nil for no filter. told learns of each manifest how many shards it has, and whether it is skipped.
func (t *Table) BriefEntriesWhere(ctx context.Context, columns []int, where filter.Expr, told func(shards int, skipped bool)) iter.Seq2[*manifest.Entry, error] {
	return func(yield func(*manifest.Entry, error) bool) {
		p, err := t.PlanOf(nil, ScanOptions{Where: where})
		if err != nil {
			yield(nil, err)
			return
		}
		s := t.branch("")
		if s == nil {
			return
		}
		t.entriesOf(ctx, s, &manifest.Projection{Columns: columns}, func(m iceberg.ManifestFile) bool {
			skip := tablescan.SkipsManifest(p, m)
			told(int(m.AddedDataFiles()+m.ExistingDataFiles()), skip)
			return skip
		})(yield)
	}
}

func (t *Table) entriesAt(ctx context.Context, at At, p *manifest.Projection) iter.Seq2[*manifest.Entry, error] {
	return func(yield func(*manifest.Entry, error) bool) {
		s, err := t.snapshot(at)
		switch {
		case err != nil:
			yield(nil, err)
		case s != nil:
			t.entriesOf(ctx, s, p, nil)(yield)
		}
	}
}

// entriesOf yields the live entries of a snapshot, as much of them as p states. skip, if not nil, is called for each manifest, before any
// of them is read, and reports whether its entries need not be read.
func (t *Table) entriesOf(ctx context.Context, s *table.Snapshot, p *manifest.Projection, skip func(iceberg.ManifestFile) bool) iter.Seq2[*manifest.Entry, error] {
	return func(yield func(*manifest.Entry, error) bool) {
		t := t.within(ctx)
		manifests, err := t.manifests(s)
		if err != nil {
			yield(nil, fmt.Errorf("table %s: %w", t.name, err))
			return
		}
		read := manifests[:0:0]
		var once pathsOnce
		for _, m := range manifests {
			if m.ManifestContent() != iceberg.ManifestContentData && m.AddedDataFiles()+m.ExistingDataFiles() > 0 {
				yield(nil, corrupt.Locate(corrupt.Unsupported(-1, "delete files of another engine are not supported: deleted rows would be returned"), m.FilePath(), 0))
				return
			}
			if skip == nil || !skip(m) {
				read = append(read, m)
			}
		}
		fs, done := manifest.ReadAhead(t.fs, read)
		defer done()
		for _, m := range read {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			for e, err := range manifest.LiveEntries(fs, m, p) {
				if err == nil {
					err = once.add(e, m.FilePath())
				}
				if err != nil {
					err = fmt.Errorf("table %s: %w", t.name, err)
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
		if twice := once.repeated(); twice != 0 {
			if err := t.namedTwice(ctx, manifests, twice); err != nil {
				yield(nil, fmt.Errorf("table %s: %w", t.name, err))
			}
		}
	}
}

// pathsOnce holds the entries of a snapshot to one for each shard: a path that is live twice would double its rows. It keeps
// eight bytes of each, for a million entries are read in the memory of one.
type pathsOnce struct {
	hashes  []uint64
	records int64
}

// add notes an entry. The sum of all records must be a number.
func (o *pathsOnce) add(e *manifest.Entry, in string) error {
	if e.Records > math.MaxInt64-o.records {
		return corrupt.Locate(corrupt.At(-1, "with the %d records of %s the total exceeds 2^63", e.Records, e.Path), in, 0)
	}
	o.records += e.Records
	o.hashes = append(o.hashes, xxh3.HashString(e.Path))
	return nil
}

// repeated is a hash that two paths have, 0 for none.
func (o *pathsOnce) repeated() uint64 {
	slices.Sort(o.hashes)
	for i := 1; i < len(o.hashes); i++ {
		if o.hashes[i] == o.hashes[i-1] {
			return o.hashes[i]
		}
	}
	return 0
}

// namedTwice compares the paths that have a hash, which two different ones may by chance.
func (t *Table) namedTwice(ctx context.Context, manifests []iceberg.ManifestFile, hash uint64) error {
	in := map[string]string{}
	for _, m := range manifests {
		for e, err := range manifest.LiveEntries(t.fs, m, nil) {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			if xxh3.HashString(e.Path) != hash {
				continue
			}
			if first, known := in[e.Path]; known {
				return corrupt.Locate(corrupt.At(-1, "the shard %s is listed twice, here and in %s: its rows would be duplicated", e.Path, first), m.FilePath(), 0)
			}
			in[e.Path] = m.FilePath()
		}
	}
	return nil
}
