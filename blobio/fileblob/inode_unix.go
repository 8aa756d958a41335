//go:build unix

package fileblob

import (
	"os"
	"syscall"
)

// inode distinguishes a file from another one of the same name, size and time; 0 where the system has none.
func inode(st os.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
