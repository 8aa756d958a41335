package layer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// A flipped bit anywhere in a file is found.
func TestFlippedBits(t *testing.T) {
	for _, compression := range []Compression{None, Snappy} {
		o := tiny
		o.Compression, o.Filter = compression, Bloom
		data, types, _, _ := tree(t, 60, 2, o)
		missed := 0
		for i := 0; i < len(data); i += 3 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << (i % 8)
			f, _, err := open(t, bad, types)
			if err == nil {
				var r *corrupt.Report
				if r, err = f.Verify(context.Background(), fileformat.VerifyOptions{}); err == nil && !r.OK {
					continue
				}
			}
			if err == nil {
				missed++
				// Behind a compressed block there is padding that no checksum covers.
				if compression == None {
					t.Errorf("byte %d: not found", i)
				}
			} else if !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
				t.Errorf("byte %d: %v", i, err)
			}
		}
		if missed > len(data)/3 {
			t.Errorf("%v: %d flips missed", compression, missed)
		}
	}
}

// What contradicts the format although its checksums hold is refused: each lie is sealed again.
func TestLies(t *testing.T) {
	data, types, _, _ := tree(t, 600, 1, tiny)
	f, _ := mustOpen(t, data, types)
	root := f.t.columns[0].location
	x, err := f.index(context.Background(), 0, root, f.Rows(0))
	if err != nil {
		t.Fatal(err)
	}
	leaf, _, _ := x.child(0)
	for x.childIndex {
		_, _, rows := x.child(0)
		if x, err = f.index(context.Background(), 0, leaf, rows); err != nil {
			t.Fatal(err)
		}
		leaf, _, _ = x.child(0)
	}
	le := binary.LittleEndian
	for name, lie := range map[string]struct {
		at   location
		make func(b []byte)
	}{
		"rows of a leaf":         {leaf, func(b []byte) { le.PutUint32(b[8:], 7) }},
		"value map":              {leaf, func(b []byte) { le.PutUint32(b[12:], 1<<30) }},
		"width":                  {leaf, func(b []byte) { b[20] = 5 }},
		"stride":                 {leaf, func(b []byte) { at := le.Uint32(b[12:]); le.PutUint32(b[at+4:], 1<<31) }},
		"row groups in the last": {leaf, func(b []byte) { b[21] = 1 }},
		"order":                  {leaf, func(b []byte) { le.PutUint64(b[blockHeader:], 1<<40) }},
		"children":               {root, func(b []byte) { le.PutUint16(b[24:], 0) }},
		"more children":          {root, func(b []byte) { le.PutUint16(b[24:], 0xFFFF) }},
		"child type":             {root, func(b []byte) { b[26] = 2 }},
		"child is its ancestor": {root, func(b []byte) {
			at, width := le.Uint32(b[16:]), int(b[29])
			for i := range width {
				b[int(at)+i] = byte(root.offset / blockUnit >> (8 * i))
			}
		}},
		"child outside": {root, func(b []byte) { b[le.Uint32(b[16:])+uint32(b[29])-1] = 0xFF }},
		"row totals":    {root, func(b []byte) { b[le.Uint32(b[12:])] = 0 }},
		"bound":         {root, func(b []byte) { b[blockHeader] ^= 1 }},
		"magic":         {root, func(b []byte) { copy(b[4:], magicData) }},
	} {
		bad := bytes.Clone(data)
		b := bad[lie.at.offset : lie.at.offset+lie.at.size]
		lie.make(b)
		le.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
		f, _, err := open(t, bad, types)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Verify(context.Background(), fileformat.VerifyOptions{})
		if err != nil || r.OK {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for name, lie := range map[string]func(b []byte){
		"version":       func(b []byte) { le.PutUint32(b[8:], 4) },
		"compression":   func(b []byte) { b[12] = 9 },
		"columns":       func(b []byte) { le.PutUint32(b[13:], 1000) },
		"no columns":    func(b []byte) { le.PutUint32(b[13:], 0) },
		"root type":     func(b []byte) { b[29] = 2 },
		"root offset":   func(b []byte) { le.PutUint64(b[17:], 1<<50) },
		"features":      func(b []byte) { le.PutUint64(b[secondColumn+20:], 1<<9) },
		"filter offset": func(b []byte) { le.PutUint64(b[secondColumn:], 1<<50); le.PutUint32(b[secondColumn+8:], 512) },
	} {
		bad := bytes.Clone(data)
		b := bad[len(bad)-trailerSize:]
		lie(b)
		le.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
		if _, _, err := open(t, bad, types); !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := 0; n < len(data); n += 97 {
		if _, _, err := open(t, data[:n], types); err == nil {
			t.Errorf("cut to %d bytes: no error", n)
		}
	}
}
