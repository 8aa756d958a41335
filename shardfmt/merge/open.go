package merge

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// shard is one opened input.
type shard struct {
	root       *meta.Root
	schema     *schema.Schema
	schemaWire []byte
	// ids are the field ids of the nodes, nil if not known.
	ids        []int
	properties *metapb.ShardProperties
	// propertyAnchor and stripeAnchor are the objects that hold the properties and the list of stripes.
	propertyAnchor, stripeAnchor string
	stripes                      []*metapb.StripeDirectory
	// taken are the numbers of the stripes that go into the new root.
	taken []int
	urls  *metapb.UrlList
	// mapping gives for each node of the target the node of this shard; identical: all have the same number
	// there as here. Both are set by newTarget.
	mapping   mapping
	identical bool
}

// openAll opens the inputs, many at a time, and reads all metadata of each.
func openAll(ctx context.Context, sp *blobio.Client, inputs []Input, o Options) ([]*shard, error) {
	shards := make([]*shard, len(inputs))
	limit := o.Concurrency
	if limit <= 0 {
		limit = 128
	}
	return shards, sp.EachUpTo(ctx, limit, len(inputs), func(ctx context.Context, branch *blobio.Client, i int) error {
		err := parallel.Guarded(func() (err error) { // so that a panic names the input
			shards[i], err = openShard(ctx, branch, inputs[i], o)
			return err
		})
		if err != nil {
			return fmt.Errorf("input %d: %w", i+1, err)
		}
		if o.Progress != nil {
			o.Progress()
		}
		return nil
	})
}

// openOne opens the input of a root that has the same records as one shard; o has its defaults then.
func openOne(ctx context.Context, sp *blobio.Client, in Input, o Options) (*shard, Options, error) {
	o.Limits, o.AllowStandard = o.Limits.withDefaults(), true
	if o.Attempt == "" {
		o.Attempt = newAttempt()
	}
	shards, err := openAll(ctx, sp, []Input{in}, o)
	if err != nil {
		return nil, o, err
	}
	return shards[0], o, shards[0].refuseUnknown(ctx)
}

func openShard(ctx context.Context, sp *blobio.Client, in Input, o Options) (*shard, error) {
	if in.Size <= 0 {
		info, err := sp.Stat(ctx, in.URL)
		if err != nil {
			return nil, err
		}
		in.Size = info.Size
	}
	return readRoot(ctx, sp, in, o)
}

// readRoot reads all metadata of a shard whose root has in.Size bytes.
func readRoot(ctx context.Context, st meta.Store, in Input, o Options) (*shard, error) {
	r, err := meta.OpenRoot(ctx, st, in.URL, meta.Options{Size: in.Size, Policy: o.Policy})
	if err != nil {
		return nil, err
	}
	s := &shard{root: r, ids: in.FieldIDs, taken: in.Stripes}
	if err := s.readShard(ctx); err != nil {
		return nil, err
	}
	return s, s.readStripes(ctx)
}

// readShard reads what belongs to the shard as a whole.
func (s *shard) readShard(ctx context.Context) (err error) {
	r, dir := s.root, s.root.Directory()
	if s.schemaWire, err = r.Message(ctx, r.URL(), dir.SchemaRef); err != nil {
		return err
	}
	if s.schema, err = r.Schema(ctx); err != nil {
		return err
	}
	s.properties, s.propertyAnchor = new(metapb.ShardProperties), r.URL()
	if dir.PropertiesRef != nil {
		// A copy of its own: references in it are rewritten.
		if s.propertyAnchor, err = r.Decode(ctx, r.URL(), dir.PropertiesRef, s.properties); err != nil {
			return err
		}
	}
	if s.urls, err = r.URLList(ctx); err != nil {
		return err
	}
	if s.ids != nil {
		if len(s.ids) != int(s.schema.Count) {
			return fmt.Errorf("%w: %s: %d field ids for %d nodes", ErrSchema, r.URL(), len(s.ids), s.schema.Count)
		}
		return nil
	}
	s.ids, err = s.fieldIDs(ctx)
	return err
}

// readStripes reads the stripes and fetches their descriptors.
func (s *shard) readStripes(ctx context.Context) (err error) {
	if s.stripes, err = s.root.Stripes(ctx); err != nil {
		return err
	}
	if s.stripeAnchor, err = s.root.StripeAnchor(ctx); err != nil {
		return err
	}
	if err := s.take(); err != nil {
		return err
	}
	ids := make([]uint32, s.schema.Count)
	for i := range ids {
		ids[i] = uint32(i)
	}
	return s.root.LoadFields(ctx, s.taken, ids)
}

// take checks which stripes are requested; it is all of them if none is named.
func (s *shard) take() error {
	if s.taken == nil {
		s.taken = make([]int, len(s.stripes))
		for i := range s.taken {
			s.taken[i] = i
		}
		return nil
	}
	for i, n := range s.taken {
		if n < 0 || n >= len(s.stripes) || i > 0 && n <= s.taken[i-1] {
			return fmt.Errorf("%s: stripe %d of %d: selected stripes must exist and ascend", s.root.URL(), n, len(s.stripes))
		}
	}
	return nil
}
