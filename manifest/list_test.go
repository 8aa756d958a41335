package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// files is an IO of files in memory.
type files map[string][]byte

func (f files) ReadFile(name string) ([]byte, error) {
	if b, ok := f[name]; ok {
		return b, nil
	}
	return nil, fs.ErrNotExist
}

func (f files) Open(string) (iceio.File, error) { return nil, errors.New("read by ReadFile") }
func (f files) Remove(string) error             { return nil }

// avro makes an object container file of a schema and blocks of (records, bytes).
func avro(schema string, deflated bool, metadata map[string]string, blocks ...any) []byte {
	all := map[string]string{"avro.schema": schema, "avro.codec": "null", "format-version": "2", "content": "data",
		"schema": `{"type":"struct","schema-id":0,"fields":[]}`, "partition-spec": "[]", "partition-spec-id": "0"}
	if deflated {
		all["avro.codec"] = "deflate"
	}
	for k, v := range metadata {
		all[k] = v
	}
	out := binary.AppendVarint([]byte(avroMagic), int64(len(all)))
	for k, v := range all {
		out = appendAvroBytes(appendAvroBytes(out, []byte(k)), []byte(v))
	}
	out = append(binary.AppendVarint(out, 0), make([]byte, 16)...)
	for i := 0; i < len(blocks); i += 2 {
		data := blocks[i+1].([]byte)
		if deflated {
			var packed bytes.Buffer
			w, _ := flate.NewWriter(&packed, 9)
			w.Write(data)
			w.Close()
			data = packed.Bytes()
		}
		out = binary.AppendVarint(out, int64(blocks[i].(int)))
		out = append(appendAvroBytes(out, data), make([]byte, 16)...)
	}
	return out
}

// snapped is a block as Avro's codec snappy has it.
func snapped(b []byte) []byte {
	return binary.BigEndian.AppendUint32(s2.EncodeSnappy(nil, b), crc32.ChecksumIEEE(b))
}

func listSchema(more ...string) string {
	fields := append([]string{`{"name":"manifest_path","type":"string","field-id":500}`, `{"name":"manifest_length","type":"long","field-id":501}`,
		`{"name":"partition_spec_id","type":"int","field-id":502}`, `{"name":"content","type":"int","field-id":517}`,
		`{"name":"sequence_number","type":"long","field-id":515}`, `{"name":"min_sequence_number","type":"long","field-id":516}`,
		`{"name":"added_snapshot_id","type":"long","field-id":503}`, `{"name":"added_files_count","type":"int","field-id":504}`,
		`{"name":"existing_files_count","type":"int","field-id":505}`, `{"name":"deleted_files_count","type":"int","field-id":506}`,
		`{"name":"added_rows_count","type":"long","field-id":512}`, `{"name":"existing_rows_count","type":"long","field-id":513}`,
		`{"name":"deleted_rows_count","type":"long","field-id":514}`}, more...)
	return `{"type":"record","name":"manifest_file","fields":[` + strings.Join(fields, ",") + `]}`
}

func listRecord(path string, numbers ...int64) []byte {
	out := appendAvroBytes(nil, []byte(path))
	for i := range 12 {
		n := int64(0)
		if i < len(numbers) {
			n = numbers[i]
		}
		out = binary.AppendVarint(out, n)
	}
	return out
}

const entrySchema = `{"type":"record","name":"manifest_entry","fields":[{"name":"status","type":"int","field-id":0},
	{"name":"snapshot_id","type":["null","long"],"field-id":1},
	{"name":"data_file","field-id":2,"type":{"type":"record","name":"r2","fields":[
	{"name":"content","type":"int","field-id":134},{"name":"file_path","type":"string","field-id":100},{"name":"file_format","type":"string","field-id":101},
	{"name":"partition","type":{"type":"record","name":"r102","fields":[]},"field-id":102},
	{"name":"record_count","type":"long","field-id":103},{"name":"file_size_in_bytes","type":"long","field-id":104}]}}]}`

