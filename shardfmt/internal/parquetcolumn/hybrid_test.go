package parquetcolumn

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

func TestHybrid(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		data  []byte
		want  []uint32
	}{
		{"a run", 3, []byte{5 << 1, 6}, []uint32{6, 6, 6, 6, 6}},
		{"a group", 3, []byte{1<<1 | 1, 0x88, 0xC6, 0xFA}, []uint32{0, 1, 2, 3, 4, 5, 6, 7}},
		{"a group behind a run", 1, []byte{2 << 1, 1, 1<<1 | 1, 0x0F}, []uint32{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}},
		{"a group without its padding", 12, []byte{1<<1 | 1, 0x21, 0x43, 0x65}, []uint32{0x321, 0x654}},
		{"runs of none", 8, []byte{0, 7, 1, 3 << 1, 9}, []uint32{9, 9, 9}},
		{"no bits", 0, []byte{4 << 1, 1<<1 | 1}, make([]uint32, 12)},
		{"32 bits", 32, []byte{1 << 1, 1, 2, 3, 0xFF, 1<<1 | 1, 4, 3, 2, 0xF1}, []uint32{0xFF030201, 0xF1020304}},
		{"a long run", 16, []byte{0xD8, 4, 0x34, 0x12}, slices.Repeat([]uint32{0x1234}, 300)},
	} {
		for step := 1; step <= len(c.want); step++ {
			h, err := newHybrid(c.data, c.width)
			got := []uint32{}
			for err == nil && len(got) < len(c.want) {
				part := make([]uint32, min(step, len(c.want)-len(got)))
				err = h.fill(part)
				got = append(got, part...)
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s, %d at once: %v, %v", c.name, step, got, err)
			}
			if err := h.fill(make([]uint32, 1)); err == nil {
				t.Errorf("%s: a value behind the last", c.name)
			}
		}
	}
}

func TestHybridDamaged(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing": {}, "a head without end": bytes.Repeat([]byte{0x80}, 20), "a run without its value": {2 << 1},
		"a value of more bits": {2 << 1, 0x10}, "a head of more than 32 bits": {0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 1},
	} {
		h, err := newHybrid(data, 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.fill(make([]uint32, 1)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	if _, err := newHybrid(nil, 33); err == nil {
		t.Error("numbers of 33 bits")
	}
}

// TestUnpack compares with bits taken one by one.
func TestUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for width := range 33 {
		for n := range 40 {
			src := make([]byte, (n*width+7)/8+r.IntN(2))
			for i := range src {
				src[i] = byte(r.Uint32())
			}
			from := r.IntN(n + 1)
			got, want := make([]uint32, n-from), make([]uint32, n-from)
			for i := range want {
				for b := range width {
					at := (from+i)*width + b
					want[i] |= uint32(src[at/8]>>(at%8)&1) << b
				}
			}
			if unpack(got, src, from*width, width); !slices.Equal(got, want) {
				t.Fatalf("%d numbers of %d bits from %d on: %v, want %v", n, width, from, got, want)
			}
		}
	}
}

// FuzzPage reads pages that were never written.
func FuzzPage(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 0, 0, 0}, 2, []byte{2, 0, 0, 0, 16, 1, 1, 4, 1, 4, 0}, 10, byte(0), true, true, 3)
	f.Add([]byte{1, 0, 0, 0, 'a', 0, 0, 0, 0}, 2, []byte{1, 3, 0xA5}, 8, byte(3), false, true, 8)
	f.Add([]byte(nil), 0, []byte{2, 0, 0, 0, 3, 0x5A, 1, 0, 0, 0, 'x', 0, 0, 0, 0}, 8, byte(4), true, false, 5)
	f.Fuzz(func(t *testing.T, dict []byte, n int, data []byte, rows int, kind byte, nullable, coded bool, step int) {
		types := []struct {
			from  parquet.Type
			width int
			to    arrow.DataType
		}{{parquet.Types.Int32, 4, arrow.PrimitiveTypes.Int32}, {parquet.Types.Double, 8, arrow.PrimitiveTypes.Float64},
			{parquet.Types.FixedLenByteArray, 7, &arrow.Decimal128Type{Precision: 15}}, {parquet.Types.ByteArray, 0, arrow.BinaryTypes.Binary},
			{parquet.Types.ByteArray, 0, arrow.BinaryTypes.LargeBinary}, {parquet.Types.FixedLenByteArray, 16, &arrow.Decimal128Type{Precision: 38}}}
		k := types[int(kind)%len(types)]
		rows, step = rows&0xFFFF, 1+step&0xFFF
		depth, leaf := Depth{}, parquetcodec.Leaf{Type: k.from, Width: k.width}
		if nullable {
			depth.Def = 1
		}
		c := &Column{keep: true, reader: reader{leaf: leaf, depth: depth, values: valuesOf(leaf, k.to, nil), take: parquetcodec.Bound(1 << 20)}}
		encoding := parquet.Encodings.Plain
		if coded {
			if encoding = parquet.Encodings.RLEDict; c.dictionary(&parquetcodec.Page{Values: n & 0x7FFFFFFF, Data: dict}) != nil {
				return
			}
		}
		page := &parquetcodec.Page{Kind: parquetcodec.DataPage, Values: rows, Encoding: encoding, DefEncoding: parquet.Encodings.RLE, Data: data}
		if c.begin(page) != nil {
			return
		}
		for c.left >= step {
			a, err := c.Next(step)
			if _, long := c.values.(*texts[int32]); err != nil || long && len(dict) > 1<<16 {
				return
			}
			s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: k.to, Nullable: true}}, nil)
			if err := arrowtype.Validate(array.NewRecordBatch(s, []arrow.Array{a}, int64(step))); err != nil {
				t.Fatal(err)
			}
		}
	})
}
