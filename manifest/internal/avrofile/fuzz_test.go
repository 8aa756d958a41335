package avrofile

import (
	"encoding/binary"
	"testing"
)

// container is a file of one uncompressed block of two records.
func container(schema, codec string, records int64, body []byte) []byte {
	text := func(dst []byte, s string) []byte { return append(binary.AppendVarint(dst, int64(len(s))), s...) }
	out := binary.AppendVarint([]byte(magic), 2)
	out = text(text(out, "avro.schema"), schema)
	out = text(text(out, "avro.codec"), codec)
	marker := make([]byte, markerSize)
	out = append(append(out, 0), marker...)
	out = binary.AppendVarint(out, records)
	return append(text(out, string(body)), marker...)
}

// FuzzFile: whatever the bytes of a file are, reading them ends, no count goes beyond what they can hold, and both ways over a value end
// at the same byte.
func FuzzFile(f *testing.F) {
	for _, schema := range []string{
		`{"type":"record","name":"r","fields":[{"name":"a","type":"string"},{"name":"b","type":["null","long"]}]}`,
		`{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":"double"}},{"name":"b","type":{"type":"map","values":"bytes"}}]}`,
		`{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"fixed","name":"x","size":2}},{"name":"b","type":{"type":"enum","name":"e","symbols":["A"]}}]}`,
		`{"type":"record","name":"r","fields":[]}`, `"boolean"`, `["null"]`, ``,
	} {
		for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
			f.Add(container(schema, codec, 2, []byte{2, 'x', 0, 2, 'y', 2, 4}))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(data)
		if err != nil {
			return
		}
		if n, err := file.Records(); err == nil && n > fewRecords+int64(len(data)) {
			t.Errorf("%d records of %d bytes", n, len(data))
		}
		for b, err := range file.Blocks() {
			if err != nil {
				return
			}
			for range min(b.Records, 10_000) {
				weighed, skipped := b.Cursor, b.Cursor
				if w := weighed.Weigh(file.Schema); w < 0 {
					t.Fatalf("a weight of %d", w)
				}
				skipped.Skip(file.Schema)
				if weighed.Bad() != skipped.Bad() || len(weighed.left) != len(skipped.left) {
					t.Fatalf("%d and %d bytes are left, %v, %v", len(weighed.left), len(skipped.left), weighed.Bad(), skipped.Bad())
				}
				if b.Cursor = skipped; b.Bad() {
					return
				}
			}
		}
	})
}
