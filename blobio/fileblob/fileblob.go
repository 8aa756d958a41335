// Package fileblob keeps objects as files. Importing it enables file:///ABS/PATH in blobio, whose bucket is
// the root of the file system.
//
// An object becomes visible whole or not at all, and is created by one of any number of racing processes:
//
//	folders   mkdir, fsync of each parent that got a new entry
//	a file    create, write, fsync      the content is on the disk
//	NAME      link without replace      the one step that others see; it fails if NAME is there
//	folder    fsync                     the name is on the disk
//
// A power cut between any two steps leaves the object absent or whole. On Linux the file has no name before it is
// linked, so that a process that dies leaves nothing behind, if the file system can do that (ext4, XFS, Btrfs,
// tmpfs and others can). Elsewhere it has a temporary one beside its own, .~NAME.RANDOM, and may be left
// behind: no listing shows it and no read finds it. Renaming instead of linking would replace what is there; a
// check before it would race.
package fileblob

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/urlresolve"
)

func init() {
	blobio.Register("file", func(_ context.Context, u *url.URL) (blobio.Bucket, error) {
		if u.Host != "" {
			return nil, errors.New("a file URL with a host; write file:///ABS/PATH")
		}
		return Open("/"), nil
	})
}

// unfinished begins the names of files that are being written.
const unfinished = ".~"

// bucket is a folder. Keys are paths below it, with '/' between folders. A file that was deleted leaves its
// folders.
type bucket struct {
	dir    string
	disk   disk
	closed atomic.Bool
}

var _ interface {
	blobio.Bucket
	blobio.FileHolder
} = (*bucket)(nil)

// Open opens a folder, which need not exist yet.
func Open(dir string) blobio.Bucket { return &bucket{dir: filepath.Clean(dir), disk: osDisk{}} }

// Local informs blobio that there is nothing to retry or to limit.
func (b *bucket) Local() bool { return true }

// Nearby informs blobio that a read costs next to nothing beside its bytes.
func (b *bucket) Nearby() bool { return true }

// Close implements blobio.Bucket.
func (b *bucket) Close() error {
	b.closed.Store(true)
	return nil
}

// path is the file of a key. Keys that are not the normal path of a file below the folder are refused.
func (b *bucket) path(ctx context.Context, op, key string) (string, error) {
	switch {
	case b.closed.Load():
		return "", b.fail(op, key, blobio.ErrClosed)
	case ctx.Err() != nil:
		return "", b.fail(op, key, errors.Join(blobio.ErrCanceled, context.Cause(ctx)))
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.HasPrefix(segment, unfinished) {
			return "", b.fail(op, key, errNoFile)
		}
	}
	if strings.IndexByte(key, 0) >= 0 {
		return "", b.fail(op, key, errNoFile)
	}
	return b.below(key), nil
}

// below is the path of a key whose segments are all names.
func (b *bucket) below(key string) string {
	if filepath.Separator != '/' {
		return filepath.Join(b.dir, filepath.FromSlash(key))
	}
	return strings.TrimSuffix(b.dir, "/") + "/" + key // clean as it is
}

// open opens the file of a key for a read. A name that was stored with its escapes in it, as the reference
// implementation does, is found too.
func (b *bucket) open(ctx context.Context, op, key, ifMatch string) (*os.File, blobio.Info, error) {
	var f *os.File
	err := b.openNamed(ctx, op, key, func(path string) (err error) {
		f, err = openFile(path)
		return err
	})
	if err != nil {
		return nil, blobio.Info{}, err
	}
	st, err := f.Stat()
	var info blobio.Info
	if err == nil {
		info, err = stateOf(st).object(key, ifMatch)
	}
	if err != nil {
		f.Close()
		return nil, blobio.Info{}, b.fail(op, key, err)
	}
	return f, info, nil
}

// openNamed has the file of a key opened, by its name or by the one that was stored with its escapes in it.
func (b *bucket) openNamed(ctx context.Context, op, key string, open func(path string) error) error {
	path, err := b.path(ctx, op, key)
	if err != nil {
		return err
	}
	err = open(path)
	if errors.Is(err, os.ErrNotExist) {
		if escaped := urlresolve.EscapeKey(key); escaped != key {
			err = open(filepath.Join(b.dir, filepath.FromSlash(escaped)))
		}
	}
	return b.fail(op, key, err)
}

// LeadsOut is what package blobio looks for where names may be symbolic links.
func (b *bucket) LeadsOut(key string, folders []string) bool {
	path := filepath.Join(b.dir, filepath.FromSlash(key))
	if slices.ContainsFunc(folders, func(folder string) bool { return plainlyIn(filepath.Join(b.dir, filepath.FromSlash(folder)), path) }) {
		return false
	}
	at, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false // opening it will report why
	}
	for _, folder := range folders {
		within, err := filepath.EvalSymlinks(filepath.Join(b.dir, filepath.FromSlash(folder)))
		if err != nil {
			continue
		}
		if out, err := filepath.Rel(within, at); err == nil && filepath.IsLocal(out) {
			return false
		}
	}
	return true
}

