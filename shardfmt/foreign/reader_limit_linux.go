package foreign

import (
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// limitMemory bounds what this process may ask of the system, in bytes, and makes it collect garbage before.
func limitMemory(limit int64) error {
	debug.SetMemoryLimit(limit / 4 * 3)
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)})
}
