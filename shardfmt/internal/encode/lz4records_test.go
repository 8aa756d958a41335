package encode

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// records are n of 16 bytes, of which differing ones differ from those before; some repeat.
func recordsOf(r *rand.Rand, n int) []byte {
	var text []byte
	low, high := r.Uint64(), r.Uint64()
	for i := range n {
		switch r.IntN(8) {
		case 0:
			low, high = r.Uint64(), r.Uint64()
		case 1: // the one before again
		case 2:
			if i > 0 {
				at := r.IntN(i) * recordSize
				low, high = binary.LittleEndian.Uint64(text[at:]), binary.LittleEndian.Uint64(text[at+8:])
			}
		default:
			low ^= r.Uint64() >> (64 - r.IntN(40))
		}
		text = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(text, low), high)
	}
	return text
}

// Any decoder of LZ4 reads what is made of records, of any number: the tables count modulo 2^16.
func TestLZ4Records(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	z := new(lz4Records)
	for i := range 600 {
		checkRecords(t, z, recordsOf(r, 1+r.IntN(1+i)))
	}
	checkRecords(t, z, recordsOf(r, 70_000))
	checkRecords(t, z, make([]byte, 1<<16))
}

func checkRecords(t *testing.T, z *lz4Records, text []byte) {
	t.Helper()
	if len(text) == 0 {
		return
	}
	out := z.compress(nil, text)
	if len(out) > lz4Bound(len(text)) {
		t.Fatalf("%d bytes became %d, more than the bound", len(text), len(out))
	}
	back := make([]byte, len(text))
	n, err := lz4.UncompressBlock(out, back)
	if err != nil || !bytes.Equal(back[:n], text) {
		t.Fatalf("%d bytes, read back %d, %v", len(text), n, err)
	}
	if roomy := z.compress(make([]byte, 0, 2*len(text)+64), text); !bytes.Equal(roomy, out) {
		t.Fatalf("%d bytes came to others where there is room", len(text))
	}
}

// Prices take a token, two or three bytes and a distance each, and no more than what looks at each byte makes of them.
func TestLZ4RecordsOfPrices(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 8))
	var text []byte
	for range 4096 {
		text = binary.LittleEndian.AppendUint64(text, uint64(r.IntN(1<<26)))
		text = binary.LittleEndian.AppendUint64(text, 0x2200_0000_0000_0000)
	}
	records, whole := new(lz4Records).compress(nil, text), new(lz4Encoder).compress(nil, text)
	if len(records) > len(whole)+len(whole)/recordsLoss || len(records) > 4096*11/2 {
		t.Errorf("%d bytes; looking at each byte gives %d", len(records), len(whole))
	}
}

// Texts of 16 bytes that have more in common than records have are still given to the general encoder.
func TestRecordsThatAreTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	words := []string{"customer", "order", "invoice", "shipment", "payment", "return"}
	var text []byte
	for len(text) < 64<<10 {
		text = append(text, words[r.IntN(len(words))]...)
		text = append(text, '0'+byte(r.IntN(10)))
	}
	text = text[:64<<10]
	e := NewEncoder(Options{})
	e.borrow()
	for range 3 {
		got, whole := e.compressRecords(text), new(lz4Encoder).compress(make([]byte, 4), text)
		if len(got) > len(whole) {
			t.Fatalf("%d bytes, the general encoder makes %d", len(got), len(whole))
		}
	}
}
