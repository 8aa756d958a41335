package layer

import (
	"bytes"
	"context"
	"encoding/hex"
	"math"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// The places of key and aux in an item, as the compiler of the other side lays them out.
func TestLayouts(t *testing.T) {
	for types, want := range map[string][3]int{ // key, aux, size
		"i64,()": {0, 0, 8}, "i64,i64": {0, 8, 16}, "u8,i64": {8, 0, 16}, "u16,i64": {8, 0, 16}, "u32,i64": {8, 0, 16}, "bool,i64": {8, 0, 16},
		"u32,()": {0, 0, 4}, "string,()": {0, 0, 16}, "string,i64": {0, 16, 24}, "bytes,i64": {0, 16, 24}, "i128,i64": {0, 16, 32},
		"u64,string": {16, 0, 24}, "i64,bytes": {16, 0, 24}, "f64,string": {16, 0, 24}, "u32,string": {16, 0, 24}, "i128,string": {0, 16, 32},
	} {
		p, err := ParseTypes(types)
		if err != nil {
			t.Fatal(err)
		}
		if aux := p[0].auxAt; p[0].keyAt != want[0] || p[0].Aux.Kind != Unit && aux != want[1] || p[0].size != want[2] {
			t.Errorf("%s: key at %d, aux at %d, %d bytes, want %v", types, p[0].keyAt, aux, p[0].size, want)
		}
	}
	for _, bad := range []string{"", "i64", "i64,x", "opt<opt<i64>>,()", "opt<()>,()", "i64,opaque(3)", "i64,()/", "opaque(0),()"} {
		if _, err := ParseTypes(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if p, err := ParseTypes("opt<i32>,u64/string,bytes"); err != nil || TypesText(p) != "opt<i32>,u64/string,bytes" {
		t.Errorf("%v, %v", p, err)
	}
}

// Values of every type survive a file, as keys, as auxiliary values, optional and not, in their order.
func TestEveryType(t *testing.T) {
	ctx := context.Background()
	samples := map[string][]Value{
		"bool": {{Int: 0}, {Int: 1}}, "char": {{Uint: 'a'}, {Uint: 0x1F600}}, "i8": {{Int: -128}, {Int: 127}}, "i16": {{Int: -1}, {Int: 5}},
		"i32": {{Int: math.MinInt32}, {Int: math.MaxInt32}}, "i64": {{Int: math.MinInt64}, {Int: math.MaxInt64}}, "u8": {{Uint: 0}, {Uint: 255}},
		"u16": {{Uint: 1}, {Uint: 65535}}, "u32": {{Uint: 1}, {Uint: math.MaxUint32}}, "u64": {{Uint: 1}, {Uint: math.MaxUint64}},
		"i128": {{Int: -1, Uint: 5}, {Int: 1, Uint: 0}}, "u128": {{Int: 0, Uint: 5}, {Int: -1, Uint: 1}},
		"f32": {{Float: -1.5}, {Float: 0.25}, {Float: math.Inf(1)}}, "f64": {{Float: math.Inf(-1)}, {Float: 0}, {Float: 1e300}},
		"string": {{Bytes: []byte("")}, {Bytes: []byte("exactly 15 byte")}, {Bytes: []byte("sixteen bytes ö!")}}, "bytes": {{Bytes: []byte{}}, {Bytes: []byte{0}}, {Bytes: bytes.Repeat([]byte{0xFF}, 300)}},
	}
	for name, values := range samples {
		for _, types := range []string{name + ",()", name + ",opt<" + name + ">", "opt<" + name + ">," + name} {
			pairs, err := ParseTypes(types)
			if err != nil {
				t.Fatal(err)
			}
			keys := values
			if pairs[0].Key.Optional {
				keys = append([]Value{{None: true}}, values...)
			}
			var out bytes.Buffer
			w, err := NewWriter(&out, pairs, WriteOptions{Filter: Bloom})
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range keys {
				aux := values[i%len(values)]
				if pairs[0].Aux.Optional && i == 1 {
					aux = Value{None: true}
				}
				if err := w.Write(0, k, aux); err != nil {
					t.Fatalf("%s: %v", types, err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f, _ := mustOpen(t, out.Bytes(), types)
			if r, err := f.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK {
				t.Fatalf("%s: %+v, %v", types, r, err)
			}
			c := f.Group().Cursor()
			for i, k := range keys {
				if err := c.Next(ctx); err != nil {
					t.Fatal(err)
				}
				key, err := c.Key()
				if err != nil || pairs[0].Key.compare(key, k) != 0 {
					t.Errorf("%s: key %d is %+v, %v, want %+v", types, i, key, err, k)
				}
				a, b := pairs[0].Key.appendOrdered(nil, k), []byte(nil)
				if i > 0 {
					b = pairs[0].Key.appendOrdered(nil, keys[i-1])
				}
				if bytes.Compare(b, a) >= 0 {
					t.Errorf("%s: the bytes of key %d are not behind those before", types, i)
				}
				spilled, rest, err := pairs[0].Key.takeValue(pairs[0].Key.appendValue(nil, k))
				if err != nil || len(rest) > 0 || pairs[0].Key.compare(spilled, k) != 0 {
					t.Errorf("%s: key %d spilled is %+v, %v", types, i, spilled, err)
				}
			}
		}
	}
	if hex.EncodeToString((Type{Kind: I64}).appendOrdered(nil, Value{Int: -1})) != "7fffffffffffffff" {
		t.Error("ordered bytes of -1")
	}
}