func entryRecord(path string, records, size int64) []byte {
	out := binary.AppendVarint(binary.AppendVarint(nil, 1), 0) // added, no snapshot id
	out = binary.AppendVarint(out, 0)
	out = appendAvroBytes(appendAvroBytes(out, []byte(path)), []byte("amudai"))
	return binary.AppendVarint(binary.AppendVarint(out, records), size)
}

// TestHostileLists: a manifest list that can't be one is corrupt, in little time and memory.
func TestHostileLists(t *testing.T) {
	deep := `"int"`
	for range 4000 {
		deep = `{"type":"array","items":` + deep + `}`
	}
	one := listRecord("m.avro", 10, 0, 0, 1, 1, 1, 1)
	for name, c := range map[string]struct {
		file []byte
		ok   bool
	}{
		"intact":                      {avro(listSchema(), false, nil, 1, one), true},
		"intact, deflated":            {avro(listSchema(), true, nil, 1, one), true},
		"no Avro":                     {[]byte("root:x:0:0:root:/root:/bin/sh"), false},
		"empty":                       {nil, false},
		"no schema":                   {avro("", false, nil, 1, one), false},
		"schema of a string":          {avro(`"string"`, false, nil, 1, one), false},
		"other name":                  {avro(strings.Replace(listSchema(), "manifest_path", "x", 1), false, nil, 1, one), false},
		"snappy":                      {avro(listSchema(), false, map[string]string{"avro.codec": "snappy"}, 1, snapped(one)), true},
		"snappy without its checksum": {avro(listSchema(), false, map[string]string{"avro.codec": "snappy"}, 1, s2.EncodeSnappy(nil, one)), false},
		"no path, no id":              {avro(strings.Replace(listSchema(), `"manifest_path","type":"string","field-id":500`, `"x","type":"string"`, 1), false, nil, 1, one), false},
		"path is null":                {avro(strings.Replace(listSchema(), `"manifest_path","type":"string"`, `"manifest_path","type":"null"`, 1), false, nil, 1, one[7:]), false},
		"path is a record":            {avro(strings.Replace(listSchema(), `"manifest_path","type":"string"`, `"manifest_path","type":{"type":"record","name":"p","fields":[]}`, 1), false, nil, 1, one[7:]), false},
		"negative length":             {avro(listSchema(), false, nil, 1, listRecord("m.avro", -3)), false},
		"negative count":              {avro(listSchema(), false, nil, 1, listRecord("m.avro", 10, 0, 0, 1, 1, 1, -3)), false},
		"a manifest twice":            {avro(listSchema(), false, nil, 2, append(bytes.Clone(one), one...)), false},
		"deep schema":                 {avro(listSchema(`{"name":"deep","type":`+deep+`}`), false, nil, 1, one), false},
		"recursive schema":            {avro(listSchema(`{"name":"again","type":["null","manifest_file"]}`), false, nil, 1, append(bytes.Clone(one), 0)), false},
		"huge schema":                 {avro(listSchema(`{"name":"`+strings.Repeat("x", 5<<20)+`","type":"int"}`), false, nil, 1, one), false},
		"records promised":            {avro(listSchema(), false, nil, 1<<40, one), false},
		"cut off":                     {avro(listSchema(), false, nil, 2, one), false},
		"a bomb of zeros":             {avro(listSchema(), true, nil, 5_000_000, make([]byte, 66<<20)), false},
		"a bomb of items": {avro(listSchema(`{"name":"partitions","field-id":507,"type":{"type":"array","items":{"type":"record","name":"r508","fields":[{"name":"contains_null","type":"boolean","field-id":509}]}}}`),
			true, nil, 1, append(append(bytes.Clone(one), binary.AppendVarint(nil, 30<<20)...), append(make([]byte, 10<<20), 0)...)), false},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			list, err := Manifests(files{"list": c.file}, 2, &table.Snapshot{ManifestList: "list"})
			runtime.ReadMemStats(&after)
			if c.ok != (err == nil) || !c.ok && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
				t.Errorf("%d manifests, %v", len(list), err)
			}
			if err != nil && strings.Contains(err.Error(), "root:x") {
				t.Errorf("the error has bytes of the file: %v", err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 400<<20 {
				t.Errorf("%d bytes were allocated for a file of %d", got, len(c.file))
			}
		})
	}
}

