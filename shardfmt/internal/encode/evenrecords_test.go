package encode

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// straysOf makes n records of which one in stray differs in all bytes from the one before, and the others in so many first bytes at most.
func straysOf(n, literals, stray int, r *rand.Rand) []byte {
	text := make([]byte, 0, n*recordSize)
	low, high := r.Uint64(), r.Uint64()
	for range n {
		if stray > 0 && r.IntN(stray) == 0 {
			low, high = r.Uint64(), r.Uint64()
		}
		mask := ^uint64(0) >> (64 - 8*literals)
		low = low&^mask | r.Uint64()&mask
		text = binary.LittleEndian.AppendUint64(text, low)
		text = binary.LittleEndian.AppendUint64(text, high)
	}
	return text
}

// TestEvenRecords: the library's decoder and ours read every frame, with strays at the start, at the end and in a row, and of several blocks.
func TestEvenRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	e := NewEncoder(Options{Profile: Balanced})
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, n := range []int{leastEven, 65, 200, 4096, 8192, 8193, 20000} {
		for literals := 1; literals <= mostEven; literals++ {
			for _, stray := range []int{0, 2, 3, 50, 1000} {
				text := straysOf(n, literals, stray, r)
				e.borrow()
				differing := take[uint8](&e.arena, n)
				for _, k := range []int{max(1, literals-1), literals, mostEven} {
					evenRecords(differing, text)
					checkFrame(t, d, e.evenFrame(text, differing, k), text)
				}
			}
		}
	}
}

func checkFrame(t *testing.T, d *zstd.Decoder, frame, text []byte) {
	t.Helper()
	out, err := d.DecodeAll(frame, nil)
	if err != nil || !bytes.Equal(out, text) {
		t.Fatalf("the library's decoder: %v, %d bytes for %d", err, len(out), len(text))
	}
	mine := make([]byte, len(text))
	if !block.ReadsEvenRecords(mine, frame) {
		t.Fatalf("not read the quick way: %d bytes", len(text))
	}
	if !bytes.Equal(mine, text) {
		t.Fatal("read otherwise the quick way")
	}
}

// TestEvenRecordsOfPrices: prices take their three bytes and little more, where LZ4 takes five; few distinct ones are left to LZ4.
func TestEvenRecordsOfPrices(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	e := NewEncoder(Options{Profile: Balanced})
	text := straysOf(4096, 3, 500, r)
	out, err := e.AppendBytes(nil, Bytes{Data: text, Fixed: recordSize})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Chosen(); got != "Zstd" || len(out) > 4096*7/2 {
		t.Errorf("prices: %s of %d bytes", got, len(out))
	}
	few := straysOf(8, 3, 0, r)
	e = NewEncoder(Options{Profile: Balanced})
	if _, err := e.AppendBytes(nil, Bytes{Data: bytes.Repeat(few, 512), Fixed: recordSize}); err != nil {
		t.Fatal(err)
	}
	if got := e.Chosen(); got != "Lz4" {
		t.Errorf("eight prices in turns: %s", got)
	}
}
