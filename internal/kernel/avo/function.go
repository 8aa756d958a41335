package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// function begins a function.
func function(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}

// pointer loads a parameter of 64 bits.
func pointer(name string) GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

// loop runs body for each step of n, a multiple of it above 0.
func loop(n GPVirtual, step int, body func()) {
	Label("loop")
	body()
	SUBQ(U32(step), n)
	JNZ(LabelRef("loop"))
}

// finish ends a function that used vectors.
func finish() {
	VZEROUPPER()
	RET()
}
