package fileblob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/urlresolve"
)

// errNoFile: the key names a folder, or nothing a file could have for a name.
var errNoFile = errors.New("not the name of a file")

// errSpecial: the key names a FIFO, a device or a socket.
var errSpecial = errors.New("not a regular file")

// fail makes the error of an operation on a key; nil stays nil.
func (b *bucket) fail(op, key string, err error) error {
	if err == nil {
		return nil
	}
	c := class(err)
	if op == "create" && c == blobio.ErrNotFound { // of a folder on the way: no object was requested
		c = blobio.ErrDenied
	}
	return blobio.NewError(op, b.url(key), c, cause(err))
}

// undurable is the error of an object that is there, but may be gone after a power cut. It must not be taken
// for an unknown outcome, which reading back would settle.
func (b *bucket) undurable(op, key string, err error) error {
	if err == nil {
		return nil
	}
	return blobio.NewError(op, b.url(key), blobio.ErrDenied, fmt.Errorf("folder can't be synced: %w", cause(err)))
}

func (b *bucket) url(key string) string {
	dir := b.dir
	if dir == "/" {
		dir = ""
	}
	return "file://" + urlresolve.EscapeKey(dir+"/"+key)
}

func class(err error) error {
	switch {
	case errors.Is(err, blobio.ErrCanceled):
		return blobio.ErrCanceled
	case errors.Is(err, errNoFile), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EISDIR):
		return blobio.ErrNotFound
	case errors.Is(err, fs.ErrExist):
		return blobio.ErrExists
	case errors.Is(err, errSpecial), errors.Is(err, syscall.ENXIO), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT),
		errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EFBIG):
		return blobio.ErrDenied
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EINTR),
		errors.Is(err, syscall.ESTALE), errors.Is(err, io.ErrUnexpectedEOF):
		return blobio.ErrTransient
	case errors.Is(err, fs.ErrClosed):
		return blobio.ErrClosed
	}
	return blobio.Class(err)
}

// cause drops the path from an error of the operating system: the error names the URL already.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// isUnsupported: the file system can't do it. A kernel that doesn't know nameless files takes the folder for
// the file.
func isUnsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EISDIR)
}
