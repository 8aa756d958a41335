package fileblob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// namelessFile has no name until it is linked: a process that dies leaves nothing behind.
type namelessFile struct {
	*os.File
	path string
}

func createNameless(path string) (file, error) {
	if _, err := os.Stat(fdFolder); err != nil {
		return nil, errors.ErrUnsupported // no way to link it later
	}
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &namelessFile{os.NewFile(uintptr(fd), path), path}, nil
}

// fdFolder has a link to each open file.
const fdFolder = "/proc/self/fd"

func (f *namelessFile) Link() error {
	from := fmt.Sprintf("%s/%d", fdFolder, f.Fd())
	err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, f.path, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: from, New: f.path, Err: err}
	}
	return nil
}

func (f *namelessFile) Discard() { f.Close() }
