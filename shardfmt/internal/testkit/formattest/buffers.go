package formattest

import (
	"encoding/binary"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const buffersAbout = "Pieces of buffers other than single blocks. What they hold stands under `holds`, by kind: a block map has the values and bytes of each block; a stream a whole buffer of blocks and where its block map starts, its values as in the vectors of blocks; a value dictionary its entries by id (null is the null entry) and the sorted ids; a range index minimum and maximum of every block of positions as hexadecimal little-endian bytes and how many are null or NaN; a super-block of a packed group where the blocks of its members start and end; a named block the id of the value dictionary that its codes, the values, are of."

// The kinds of pieces, under Holds.
const (
	kindMap        = "block map"
	kindStream     = "stream"
	kindDictionary = "value dictionary"
	kindRangeIndex = "range index"
	kindSuperBlock = "super-block"
	kindNamed      = "named block"
)

func bufferFile() (*File, error) {
	f := &File{Name: "buffers", About: buffersAbout}
	f.Vectors = append(f.Vectors, blockMaps()...)
	streams, err := streamVectors()
	if err != nil {
		return nil, err
	}
	f.Vectors = append(f.Vectors, streams...)
	f.Vectors = append(f.Vectors, dictionaries()...)
	f.Vectors = append(f.Vectors, superBlocks()...)
	named, err := namedBlocks()
	if err != nil {
		return nil, err
	}
	f.Vectors = append(f.Vectors, named...)
	indexes, err := rangeIndexes()
	f.Vectors = append(f.Vectors, indexes...)
	return f, err
}

func blockMaps() []Vector {
	several := make([][2]uint32, 2100)
	for i := range several {
		several[i] = [2]uint32{256, 40}
	}
	several[1030] = [2]uint32{600, 70040} // deltas of two and of four bytes in the second segment
	return []Vector{
		blockMap("no block"),
		blockMap("three blocks", [2]uint32{100, 200}, [2]uint32{150, 250}, [2]uint32{200, 300}),
		blockMap("one block", [2]uint32{1, 16}),
		blockMap("deltas of two and four bytes", [2]uint32{10, 16}, [2]uint32{1000, 100000}),
		blockMap("three segments of 1024, 1024 and 52 blocks", several...),
	}
}

func blockMap(name string, sizes ...[2]uint32) Vector {
	var b colstream.MapBuilder
	values, bytes, all := []uint32{}, []uint32{}, uint64(0)
	for _, s := range sizes {
		b.Add(s[0], s[1])
		values, bytes, all = append(values, s[0]), append(bytes, s[1]), all+uint64(s[0])
	}
	return Vector{Name: name, Count: int(all), Bytes: hexLines(b.Append(nil)), Holds: map[string]any{"kind": kindMap, "values": values, "bytes": bytes}}
}

func streamVectors() ([]Vector, error) {
	bits := []uint8{0b10110101, 0b00000110} // eleven of them
	numbers := sequence[uint16](1, 1, 10)
	ends := []uint64{0, 2, 2, 5, 5, 9}
	var out []Vector
	for _, s := range []struct {
		name, typ string
		blocks    [][]byte
		counts    []int
		values    []*string
	}{
		{"eleven booleans, lowest bit first", "UInt8", [][]byte{subBlock(bits)}, []int{2}, numberTexts(bits, nil)},
		{"two blocks", "UInt16", [][]byte{subBlock(numbers[:6]), subBlock(numbers[6:])}, []int{6, 4}, numberTexts(numbers, nil)},
		{"offsets of five lists, two of them empty", "UInt64", [][]byte{subBlock(ends)}, []int{6}, numberTexts(ends, nil)},
	} {
		var w colstream.StreamWriter
		n := 0
		for i, sub := range s.blocks {
			if err := w.Add(encode.Block{Values: s.counts[i], Sub: sub}); err != nil {
				return nil, err
			}
			n += s.counts[i]
		}
		e := w.Finish()
		out = append(out, Vector{Name: s.name, Type: s.typ, Count: n, Bytes: hexLines(e.Bytes), Values: s.values,
			Holds: map[string]any{"kind": kindStream, "block_map": e.MapStart, "blocks": e.Blocks}})
	}
	return out, nil
}

// subBlock is numbers as they are.
func subBlock[T uint8 | uint16 | uint64](vals []T) []byte {
	sub, err := encode.NumbersAs(nil, vals, nil, "Plain")
	if err != nil {
		panic(err) // Plain takes any number
	}
	return sub
}

func dictionaries() []Vector {
	le := binary.LittleEndian
	return []Vector{
		dictionary("strings, with an empty one", "String", colstream.Dictionary{Type: schema.String, Count: 3, Null: -1,
			Data: []byte("redgreen"), Offsets: []int64{0, 3, 8, 8}}, []uint32{2, 1, 0}),
		dictionary("strings, with a null entry", "String", colstream.Dictionary{Type: schema.String, Count: 3, Null: 1,
			Data: []byte("ba"), Offsets: []int64{0, 1, 1, 2}}, []uint32{2, 0}),
		dictionary("of four bytes each", "FixedSizeBinary(4)", colstream.Dictionary{Type: schema.FixedSizeBinary, Fixed: 4, Count: 2, Null: -1,
			Data: []byte("wxyzabcd")}, []uint32{1, 0}),
		dictionary("of numbers, which readers may meet", "Int32", colstream.Dictionary{Type: schema.Int32, Fixed: 4, Count: 3, Null: -1,
			Data: le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 7), 300), 5)}, []uint32{2, 0, 1}),
	}
}

