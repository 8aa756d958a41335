package conformance

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// soundRows is the number of records of the shard that is damaged.
const soundRows = 600

// must returns a sub-block by an encoder: all those requested here can be made.
func must(sub []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return sub
}

// encoded returns small values of a type in a tree of encodings.
func encodedNumbers[T simd.Number](tree string) []byte {
	vals := make([]T, soundRows)
	for i := range vals {
		vals[i] = T(noise(i) % 7)
	}
	return must(encode.NumbersAs(nil, vals, nil, tree))
}

// encodedTexts returns short texts in a tree of encodings, encodedFixed values of formFixedSize bytes.
func encodedTexts(tree string) []byte {
	text, offsets, _ := formTexts()
	for len(offsets) <= soundRows { // the texts twice
		text, offsets = append(text, text[:offsets[formRows]]...), appendShifted(offsets, offsets[1:formRows+1])
	}
	return must(encode.BytesAs(nil, encode.Bytes{Data: text, Offsets: offsets}, tree))
}

// appendShifted appends offsets that start where the ones before them end.
func appendShifted(offsets, more []int64) []int64 {
	end := offsets[len(offsets)-1]
	for _, o := range more {
		offsets = append(offsets, end+o)
	}
	return offsets
}

func encodedFixed(tree string) []byte {
	var data []byte
	for i := range soundRows {
		data = append(data, formFixedValue(i)...)
	}
	return must(encode.BytesAs(nil, encode.Bytes{Data: data, Fixed: formFixedSize}, tree))
}

// oneSub returns the change of a node to one block of a sub-block.
func oneSub(node int, sub []byte) func(*graft) {
	return func(g *graft) { g.oneBlock(g.buffer(node, metapb.BufferKind_DATA), soundRows, nil, sub) }
}

// edit returns the damage of a sub-block in a few bytes.
func edit(name, what string, node int, sub []byte, change func(sub []byte) []byte) damage {
	return damage{name: name, what: what, answer: corrupt, graft: oneSub(node, change(slices.Clone(sub)))}
}

// setByte, set32 and longer are the changes of edit.
func setByte(at int, v byte) func([]byte) []byte {
	return func(sub []byte) []byte { sub[at] = v; return sub }
}

func set32(at int, v uint32) func([]byte) []byte {
	return func(sub []byte) []byte { put32(sub[at:], v); return sub }
}

func longer(n int) func([]byte) []byte {
	return func(sub []byte) []byte { return append(sub, make([]byte, n)...) }
}

func shorter(n int) func([]byte) []byte { return func(sub []byte) []byte { return sub[:len(sub)-n] } }

// encodingDamages break the limits of the encodings, one after another.
func encodingDamages() []damage {
	return slices.Concat(plainDamages(), integerDamages(), flagDamages(), floatDamages(), textDamages(), compressedDamages(), presenceDamages())
}

func plainDamages() []damage {
	plain, text := encodedNumbers[uint32]("Plain"), encodedTexts("Plain")
	const firstOffset, lastOffset = 3, 3 + 8*soundRows
	return []damage{
		edit("plain-long", "Plain of one number more than the block has", nodePacked, plain, longer(4)),
		edit("plain-short", "Plain of one number less than the block has", nodePacked, plain, shorter(4)),
		edit("single-short", "SingleValue of two bytes for numbers of four", nodePacked, encodedNumbersOf(7), shorter(2)),
		edit("single-fixed-size", "SingleValue of four bytes for byte strings of five", nodeFixed, []byte{7, 0, 1, 2, 3, 4}, shorter(0)),
		edit("offset-width", "an offset width of 4", nodeText, text, setByte(2, 4)),
		edit("offset-width-fixed", "an offset width of 8 for byte strings of one size", nodeFixed, encodedFixed("Plain"), setByte(2, 8)),
		edit("offsets-start", "offsets that start with 1", nodeText, text, set32(firstOffset, 1)),
		edit("offsets-end", "offsets that end before the bytes", nodeText, text, longer(1)),
		edit("offsets-outside", "offsets that end behind the bytes", nodeText, text, set32(lastOffset, 1<<20)),
	}
}

