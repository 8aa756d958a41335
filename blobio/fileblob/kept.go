package fileblob

import (
	"context"
	"os"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// fileState is what changes when a file is replaced, or written into.
type fileState struct {
	size     int64
	modified time.Time
	inode    uint64
	mode     os.FileMode // its type alone
}

// stateOf is the state of a file that package os reports about.
func stateOf(st os.FileInfo) fileState {
	return fileState{size: st.Size(), modified: st.ModTime(), inode: inode(st), mode: st.Mode().Type()}
}

// info makes an ETag of a state.
func (s fileState) info(key string) blobio.Info {
	return blobio.Info{Key: key, Size: s.size, ModTime: s.modified, ETag: etag(s.inode, uint64(s.modified.UnixNano()), uint64(s.size))}
}

// object is info of a file that is an object, and the one that a condition requests, if there is one.
func (s fileState) object(key, ifMatch string) (blobio.Info, error) {
	if s.mode != 0 {
		return blobio.Info{}, notRegular(s.mode)
	}
	info := s.info(key)
	if ifMatch != "" && ifMatch != info.ETag {
		return blobio.Info{}, blobio.ErrChanged
	}
	return info, nil
}

// keptFile is a file that stays open from one read to the next, and what it was like when it was opened.
type keptFile struct {
	rangedFile
	info blobio.Info
}

// openKept is open for a read of a range. kept means that the file is not the caller's to close.
func (b *bucket) openKept(ctx context.Context, key string, opts blobio.ReadOptions) (f *keptFile, info blobio.Info, kept bool, err error) {
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
func (b *bucket) openRange(ctx context.Context, key, ifMatch string) (*keptFile, error) {
	f := new(keptFile)
	if err := b.openNamed(ctx, "read", key, f.open); err != nil {
		return nil, err
	}
	st, err := f.state()
	if err == nil {
		f.info, err = st.object(key, ifMatch)
	}
	if err != nil {
		f.Close()
		return nil, b.fail("read", key, err)
	}
	return f, nil
}

// now is the state of the file at this time: somebody may write into it.
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
