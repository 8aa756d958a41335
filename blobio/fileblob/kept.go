package fileblob

import (
	"context"
	"os"

	"github.com/shardcat/shardcat/blobio"
)

// keptFile is a file that stays open from one read to the next, and what it was like when it was opened.
type keptFile struct {
	*os.File
	info blobio.Info
}

// openKept is open for a read of a range. kept says that the file is not the caller's to close.
func (b *Bucket) openKept(ctx context.Context, key string, opts blobio.ReadOptions) (f *os.File, info blobio.Info, kept bool, err error) {
	if opts.Open == nil {
		f, info, err = b.open(ctx, "read", key, opts.IfMatch)
		return f, info, false, err
	}
	if k, ok := opts.Open.Get(b, key).(*keptFile); ok && !b.closed.Load() && ctx.Err() == nil {
		info, err := k.now(key)
		if err == nil && opts.IfMatch != "" && opts.IfMatch != info.ETag {
			err = blobio.ErrChanged
		}
		return k.File, info, true, b.fail("read", key, err)
	}
	if f, info, err = b.open(ctx, "read", key, opts.IfMatch); err != nil {
		return nil, info, false, err
	}
	return f, info, opts.Open.Keep(b, key, &keptFile{f, info}), nil
}

// now tells of the file as it is now: somebody may write into it.
func (k *keptFile) now(key string) (blobio.Info, error) {
	st, err := k.Stat()
	if err != nil {
		return blobio.Info{}, err
	}
	if st.Size() == k.info.Size && st.ModTime().Equal(k.info.ModTime) {
		return k.info, nil
	}
	return fileInfo(key, st), nil
}