// encodedNumbersOf returns a block of one number.
func encodedNumbersOf(v uint32) []byte {
	return must(encode.NumbersAs(nil, fill(v, soundRows), nil, "SingleValue"))
}

func integerDamages() []damage {
	runs := encodedNumbers[int32]("RunLength[raw, raw]")
	return []damage{
		edit("packed-chunks", "FLBitPack without its chunk", nodePacked, encodedNumbers[uint32]("FLBitPack"), func(sub []byte) []byte { return sub[:8] }),
		edit("fused-width", "FusedFrameOfReference of 33 bits in words of 32", nodeRuns, encodedNumbers[int32]("FusedFrameOfReference"), setByte(6, 33)),
		edit("truncate-long", "raw Truncate of one number more than the block has", nodeRuns, encodedNumbers[int32]("TruncateU8[raw]"), longer(1)),
		edit("truncate-unsigned", "Truncate on unsigned numbers", nodePacked, encodedNumbers[int32]("TruncateU8[raw]"), longer(0)),
		edit("packed-signed", "FLBitPack on signed numbers", nodeRuns, encodedNumbers[uint32]("FLBitPack"), longer(0)),
		edit("zigzag-short", "raw ZigZag of one number less than the block has", nodeRuns, encodedNumbers[int32]("ZigZag[raw]"), shorter(4)),
		edit("runs-too-few", "runs that make fewer values than the block has", nodeRuns, runs, func(sub []byte) []byte {
			at := len(sub) - 4
			put32(sub[at:], binary.LittleEndian.Uint32(sub[at:])-1)
			return sub
		}),
		edit("runs-section", "values of runs that end behind the sub-block", nodeRuns, runs, set32(2, 1<<20)),
		edit("depth", "sub-blocks 17 deep", nodePacked, nestedFrames(17), longer(0)),
	}
}

// nestedFrames returns Plain inside FrameOfReference, a number of sub-blocks deep, of numbers that are i mod 7.
func nestedFrames(depth int) []byte {
	vals := make([]uint32, soundRows)
	for i := range vals {
		vals[i] = uint32(i % 7)
	}
	return framesOver(must(encode.NumbersAs(nil, vals, nil, "Plain")), depth)
}

// framesOver puts a sub-block into FrameOfReference with a minimum of 0 until it is depth deep.
func framesOver(sub []byte, depth int) []byte {
	for range depth - 1 {
		sub = append([]byte{3, 0, 0, 0, 0, 0, 0, 0}, sub...)
	}
	return sub
}

// flagDamages set every flag of nested streams to 2.
func flagDamages() []damage {
	flag := func(name string, node, at int, sub []byte) damage {
		return edit(name+"-flag", "a flag of 2 in "+name, node, sub, setByte(at, 2))
	}
	return []damage{
		flag("lengths-of-runs", nodeRuns, 11, encodedNumbers[int32]("RunLength[raw, raw]")),
		flag("truncate", nodeRuns, 2, encodedNumbers[int32]("TruncateU8[raw]")),
		flag("zigzag", nodeRuns, 2, encodedNumbers[int32]("ZigZag[raw]")),
		flag("dictionary", nodePacked, 10, encodedNumbers[uint32]("BlockDictionary[Plain, raw]")),
		flag("dictionary-of-texts", nodeText, 14, encodedTexts("BlockDictionary[Plain, raw]")),
		flag("fsst", nodeText, 7, encodedTexts("Fsst[raw]")),
		flag("zstd", nodeText, 7, encodedTexts("Zstd[raw]")),
		flag("lz4", nodeText, 7, encodedTexts("Lz4[raw]")),
		flag("sparse-positions", nodeRuns, 10, encodedNumbers[int32]("Sparse[raw, raw]")),
		flag("sparse-values", nodeRuns, 11, encodedNumbers[int32]("Sparse[raw, raw]")),
	}
}

