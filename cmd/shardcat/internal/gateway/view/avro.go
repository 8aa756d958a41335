package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"compress/flate"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/codec"

	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Avro files of iceberg-go differ from run to run: the sync marker is random, and so is the order of maps. Every replica must return the
// same bytes for the same name, so files are framed here: sorted metadata, no compression, a sync marker that follows from the content.

const avroMagic = "Obj\x01"

// container is an Avro object container file in parts.
type container struct {
	metadata map[string][]byte
	records  int64
	body     []byte // the encoded records, uncompressed
}

// appendLong appends an Avro int or long.
func appendLong(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }

// appendBytes appends an Avro string or bytes.
func appendBytes[T string | []byte](b []byte, s T) []byte {
	return append(appendLong(b, int64(len(s))), s...)
}

// appendOptional appends a union of null and long.
func appendOptional(b []byte, n *int64) []byte {
	if n == nil {
		return append(b, 0)
	}
	return appendLong(append(b, 2), *n)
}

// bytes frames the container.
func (c *container) bytes() []byte {
	b := []byte(avroMagic)
	keys := slices.Sorted(maps.Keys(c.metadata))
	b = appendLong(b, int64(len(keys)))
	for _, k := range keys {
		b = appendBytes(appendBytes(b, k), c.metadata[k])
	}
	b = append(b, 0)
	h := sha256.New()
	h.Write(b)
	h.Write(c.body)
	sync := h.Sum(nil)[:16]
	b = append(b, sync...)
	if c.records > 0 {
		b = appendBytes(appendLong(b, c.records), c.body)
		b = append(b, sync...)
	}
	return b
}

var errAvro = errors.New("not an Avro object container file")

// avroLong reads a long.
func avroLong(b []byte) (n int64, rest []byte, err error) {
	n, size := binary.Varint(b)
	if size <= 0 {
		return 0, nil, errAvro
	}
	return n, b[size:], nil
}

// avroBytes reads bytes or a string.
func avroBytes(b []byte) (s, rest []byte, err error) {
	n, b, err := avroLong(b)
	if err != nil || n < 0 || n > int64(len(b)) {
		return nil, nil, errAvro
	}
	return b[:n], b[n:], nil
}

// avroHeader reads the metadata of a container file; rest begins with the sync marker.
func avroHeader(b []byte) (metadata map[string][]byte, rest []byte, err error) {
	b, ok := bytes.CutPrefix(b, []byte(avroMagic))
	if !ok {
		return nil, nil, errAvro
	}
	metadata = map[string][]byte{}
	for {
		var n int64
		if n, b, err = avroLong(b); err != nil {
			return nil, nil, err
		}
		if n < 0 {
			n = -n
			if _, b, err = avroLong(b); err != nil {
				return nil, nil, err
			}
		}
		if n == 0 {
			return metadata, b, nil
		}
		for range n {
			var k, v []byte
			if k, b, err = avroBytes(b); err != nil {
				return nil, nil, err
			}
			if v, b, err = avroBytes(b); err != nil {
				return nil, nil, err
			}
			metadata[string(k)] = v
		}
	}
}

// reframe makes a container of a file that iceberg-go has just written.
func reframe(file []byte) (*container, error) {
	metadata, b, err := avroHeader(file)
	if err != nil || len(b) < 16 {
		return nil, errAvro
	}
	c := &container{metadata: metadata}
	deflated := string(metadata["avro.codec"]) == "deflate"
	for b = b[16:]; len(b) > 0; {
		var n int64
		var block []byte
		if n, b, err = avroLong(b); err != nil {
			return nil, err
		}
		if block, b, err = avroBytes(b); err != nil || len(b) < 16 {
			return nil, errAvro
		}
		b = b[16:]
		if deflated {
			if block, err = io.ReadAll(flate.NewReader(bytes.NewReader(block))); err != nil {
				return nil, err
			}
		}
		c.records += n
		c.body = append(c.body, block...)
	}
	metadata["avro.codec"] = []byte("null")
	return c, nil
}

