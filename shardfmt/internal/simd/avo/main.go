// Command avo writes the assembly of package simd for amd64, with the Go declarations of its functions, for AVX2 or, with the
// flag -avx512, for AVX-512:
//
//	go generate ./shardfmt/internal/simd
//
// It is a module of its own, so that nothing that imports shardcat depends on the assembler.
package main

import (
	"flag"

	. "github.com/mmcloughlin/avo/build"
)

func main() {
	flag.Parse()
	chooseTier()
	ConstraintExpr("amd64,!purego")
	if *compacting {
		compaction()
		Generate()
		return
	}
	for _, w := range words {
		unpack(w)
	}
	for _, w := range words {
		pack(w)
	}
	for _, w := range words[1:] {
		prefixSum(w)
		ramp(w)
	}
	for _, w := range widenings {
		widen(w)
	}
	alp32()
	alp64()
	glue32()
	glue64()
	largest()
	hashWords()
	if !*avx512 {
		steps(word{bits: 8, add: VPADDB})
		for _, w := range words {
			steps(w)
		}
		for _, w := range words[1:] {
			changes(w)
			extremesOf(w)
			bounds(w)
			split(w)
		}
		decimals64()
		fill()
		gather(words[1])
		gather(words[2])
		fsst()
		gather16Bytes()
		textEnds()
		moveEnds()
		gatherTexts(16)
		gatherTexts(32)
	}
	for _, c := range integers {
		c.within()
	}
	for _, c := range floats {
		c.floatsWithin()
	}
	Generate()
}
