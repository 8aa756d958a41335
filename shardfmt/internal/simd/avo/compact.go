package main

import (
	"fmt"
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Compaction is of AVX2 alone, with BMI2 for bits; the tier of AVX-512 takes it too. It is a file of its own, for it holds tables.
func compaction() {
	compactBits()
	for _, bits := range []int{32, 64} {
		compact(bits)
	}
	compact16Bytes()
}

// bitmap is 64 bits at a time of a bitmap, from any bit on.
type bitmap struct{ at, shift, rest GPVirtual }

// bitmapOf loads the parameters of a bitmap: its first byte, and the bit in it.
func bitmapOf(name string) bitmap {
	b := bitmap{pointer(name), pointer(name + "Bit"), GP64()}
	MOVQ(U32(63), b.rest)
	SUBQ(b.shift, b.rest)
	return b
}

// next loads the next bits. The byte behind them is read, too.
func (b bitmap) next() GPVirtual {
	word, behind := GP64(), GP64()
	SHRXQ(b.shift, Mem{Base: b.at}, word)
	MOVBQZX(Mem{Base: b.at, Disp: 8}, behind)
	ADDQ(behind, behind)
	SHLXQ(b.rest, behind, behind)
	ORQ(behind, word)
	ADDQ(Imm(8), b.at)
	return word
}

// compactBits moves the chosen bits of a word together by one instruction, and puts them behind those before: whole bytes are
// stored, and the bits of the last one are kept for the next word.
func compactBits() {
	function("compactBits", "func(dst, src *byte, srcBit uint64, chosen *byte, chosenBit uint64, words int) uint64",
		"writes those bits of src that are chosen to dst, from its first bit on, and gives their number. There are words above 0 of 64",
		"bits; of both the byte behind them is read, and up to sixteen bytes of dst are written from the last bit on.")
	dst, src, chosen, n := pointer("dst"), bitmapOf("src"), bitmapOf("chosen"), pointer("words")
	kept, has, sum := GP64(), GP64(), GP64()
	XORQ(kept, kept)
	XORQ(has, has)
	XORQ(sum, sum)
	loop(n, 1, func() {
		from, word, ones, high := src.next(), chosen.next(), GP64(), GP64()
		POPCNTQ(word, ones)
		PEXTQ(word, from, from)
		SHLXQ(has, from, high)
		ORQ(high, kept)
		MOVQ(kept, Mem{Base: dst})
		// What did not fit: from >> (64-has), without a shift by 64.
		back := GP64()
		MOVQ(U32(63), back)
		SUBQ(has, back)
		SHRQ(Imm(1), from)
		SHRXQ(back, from, from)
		MOVQ(from, Mem{Base: dst, Disp: 8})
		ADDQ(ones, sum)
		ADDQ(ones, has)
		whole := GP64()
		MOVQ(has, whole)
		SHRQ(Imm(3), whole)
		ADDQ(whole, dst)
		ANDQ(Imm(7), has)
		MOVBQZX(Mem{Base: dst}, kept)
		BZHIQ(has, kept, kept)
	})
	Store(sum, ReturnIndex(0))
	RET()
}

// compact moves the chosen ones of a vector to its front by a table of all choices, and writes the whole vector.
func compact(size int) {
	in := 256 / size
	table := choices(size)
	function(fmt.Sprintf("compact%d", size), fmt.Sprintf("func(dst, src *uint%d, chosen *byte, chosenBit uint64, words int)", size),
		"writes those values of src that are chosen to dst. There are words above 0 of 64 bits of which the byte behind is read, too;",
		fmt.Sprintf("and up to %d values of dst are written behind them.", in))
	dst, src, chosen, n := pointer("dst"), pointer("src"), bitmapOf("chosen"), pointer("words")
	entries := GP64()
	LEAQ(table, entries)
	loop(n, 1, func() {
		word := chosen.next()
		for i := 0; i < 64; i += in {
			some, ones, order, v := GP64(), GP64(), YMM(), YMM()
			MOVQ(word, some)
			ANDQ(U32(1<<in-1), some)
			POPCNTQ(some, ones)
			VPMOVZXBD(Mem{Base: entries, Index: some, Scale: 8}, order)
			VPERMD(Mem{Base: src, Disp: i * size / 8}, order, v)
			VMOVDQU(v, Mem{Base: dst})
			LEAQ(Mem{Base: dst, Index: ones, Scale: uint8(size / 8)}, dst)
			SHRQ(Imm(uint64(in)), word)
		}
		ADDQ(U32(64*size/8), src)
	})
	finish()
}

// choices is a table with eight bytes for each choice of the values of a vector: which half or whole ones come first.
func choices(size int) Mem {
	table := GLOBL(fmt.Sprintf("choices%d", size), RODATA|NOPTR)
	in, parts := 256/size, size/32
	for choice := range 1 << in {
		entry, k := uint64(0), 0
		for rest := choice; rest != 0; rest &= rest - 1 {
			for p := range parts {
				entry |= uint64(bits.TrailingZeros(uint(rest))*parts+p) << (8 * k)
				k++
			}
		}
		DATA(8*choice, U64(entry))
	}
	return table
}

// compact16Bytes copies the chosen values one by one.
func compact16Bytes() {
	function("compact16Bytes", "func(dst, src *[16]byte, chosen *byte, chosenBit uint64, words int)",
		"writes those values of src that are chosen to dst. There are words above 0 of 64 bits, of which the byte behind is read, too.")
	dst, src, chosen, n := pointer("dst"), pointer("src"), bitmapOf("chosen"), pointer("words")
	Label("loop")
	word := chosen.next()
	JMP(LabelRef("more"))
	Label("one")
	at, v := GP64(), XMM()
	TZCNTQ(word, at)
	SHLQ(Imm(4), at)
	VMOVDQU(Mem{Base: src, Index: at, Scale: 1}, v)
	VMOVDQU(v, Mem{Base: dst})
	ADDQ(Imm(16), dst)
	BLSRQ(word, word)
	Label("more")
	TESTQ(word, word)
	JNZ(LabelRef("one"))
	ADDQ(U32(64*16), src)
	DECQ(n)
	JNZ(LabelRef("loop"))
	finish()
}
