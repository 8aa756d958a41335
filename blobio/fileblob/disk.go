package fileblob

import (
	"io"
	"os"
	"syscall"
)

// disk is what a write asks of the operating system, so that a test can cut the power between any two steps.
type disk interface {
	Create(path string) (file, error)
	Mkdir(path string) error
	// Link gives a file a second name and fails if that name is taken.
	Link(from, to string) error
	Remove(path string) error
	// SyncDir makes the entries of a folder durable.
	SyncDir(path string) error
}

// file is a file that is being written.
type file interface {
	io.WriteCloser
	// Sync makes the content durable.
	Sync() error
}

type osDisk struct{}

func (osDisk) Create(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

func (osDisk) Mkdir(path string) error    { return os.Mkdir(path, 0o755) }
func (osDisk) Link(from, to string) error { return os.Link(from, to) }
func (osDisk) Remove(path string) error   { return os.Remove(path) }

func (osDisk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if err == nil || isUnsupportedSync(err) {
		return nil
	}
	return err
}

func inode(st os.FileInfo) uint64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