// manifestWriter writes a manifest of format version 2.
type manifestWriter struct {
	container
	spec   iceberg.PartitionSpec
	schema *iceberg.Schema
	// fields are the names of the fields of a data file in the order of the file's schema.
	fields []string
	// added, existing and deleted count entries, the Rows their records.
	added, existing, deleted             int32
	addedRows, existingRows, deletedRows int64
	// leastSequence is the least explicit data sequence number of a live entry.
	leastSequence *int64
}

// entryFields are the fields of a manifest entry, in their order.
var entryFields = []string{"status", "snapshot_id", "sequence_number", "file_sequence_number", "data_file"}

// newManifestWriter begins a manifest. Its Avro schema is iceberg-go's.
func newManifestWriter(content iceberg.ManifestContent, spec iceberg.PartitionSpec, schema *iceberg.Schema) (*manifestWriter, error) {
	var empty bytes.Buffer
	spec = icebergaccess.AvroSpec(spec)
	w, err := iceberg.NewManifestWriter(2, &empty, spec, schema, 1, iceberg.WithManifestWriterContent(content))
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil && !errors.Is(err, iceberg.ErrEmptyManifest) {
		return nil, err
	}
	c, err := reframe(empty.Bytes())
	if err != nil {
		return nil, err
	}
	out := &manifestWriter{container: *c, spec: spec, schema: schema}
	var described struct {
		Fields []struct {
			Name string
			Type json.RawMessage
		}
	}
	if err := json.Unmarshal(c.metadata["avro.schema"], &described); err != nil {
		return nil, err
	}
	var file struct{ Fields []struct{ Name string } }
	for i, f := range described.Fields {
		if i >= len(entryFields) || f.Name != entryFields[i] {
			return nil, fmt.Errorf("manifest schema of iceberg-go: unexpected field %q", f.Name)
		}
		if f.Name == "data_file" {
			if err := json.Unmarshal(f.Type, &file); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range file.Fields {
		out.fields = append(out.fields, f.Name)
	}
	return out, nil
}

// entry is a line of a manifest. Sequence numbers of added entries may be nil: they are those of the manifest.
type entry struct {
	status             iceberg.ManifestEntryStatus
	snapshot           int64
	sequence, fileSeq  *int64
	content            iceberg.ManifestEntryContent
	path               string
	records, size      int64
	partition          map[int]any
	sizes              map[int]int64
	values, nulls      map[int]int64
	nans               map[int]int64
	lower, upper       map[int][]byte
	splits             []int64
	sortOrder          *int
	referencedDataFile string
}

// add appends an entry.
func (w *manifestWriter) add(e *entry) error {
	b := appendLong(w.body, int64(e.status))
	b = appendOptional(b, &e.snapshot)
	b = appendOptional(b, e.sequence)
	b = appendOptional(b, e.fileSeq)
	for _, name := range w.fields {
		switch name {
		case "content":
			b = appendLong(b, int64(e.content))
		case "file_path":
			b = appendBytes(b, e.path)
		case "file_format":
			b = appendBytes(b, string(iceberg.ParquetFile))
		case "partition":
			p, err := w.partition(e.partition)
			if err != nil {
				return fmt.Errorf("%s: %w", e.path, err)
			}
			b = append(b, p...)
		case "record_count":
			b = appendLong(b, e.records)
		case "file_size_in_bytes":
			b = appendLong(b, e.size)
		case "column_sizes":
			b = appendCounts(b, e.sizes)
		case "value_counts":
			b = appendCounts(b, e.values)
		case "null_value_counts":
			b = appendCounts(b, e.nulls)
		case "nan_value_counts":
			b = appendCounts(b, e.nans)
		case "lower_bounds":
			b = appendBounds(b, e.lower)
		case "upper_bounds":
			b = appendBounds(b, e.upper)
		case "split_offsets":
			if len(e.splits) == 0 {
				b = append(b, 0)
				continue
			}
			b = appendLong(append(b, 2), int64(len(e.splits)))
			for _, at := range e.splits {
				b = appendLong(b, at)
			}
			b = append(b, 0)
		case "sort_order_id":
			if e.sortOrder == nil {
				b = append(b, 0)
				continue
			}
			b = appendLong(append(b, 2), int64(*e.sortOrder))
		case "referenced_data_file":
			if e.referencedDataFile == "" {
				b = append(b, 0)
				continue
			}
			b = appendBytes(append(b, 2), e.referencedDataFile)
		case "key_metadata", "equality_ids", "distinct_counts":
			b = append(b, 0)
		default:
			return fmt.Errorf("manifest schema of iceberg-go: unexpected field %q of data files", name)
		}
	}
	w.body, w.records = b, w.records+1
	if e.status != iceberg.EntryStatusDELETED && e.sequence != nil && (w.leastSequence == nil || *e.sequence < *w.leastSequence) {
		w.leastSequence = e.sequence
	}
	switch e.status {
	case iceberg.EntryStatusADDED:
		w.added++
		w.addedRows += e.records
	case iceberg.EntryStatusEXISTING:
		w.existing++
		w.existingRows += e.records
	case iceberg.EntryStatusDELETED:
		w.deleted++
		w.deletedRows += e.records
	}
	return nil
}

// partition encodes a partition tuple: iceberg-go encodes a file that has nothing else, and its partition is what lies between fields of
// known lengths.
func (w *manifestWriter) partition(tuple map[int]any) ([]byte, error) {
	const path = "p"
	f, err := iceberg.NewDataFileBuilder(w.spec, iceberg.EntryContentData, path, iceberg.ParquetFile, tuple, nil, nil, 0, 0)
	if err != nil {
		return nil, err
	}
	raw, err := codec.EncodeDataFile(f.Build(), w.spec, w.schema, 2)
	if err != nil {
		return nil, err
	}
	at := slices.Index(w.fields, "partition")
	if at < 3 {
		return nil, errEncoding
	}
	// an entry with status 1 and three nulls, content, path and format, then one byte for each other field: a zero, or a null
	before := appendBytes(appendBytes([]byte{2, 0, 0, 0, 0}, path), string(iceberg.ParquetFile))
	before = append(before, make([]byte, at-3)...)
	after := make([]byte, len(w.fields)-at-1)
	rest, ok := bytes.CutPrefix(raw, before)
	if !ok {
		return nil, errEncoding
	}
	if rest, ok = bytes.CutSuffix(rest, after); !ok {
		return nil, errEncoding
	}
	return rest, nil
}

var errEncoding = errors.New("unexpected encoding of data files by iceberg-go")

// appendCounts appends a map of field ids as Iceberg has it in Avro: an optional array of pairs.
func appendCounts(b []byte, m map[int]int64) []byte {
	return appendPairs(b, m, appendLong)
}

func appendBounds(b []byte, m map[int][]byte) []byte {
	return appendPairs(b, m, appendBytes[[]byte])
}

func appendPairs[V any](b []byte, m map[int]V, appendValue func([]byte, V) []byte) []byte {
	b = append(b, 2)
	if len(m) > 0 {
		b = appendLong(b, int64(len(m)))
		for _, id := range slices.Sorted(maps.Keys(m)) {
			b = appendValue(appendLong(b, int64(id)), m[id])
		}
	}
	return append(b, 0)
}

// schemaOf is the table schema that a manifest was written with.
func schemaOf(manifest []byte, at string) (*iceberg.Schema, error) {
	metadata, _, err := avroHeader(manifest)
	if err != nil {
		return nil, corrupt.Locate(corrupt.At(-1, "not a manifest of Iceberg: %v", err), at, 0)
	}
	s := new(iceberg.Schema)
	if err := json.Unmarshal(metadata["schema"], s); err != nil {
		return nil, corrupt.Locate(corrupt.At(-1, "the manifest has no schema: %v", err), at, 0)
	}
	return s, nil
}
