package verify

import (
	"context"
	"errors"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/opened"
	"github.com/shardcat/shardcat/shardfmt/internal/scan"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// ReadData states about which shards Admit reads the data.
type ReadData uint8

const (
	// ReadSmall reads all of a shard of up to 16 MiB. Of a larger one it reads the columns whose work metadata
	// can't bound: those with unions whose values lie at offsets.
	ReadSmall ReadData = iota
	// ReadAll reads all of every shard, as Shard does.
	ReadAll
	// ReadLeast reads, of any shard, those columns only.
	ReadLeast
)

// smallShard is the size up to which ReadSmall reads a shard, in bytes: a few seconds of one processor, and 16 requests
// of a megabyte. What is made to hurt with few bytes is small.
const smallShard = 16 << 20

// AdmitOptions of Admit. The zero value is valid.
type AdmitOptions struct {
	// Policy determines what absolute references may name besides the folder of the root.
	Policy urlresolve.Policy
	// Read states whose data are read.
	Read ReadData
	// MaxMemory is that of the scans the shard must be fit for, budget.Default if 0.
	MaxMemory int64
}

// Admit refuses a shard whose reading would cost more than its bytes bear, so that no table is poisoned by one. By
// metadata alone, for M bytes of memory and a shard of B bytes, root and data objects up to the last range of a buffer:
//
//   - it has at most 65,536 × B records, and no field more positions: the most that known writers make of a byte;
//   - no field of a struct or union has more positions than its parent;
//   - one record of its types takes at most M/2 bytes;
//   - all records of its types take at most M + 512 × B bytes, 512 bytes for each value, and 1,024 for each value of a field that
//     stores any, as a scan may (package shardfmt/internal/budget).
//
// Each object must be there and as long as the references say. Then data are read within the budget of a scan, as Read states;
// where all of a shard is read, whatever Shard would report is refused too. The error is a corrupt.Error that names object
// and offset.
//
// The shard is a *shardfmt.Shard: metadata that was read is not read again, unless all of the shard is.
func Admit(ctx context.Context, st Store, shard opened.Shard, o AdmitOptions) error {
	return admit(ctx, st, opened.Root(shard), o)
}

func admit(ctx context.Context, st Store, root *meta.Root, o AdmitOptions) error {
	url := root.URL()
	c, err := costsOf(ctx, root, o.MaxMemory)
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return corrupt.Locate(err, url, 0)
	}
	if err := c.exist(ctx, st); err != nil {
		return err
	}
	switch {
	case o.Read == ReadAll, o.Read == ReadSmall && c.bytes <= smallShard:
		return whole(ctx, st, root, o)
	case len(c.unbounded) > 0:
		return readable(ctx, st, root, &schema.Schema{Fields: c.unbounded, Count: c.schema.Count}, o.MaxMemory)
	}
	return nil
}

// whole verifies a shard and gives the first thing that is wrong.
func whole(ctx context.Context, st Store, root *meta.Root, o AdmitOptions) error {
	r, err := shard(ctx, st, root.URL(), Options{Size: root.Size(), Policy: o.Policy, MaxMemory: o.MaxMemory}, false)
	if err != nil || r.OK {
		return err
	}
	f := r.Errors[0]
	return corrupt.Locate(corrupt.At(f.Offset, "%s", f.What), f.Object, 0)
}

// readable reads some fields as a scan does.
func readable(ctx context.Context, st Store, root *meta.Root, fields *schema.Schema, maxMemory int64) error {
	q, err := audited(ctx, root, fields, budget.New(maxMemory))
	if err != nil {
		return err
	}
	return scan.Audit(ctx, st, q, func(err error) error {
		var restored *scan.Restored
		if errors.As(err, &restored) {
			return nil
		}
		return err
	})
}
