package manifest

import (
	"bytes"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// FuzzTableProperties: what stands in properties of tables and shards is anyone's text. (Field ids of shards: package shardfmt.)
func FuzzTableProperties(f *testing.F) {
	nodes, _ := every()
	s := &schema.Schema{Fields: nodes}
	s.Number()
	_, notes, err := ToIceberg(s, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(notes.Encode())
	f.Add(`{"1":{"type":"Int8","size":18446744073709551615}}`)
	f.Fuzz(func(t *testing.T, types string) {
		var notes TypeNotes
		if notes.Decode(types) != nil {
			return
		}
		ice, _, err := ToIceberg(s, 0)
		if err != nil {
			t.Fatal(err)
		}
		back, fields, unsupported := FromIceberg(ice, notes)
		if len(unsupported) > 0 || len(fields) != int(back.Count) {
			t.Errorf("notes %q broke the schema: %v", types, unsupported)
		}
	})
}

// FuzzBounds: a bound of a text must enclose it, and reading bounds takes any bytes.
func FuzzBounds(f *testing.F) {
	f.Add([]byte("abc"))
	f.Add([]byte("\xff\xfe"))
	f.Add(bytes.Repeat([]byte("\U0010FFFF"), 20))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8})
	nodes, _ := every()
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, n := range nodes {
			if boundValue(n, b) == nil && b == nil {
				continue
			}
			low, high := encodeBound(n, b, false), encodeBound(n, b, true)
			if low != nil && bytes.Compare(low, b) > 0 || high != nil && bytes.Compare(high, b) < 0 {
				t.Errorf("%s: %x is not within %x and %x", n.Basic, b, low, high)
			}
		}
		p := privateOf(map[int][]byte{fieldCreation: b, fieldFlags: b}, map[int][]byte{fieldCreation: b})
		if len(b) != 8 && p != (Private{}) {
			t.Errorf("%x became %+v", b, p)
		}
	})
}
