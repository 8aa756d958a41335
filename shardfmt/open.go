package shardfmt

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/opened"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// OpenOptions of Open. The zero value is valid.
type OpenOptions struct {
	// Size of the root in bytes, 0 if it is not known. With a size up to 1 MiB the shard opens with one
	// request; without, it takes a second one if the directory is long.
	Size int64
	// Allow lists what absolute references may name outside the root's folder.
	Allow []urlresolve.Prefix
	// Parts is for who filters and expects to need few of many stripes: of a root above 64 KiB that a merge laid out for it,
	// the end is read first, and then only the parts of the stripes that are needed.
	Parts bool
}

type handle = opened.Handle

// Shard is an opened shard. Its metadata is read as it is requested, and kept. Safe for concurrent use; what
// it returns must not be changed.
type Shard struct {
	handle  // gives packages below this one the root
	store   Store
	root    *meta.Root
	allow   []urlresolve.Prefix
	stripes []StripeInfo
}

// StripeInfo is what the directory states about a stripe.
type StripeInfo struct {
	// Position of its first record in the shard, and the number of its records, deleted ones included.
	Position, Records uint64
	// Deleted is how many of its records are deleted.
	Deleted uint64
	// RawSize is the number of bytes of its values before encoding, negative if it is not known.
	RawSize int64
}

// Open opens the shard whose root is at url, a canonical URL. If an object of the shard is replaced after its
// first read, later reads end in blobio.ErrChanged where the store reports (a *blobio.Client does).
func Open(ctx context.Context, st Store, url string, o OpenOptions) (*Shard, error) {
	if isNil(st) {
		return nil, fmt.Errorf("%w: missing store for %s", ErrMissing, urlresolve.Redact(url))
	}
	if err := simd.Refused(); err != nil {
		return nil, err
	}
	st = pinned(st)
	defer keepOpen(st)()
	s, err := openPinned(ctx, st, url, o)
	if again := pastCaches(ctx, st, url, err); again != nil {
		return openPinned(again, st, url, o)
	}
	return s, err
}

// openPinned opens a shard through a view of the store that pins its objects.
func openPinned(ctx context.Context, st Store, url string, o OpenOptions) (*Shard, error) {
	root, err := meta.OpenRoot(ctx, st, url, meta.Options{Size: o.Size, Policy: urlresolve.Policy{Allow: o.Allow}, Parts: o.Parts})
	if err != nil {
		return nil, err
	}
	dirs, err := root.Stripes(ctx)
	if err != nil {
		return nil, err
	}
	s := &Shard{handle: opened.New(root), store: st, root: root, allow: o.Allow, stripes: make([]StripeInfo, len(dirs))}
	for i, d := range dirs {
		s.stripes[i] = stripeInfo(d)
		if d.DeletedRecordCount > d.TotalRecordCount {
			return nil, corrupt.Locate(corrupt.At(-1, "%d of %d records of stripe %d are deleted",
				d.DeletedRecordCount, d.TotalRecordCount, i), url, 0)
		}
	}
	return s, nil
}

func stripeInfo(d *metapb.StripeDirectory) StripeInfo {
	info := StripeInfo{Position: d.ShardPosition, Records: d.TotalRecordCount, Deleted: d.DeletedRecordCount, RawSize: -1}
	if d.RawDataSize != nil {
		info.RawSize = int64(*d.RawDataSize)
	}
	return info
}

// Close gives the memory of the shard's metadata back to who opens the next one, as a wide shard's is worth it. It is called when no method
// of the shard runs any more; batches that a scan gave stay what they are. Afterwards reading fails with blobio.ErrClosed. A shard
// that is not closed is left to the collector of garbage. The error is nil.
func (s *Shard) Close() error {
	s.root.Close()
	return nil
}

// URL of the root.
func (s *Shard) URL() string { return s.root.URL() }

// Schema decodes the whole schema.
func (s *Shard) Schema(ctx context.Context) (*schema.Schema, error) { return s.root.Schema(ctx) }

// Records is the number of records, deleted ones included.
func (s *Shard) Records() uint64 { return s.root.Directory().TotalRecordCount }

// Deleted is the number of records that are marked deleted.
func (s *Shard) Deleted() uint64 { return s.root.Directory().DeletedRecordCount }

// Stripes of the shard in order.
func (s *Shard) Stripes() []StripeInfo { return s.stripes }
