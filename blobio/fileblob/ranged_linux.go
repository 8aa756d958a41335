package fileblob

import (
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// rangedFile is a file that is opened for reads of ranges. An os.File would do, but is made ready for more than that: opening it registers with the poller of the
// runtime, which knows no files, and its state is an object each time.
type rangedFile struct{ fd atomic.Int64 } // -1: it is closed

// open opens a file as openFile does.
func (f *rangedFile) open(path string) error {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		f.fd.Store(int64(fd))
		return nil
	}
}

// state is the state of the file at this time.
func (f *rangedFile) state() (fileState, error) {
	fd := f.fd.Load()
	if fd < 0 {
		return fileState{}, os.ErrClosed
	}
	var st unix.Stat_t
	err := unix.Fstat(int(fd), &st)
	for err == unix.EINTR {
		err = unix.Fstat(int(fd), &st)
	}
	if err != nil {
		return fileState{}, err
	}
	s := fileState{size: st.Size, modified: time.Unix(st.Mtim.Unix()), inode: st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		s.mode = os.ModeDir
	default:
		s.mode = os.ModeIrregular
	}
	return s, nil
}

// Bytes that the system has in memory are copied by it at some ten to twenty bytes a nanosecond. A call of more than 20 µs is long for the runtime: where it has one
// processor, it gives that to another thread meanwhile and has to get it back, which costs as much again. So up to longRead bytes are read by
// pieces of shortCall, 6 to 13 µs each; more take long anyway, and may come from a disk, which is faster with one request for all.
const longRead, shortCall = 1 << 20, 128 << 10

// ReadAt implements io.ReaderAt.
func (f *rangedFile) ReadAt(dst []byte, off int64) (n int, err error) {
	fd := f.fd.Load()
	if fd < 0 {
		return 0, os.ErrClosed
	}
	most := len(dst)
	if most <= longRead {
		most = shortCall
	}
	for n < len(dst) {
		m, err := unix.Pread(int(fd), dst[n:min(n+most, len(dst))], off+int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, err
		case m == 0:
			return n, io.EOF
		default:
			n += m
		}
	}
	return n, nil
}

// Close implements io.Closer.
func (f *rangedFile) Close() error {
	if fd := f.fd.Swap(-1); fd >= 0 {
		return unix.Close(int(fd))
	}
	return os.ErrClosed
}
