package encode

import (
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// FuzzNumbers: any bytes, read as numbers of any type, come back as they were, and so does a part of them by the tree that the whole had.
func FuzzNumbers(f *testing.F) {
	f.Add([]byte("numbers"), uint8(0), uint8(0), []byte(nil))
	f.Add(make([]byte, 4000), uint8(3), uint8(2), []byte{1, 2, 3})
	f.Add(simd.AsBytes([]float64{1.5, 2.5, 0.1, -0.2, 1e300, 7, 8, 9, 10}), uint8(9), uint8(4), []byte(nil))
	f.Add(simd.AsBytes(upTo[int32](-50, 1100)), uint8(2), uint8(3), []byte(nil))
	f.Fuzz(func(t *testing.T, raw []byte, elem, profile uint8, mask []byte) {
		e := NewEncoder(Options{Profile: allProfiles[int(profile)%len(allProfiles)], Seed: uint64(elem)})
		switch elem % 10 {
		case 0:
			fuzzNumbers[int8](t, e, raw, mask)
		case 1:
			fuzzNumbers[int16](t, e, raw, mask)
		case 2:
			fuzzNumbers[int32](t, e, raw, mask)
		case 3:
			fuzzNumbers[int64](t, e, raw, mask)
		case 4:
			fuzzNumbers[uint8](t, e, raw, mask)
		case 5:
			fuzzNumbers[uint16](t, e, raw, mask)
		case 6:
			fuzzNumbers[uint32](t, e, raw, mask)
		case 7:
			fuzzNumbers[uint64](t, e, raw, mask)
		case 8:
			fuzzNumbers[float32](t, e, raw, mask)
		case 9:
			fuzzNumbers[float64](t, e, raw, mask)
		}
	})
}

func fuzzNumbers[T simd.Number](t *testing.T, e *Encoder, raw, mask []byte) {
	vals := make([]T, len(raw)/simd.SizeOf[T]())
	simd.Load(vals, raw)
	valid := stretch(mask, len(vals))
	checkNumbers(t, e, vals, valid)
	checkNumbers(t, e, vals[:len(vals)-len(vals)/8], valid)
}

// stretch makes a bitmap of n bits by repeating mask; none of none.
func stretch(mask []byte, n int) []byte {
	if len(mask) == 0 {
		return nil
	}
	valid := make([]byte, (n+7)/8)
	for i := range valid {
		valid[i] = mask[i%len(mask)]
	}
	return valid
}

// FuzzBytes: any text, cut into values at any place, comes back as it was.
func FuzzBytes(f *testing.F) {
	f.Add([]byte("value one value two value three"), []byte{5, 0, 9}, uint8(2), uint8(0), []byte(nil))
	f.Add(make([]byte, 5000), []byte{16}, uint8(4), uint8(16), []byte{0xaa})
	f.Fuzz(func(t *testing.T, data, lengths []byte, profile, fixed uint8, mask []byte) {
		e := NewEncoder(Options{Profile: allProfiles[int(profile)%len(allProfiles)]})
		if fixed > 0 {
			data = data[:len(data)/int(fixed)*int(fixed)]
			bytesRoundTrip(t, e, data, nil, int(fixed), stretch(mask, len(data)/int(fixed)))
			return
		}
		offsets, at := []int64{0}, 0
		for i := 0; at < len(data) && len(lengths) > 0 && i < 5000; i++ {
			at = min(len(data), at+int(lengths[i%len(lengths)]))
			offsets = append(offsets, int64(at))
		}
		bytesRoundTrip(t, e, data, offsets, 0, stretch(mask, len(offsets)-1))
	})
}

// FuzzLZ4: what the LZ4 encoder here makes, the library reads.
func FuzzLZ4(f *testing.F) {
	f.Add([]byte("abcabcabcabcabcabcabcabcabcabc"), []byte("abc"))
	f.Add(make([]byte, 70000), []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		z := new(lz4Encoder)
		for _, text := range [][]byte{a, b, append(a, b...), a} {
			checkLZ4(t, z, text)
			checkRecords(t, new(lz4Records), text[:len(text)/recordSize*recordSize])
		}
	})
}
