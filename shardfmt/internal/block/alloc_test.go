package block

import "testing"

// Decoding a block again allocates nothing: the caller's slices and the Scratch are enough.
func TestDecodeAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, c := range numberVectors {
		eachNumbers(t, c, numberChecks{noAllocs[int8](c.name), noAllocs[int16](c.name), noAllocs[int32](c.name),
			noAllocs[int64](c.name), noAllocs[uint8](c.name), noAllocs[uint16](c.name), noAllocs[uint32](c.name),
			noAllocs[uint64](c.name), noAllocs[float32](c.name), noAllocs[float64](c.name)})
	}
	for _, c := range bytesVectors {
		s, dst, sub, present := new(Scratch), new(Bytes), unhex(t, c.dump), bitmapOf(len(c.want), c.nulls...)
		if n := testing.AllocsPerRun(10, func() {
			dst.Reset()
			if err := DecodeBytes(dst, sub, len(c.want), c.fixed, present, s); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("bytes, %s: %v allocations", c.name, n)
		}
	}
	for _, c := range presences {
		dst, section := make([]byte, (c.n+7)/8), unhex(t, c.dump)
		if n := testing.AllocsPerRun(10, func() { _, _ = DecodePresence(dst, section, c.n) }); n > 0 {
			t.Errorf("presence, %s: %v allocations", c.name, n)
		}
	}
}

func noAllocs[T Number](name string) func(testing.TB, []byte, []T) {
	return func(t testing.TB, sub []byte, want []T) {
		s, dst := new(Scratch), make([]T, len(want))
		if n := testing.AllocsPerRun(10, func() {
			if err := DecodeNumbers(dst, sub, s); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("numbers, %s: %v allocations", name, n)
		}
	}
}
