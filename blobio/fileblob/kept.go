package fileblob

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/urlresolve"
)

// fileState is what changes when a file is replaced, or written into.
type fileState struct {
	size     int64
	modified time.Time
	inode    uint64
	mode     os.FileMode // its type alone
}

// stateOf is the state of a file that package os tells of.
func stateOf(st os.FileInfo) fileState {
	return fileState{size: st.Size(), modified: st.ModTime(), inode: inode(st), mode: st.Mode().Type()}
}

// info makes an ETag of a state.
func (s fileState) info(key string) blobio.Info {
	return blobio.Info{Key: key, Size: s.size, ModTime: s.modified, ETag: etag(s.inode, uint64(s.modified.UnixNano()), uint64(s.size))}
}

// keptFile is a file that stays open from one read to the next, and what it was like when it was opened.
type keptFile struct {
	rangedFile
	info blobio.Info
}

// openKept is open for a read of a range. kept says that the file is not the caller's to close.
func (b *Bucket) openKept(ctx context.Context, key string, opts blobio.ReadOptions) (f *keptFile, info blobio.Info, kept bool, err error) {
	if k, ok := opts.Open.Get(b, key).(*keptFile); ok && !b.closed.Load() && ctx.Err() == nil {
		info, err := k.now(key)
		if err == nil && opts.IfMatch != "" && opts.IfMatch != info.ETag {
			err = blobio.ErrChanged
		}
		return k, info, true, b.fail("read", key, err)
	}
	if f, err = b.openRange(ctx, key, opts.IfMatch); err != nil {
		return nil, blobio.Info{}, false, err
	}
	return f, f.info, opts.Open.Keep(b, key, f), nil
}

// openRange opens the file of a key for reads of ranges, as open does for all else.
func (b *Bucket) openRange(ctx context.Context, key, ifMatch string) (*keptFile, error) {
	path, err := b.path(ctx, "read", key)
	if err != nil {
		return nil, err
	}
	f := new(keptFile)
	err = f.open(path)
	if errors.Is(err, os.ErrNotExist) {
		if escaped := urlresolve.EscapeKey(key); escaped != key {
			err = f.open(filepath.Join(b.dir, filepath.FromSlash(escaped)))
		}
	}
	if err != nil {
		return nil, b.fail("read", key, err)
	}
	st, err := f.state()
	if err == nil && st.mode != 0 {
		err = notRegular(st.mode)
	}
	f.info = st.info(key)
	if err == nil && ifMatch != "" && ifMatch != f.info.ETag {
		err = blobio.ErrChanged
	}
	if err != nil {
		f.Close()
		return nil, b.fail("read", key, err)
	}
	return f, nil
}

// now tells of the file as it is now: somebody may write into it.
func (k *keptFile) now(key string) (blobio.Info, error) {
	st, err := k.state()
	if err != nil {
		return blobio.Info{}, err
	}
	if st.size == k.info.Size && st.modified.Equal(k.info.ModTime) {
		return k.info, nil
	}
	return st.info(key), nil
}
