package encode

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// frameWords are n words of size bytes: of few or many bytes, in runs, copied from further before, or, of kind 7, of runs and words without
// them of any length.
func frameWords(r *rand.Rand, n, size, kind int) []byte {
	text := make([]byte, n*size)
	if kind == 7 {
		for at := 0; at < len(text); {
			for end := min(at+size*(1+r.IntN(1<<r.IntN(11))), len(text)); at < end; at++ {
				text[at] = byte(r.IntN(256))
			}
			for end := min(at+size*(1+r.IntN(1<<r.IntN(11))), len(text)); at < end; at++ {
				text[at] = text[at-size]
			}
		}
		return text
	}
	for i := range n {
		w := text[i*size : (i+1)*size]
		if i > 0 && (kind == 1 || kind == 4) && r.IntN(3) > 0 {
			copy(w, text[(i-1)*size:]) // runs
			continue
		}
		if back := r.IntN(6) * size; kind == 6 && back > 0 && back <= i*size {
			copy(w, text[i*size-back:])
		}
		for b := range w {
			switch {
			case b == 0 || b == 1 && r.IntN(8) < kind:
				w[b] = byte(r.IntN(1 + r.IntN(256)))
			case kind == 2, kind == 4 && i%7 == 3, kind == 5 && i > n/2:
				w[b] = byte(r.IntN(256))
			case kind == 3 && r.IntN(2) == 0:
				w[b] = 0xff
			}
		}
	}
	return text
}

// Frames of words come back from a decoder of Zstd, whatever the words, runs, borders of blocks and distances are.
func TestWordFrames(t *testing.T) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	e := NewEncoder(Options{Profile: HighCompression})
	for _, size := range []int{4, 8, 16} {
		for _, n := range []int{1, 2, 3, 100, 1024, 8191, 32769, 65536} {
			for kind := range 8 {
				text := frameWords(rand.New(rand.NewPCG(uint64(n), uint64(size*10+kind))), n, size, kind)
				e.borrow()
				back, err := dec.DecodeAll(e.wordFrame(text, size), nil)
				if err != nil || !bytes.Equal(back, text) {
					t.Fatalf("words of %d bytes, %d of kind %d: %v", size, n, kind, err)
				}
			}
		}
	}
}

// What words of a few bytes take, in bits a value: little more than the information in them.
func TestSizesOfWordFrames(t *testing.T) {
	const n = 3 * FlushValues
	r := rand.New(rand.NewPCG(20, 13))
	clock, delays, took, jitter := make([]int64, n), make([]int64, n), make([]int64, n), make([]uint64, n)
	minute, at := 300, uint64(firstShips)
	for i := range n {
		if minute += int(r.ExpFloat64() * 1.4); minute >= 1400 {
			minute = 300
		}
		clock[i] = int64(minute/60*100 + minute%60) // as flights have it: 1359 is followed by 1400
		delays[i] = int64(r.NormFloat64()*12 - 3)
		if r.IntN(10) == 0 {
			delays[i] += int64(r.ExpFloat64() * 70)
		}
		took[i] = int64(math.Exp(8 + 1.5*r.NormFloat64()))
		at += 10 * uint64(r.ExpFloat64()*900)
		jitter[i] = at
	}
	floats := make([]float64, n)
	for i, v := range clock {
		floats[i] = float64(v)
	}
	vector := make([]float32, n)
	for i := range vector {
		vector[i] = float32(r.NormFloat64() / 16)
	}
	t.Run("times of day in order", func(t *testing.T) { sizeAtMost(t, HighCompression, clock, 2.7) })
	t.Run("the same as floats", func(t *testing.T) { sizeAtMost(t, HighCompression, floats, 2.7) })
	t.Run("delays", func(t *testing.T) { sizeAtMost(t, HighCompression, delays, 6.9) })
	t.Run("durations", func(t *testing.T) { sizeAtMost(t, HighCompression, took, 16.1) })
	t.Run("points in time in whole microseconds", func(t *testing.T) { sizeAtMost(t, HighCompression, jitter, 13.5) })
	t.Run("vectors", func(t *testing.T) { sizeAtMost(t, HighCompression, vector, 27.5) })
}

// Prices of 16 bytes, of which three vary, take their information, which the library's encoders don't come near.
func TestSizesOfRecords(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(20, 14))
	data := make([]byte, 0, 16*n)
	for range n {
		price := (1 + r.Uint32N(50)) * (90_000 + r.Uint32N(110_000))
		data = append(data, byte(price), byte(price>>8), byte(price>>16), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 7, 0x22)
	}
	size, back := 0, block.Bytes{}
	e := NewEncoder(Options{Profile: HighCompression})
	_, err := e.CutBytes(Bytes{Data: data, Fixed: 16}, true, func(b Block) error {
		size += align8(8+len(b.Sub)+4) + mapShare
		return block.DecodeBytes(&back, b.Sub, b.Values, 16, nil, new(block.Scratch))
	})
	if err != nil || !bytes.Equal(back.Data, data) {
		t.Fatalf("%d bytes back of %d: %v", len(back.Data), len(data), err)
	}
	if got := 8 * float64(size) / n; got > 24.2 {
		t.Errorf("%.3f bits a value, not 24.2 or less", got)
	}
}

// Records of any size come back, also those of which a whole number doesn't fill a block of a frame.
func TestRecordsOfAnySize(t *testing.T) {
	for _, fixed := range []int{1, 4, 7, 8, 12, 16, 24, 32, 40, 48, 64, 72, 128, 256} {
		n := 300_000 / fixed
		data := make([]byte, n*fixed)
		r := rand.New(rand.NewPCG(1, uint64(fixed)))
		for i := range n {
			for b := range min(fixed, 3) {
				data[i*fixed+b] = byte(r.IntN(100) * (i % (b + 2)))
			}
		}
		for _, p := range []Profile{HighCompression, MinimalSize} {
			var back block.Bytes
			_, err := NewEncoder(Options{Profile: p}).CutBytes(Bytes{Data: data, Fixed: fixed}, true, func(b Block) error {
				return block.DecodeBytes(&back, b.Sub, b.Values, fixed, nil, new(block.Scratch))
			})
			if err != nil || !bytes.Equal(back.Data, data) {
				t.Errorf("%v, records of %d bytes: %d bytes back of %d: %v", p, fixed, len(back.Data), len(data), err)
			}
		}
	}
}
