package view

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"golang.org/x/sync/errgroup"

	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// openAtOnce is how many shards are opened at the same time for one manifest. Their sizes are part of it.
const openAtOnce = 16

// privateIDs are the field ids of what only shardcat reads in an entry.
const firstPrivateID, lastPrivateID = 2147480000, 2147480063

// files is an IO over files in memory.
type files map[string][]byte

// Open implements io.IO.
func (f files) Open(name string) (iceio.File, error) {
	b, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{bytes.NewReader(b), path.Base(name)}, nil
}

// Remove implements io.IO.
func (f files) Remove(name string) error {
	return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrPermission}
}

type file struct {
	*bytes.Reader
	name string
}

func (f *file) Close() error               { return nil }
func (f *file) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

// rewritten is a manifest of the view.
type rewritten struct {
	blob
	w *manifestWriter
}

// manifestList makes the manifest list of a snapshot. It makes all its manifests, whose lengths are part of it.
func (t *Table) manifestList(ctx context.Context, id int64) (Object, error) {
	s, err := t.snapshot(id)
	if err != nil {
		return nil, err
	}
	list, err := t.readWhole(ctx, s.ManifestList)
	if err != nil {
		return nil, err
	}
	real, err := manifest.Manifests(files{s.ManifestList: list}, icebergaccess.MetadataOf(t.t).Version(), s)
	if err != nil {
		return nil, err
	}
	var out []iceberg.ManifestFile
	for _, m := range real {
		if m.ManifestContent() != iceberg.ManifestContentData {
			return nil, corrupt.Locate(corrupt.Unsupported(-1, "delete manifest %s: only shards with their own deletion markers are supported", m.FilePath()),
				s.ManifestList, 0)
		}
		data, err := t.rewrittenManifest(ctx, t.manifestName(dataManifest, m))
		if err != nil {
			return nil, err
		}
		out = append(out, described(t.location()+"/"+t.manifestName(dataManifest, m), data, m, iceberg.ManifestContentData))
		deletes, err := t.rewrittenManifest(ctx, t.manifestName(deleteManifest, m))
		if err != nil {
			return nil, err
		}
		if deletes.w.records > 0 {
			out = append(out, described(t.location()+"/"+t.manifestName(deleteManifest, m), deletes, m, iceberg.ManifestContentDeletes))
		}
	}
	var b bytes.Buffer
	sequence := s.SequenceNumber
	if err := iceberg.WriteManifestList(2, &b, s.SnapshotID, s.ParentSnapshotID, &sequence, 0, out); err != nil {
		return nil, fmt.Errorf("%s: %w", s.ManifestList, err)
	}
	c, err := reframe(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.ManifestList, err)
	}
	return blob(c.bytes()), nil
}

// described is the line of a manifest list of a manifest of the view that was made of m.
func described(at string, r *rewritten, m iceberg.ManifestFile, content iceberg.ManifestContent) iceberg.ManifestFile {
	least := m.MinSequenceNum()
	if r.w.leastSequence != nil {
		least = min(least, *r.w.leastSequence)
	}
	b := iceberg.NewManifestFile(2, at, r.Size(), m.PartitionSpecID(), m.SnapshotID()).SequenceNum(m.SequenceNum(), least)
	return b.Content(content).Partitions(m.Partitions()).AddedFiles(r.w.added).ExistingFiles(r.w.existing).DeletedFiles(r.w.deleted).
		AddedRows(r.w.addedRows).ExistingRows(r.w.existingRows).DeletedRows(r.w.deletedRows).Build()
}

// manifestName names what is made of a manifest, with all that a manifest list says of it and its entries inherit.
func (t *Table) manifestName(kind string, m iceberg.ManifestFile) string {
	return fmt.Sprintf("%s%s/%s/%d/%d/%d/%s", manifestFolder, t.layout, kind, m.PartitionSpecID(), m.SnapshotID(), m.SequenceNum(),
		t.names.name(t.metadataFolder(), m.FilePath()))
}

func (t *Table) rewrittenManifest(ctx context.Context, name string) (*rewritten, error) {
	o, err := t.Object(ctx, name)
	if err != nil {
		return nil, err
	}
	return o.(*rewritten), nil
}

// makeManifest makes the manifest of a name below the folder of manifests of this layout.
func (t *Table) makeManifest(ctx context.Context, name string) (Object, error) {
	parts := strings.SplitN(name, "/", 5)
	if len(parts) != 5 || parts[0] != dataManifest && parts[0] != deleteManifest {
		return nil, ErrNoObject
	}
	spec, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return nil, ErrNoObject
	}
	snapshot, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return nil, ErrNoObject
	}
	sequence, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil {
		return nil, ErrNoObject
	}
	url, ok := t.names.url(t.metadataFolder(), parts[4])
	if !ok {
		return nil, ErrNoObject
	}
	m := iceberg.NewManifestFile(2, url, 0, int32(spec), snapshot).SequenceNum(sequence, 0).Build()
	return t.rewrite(ctx, m, parts[0] == deleteManifest)
}

