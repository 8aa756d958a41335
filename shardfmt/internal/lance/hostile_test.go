package lance

import (
	"context"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// readAll reads everything there is to read of a file, and gives the first error.
func readAll(data []byte) error {
	f, err := open(data)
	if err != nil {
		return err
	}
	f.desc.rows = min(f.desc.rows, 10_000) // nulls of which nothing is stored
	if _, err := f.Verify(context.Background(), fileformat.VerifyOptions{}); err != nil {
		return err
	}
	_, err = rowsOf(f, ReadOptions{BatchRows: 5})
	return err
}

// A file that was cut anywhere is refused: the rest does not end with a footer that fits.
func TestTruncation(t *testing.T) {
	for _, name := range vectorNames(t) {
		data, _ := readVector(t, name)
		for cut := 1; cut < len(data); cut += 1 + len(data)/50 {
			if err := readAll(data[:len(data)-cut]); !isTyped(err) {
				t.Fatalf("%s without %d bytes: %v", name, cut, err)
			}
		}
	}
}

// Flipped bits end in a typed error or in other values, never in a panic.
func TestFlippedBits(t *testing.T) {
	for _, name := range vectorNames(t) {
		data, _ := readVector(t, name)
		step := 1
		if testing.Short() || len(data) > 300 {
			step = 1 + len(data)/40
		}
		for at := 0; at < len(data); at += step {
			damaged := append([]byte(nil), data...)
			damaged[at] ^= 1 << (at % 8)
			if err := readAll(damaged); err != nil && !isTyped(err) {
				t.Fatalf("%s with byte %d flipped: %v", name, at, err)
			}
		}
	}
}

// Counts that lie take no memory: what is read takes a small multiple of what there is.
func TestLyingCountsTakeNoMemory(t *testing.T) {
	number := []Field{{Name: "c", ID: 0, Parent: NoParent, LogicalType: "int64"}}
	compressed := func(scheme string, b []byte) []byte {
		e := appendMessage(appendMessage(appendNumber(nil, 1, 64), 2, bufferAt(0)), 3, appendMessage(nil, 1, []byte(scheme)))
		return handmade{1 << 26, arrayEncoding(flatKind, e), [][]byte{b}}.file(t, number, 1<<26)
	}
	blob := []Field{{Name: "c", ID: 0, Parent: NoParent, LogicalType: "large_binary"}}
	footer := handmade{1, flatOf(64, 0), [][]byte{words(1)}}.file(t, number, 1)
	binary.LittleEndian.PutUint32(footer[len(footer)-12:], 1<<31)
	for name, data := range map[string][]byte{
		"zstd":    compressed(schemeZstd, append(words(1<<29), 0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x01, 0x01, 0x00, 0x00)),
		"lz4":     compressed(schemeLz4, []byte{0, 0, 0, 0x20, 0x11, 0x22}),
		"values":  handmade{1 << 50, flatOf(64, 0), [][]byte{words(1)}}.file(t, number, 1<<50),
		"columns": footer,
		"offsets": handmade{1, arrayEncoding(binaryKind, appendNumber(appendMessage(appendMessage(nil, 1, flatOf(64, 0)), 2, flatOf(8, 1)), 3, 1<<62)),
			[][]byte{words(1 << 40), []byte("ab")}}.file(t, blob, 1),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := readAll(data)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !isTyped(err) || took > 16<<20 {
			t.Errorf("%s: %d bytes, %v", name, took, err)
		}
	}
}

// Other versions are refused by their number, with what to do about it.
func TestOtherVersions(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors/prims.lance")
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]Version{"2.3": {2, 3}, "0.2 (legacy)": {0, 2}, "7.1": {7, 1}} {
		other := append([]byte(nil), data...)
		binary.LittleEndian.PutUint16(other[len(other)-8:], v.Major)
		binary.LittleEndian.PutUint16(other[len(other)-6:], v.Minor)
		err := readAll(other)
		if !isTyped(err) || !strings.Contains(err.Error(), "version "+name) || !strings.Contains(err.Error(), `data_storage_version="2.1"`) {
			t.Errorf("%v: %v", v, err)
		}
	}
	binary.LittleEndian.PutUint16(data[len(data)-8:], 2)
	binary.LittleEndian.PutUint16(data[len(data)-6:], 0)
	if err := readAll(data); err != nil {
		t.Errorf("2.0 by its other number: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range vectorNames(f) {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readAll(data); err != nil && !isTyped(err) {
			t.Fatal(err)
		}
	})
}

// Counts of versions 2.1 and 2.2 that lie are refused before memory is taken for them.
func TestLyingCountsOfCodecs(t *testing.T) {
	flat := func(bits uint64) *codec { return &codec{kind: flatCodec, bits: bits} }
	runs := &codec{kind: rleCodec, values: flat(16), more: flat(32)}
	block := append(words(2), 1, 0, 0xFF, 0xFF, 0, 0) // one run of 65,535
	for name, read := range map[string]func() error{
		"flat":   func() error { _, err := flat(64).block(words(1), 1<<40); return err },
		"bits":   func() error { _, err := flat(maxValueBits).block(words(1), 1<<60); return err },
		"inline": func() error { _, err := (&codec{kind: inlineCodec, bits: 64}).block(words(0, 0), 1<<40); return err },
		"out of line": func() error {
			_, err := (&codec{kind: outOfLineCodec, bits: 16, values: flat(1)}).block(words(1), 1<<40)
			return err
		},
		"runs": func() error { _, err := runs.block(block, 1<<40); return err },
		"lists": func() error {
			_, err := (&codec{kind: fixedListCodec, dimension: 1 << 40, values: flat(8)}).block(words(1), 1<<20)
			return err
		},
		"texts": func() error {
			_, err := blockTexts(append([]byte{64, 0, 0, 0, 0, 0, 0, 0}, words(24, 1)...), 1<<40)
			return err
		},
		"levels": func() error {
			_, err := readLevels(&buffer{extent: extent{0, int64(len(block))}, data: block}, runs, 1<<60)
			return err
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !isTyped(err) || took > 1<<20 {
			t.Errorf("%s: %d bytes, %v", name, took, err)
		}
	}
}