// TestHostileManifests: both readers of manifests refuse the same.
func TestHostileManifests(t *testing.T) {
	one := entryRecord("s3://b/a", 3, 100)
	for name, c := range map[string]struct {
		file []byte
		ok   bool
	}{
		"intact":                {avro(entrySchema, false, nil, 1, one), true},
		"negative records":      {avro(entrySchema, false, nil, 1, entryRecord("s3://b/a", -3, 100)), false},
		"negative size":         {avro(entrySchema, false, nil, 1, entryRecord("s3://b/a", 3, -100)), false},
		"no data_file":          {avro(`{"type":"record","name":"e","fields":[{"name":"status","type":"int","field-id":0}]}`, false, nil, 1, []byte{2}), false},
		"data_file is a string": {avro(`{"type":"record","name":"e","fields":[{"name":"status","type":"int","field-id":0},{"name":"data_file","type":"string","field-id":2}]}`, false, nil, 1, []byte{2, 2, 'x'}), false},
		"no partition":          {avro(strings.Replace(entrySchema, `{"name":"partition","type":{"type":"record","name":"r102","fields":[]},"field-id":102},`, "", 1), false, nil, 1, one), false},
		"partition is a map":    {avro(strings.Replace(entrySchema, `{"type":"record","name":"r102","fields":[]}`, `{"type":"map","values":"int"}`, 1), false, nil, 1, one), false},
		"records promised":      {avro(entrySchema, false, nil, 1<<40, one), false},
		"an entry is cut off":   {avro(entrySchema, false, nil, 1, one[:len(one)-1]), false},
		"a bomb of entries":     {avro(entrySchema, true, nil, 6_000_000, bytes.Repeat([]byte{2, 0, 0, 0, 0, 0, 0}, 6_000_000)), false},
		"no Avro":               {[]byte("secret"), false},
	} {
		t.Run(name, func(t *testing.T) {
			m := iceberg.NewManifestFile(2, "m", int64(len(c.file)), 0, 1).AddedFiles(1).SequenceNum(1, 1).Build()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			entries, err := Entries(files{"m": c.file}, m)
			n := 0
			var liveErr error
			for _, err := range LiveEntries(files{"m": c.file}, m, nil) {
				if liveErr = err; err == nil {
					n++
				}
			}
			runtime.ReadMemStats(&after)
			for reader, err := range map[string]error{"iceberg-go": err, "avrofile": liveErr} {
				if c.ok != (err == nil) || !c.ok && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
					t.Errorf("%s: %v", reader, err)
				}
			}
			if c.ok && (n != 1 || len(entries) != 1) {
				t.Errorf("%d and %d entries", n, len(entries))
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 600<<20 {
				t.Errorf("%d bytes were allocated for a file of %d", got, len(c.file))
			}
			if liveErr != nil && strings.Contains(fmt.Sprint(liveErr), "secret") {
				t.Error(liveErr)
			}
		})
	}
}

// TestSequenceOfEntries: an entry that was added has the sequence number of its manifest where it states none, as all have in a manifest of a table
// of version 1; of an entry that was there before it is unknown.
func TestSequenceOfEntries(t *testing.T) {
	for _, c := range []struct {
		status   iceberg.ManifestEntryStatus
		manifest int64
		want     int64
	}{{iceberg.EntryStatusADDED, 5, 5}, {iceberg.EntryStatusEXISTING, 5, -1}, {iceberg.EntryStatusADDED, 0, 0}, {iceberg.EntryStatusEXISTING, 0, 0}} {
		record := entryRecord("s3://b/a", 3, 100)
		record[0] = byte(2 * c.status)
		file := avro(entrySchema, false, nil, 1, record)
		m := iceberg.NewManifestFile(2, "m", int64(len(file)), 0, 1).AddedFiles(1).SequenceNum(c.manifest, c.manifest).Build()
		n := 0
		for e, err := range LiveEntries(files{"m": file}, m, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; e.Sequence != c.want {
				t.Errorf("status %d of a manifest of %d: sequence number %d, want %d", c.status, c.manifest, e.Sequence, c.want)
			}
		}
		if n != 1 {
			t.Errorf("%d entries", n)
		}
	}
}