func floatDamages() []damage {
	vals := make([]float64, soundRows)
	for i := range vals {
		vals[i] = float64(noise(i)%1000) / 100
	}
	vals[5], vals[9] = 1.0/3, -1e300
	alp := must(encode.NumbersAs(nil, vals, nil, "Alp[Plain]"))
	rd := must(encode.NumbersAs(nil, vals, nil, "AlpRd[Plain, Plain]"))
	le := binary.LittleEndian
	alpPositions := 16 + int(le.Uint32(alp[2:]))
	rdCodes := 16 + 2*int(rd[13])
	rdPositions := rdCodes + int(le.Uint32(rd[2:])) + int(le.Uint32(rd[6:]))
	if le.Uint16(alp[6:]) == 0 || le.Uint16(rd[10:]) == 0 {
		panic("no exceptions")
	}
	return []damage{
		edit("alp-exception", "an exception of Alp behind the values", nodeAlp, alp, set32(alpPositions, soundRows)),
		edit("alp-long", "bytes behind the exceptions of Alp", nodeAlp, alp, longer(8)),
		edit("alp-short", "exceptions of Alp that end behind the sub-block", nodeAlp, alp, shorter(8)),
		edit("alprd-bits-low", "47 right bits of Float64", nodeAlp, rd, setByte(12, 47)),
		edit("alprd-bits-high", "64 right bits of Float64", nodeAlp, rd, setByte(12, 64)),
		edit("alprd-no-entries", "a dictionary of AlpRd of no entries", nodeAlp, rd, setByte(13, 0)),
		edit("alprd-entries", "a dictionary of AlpRd of nine entries", nodeAlp, rd, setByte(13, 9)),
		edit("alprd-code", "a left code beyond the dictionary of AlpRd", nodeAlp, rd, setByte(rdCodes+2, 8)),
		edit("alprd-exception", "an exception of AlpRd behind the values", nodeAlp, rd, set32(rdPositions, soundRows)),
		edit("alprd-long", "bytes behind the exceptions of AlpRd", nodeAlp, rd, longer(2)),
	}
}

func textDamages() []damage {
	dict, fsst := encodedTexts("BlockDictionary[Plain, raw]"), encodedTexts("Fsst[raw]")
	lengths := (16 + int(binary.LittleEndian.Uint32(dict[2:])) + 7) &^ 7
	symbols := int(fsst[2])
	stream := 16 + 9*symbols
	end := stream + int(binary.LittleEndian.Uint32(fsst[3:]))
	return []damage{
		edit("dictionary-lengths", "lengths of entries that do not add up to their bytes", nodeText, dict, set32(lengths, 1<<20)),
		edit("dictionary-text-code", "a code beyond the dictionary of texts", nodeText, dict, set32(16+2, 1<<20)),
		edit("dictionary-text-count", "2^30 entries of a dictionary of texts", nodeText, dict, set32(10, 1<<30)),
		edit("fsst-symbol", "a symbol that the table does not have", nodeText, fsst, func(sub []byte) []byte {
			sub[stream] = byte(symbols)
			return sub
		}),
		edit("fsst-symbol-length-0", "a symbol of no bytes", nodeText, fsst, setByte(16+8*symbols, 0)),
		edit("fsst-symbol-length-9", "a symbol of nine bytes", nodeText, fsst, setByte(16+8*symbols, 9)),
		edit("fsst-escape", "a stream that ends with an escape", nodeText, fsst, setByte(end-1, 255)),
		edit("fsst-count", "256 symbols' worth of bytes that are not there", nodeText, fsst, setByte(2, 255)),
	}
}

