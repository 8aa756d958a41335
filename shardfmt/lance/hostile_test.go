package lance

import (
	"context"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/fileformat"
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

// A file that was cut anywhere is refused: what is left does not end with a footer that fits.
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
		if testing.Short() || len(data) > 600 {
			step = 1 + len(data)/100
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

// Other versions are refused by their number, with what to do about it.
func TestOtherVersions(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors/prims.lance")
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]Version{"2.1": {2, 1}, "2.2": {2, 2}, "2.3": {2, 3}, "0.2 (legacy)": {0, 2}, "7.1": {7, 1}} {
		other := append([]byte(nil), data...)
		binary.LittleEndian.PutUint16(other[len(other)-8:], v.Major)
		binary.LittleEndian.PutUint16(other[len(other)-6:], v.Minor)
		err := readAll(other)
		if !isTyped(err) || !strings.Contains(err.Error(), "version "+name) || !strings.Contains(err.Error(), `data_storage_version="2.0"`) {
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