// rewrite makes a manifest of the view of a real one: that of its shards as Parquet files, or that of the position deletes of those with
// deleted rows.
func (t *Table) rewrite(ctx context.Context, m iceberg.ManifestFile, deletes bool) (Object, error) {
	raw, err := t.readWhole(ctx, m.FilePath())
	if err != nil {
		return nil, err
	}
	entries, err := manifest.Entries(files{m.FilePath(): raw}, m)
	if err != nil {
		return nil, err
	}
	schema, err := schemaOf(raw, m.FilePath())
	if err != nil {
		return nil, err
	}
	spec := icebergaccess.MetadataOf(t.t).PartitionSpecByID(int(m.PartitionSpecID()))
	if spec == nil {
		return nil, corrupt.Locate(corrupt.At(-1, "the table has no partition spec %d", m.PartitionSpecID()), m.FilePath(), 0)
	}
	content := iceberg.ManifestContentData
	if deletes {
		content = iceberg.ManifestContentDeletes
	}
	w, err := newManifestWriter(content, *spec, schema)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.FilePath(), err)
	}
	rows := make([]*entry, len(entries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(openAtOnce)
	for i, e := range entries {
		shard := manifest.EntryOf(e)
		if !shard.IsShard() {
			return nil, corrupt.Locate(corrupt.Unsupported(-1, "data file %s is not a shard but of format %q", shard.Path, shard.Format), m.FilePath(), 0)
		}
		if deletes && shard.Deleted == 0 {
			continue
		}
		group.Go(func() (err error) {
			if rows[i], err = t.entry(ctx, e, shard, m, deletes); err != nil {
				return fmt.Errorf("%s: %w", shard.Path, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row == nil {
			continue
		}
		if err := w.add(row); err != nil {
			return nil, err
		}
	}
	return &rewritten{blob(w.bytes()), w}, nil
}

// entry makes the entry of a shard's Parquet file, or of its position deletes. Shards that the snapshot removed may be gone, so they are
// not opened, and their sizes are those of the real entry.
func (t *Table) entry(ctx context.Context, e iceberg.ManifestEntry, shard *manifest.Entry, m iceberg.ManifestFile, deletes bool) (*entry, error) {
	f := e.DataFile()
	out := &entry{
		status: e.Status(), snapshot: e.SnapshotID(), content: iceberg.EntryContentData, path: t.location() + "/" + t.dataName(shard.Path),
		records: shard.Records + shard.Deleted, size: shard.RootBytes, partition: f.Partition(),
	}
	sequence := e.SequenceNum()
	if !deletes && shard.Deleted > 0 && sequence > 0 {
		sequence-- // some readers (pyiceberg 0.10) apply only deletes that are newer than the data
	}
	if out.status != iceberg.EntryStatusADDED || sequence != m.SequenceNum() {
		out.sequence, out.fileSeq = &sequence, e.FileSequenceNum()
	}
	gone := out.status == iceberg.EntryStatusDELETED
	if deletes {
		data := out.path
		out.content, out.path, out.records = iceberg.EntryContentPosDeletes, t.location()+"/"+t.deletesName(shard.Path), shard.Deleted
		out.lower = map[int][]byte{fieldFilePath: []byte(data)}
		out.upper, out.referencedDataFile = out.lower, data
		if gone {
			return out, nil
		}
		o, err := t.Object(ctx, t.deletesName(shard.Path))
		if err != nil {
			return nil, err
		}
		out.size = o.Size()
		return out, nil
	}
	out.sizes, out.values, out.nulls, out.nans = f.ColumnSizes(), f.ValueCounts(), f.NullValueCounts(), f.NaNValueCounts()
	out.lower, out.upper, out.sortOrder = public(f.LowerBoundValues()), public(f.UpperBoundValues()), f.SortOrderID()
	if gone {
		return out, nil
	}
	o, err := t.openEntry(ctx, shard)
	if err != nil {
		return nil, err
	}
	out.size, out.records, out.splits = o.Size(), o.Rows(), o.RowGroups()
	return out, nil
}

// openEntry opens the Parquet file of an entry, with the size of the root that the entry knows.
func (t *Table) openEntry(ctx context.Context, shard *manifest.Entry) (DataFile, error) {
	o, err := t.cache.object(ctx, t.t.UUID()+"/"+t.dataName(shard.Path), func(ctx context.Context) (Object, error) {
		return t.dataFile(ctx, shard.Path, shard.RootBytes)
	})
	if err != nil {
		return nil, err
	}
	return o.(DataFile), nil
}

// public are the bounds without those of private ids.
func public(bounds map[int][]byte) map[int][]byte {
	out := make(map[int][]byte, len(bounds))
	for id, b := range bounds {
		if id < firstPrivateID || id > lastPrivateID {
			out[id] = b
		}
	}
	return out
}
