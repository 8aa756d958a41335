package fileio

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Files of other writers, read as their footers have them.
func TestArrowFilesOfOthers(t *testing.T) {
	for name, want := range map[string]string{
		"polars2_file.arrow":            `{"a":1,"s":"x"} {"a":2,"s":"y"}`,
		"polars210_file.arrow":          `{"a":"x"} {"a":null} {"a":"yy"}`,
		"polars2_compressed.arrow":      `{"a":"eA==","l":["q"]} {"a":null,"l":null} {"a":"eXk=","l":[]}`,
		"string_view_polars130.arrow":   `{"a":1,"s":"x"} {"a":2,"s":"y"}`,
		"footer_lists_one_of_two.arrow": `{"a":1,"s":"x"} {"a":2,"s":null} {"a":3,"s":"z"}`,
		"timestamp_ns_min.arrow":        `{"t":"1677-09-21T00:12:43.1452241Z"} {"t":"1677-09-21T00:12:43.1452241Z"} {"t":"1677-09-21T00:12:43.1452243Z"} {"t":"2262-04-11T23:47:16.8547758Z"}`,
		"union_not_nullable.arrow":      `{"u":1} {"u":null} {"u":"z"}`,
		"pre015_framing.arrows":         `{"a":1,"s":"x"} {"a":2,"s":null} {"a":3,"s":"z"}`,
	} {
		at := filepath.Join("testdata/files", name)
		if got, err := rowsIn(t, SourceOptions{}, at); err != nil || strings.Join(strings.Fields(got), " ") != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		file, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rowsIn(t, SourceOptions{Format: Arrow, Stdin: bytes.NewReader(file)}, "-"); err != nil || strings.Join(strings.Fields(got), " ") != want {
			t.Errorf("%s from a pipe: %q, %v", name, got, err)
		}
		packed := filepath.Join(t.TempDir(), name+".gz")
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, err = w.Write(file)
		if err := errors.Join(err, w.Close(), os.WriteFile(packed, z.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		if got, err := rowsIn(t, SourceOptions{}, packed); err != nil || strings.Join(strings.Fields(got), " ") != want {
			t.Errorf("%s packed: %q, %v", name, got, err)
		}
	}
}

// arrowParts is an Arrow file of batches of a row each, and where its footer lists them.
func arrowParts(t *testing.T, batches int) (file []byte, blocks [][]byte) {
	t.Helper()
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "d", Type: typ}}, nil)
	var out bytes.Buffer
	w, err := ipc.NewFileWriter(&out, ipc.WithSchema(s))
	if err != nil {
		t.Fatal(err)
	}
	for i := range batches {
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(fmt.Sprintf(`[{"a": %d, "d": "x"}]`, i)))
		if err == nil {
			err = w.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file = out.Bytes()
	end := len(file) - 10
	footer := file[end-int(binary.LittleEndian.Uint32(file[end:])) : end]
	root := int(binary.LittleEndian.Uint32(footer))
	vtable := root - int(int32(binary.LittleEndian.Uint32(footer[root:])))
	slot := root + int(binary.LittleEndian.Uint16(footer[vtable+4+2*3:]))
	list := slot + int(binary.LittleEndian.Uint32(footer[slot:]))
	if n := int(binary.LittleEndian.Uint32(footer[list:])); n != batches {
		t.Fatalf("%d blocks", n)
	}
	for i := range batches {
		blocks = append(blocks, footer[list+4+24*i:][:24])
	}
	return file, blocks
}

// The order of rows is that of the blocks in the footer; what lies between and behind them does not count.
func TestArrowFooterOrder(t *testing.T) {
	file, blocks := arrowParts(t, 4)
	first := bytes.Clone(blocks[0])
	copy(blocks[0], blocks[3])
	copy(blocks[3], blocks[1])
	copy(blocks[1], first)
	at := filepath.Join(t.TempDir(), "a.arrow")
	if err := os.WriteFile(at, file, 0o644); err != nil {
		t.Fatal(err)
	}
	want := `{"a":3,"d":"x"} {"a":0,"d":"x"} {"a":2,"d":"x"} {"a":1,"d":"x"}`
	if got, err := rowsIn(t, SourceOptions{}, at); err != nil || strings.Join(strings.Fields(got), " ") != want {
		t.Errorf("%q, %v", got, err)
	}
	end := len(file) - 10 - int(binary.LittleEndian.Uint32(file[len(file)-10:]))
	if mark := binary.LittleEndian.Uint64(file[end-8:]); mark != 0xFFFFFFFF {
		t.Fatalf("no end of a stream before the footer: %x", mark)
	}
	unmarked := append(bytes.Clone(file[:end-8]), file[end:]...)
	if err := os.WriteFile(at, unmarked, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := rowsIn(t, SourceOptions{}, at); err != nil || strings.Join(strings.Fields(got), " ") != want {
		t.Errorf("without the end of a stream: %q, %v", got, err)
	}
}

// Footers that lie are corrupt files, never other rows.
func TestArrowFooterDamage(t *testing.T) {
	put := func(at int, v uint64) func([]byte) {
		return func(b []byte) { binary.LittleEndian.PutUint64(b[at:], v) }
	}
	for name, change := range map[string]func(block []byte){
		"offset behind the footer": put(0, 1<<20), "negative offset": put(0, 1<<63), "offset of the head": put(0, 0),
		"no metadata": put(8, 0), "negative metadata": put(8, 0xFFFFFFF0), "short metadata": put(8, 16), "long metadata": put(8, 1<<20),
		"short body": put(16, 8), "negative body": put(16, 1<<63), "body beyond the footer": put(16, 1<<40),
		"offset of no message": func(b []byte) { b[0] += 8 },
	} {
		file, blocks := arrowParts(t, 3)
		change(blocks[1])
		damagedArrow(t, name, file)
	}
	file, blocks := arrowParts(t, 40)
	for _, b := range blocks {
		copy(b, blocks[39])
	}
	// each of them lies in the file, and all together are no longer than it: rows come again, as often as the footer states, and no more
	if got, err := rowsIn(t, SourceOptions{Format: Arrow, Stdin: bytes.NewReader(file)}, "-"); err != nil || strings.Count(got, `"a":39`) != 40 {
		t.Errorf("a block 40 times: %q, %v", got, err)
	}
	for _, b := range blocks {
		binary.LittleEndian.PutUint64(b, 8)
		binary.LittleEndian.PutUint32(b[8:], uint32(len(file)/2))
	}
	damagedArrow(t, "blocks that overlap", file)
	file, _ = arrowParts(t, 3)
	for _, n := range []int{1, 6, 10, 11, 100, len(file) - 8, len(file) - 7} {
		damagedArrow(t, fmt.Sprintf("%d bytes cut off", n), file[:len(file)-n])
	}
}

func damagedArrow(t *testing.T, name string, file []byte) {
	t.Helper()
	if got, err := rowsIn(t, SourceOptions{Format: Arrow, Stdin: bytes.NewReader(file)}, "-"); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("%s: %q, %v", name, got, err)
	}
}

// Metadata of the future are refused as that.
func TestArrowVersion(t *testing.T) {
	if _, err := rowsIn(t, SourceOptions{}, "testdata/files/schema_v6.arrow"); !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), "version") {
		t.Error(err)
	}
	feather := SourceOptions{Format: Arrow, Stdin: strings.NewReader("FEA1\x00\x00\x00\x00")}
	if _, err := rowsIn(t, feather, "-"); !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), "Feather of version 1") {
		t.Error(err)
	}
}
