package fileio

import (
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// limitMemory bounds what this process may ask of the system, in bytes, and makes it collect garbage before.
func limitMemory(limit int64) error {
	debug.SetMemoryLimit(limit / 4 * 3)
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)})
}

// widenPipe calls the system for a pipe that holds so many bytes; without it the pipe holds what it does.
func widenPipe(pipe any, size int) {
	f, ok := pipe.(*os.File)
	if !ok {
		return
	}
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
	}
}
