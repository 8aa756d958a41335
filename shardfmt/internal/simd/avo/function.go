package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// function begins a function of the tier. Its documentation goes on from its name.
func function(name, signature string, doc ...string) {
	name += suffix
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	doc[0] = name + " " + doc[0]
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

// advance moves pointers on.
func advance(bytes int, pointers ...Register) {
	for _, p := range pointers {
		ADDQ(U32(bytes), p)
	}
}

// finish ends a function that used vectors.
func finish() {
	VZEROUPPER()
	RET()
}
