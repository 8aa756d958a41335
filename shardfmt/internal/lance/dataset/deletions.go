package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowipc"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
)

// deletions reads which rows of a fragment are deleted; nil if none are.
func (d *Dataset) deletions(ctx context.Context, f *fragment) (*roaring.Bitmap, error) {
	if f.deleted == nil {
		return nil, nil
	}
	url := d.url + "/" + f.deleted.name(f.id)
	limit := listBytes(f.physical)
	b, info, err := d.st.ReadSuffix(ctx, url, limit)
	if err != nil {
		return nil, err
	}
	if info.Size > limit {
		return nil, corrupt.Locate(corrupt.At(0, "%d bytes for the deletions of a fragment of %d rows", info.Size, f.physical), url, 0)
	}
	rows, err := parseDeletions(b, f.deleted.bitmap, f.physical)
	if err == nil && rows.GetCardinality() != f.deleted.rows {
		err = corrupt.At(0, "%d deleted rows, but the manifest says %d", rows.GetCardinality(), f.deleted.rows)
	}
	return rows, corrupt.Locate(err, url, 0)
}

// listBytes is how many bytes a list of deleted rows of a fragment of so many may have, as it is stored and as it is unpacked: four bytes a row in
// either kind, and what stands around them.
func listBytes(physical uint64) int64 { return int64(physical)*8 + 1<<20 }

// parseDeletions reads the deleted rows of a fragment of so many rows.
func parseDeletions(b []byte, bitmap bool, physical uint64) (rows *roaring.Bitmap, err error) {
	defer func() { // neither library promises to bear bytes that make no sense
		if r := recover(); r != nil {
			rows, err = nil, corrupt.At(0, "the list of deleted rows can't be read: %v", r)
		}
	}()
	if bitmap {
		rows, err = parseBitmap(b)
	} else {
		rows, err = parseList(b, listBytes(physical))
	}
	if err != nil {
		return nil, &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 0, What: "the list of deleted rows can't be read", Err: err}
	}
	if !rows.IsEmpty() && uint64(rows.Maximum()) >= physical {
		return nil, corrupt.At(0, "row %d is deleted of a fragment of %d rows", rows.Maximum(), physical)
	}
	return rows, nil
}

func parseBitmap(b []byte) (*roaring.Bitmap, error) {
	rows := roaring.New()
	if _, err := rows.ReadFrom(bytes.NewReader(b)); err != nil {
		return nil, err
	}
	return rows, rows.Validate()
}

// mostWindow is the window of zstd that is taken for a list of any length, in bytes.
const mostWindow = 8 << 20

// parseList reads a list that unpacks to so many bytes at most.
func parseList(b []byte, most int64) (*roaring.Bitmap, error) {
	m, err := arrowipc.Open(bufio.NewReader(bytes.NewReader(b)), arrowipc.Limits{
		Message: 2 * most, Unpacked: most, Window: uint64(most) + mostWindow, // packed and unpacked at the same time
		TooLarge: func(size, most int64) error {
			return fmt.Errorf("%d bytes, more than the %d bytes its rows need at most", size, most)
		},
	})
	if err != nil {
		return nil, err
	}
	if !m.File() {
		return nil, errors.New("no Arrow file")
	}
	r, err := ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(m.Memory()))
	if err != nil {
		return nil, err
	}
	defer r.Release()
	rows := roaring.New()
	for r.Next() {
		batch := r.RecordBatch()
		if batch.NumCols() != 1 || batch.Column(0).NullN() > 0 {
			return nil, fmt.Errorf("%d columns", batch.NumCols())
		}
		switch c := batch.Column(0).(type) {
		case *array.Uint32:
			rows.AddMany(c.Uint32Values())
		case *array.Int32:
			for _, v := range c.Int32Values() {
				if v < 0 {
					return nil, fmt.Errorf("row %d", v)
				}
				rows.Add(uint32(v))
			}
		default:
			return nil, fmt.Errorf("a column of %s", c.DataType())
		}
	}
	if err := cmp.Or(m.Err(), r.Err()); err != nil && err != io.EOF {
		return nil, err
	}
	return rows, m.End()
}

// bridge is how many deleted rows in a row are read along, rather than the rows around them by themselves.
const bridge = 1024

// spans are the physical rows to read of [low, high): with no long run of deleted rows in them, and none at the ends.
func spans(deleted *roaring.Bitmap, low, high uint64) (out []lance.Rows) {
	add := func(start, end uint64) {
		if start >= end {
			return
		}
		if n := len(out); n > 0 && start-out[n-1].End < bridge {
			out[n-1].End = end
			return
		}
		out = append(out, lance.Rows{Start: start, End: end})
	}
	liveRuns(deleted, low, high, add)
	return out
}

// liveRuns visits the runs of rows of [low, high) that are not deleted.
func liveRuns(deleted *roaring.Bitmap, low, high uint64, visit func(start, end uint64)) {
	if deleted == nil {
		visit(low, high)
		return
	}
	it := deleted.Iterator()
	it.AdvanceIfNeeded(uint32(low))
	for it.HasNext() && low < high {
		gone := min(uint64(it.Next()), high)
		if gone > low {
			visit(low, gone)
		}
		low = gone + 1
	}
	if low < high {
		visit(low, high)
	}
}

// nth is the physical row of the n-th row that is not deleted, from 0, of a fragment of so many physical rows.
func nth(deleted *roaring.Bitmap, n, physical uint64) uint64 {
	if deleted == nil {
		return n
	}
	low, high := n, physical // the wanted row has n live ones before it
	for low < high {
		middle := (low + high) / 2
		if middle+1-deleted.Rank(uint32(middle)) > n {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
