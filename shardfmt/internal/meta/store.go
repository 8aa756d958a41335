package meta

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Store reads ranges of objects by their canonical URL; a *blobio.Client is one.
type Store interface {
	// ReadRange fills dst with the bytes from off on, or fails.
	ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error)
	// ReadSuffix returns the last min(n, size) bytes.
	ReadSuffix(ctx context.Context, url string, n int64) ([]byte, blobio.Info, error)
	// ReadRanges reads many ranges in as few requests as makes sense.
	ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error)
}

const (
	// suffixSize is how much of the end of a root is read when its size is unknown or above wholeRoot.
	suffixSize = 64 << 10
	// wholeRoot is up to which size a root is read as a whole, in one request.
	wholeRoot = 1 << 20
	// partsRoot is up to which size that is done also for the caller for parts. The first part is the partsShare-th of the
	// root, and 16 KiB at least: what states something of all stripes is a small part of what states something of each.
	partsRoot  = 64 << 10
	partsTail  = 16 << 10
	partsShare = 16
	// maxMessage is the longest range of a message that is read: a schema of a million nodes, which is the
	// most there may be, takes about 100 MiB.
	maxMessage = 512 << 20
	// proveSize is from which length on a range of an object of unknown size is allocated only after its
	// last byte was read.
	proveSize = 8 << 20
)

// Missing makes an error of stored data of one that reports that url, which a reference names, or the range of it, is not
// there: the object that holds the reference is damaged, or incomplete.
func Missing(err error, url string) error {
	if errors.Is(err, blobio.ErrNotFound) || errors.Is(err, blobio.ErrRange) {
		return &corrupt.Error{Kind: corrupt.ErrCorrupt, Object: url, Offset: -1, What: "referenced data is missing", Err: err}
	}
	return err
}

// outside turns the error of a range that the object does not have into one of damaged data: the range came
// from a shard, or from whoever told the size of its root.
func outside(err error, url string, start, end int64) error {
	if !errors.Is(err, blobio.ErrRange) {
		return err
	}
	return &corrupt.Error{
		Kind: corrupt.ErrCorrupt, Object: url, Offset: start,
		What: fmt.Sprintf("the object ends before byte %d", end), Err: err,
	}
}

// readTail reads the end of the object at url: all of it if size is known (positive) and at most wholeRoot, or partsRoot
// if parts are requested, else as much as holds the directory. It returns the bytes, the object's size, and what memory of package
// uncleared was taken.
func readTail(ctx context.Context, st Store, url string, size int64, parts bool) (tail []byte, total int64, lent [][]byte, err error) {
	if size > 0 {
		n := size
		switch {
		case parts && size > partsRoot:
			n = min(max(partsTail, size/partsShare), suffixSize)
		case size > wholeRoot:
			n = suffixSize
		}
		var info blobio.Info
		tail, info, err = readRange(ctx, st, url, blobio.Range{Start: size - n, End: size}, func(n int) []byte {
			b := bufpool.Again(n)
			lent = append(lent, b)
			return b
		})
		if err != nil {
			return nil, 0, nil, outside(err, url, size-n, size)
		}
		if info.Size != size && info.Size > 0 {
			return nil, 0, nil, corrupt.Locate(corrupt.At(-1, "object has %d bytes, expected %d", info.Size, size), url, 0)
		}
	} else {
		var info blobio.Info
		if tail, info, err = st.ReadSuffix(ctx, url, suffixSize); err != nil {
			return nil, 0, nil, err
		}
		size = info.Size
	}
	need, err := TailSize(tail, size)
	if err != nil {
		return nil, 0, nil, corrupt.Locate(err, url, 0)
	}
	if need <= int64(len(tail)) {
		return tail, size, lent, nil
	}
	whole := bufpool.Again(int(need))
	copy(whole[need-int64(len(tail)):], tail)
	_, err = st.ReadRange(ctx, url, size-need, whole[:need-int64(len(tail))])
	return whole, size, append(lent, whole), err
}
