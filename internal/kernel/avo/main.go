// Command avo writes the assembly of package kernel for amd64, with the Go declarations of its functions:
//
//	go generate ./internal/kernel
//
// It is a module of its own, so that nothing that imports shardcat depends on the assembler.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range words {
		unpack(w)
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
	fill()
	for _, c := range integers {
		c.within()
	}
	for _, c := range floats {
		c.floatsWithin()
	}
	Generate()
}
