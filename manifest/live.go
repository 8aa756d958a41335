package manifest

import (
	"errors"
	"fmt"
	stdio "io"
	"iter"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"

	"github.com/shardcat/shardcat/manifest/internal/avrofile"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Projection determines what is made of the entries of a manifest. Who looks at a million of them needs little of most.
type Projection struct {
	// Columns, by field id, that are read; of the others nothing is.
	Columns []int
	// Keep, if not nil, is shown each entry with those columns and reports whether it is wanted. Such an entry is then read
	// whole; the others are passed over.
	Keep func(*Entry) bool
}

// LiveEntries yields the entries of a manifest that are not deleted, whole ones if p is nil. Entries that were read with
// Columns only are valid until the next one is requested. It stops at the first error, which it yields.
//
// iceberg-go makes every value of every entry, some twenty microseconds' worth; see BenchmarkLiveEntries. So manifests are
// read by package avrofile, and by iceberg-go only those of a form that it leaves to others. TestReadersAgree holds them
// against each other.
func LiveEntries(fs io.IO, m iceberg.ManifestFile, p *Projection) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		data, err := readFile(fs, m.FilePath())
		if err != nil {
			yield(nil, err)
			return
		}
		d, err := newDecoder(data, m, p)
		if errors.Is(err, avrofile.ErrUnsupported) {
			otherwise(fs, m, p, yield)
			return
		}
		if err != nil {
			yield(nil, corrupt.Locate(err, m.FilePath(), 0))
			return
		}
		if _, err := d.file.Records(); err != nil {
			yield(nil, corrupt.Locate(err, m.FilePath(), 0))
			return
		}
		for b, err := range d.file.Blocks() {
			if err != nil {
				yield(nil, corrupt.Locate(err, m.FilePath(), 0))
				return
			}
			if !d.block(b, yield) {
				return
			}
		}
	}
}

// otherwise reads by iceberg-go.
func otherwise(fs io.IO, m iceberg.ManifestFile, p *Projection, yield func(*Entry, error) bool) {
	entries, err := Entries(fs, m)
	if err != nil {
		yield(nil, err)
		return
	}
	for _, raw := range entries {
		if raw.Status() == iceberg.EntryStatusDELETED {
			continue
		}
		e := EntryOf(raw)
		if p != nil && p.Keep == nil {
			e = e.brief(p.Columns)
		} else if p != nil && !p.Keep(e) {
			continue
		}
		if !yield(e, nil) {
			return
		}
	}
}

func readFile(fs io.IO, path string) ([]byte, error) {
	if whole, ok := fs.(io.ReadFileIO); ok {
		data, err := whole.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("manifest: open %s: %w", path, err)
		}
		return data, nil
	}
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("manifest: open %s: %w", path, err)
	}
	data, err := stdio.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("manifest: read %s: %w", path, err)
	}
	return data, nil
}

// decoder makes entries of the records of one manifest.
type decoder struct {
	manifest   iceberg.ManifestFile
	file       *avrofile.File
	projection *Projection

	entrySteps, fileSteps []step
	partition             partitionReader
	// format is the last one, which most entries share.
	format string
	// brief is the entry that is reused where few columns are read, again where it begins.
	brief *entryBuilder
	again avrofile.Cursor
}

// step reads one field of a record, or passes over it if read is nil.
type step struct {
	read func(*decoder, *avrofile.Cursor, *entryBuilder, *avrofile.Type)
	typ  *avrofile.Type
}

// newDecoder looks at the header of a manifest.
func newDecoder(data []byte, m iceberg.ManifestFile, p *Projection) (*decoder, error) {
	f, err := avrofile.Open(data)
	if err != nil {
		return nil, err
	}
	if string(f.Metadata["format-version"]) != fmt.Sprint(FormatVersion) || string(f.Metadata["content"]) != "data" ||
		m.ManifestContent() != iceberg.ManifestContentData || m.Version() < FormatVersion || f.Schema.Kind != avrofile.Record {
		return nil, avrofile.ErrUnsupported
	}
	d := &decoder{manifest: m, file: f, projection: p}
	if p != nil {
		d.brief = newEntryBuilder(p.Columns)
	}
	if d.entrySteps, err = stepsOf(f.Schema, entryFields); err != nil {
		return nil, err
	}
	df := f.Schema.Field("data_file")
	if df == nil || df.Type.Kind != avrofile.Record {
		return nil, avrofile.ErrUnsupported
	}
	if d.fileSteps, err = stepsOf(df.Type, fileFields); err != nil {
		return nil, err
	}
	partition := df.Type.Field("partition")
	if partition == nil || partition.Type.Kind != avrofile.Record {
		return nil, avrofile.ErrUnsupported
	}
	d.partition, err = newPartitionReader(partition.Type, f.Metadata["partition-spec"])
	return d, err
}

// block yields the live entries of a block, and reports whether to go on.
func (d *decoder) block(b *avrofile.Block, yield func(*Entry, error) bool) bool {
	for range b.Records {
		e, err := d.next(&b.Cursor)
		if err != nil || b.Bad() {
			if err == nil {
				err = corrupt.At(b.Offset, "an entry in this block is cut off or malformed")
			}
			yield(nil, corrupt.Locate(err, d.manifest.FilePath(), 0))
			return false
		}
		if e != nil && !yield(e, nil) {
			return false
		}
	}
	return true
}

// next reads a record; nil if nobody wants it.
func (d *decoder) next(c *avrofile.Cursor) (*Entry, error) {
	if d.projection == nil {
		return d.entry(c, newEntryBuilder(nil).whole())
	}
	d.again = *c
	e, err := d.entry(c, d.brief.reset())
	if d.projection.Keep == nil || err != nil || e == nil || c.Bad() || !d.projection.Keep(e) {
		if d.projection.Keep != nil {
			e = nil
		}
		return e, err
	}
	return d.entry(&d.again, newEntryBuilder(nil).whole())
}

// entry reads a record into a builder; nil if it is deleted.
func (d *decoder) entry(c *avrofile.Cursor, b *entryBuilder) (*Entry, error) {
	for _, s := range d.entrySteps {
		if s.read == nil {
			c.Skip(s.typ)
			continue
		}
		s.read(d, c, b, s.typ)
	}
	switch {
	case c.Bad():
		return nil, nil // its caller sees that
	case b.status > int64(iceberg.EntryStatusDELETED) || b.status < 0:
		return nil, corrupt.At(-1, "an entry has the status %d", b.status)
	case b.content != int64(iceberg.EntryContentData):
		return nil, corrupt.At(-1, "an entry of a manifest of data has the content %d", b.content)
	case b.status == int64(iceberg.EntryStatusDELETED):
		return nil, nil
	}
	e := b.finish(d.manifest)
	return e, checkNumbers(e.Path, e.Records, e.RootBytes)
}
