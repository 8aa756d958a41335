// Package gcpause keeps the garbage collector away until a command begins its work. It is for cmd/shardcat alone: what it
// changes is global.
//
// The packages that the command links make some megabytes when they are initialised, nearly all of which they keep. To collect
// garbage twice meanwhile finds little, and takes a fifth of the processor time of a start. A limit of memory (GOMEMLIMIT) holds all
// the same.
//
// Packages are initialised in the order of their paths as soon as their imports are. This one has no imports, so that it is among the
// first; if it imported runtime/debug, which waits for much else, the first collection might have begun.
package gcpause

import _ "unsafe" // for go:linkname

// setPercent is what debug.SetGCPercent calls.
//
//go:linkname setPercent runtime/debug.setGCPercent
func setPercent(percent int32) (before int32)

// percent is GOGC as it was set.
var percent = setPercent(-1)

// End lets garbage be collected as the environment asks for. To call it again does nothing.
func End() {
	if percent >= 0 {
		setPercent(percent)
		percent = -1
	}
}
