package manifest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/manifest/internal/avrofile"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Manifests reads the manifest list of a snapshot of a table of an Iceberg format version. The list is required
// from version 2 on: a snapshot that names none is corrupt, not empty, since readers that took it for empty would
// return no rows and collection would delete them.
func Manifests(fs io.IO, version int, s *table.Snapshot) ([]iceberg.ManifestFile, error) {
	if s.ManifestList == "" && (version > 1 || s.ManifestLocations == nil) {
		return nil, corrupt.At(-1, "snapshot %d has no manifest list, which Iceberg requires of every snapshot", s.SnapshotID)
	}
	if s.ManifestList == "" {
		return s.Manifests(fs)
	}
	data, err := readFile(fs, s.ManifestList)
	if err != nil {
		return nil, fmt.Errorf("manifest list of snapshot %d: %w", s.SnapshotID, err)
	}
	var files []iceberg.ManifestFile
	err = checkAvro(data, listFields)
	if err == nil {
		err = guarded(func() (err error) {
			if files, err = iceberg.ReadManifestList(bytes.NewReader(data)); err == nil {
				err = checkList(files)
			}
			return err
		})
	}
	if err != nil {
		return nil, corrupt.Locate(asCorrupt(err), s.ManifestList, 0)
	}
	return files, nil
}

// checkList refuses numbers that no list of version 2 can have. Those of version 1 may lack counts.
func checkList(files []iceberg.ManifestFile) error {
	seen := make(map[string]bool, len(files))
	for _, m := range files {
		if m.FilePath() == "" || seen[m.FilePath()] {
			return corrupt.At(-1, "it lists the manifest %q twice, or an entry has no path", m.FilePath())
		}
		seen[m.FilePath()] = true
		if m.Version() < FormatVersion {
			continue
		}
		for _, n := range []int64{m.Length(), int64(m.PartitionSpecID()), m.SequenceNum(), int64(m.AddedDataFiles()), int64(m.ExistingDataFiles()),
			int64(m.DeletedDataFiles()), m.AddedRows(), m.ExistingRows(), m.DeletedRows()} {
			if n < 0 {
				return corrupt.At(-1, "a length or count of the manifest %s is negative: %d", m.FilePath(), n)
			}
		}
	}
	return nil
}

// Entries reads all entries of a manifest, deleted ones included.
func Entries(fs io.IO, m iceberg.ManifestFile) (entries []iceberg.ManifestEntry, err error) {
	data, err := readFile(fs, m.FilePath())
	if err != nil {
		return nil, err
	}
	if err = checkAvro(data, entryIDs); err == nil {
		err = guarded(func() (err error) {
			if entries, err = iceberg.ReadManifest(m, bytes.NewReader(data), false); err != nil {
				return err
			}
			for _, e := range entries {
				f := e.DataFile()
				if err := checkNumbers(f.FilePath(), f.Count(), f.FileSizeBytes()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, corrupt.Locate(asCorrupt(err), m.FilePath(), 0)
	}
	return entries, nil
}

// checkNumbers refuses an entry that counts below nothing.
func checkNumbers(path string, numbers ...int64) error {
	for _, n := range numbers {
		if n < 0 {
			return corrupt.At(-1, "the entry of %s has a negative size or count: %d", path, n)
		}
	}
	return nil
}

// asCorrupt makes an error of a decoder one of this package's classes.
func asCorrupt(err error) error {
	var known *corrupt.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, avrofile.ErrUnsupported):
		return corrupt.Unsupported(-1, "%v", err)
	}
	return corrupt.At(-1, "%v", err)
}

// guarded runs a decoder of iceberg-go, which dereferences what an odd schema does not have.
func guarded(decode func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = corrupt.At(-1, "not an Iceberg manifest list: %v", v)
		}
	}()
	return decode()
}

// requiredField is a field that Iceberg's specification requires of a record, by its id, with the kinds of its type.
type requiredField struct {
	id    int
	name  string
	kinds []avrofile.Kind
	of    []requiredField
}

var (
	textual = []avrofile.Kind{avrofile.String}
	numeric = []avrofile.Kind{avrofile.Int, avrofile.Long}
	// listFields are those of a manifest list, entryIDs those of a manifest, of every version.
	listFields = []requiredField{
		{id: 500, name: "manifest_path", kinds: textual}, {id: 501, name: "manifest_length", kinds: numeric},
		{id: 502, name: "partition_spec_id", kinds: numeric}, {id: 503, name: "added_snapshot_id", kinds: numeric},
	}
	entryIDs = []requiredField{
		{id: 0, name: "status", kinds: numeric},
		{id: 2, name: "data_file", kinds: []avrofile.Kind{avrofile.Record}, of: []requiredField{
			{id: 100, name: "file_path", kinds: textual}, {id: 101, name: "file_format", kinds: textual},
			{id: 102, name: "partition", kinds: []avrofile.Kind{avrofile.Record}},
			{id: 103, name: "record_count", kinds: numeric}, {id: 104, name: "file_size_in_bytes", kinds: numeric},
		}},
	}
)

// decodedBudget is about how many bytes of memory iceberg-go may need for what it decodes of a file: 256 MiB, and 64 for each byte
// of the file. Entries of ten columns take some 40 for each of theirs.
const decodedBudget, decodedPerByte = 256 << 20, 64

// checkAvro looks at a file before iceberg-go reads it, which allocates by what the file states: the depth and members of its
// schema, the number of its records and what they will take are held to its size.
func checkAvro(data []byte, required []requiredField) error {
	f, err := avrofile.Open(data)
	if err != nil {
		return err
	}
	if err := checkFields(f.Schema, required); err != nil {
		return err
	}
	if _, err := f.Records(); err != nil {
		return err
	}
	left := decodedBudget + decodedPerByte*int64(len(data))
	for b, err := range f.Blocks() {
		if err != nil {
			return err
		}
		for range b.Records {
			left -= b.Weigh(f.Schema)
			if left < 0 {
				return corrupt.At(b.Offset, "its records take more memory than a file of %d bytes may: %d bytes", len(data), decodedBudget+decodedPerByte*int64(len(data)))
			}
			if b.Bad() {
				return corrupt.At(b.Offset, "a record in this block is cut off or malformed")
			}
		}
	}
	return nil
}

func checkFields(t *avrofile.Type, required []requiredField) error {
	if t == nil || t.Kind != avrofile.Record {
		return corrupt.At(-1, "its schema is not a record")
	}
	for _, r := range required {
		f := t.Field(r.name)
		if f == nil {
			for i := range t.Fields {
				if r.id != 0 && t.Fields[i].ID == r.id {
					f = &t.Fields[i]
				}
			}
		}
		if f == nil {
			return corrupt.At(-1, "its schema lacks the field %s, which Iceberg requires", r.name)
		}
		value, right := f.Type.Value(), false
		for _, k := range r.kinds {
			right = right || value.Kind == k
		}
		if !right {
			return corrupt.At(-1, "the field %s of its schema has another type than Iceberg requires", r.name)
		}
		if r.of != nil {
			if err := checkFields(value, r.of); err != nil {
				return err
			}
		}
	}
	return nil
}