// dictionary is a value dictionary; sorted are its ids by the bytes of their values.
func dictionary(name, typ string, d colstream.Dictionary, sorted []uint32) Vector {
	var entries [][]byte
	for id := range d.Count {
		entries = append(entries, d.Value(uint32(id)))
	}
	var valid []byte
	if d.Null >= 0 {
		valid = bitmap(d.Count, int(d.Null))
	}
	return Vector{Name: name, Type: typ, Count: d.Count, Bytes: hexLines(d.Append(nil)), Values: byteTexts(entries, valid),
		Holds: map[string]any{"kind": kindDictionary, "sorted": sorted, "fixed_size": d.Fixed}}
}

// superBlocks are of members of five positions: numbers, text, booleans; the last one is the presence of the struct.
func superBlocks() []Vector {
	number := block.AppendFrame(nil, nil, subBlock([]uint16{7, 8, 9, 10, 11}), true)
	flags := block.AppendFrame(nil, encode.Presence(nil, bitmap(5, 4), 5, true), subBlock([]uint8{1, 0, 1, 1, 0}), true)
	none := block.AppendFrame(nil, nil, nil, true)
	some := block.AppendFrame(nil, encode.Presence(nil, bitmap(5, 2), 5, true), nil, true)
	return []Vector{
		superBlock("one member, no struct null", number, none),
		superBlock("two members, one of them booleans with a null, no struct null", number, flags, none),
		superBlock("three members, the third struct null", number, flags, number, some),
	}
}

func superBlock(name string, blocks ...[]byte) Vector {
	sizes := make([]int, len(blocks))
	for i, b := range blocks {
		sizes[i] = len(b)
	}
	all := colstream.AppendSuper(nil, sizes, slices.Concat(blocks...))
	members, at := [][2]int{}, len(all)-len(slices.Concat(blocks...))
	for _, n := range sizes {
		members = append(members, [2]int{at, at + n})
		at += n
	}
	return Vector{Name: name, Count: 5, Bytes: hexLines(all), Holds: map[string]any{"kind": kindSuperBlock, "members": members}}
}

// namedBlocks are blocks of codes, each into the one of several value dictionaries that it names.
func namedBlocks() (out []Vector, err error) {
	for _, b := range []struct {
		name, tree string
		id         uint32
		codes      []uint32
	}{
		{"codes of the dictionary 1, as they are", "Plain", 1, []uint32{2, 0, 1, 1}},
		{"codes of the dictionary 2, packed: the padding counts from the codes' own sub-block", "FLBitPack", 2, sequence[uint32](0, 1, 12)},
		{"the same code of the dictionary 4,000,000,000 throughout", "SingleValue", 4_000_000_000, []uint32{5, 5, 5}},
	} {
		sub, err := encode.NumbersAs(block.AppendNamed(nil, b.id), b.codes, nil, b.tree)
		if err != nil {
			return nil, err
		}
		tree, err := block.Describe(sub, block.Uint32, len(b.codes), 0)
		if err != nil {
			return nil, err
		}
		out = append(out, Vector{Name: b.name, Type: "UInt32", Count: len(b.codes), Tree: tree.String(),
			Bytes: hexLines(block.AppendFrame(nil, nil, sub, true)), Values: numberTexts(b.codes, nil),
			Holds: map[string]any{"kind": kindNamed, "dictionary": b.id}})
	}
	return out, nil
}

func rangeIndexes() ([]Vector, error) {
	le := binary.LittleEndian
	words := func(v ...uint32) (b []byte) {
		for _, x := range v {
			b = le.AppendUint32(b, x)
		}
		return b
	}
	var out []Vector
	for _, x := range []struct {
		name, typ string
		index     colstream.RangeIndex
	}{
		{"300 positions, none null", "Int32", colstream.RangeIndex{Type: schema.Int32, Span: 300, BlockSize: 256, Width: 4,
			Min: words(1, 5), Max: words(256, 300)}},
		{"600 positions, the second 256 all null", "Int32", colstream.RangeIndex{Type: schema.Int32, Span: 600, BlockSize: 256, Width: 4,
			Min: words(1, 0, 9), Max: words(17, 0, 30), Invalid: []uint16{3, 256, 0}}},
		{"one block of bytes", "UInt8", colstream.RangeIndex{Type: schema.Int8, Span: 3, BlockSize: 256, Width: 1, Min: []byte{4}, Max: []byte{200}}},
	} {
		b, err := x.index.Append(nil, &encode.Options{Profile: encode.Plain})
		if err != nil {
			return nil, err
		}
		invalid := x.index.Invalid
		if invalid == nil {
			invalid = make([]uint16, x.index.Blocks())
		}
		out = append(out, Vector{Name: x.name, Type: x.typ, Count: int(x.index.Span), Bytes: hexLines(b), Holds: map[string]any{
			"kind": kindRangeIndex, "width": x.index.Width, "least": blocksOf(x.index.Min, x.index.Width),
			"greatest": blocksOf(x.index.Max, x.index.Width), "invalid": invalid}})
	}
	return out, nil
}

// blocksOf are values of some width as hexadecimal bytes.
func blocksOf(b []byte, width int) (out []string) {
	for at := 0; at < len(b); at += width {
		out = append(out, hexLines(b[at : at+width])[0])
	}
	return out
}