func compressedDamages() []damage {
	zstd, lz4 := encodedNumbers[uint32]("Zstd"), encodedNumbers[uint32]("Lz4")
	return []damage{
		edit("zstd-size", "a Zstd frame of fewer numbers than the block has", nodePacked, must(encode.NumbersAs(nil, fill[uint32](9, soundRows-1), nil, "Zstd")), longer(0)),
		edit("zstd-frame", "a compressed section that is not a Zstd frame", nodePacked, zstd, set32(8, 0)),
		edit("zstd-cut", "a Zstd frame that ends too early", nodePacked, zstd, shorter(3)),
		edit("zstd-behind", "bytes behind the frames of Zstd", nodePacked, zstd, longer(5)),
		edit("lz4-size", "a text of Lz4 of another size than the block's", nodePacked, lz4, set32(8, 4*soundRows+4)),
		edit("lz4-bomb", "an Lz4 block that claims 2 GiB - 1", nodePacked, lz4, set32(8, 1<<31-1)),
		edit("lz4-cut", "an Lz4 block that ends too early", nodePacked, lz4, shorter(3)),
		edit("compressed-section", "a compressed section that ends behind the sub-block", nodeText, encodedTexts("Zstd[raw]"), set32(2, 1<<20)),
		edit("compressed-fixed-size", "bytes of values of one size that are no multiple of it", nodeFixed, must(encode.BytesAs(nil, encode.Bytes{Data: make([]byte, 4*soundRows), Fixed: 4}, "Zstd")), longer(0)),
	}
}

// presenceDamages break the presence section of the texts.
func presenceDamages() []damage {
	// A bitmap of one array container of the positions 1 and 2.
	bitmap := []byte{3, 0, 0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 1, 0, 2, 0}
	const first, second = 18, 20 // where its positions stand
	section := func(name, what string, p []byte) damage {
		return damage{name: "presence-" + name, what: what, answer: corrupt, graft: func(g *graft) {
			g.oneBlock(g.buffer(nodeText, metapb.BufferKind_DATA), soundRows, p, encodedTexts("Plain"))
		}}
	}
	changed := func(at int, v ...byte) []byte {
		p := slices.Clone(bitmap)
		copy(p[at:], v)
		return p
	}
	runs := []byte{3, 0, 0x3b, 0x30, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0xff, 0xff, 9, 0} // a run from 65535 on
	return []damage{
		section("byte-long", "a byte for one value more than the block has", append([]byte{2}, bytes.Repeat([]byte{1}, soundRows+1)...)),
		section("bitmap-outside", "a position of a bitmap behind the values", changed(second, 0x58, 0x02)),
		section("bitmap-order", "positions of a bitmap that fall", changed(first, 9)),
		section("bitmap-twice", "a position of a bitmap twice", changed(first, 2)),
		section("bitmap-cookie", "a bitmap of another serialization", changed(2, 0x39)),
		section("bitmap-cut", "a bitmap that ends too early", bitmap[:len(bitmap)-1]),
		section("bitmap-flag-alone", "a presence section of a form and nothing else", bitmap[:1]),
		section("bitmap-run", "a run that ends behind its container", runs),
		{name: "presence-not-embedded", what: "nulls in blocks where embedded_presence is not set", answer: corrupt, graft: func(g *graft) {
			g.buffer(nodeText, metapb.BufferKind_DATA).EmbeddedPresence = false
		}},
		{name: "presence-of-bits", what: "nulls in the blocks of booleans", answer: corrupt, graft: func(g *graft) {
			n := (soundRows + 7) / 8
			g.oneBlock(g.buffer(nodeFlag, metapb.BufferKind_DATA), n, []byte{1}, must(encode.NumbersAs(nil, make([]byte, n), nil, "Plain")))
		}},
		{name: "named-alone", what: "the code 256 inside a sub-block", answer: unsupported, graft: oneSub(nodePacked, framesOver([]byte{0, 1, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0}, 2))},
	}
}
