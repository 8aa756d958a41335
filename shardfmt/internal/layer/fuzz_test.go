package layer

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// FuzzOpen: whatever the bytes, reading ends, with rows or with a typed error.
func FuzzOpen(f *testing.F) {
	for _, g := range goldens {
		f.Add(golden(f, g.name), g.types)
	}
	data, types, _, _ := tree(f, 100, 2, tiny)
	f.Add(data, types)
	f.Add(write(f, 3000, "i64,i64", WriteOptions{Name: "x", SelfDescribing: true, Filter: Partitioned, MinDataBlock: 512, MinIndexBlock: 512}, even), "i64,i64")
	f.Add(write(f, 500, "i64,list<i64,i64>", WriteOptions{NoValueIndex: []int{0}, MinDataBlock: 512, MinIndexBlock: 512},
		func(i int) (Value, Value) { return Value{Int: int64(i)}, Value{Bytes: make([]byte, 16)} }), "i64,list<i64,i64>")
	f.Fuzz(func(t *testing.T, data []byte, types string) {
		pairs, err := ParseTypes(types)
		if err != nil {
			return
		}
		// A checksum is not an obstacle to whoever wants to do harm.
		if n := len(data); n >= trailerSize && n%blockUnit == 0 {
			data = bytes.Clone(data)
			seal(data[n-trailerSize:], magicTrailer)
		}
		c := blobio.NewClient(blobio.ClientOptions{})
		defer c.Close()
		const url = "mem://fuzz-layer/x.layer"
		if err := c.Put(context.Background(), url, data); err != nil {
			t.Fatal(err)
		}
		defer c.Delete(context.Background(), url, "")
		file, err := Open(context.Background(), c, url, pairs)
		if err != nil {
			return
		}
		if _, err := file.Verify(context.Background(), fileformat.VerifyOptions{}); err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Error(err)
		}
	})
}

// FuzzBlocks: the parsers of single blocks, without checksums in the way.
func FuzzBlocks(f *testing.F) {
	data, types, _, _ := tree(f, 100, 1, tiny)
	pairs, _ := ParseTypes(types)
	file, _ := mustOpen(f, data, types)
	root := file.t.columns[0]
	f.Add(data[:512], uint64(10))
	f.Add(data[root.offset:root.offset+root.size], root.rows)
	f.Fuzz(func(t *testing.T, b []byte, rows uint64) {
		if d, err := parseData(b, pairs[0], rows, true); err == nil {
			for i := range d.n {
				_, _ = pairs[0].Key.get(d.b, int(d.items.at(i))+pairs[0].keyAt)
			}
		}
		_, _ = parseIndex(b, rows, 1<<40, true)
		_, _ = parseTable(b, rows, 1<<40)
		_ = new(extension).parse(b, 1, 1<<40)
		list := listType(newPair(Type{Kind: String}, Type{Kind: I128, Optional: true}))
		_ = list.elements(b, func(_, _ Value) error { return nil })
		if x, err := parseIndex(b, rows, 1<<40, false); err == nil {
			for i := range 2 * x.n {
				_, _ = pairs[0].Key.get(x.b, int(x.bounds.at(i)))
			}
		}
		if len(b) >= 32 {
			_, _ = parseBloom(pairs[0].Key, b)
			_, _ = parseModules(pairs[0].Key, b)
			_, _ = parseRoaring(pairs[0].Key, b, Value{Int: 1})
		}
		for _, c := range []Compression{Snappy, LZ4, Zstd} {
			_, _ = c.unpack(b)
		}
	})
}
