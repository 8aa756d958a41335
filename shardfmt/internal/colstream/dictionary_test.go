package colstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// goldenDictionary is the worked example of docs/format/fields.md: "aaa", "abcdefghijk", null, "1234567".
func goldenDictionary(t testing.TB) []byte {
	b := make([]byte, 512)
	put := func(at int, hex string) { copy(b[at:], unhex(t, hex)) }
	put(0x00, "0A 04 00 00 00 01 02 00 00 00 00 00 00 00 80 00")
	put(0x10, "00 00 00 00 00 00 F0 00 00 00 00 00 00 00 F0 00")
	put(0x20, "00 00 00 00 00 00 70 01 00 00 00 00 00 00 70 01")
	put(0x30, "00 00 00 00 00 00 D0 01 00")
	put(0x7C, "D6 23 15 9F")
	put(0x80, "15")
	copy(b[0x88:], "aaaabcdefghijk1234567")
	put(0xEC, "BE A9 72 0D")
	put(0xF0, "28 00000000000000 0000000000000000 0300000000000000 0E00000000000000 0E00000000000000 1500000000000000")
	put(0x16C, "A8 7D 35 88")
	put(0x170, "0C 00000000000000 03000000 00000000 01000000")
	put(0x1CC, "6F 5D 7B A1")
	return b
}

func TestDictionaryBytes(t *testing.T) {
	want := goldenDictionary(t)
	d := &Dictionary{Type: schema.String, Count: 4, Null: 2,
		Data: []byte("aaaabcdefghijk1234567"), Offsets: []int64{0, 3, 14, 14, 21}}
	if got := d.Append(nil); !bytes.Equal(got, want) {
		t.Fatalf("got\n%x\nwant\n%x", got, want)
	}
	r, err := ParseDictionary(want, schema.String, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	for id, v := range []string{"aaa", "abcdefghijk", "", "1234567"} {
		if string(r.Value(uint32(id))) != v {
			t.Errorf("entry %d: %q", id, r.Value(uint32(id)))
		}
	}
	if r.Null != 2 || len(r.Sorted) != 3 || r.Sorted[0] != 3 {
		t.Errorf("null %d, sorted %v", r.Null, r.Sorted)
	}
}

func TestDictionaryFixed(t *testing.T) {
	d := &Dictionary{Type: schema.Guid, Fixed: 2, Count: 3, Null: -1, Data: []byte("bbaacc")}
	r, err := ParseDictionary(d.Append(nil), schema.Guid, 2, true)
	if err != nil || r.Null != -1 || string(r.Value(1)) != "aa" || r.Sorted[0] != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := ParseDictionary(d.Append(nil), schema.Guid, 16, true); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("other size: %v", err)
	}
}

func TestDictionaryFlips(t *testing.T) {
	good := goldenDictionary(t)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if _, err := ParseDictionary(bad, schema.String, 0, true); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
}

func FuzzParseDictionary(f *testing.F) {
	f.Add(goldenDictionary(f))
	d := &Dictionary{Type: schema.String, Fixed: 0, Count: 1, Null: 0, Offsets: []int64{0, 0}}
	f.Add(d.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= dictionaryHeader {
			putHeaderChecksum(b) // so that fuzzing gets behind it
		}
		d, err := ParseDictionary(b, schema.String, 0, false)
		if err != nil {
			if !errors.Is(err, corrupt.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		for id := range d.Count {
			d.Value(uint32(id))
		}
	})
}

// The sections of a dictionary can be read by wide loads where they lie: each starts at a multiple of 16 bytes of the buffer, its payload at a
// multiple of 8, and at least 64 zeros follow it inside the buffer. The values that are read are slices of the buffer, not copies.
func TestDictionarySectionsLieForWideLoads(t *testing.T) {
	for n := range 40 {
		d := &Dictionary{Type: schema.String, Count: n, Null: -1, Offsets: []int64{0}}
		for i := range n {
			d.Data = append(d.Data, bytes.Repeat([]byte{byte('a' + i%26), byte('a' + i/26)}, 1+i%3)...)
			d.Offsets = append(d.Offsets, int64(len(d.Data)))
		}
		b := d.Append(nil)
		for _, at := range []int{14, 30, 46} {
			start, end := binary.LittleEndian.Uint64(b[at:]), binary.LittleEndian.Uint64(b[at+8:])
			size := binary.LittleEndian.Uint64(b[start:])
			if start%16 != 0 || end%16 != 0 {
				t.Errorf("%d entries: a section from %d to %d", n, start, end)
			}
			behind := b[start+8+size : end-4]
			if len(behind) < 64 || len(bytes.Trim(behind, "\x00")) > 0 {
				t.Errorf("%d entries: %d bytes behind the payload: %x", n, len(behind), behind)
			}
		}
		r, err := ParseDictionary(b, schema.String, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		values := binary.LittleEndian.Uint64(b[14:]) + 8
		for id := range n {
			if v := r.Value(uint32(id)); &v[0] != &b[values+uint64(d.Offsets[id])] {
				t.Errorf("%d entries: entry %d is a copy", n, id)
			}
		}
	}
}
