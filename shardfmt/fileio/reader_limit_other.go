//go:build !linux

package fileio

import "runtime/debug"

// limitMemory makes this process collect garbage before it grows beyond so many bytes; only Linux bounds it.
func limitMemory(limit int64) error {
	debug.SetMemoryLimit(limit / 4 * 3)
	return nil
}

// widenPipe leaves a pipe as it is.
func widenPipe(any, int) {}
