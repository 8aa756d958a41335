package fileblob

import (
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
)

// disk is the calls of a write to the operating system, so that a test can cut the power between any two steps.
type disk interface {
	// Create begins a file that is to get the name path.
	Create(path string) (file, error)
	Mkdir(path string) error
	Remove(path string) error
	// SyncDir makes the entries of a folder durable.
	SyncDir(path string) error
}

// file is a file that is being written and has not got its name yet.
type file interface {
	io.Writer
	// Sync makes the content durable.
	Sync() error
	// Link gives the file its name and fails if that name is taken.
	Link() error
	// Discard lets go of the file, at the end in any case. Without its name it is gone.
	Discard()
}

// osDisk is the disk of the operating system.
type osDisk struct {
	named bool // never write files without any name, as is done where the file system can
}

func (d osDisk) Create(path string) (file, error) {
	if !d.named {
		if f, err := createNameless(path); err == nil || !isUnsupported(err) {
			return f, err
		}
	}
	return createNamed(path)
}

func (osDisk) Mkdir(path string) error  { return os.Mkdir(path, 0o755) }
func (osDisk) Remove(path string) error { return os.Remove(path) }

func (osDisk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if err == nil || isUnsupported(err) {
		return nil // some file systems can't sync a folder, and need not
	}
	return err
}

// namedFile has a temporary name beside its own.
type namedFile struct {
	*os.File
	temp, path string
}

func createNamed(path string) (file, error) {
	temp := tempName(path)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &namedFile{f, temp, path}, nil
}

func (f *namedFile) Link() error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Link(f.temp, f.path)
}

func (f *namedFile) Discard() {
	f.Close()
	_ = os.Remove(f.temp)
}

// tempName is a name beside path. A name of the full 255 bytes that most file systems allow leaves no space, so
// the name's end is dropped.
func tempName(path string) string {
	dir, name := filepath.Split(path)
	const most = 200
	return dir + unfinished + name[:min(len(name), most)] + "." + rand.Text()
}