// plainlyIn reports whether path names something below folder, both clean, by names of which none is a symbolic link, wherever folder itself leads. False means
// that it is not known.
func plainlyIn(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
	if !ok || !filepath.IsLocal(rest) {
		return false
	}
	for at := len(path) - len(rest); at < len(path); at++ {
		if n := strings.IndexRune(path[at:], filepath.Separator); n >= 0 {
			at += n
		} else {
			at = len(path)
		}
		st, err := os.Lstat(path[:at])
		if err != nil || st.Mode()&(os.ModeSymlink|os.ModeIrregular) != 0 {
			return false
		}
	}
	return true
}

// openFile opens a file for reading without waiting: a FIFO would wait for somebody to write into it.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// notRegular is why what has this mode is not an object: a folder is none, a FIFO or a device is refused.
func notRegular(mode os.FileMode) error {
	if mode.IsDir() {
		return errNoFile
	}
	return errSpecial
}

// fileInfo is what package os reports about a file.
func fileInfo(key string, st os.FileInfo) blobio.Info { return stateOf(st).info(key) }

// etag puts numbers together.
func etag(numbers ...uint64) string {
	b := make([]byte, 0, 3*17)
	for i, n := range numbers {
		if i > 0 {
			b = append(b, '-')
		}
		b = strconv.AppendUint(b, n, 16)
	}
	return string(b)
}

// ReadRange implements blobio.Bucket.
func (b *bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	f, info, kept, err := b.openKept(ctx, key, opts)
	if err != nil {
		return 0, blobio.Info{}, err
	}
	if !kept {
		defer f.Close()
	}
	if off < 0 || off > info.Size || info.Size-off < int64(len(dst)) {
		return 0, blobio.Info{}, b.fail("read", key, blobio.ErrRange)
	}
	n, err := f.ReadAt(dst, off)
	if n == len(dst) {
		err = nil // also at the end of the file
	} else if err == io.EOF {
		err = io.ErrUnexpectedEOF // it was cut while it was read
	}
	return n, info, b.fail("read", key, err)
}

// ReadSuffix implements blobio.Bucket.
func (b *bucket) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	f, info, err := b.open(ctx, "read", key, opts.IfMatch)
	if err != nil {
		return nil, blobio.Info{}, err
	}
	defer f.Close()
	suffix := bufpool.Bytes(int(min(max(n, 0), info.Size)))
	if _, err := io.ReadFull(io.NewSectionReader(f, info.Size-int64(len(suffix)), int64(len(suffix))), suffix); err != nil {
		return nil, blobio.Info{}, b.fail("read", key, err)
	}
	return suffix, info, nil
}

// Open implements blobio.Bucket.
func (b *bucket) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	f, info, err := b.open(ctx, "open", key, opts.IfMatch)
	if err != nil {
		return nil, blobio.Info{}, err
	}
	if off < 0 || off > info.Size {
		f.Close()
		return nil, blobio.Info{}, b.fail("open", key, blobio.ErrRange)
	}
	section := io.NewSectionReader(f, off, info.Size-off)
	return &reader{ctx: ctx, b: b, key: key, f: f, section: section}, info, nil
}

// File implements blobio.FileHolder.
func (b *bucket) File(ctx context.Context, key string, opts blobio.ReadOptions) (*os.File, blobio.Info, error) {
	return b.open(ctx, "open", key, opts.IfMatch)
}

// reader ends with its context and at the size the file had when it was opened.
type reader struct {
	ctx     context.Context
	b       *bucket
	key     string
	f       *os.File
	section *io.SectionReader
}

func (r *reader) Read(p []byte) (int, error) {
	if _, err := r.b.path(r.ctx, "read", r.key); err != nil {
		return 0, err
	}
	n, err := r.section.Read(p)
	if err == io.EOF && n == 0 {
		if at, _ := r.section.Seek(0, io.SeekCurrent); at < r.section.Size() {
			err = io.ErrUnexpectedEOF // the file was cut while it was read
		}
	}
	if err != nil && err != io.EOF {
		err = r.b.fail("read", r.key, err)
	}
	return n, err
}

func (r *reader) Close() error { return r.f.Close() }

// Stat implements blobio.Bucket.
func (b *bucket) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	f, info, err := b.open(ctx, "stat", key, opts.IfMatch)
	if err != nil {
		return blobio.Info{}, err
	}
	return info, f.Close()
}

// Delete implements blobio.Bucket. The ETag is compared before the file is removed, not in one step with it.
func (b *bucket) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	path, err := b.path(ctx, "delete", key)
	if err != nil {
		return err
	}
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return b.fail("delete", key, err)
	case st.IsDir():
		return b.fail("delete", key, errNoFile)
	case opts.IfMatch != "" && fileInfo(key, st).ETag != opts.IfMatch:
		return b.fail("delete", key, blobio.ErrChanged)
	}
	if err := b.disk.Remove(path); err != nil {
		return b.fail("delete", key, err)
	}
	return b.fail("delete", key, b.disk.SyncDir(filepath.Dir(path)))
}

// List implements blobio.Bucket. Files that come and go meanwhile may be seen or not.
func (b *bucket) List(ctx context.Context, prefix string, _ blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		w := walk{b: b, ctx: ctx, prefix: prefix, yield: yield}
		w.folder(prefix[:strings.LastIndexByte(prefix, '/')+1])
	}
}
