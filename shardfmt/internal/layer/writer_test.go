package layer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// What would make no file is refused, with the row.
func TestWriterRefuses(t *testing.T) {
	pairs, _ := ParseTypes("i64,()/i64,()")
	w, err := NewWriter(io.Discard, pairs, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(0, Value{Int: 1}, Value{}); !errors.Is(err, ErrGroup) {
		t.Errorf("a row without a group: %v", err)
	}
	w, _ = NewWriter(io.Discard, pairs, WriteOptions{})
	if err := errors.Join(w.Write(1, Value{Int: 2}, Value{}), w.Write(0, Value{Int: 5}, Value{}), w.Write(1, Value{Int: 1}, Value{})); err != nil {
		t.Errorf("a new group may begin anywhere: %v", err)
	}
	if err := w.Write(1, Value{Int: 1}, Value{}); !errors.Is(err, ErrOrder) || !strings.Contains(err.Error(), "row 2 of column 1") {
		t.Errorf("the same key twice: %v", err)
	}
	w, _ = NewWriter(io.Discard, pairs[1:], WriteOptions{Filter: Roaring})
	if err := errors.Join(w.Write(0, Value{Int: 0}, Value{}), w.Write(0, Value{Int: 1 << 33}, Value{})); !errors.Is(err, corrupt.ErrUnsupported) {
		t.Errorf("a roaring filter over a wide span: %v", err)
	}
}

// counting counts what is written and refuses to go back, as an upload does.
type counting struct{ bytes int64 }

func (c *counting) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

// Files of more than 2^40 bytes have the offsets they should: the arithmetic, without the bytes.
func TestLargeOffsets(t *testing.T) {
	pairs, _ := ParseTypes("i64,()")
	out := &counting{}
	w, err := NewWriter(out, pairs, WriteOptions{MinBranch: 2, MinDataBlock: 512, MinIndexBlock: 512})
	if err != nil {
		t.Fatal(err)
	}
	w.at = 1 << 41
	for i := range int64(1000) {
		if err := w.Write(0, Value{Int: i}, Value{}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.closeColumn(w.columns[0])
	if err != nil || r.offset < 1<<41 || !r.index || w.at-1<<41 != out.bytes {
		t.Errorf("%+v, %v", r, err)
	}
	x := w.columns[0].levels[0]
	if got := x.places[len(x.places)-1].offset; got < 1<<41 || widthOf(uint64(got)) != 6 {
		t.Errorf("offset %d", got)
	}
}

// Memory of the writer does not grow with the rows: what it holds is a block of each level.
func TestWriterHoldsBlocksOnly(t *testing.T) {
	pairs, _ := ParseTypes("i64,bytes")
	held := func(rows int64) (n int) {
		w, err := NewWriter(io.Discard, pairs, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if err := w.Write(0, Value{Int: i}, Value{Bytes: []byte("0123456789abcdef")}); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range w.columns {
			n += cap(c.data.b) + 4*cap(c.data.offsets)
			for _, x := range c.levels {
				n += cap(x.b) + 4*cap(x.bounds) + 24*cap(x.places)
			}
		}
		return n
	}
	if few, many := held(150_000), held(600_000); many > 3*few/2 {
		t.Errorf("%d bytes for 150000 rows, %d for 600000", few, many)
	}
}

// Large values make large blocks, which still have their 32 items.
func TestLargeValues(t *testing.T) {
	pairs, _ := ParseTypes("bytes,()")
	var out bytes.Buffer
	w, err := NewWriter(&out, pairs, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := w.Write(0, Value{Bytes: append(binary.BigEndian.AppendUint32(nil, uint32(i)), make([]byte, 64<<10)...)}, Value{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, _ := mustOpen(t, out.Bytes(), "bytes,()")
	x, err := f.Inspect(context.Background(), 2)
	if err != nil || x.Parts[1].Parts[0].Facts[2].Value != uint64(4) {
		t.Errorf("%+v, %v", x, err)
	}
	if r, err := f.Verify(context.Background(), fileformat.VerifyOptions{}); err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}
