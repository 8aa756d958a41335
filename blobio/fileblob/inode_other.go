//go:build !unix

package fileblob

import "os"

// inode is 0: a name, a size and a time have to do.
func inode(os.FileInfo) uint64 { return 0 }
