package parquetcodec

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
)

func flba(width int, data []byte, most int, take func(uint64) error) ([]byte, error) {
	return Leaf{Type: parquet.Types.FixedLenByteArray, Width: width}.Plain(parquet.Encodings.DeltaByteArray, data, most, take)
}

// Values in DELTA_BYTE_ARRAY by hand: lengths that wrap no block, values that are longer or shorter than the type, lengths without values, and
// more memory than there is.
func TestPlainOfDelta(t *testing.T) {
	same := func(n, v byte) []byte { return []byte{8, 1, n, 2 * v, 0, 0} } // n times v, with differences of no bits
	values := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	enough := func(uint64) error { return nil }
	got, err := flba(2, values([]byte{8, 1, 3, 0, 0, 1, 0b01}, []byte{8, 1, 3, 4, 1, 1, 0b10}, []byte("abcd")), 3, enough)
	if err != nil || string(got) != "abacad" {
		t.Errorf("%q %v", got, err)
	}
	if got, err := flba(2, values(same(0, 0), same(0, 0)), 9, enough); err == nil && len(got) > 0 {
		t.Errorf("%q", got)
	}
	for name, c := range map[string][]byte{
		"more values than the page": values(same(4, 0), same(4, 2), []byte("abcdefgh")), "longer values": values(same(3, 0), same(3, 3), []byte("abcdefghi")),
		"a prefix of nothing": values(same(3, 1), same(3, 1), []byte("abc")), "a length below 0": values([]byte{8, 1, 3, 1, 0, 0}, same(3, 2), []byte("abcdef")),
		"other counts": values(same(3, 0), same(2, 2), []byte("abcdef")), "too few bytes": values(same(3, 0), same(3, 2), []byte("abcde")),
		"no miniblocks": {8, 0, 3, 0, 0, 0}, "a block of 12": {12, 1, 3, 0, 0, 0}, "wide differences": values([]byte{8, 1, 3, 0, 0, 33}, make([]byte, 40)), "nothing": nil,
	} {
		if got, err := flba(2, c, 3, enough); !errors.Is(err, errDelta) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	small := errors.New("too much")
	if _, err := flba(2, values(same(120, 0), same(120, 2)), 1<<30, func(size uint64) error {
		if size > 700 {
			return small
		}
		return nil
	}); !errors.Is(err, small) {
		t.Error(err)
	}
}
