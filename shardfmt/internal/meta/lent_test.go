package meta

import (
	"bytes"
	"testing"
)

// Neighbours are joined where they lie, all else is copied; both ways the bytes are those of the two.
func TestJoined(t *testing.T) {
	data := []byte("0123456789")
	for _, c := range []struct {
		a, b    []byte
		inPlace bool
	}{
		{data[2:5], data[5:9], true}, {data[2:5], data[6:9], false}, {data[2:5:5], data[5:9], false}, {data[5:9], data[2:5], false},
		{data[2:5], bytes.Clone(data[5:9]), false}, {data[2:10], data[3:5], false},
	} {
		r := new(Root)
		got := r.joined(c.a, c.b)
		if want := string(c.a) + string(c.b); string(got) != want || cap(got) < len(got) {
			t.Errorf("%q and %q are %q", c.a, c.b, got)
		}
		if inPlace := &got[0] == &c.a[0]; inPlace != c.inPlace || inPlace != (len(r.lent) == 0) {
			t.Errorf("%q and %q: in place %v, %d pieces of memory taken", c.a, c.b, inPlace, len(r.lent))
		}
	}
}
