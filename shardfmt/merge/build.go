package merge

import (
	"context"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// merger builds one root.
type merger struct {
	out     string
	options Options
	target  *target
	shards  []*shard
	urls    *urls

	root *meta.RootBuilder
	// stripes of the new root in order.
	stripes []*stripe
	// shardFields are the folded descriptors by node number of the target.
	shardFields []*metapb.FieldDescriptor
	directory   *metapb.ShardDirectory
	stripeList  *metapb.StripeList
	properties  *metapb.ShardProperties
	// complete: every stripe has a descriptor of every field.
	complete bool
	// bounds are collected as long as the root may be laid out by stripes, nil then.
	bounds         *meta.BoundsBuilder
	byStripes      bool
	columns        *meta.RootBuilder // the descriptors by columns, where byStripes
	droppedIndexes int
	// store takes merged indexes: their objects are written, joinedIndexes of them with indexBytes.
	store         *blobio.Client
	written       []string
	joinedIndexes int
	indexBytes    int64
	// deletion is what DeleteRecords changes, nil for Concat.
	deletion *deletion
	// indexChange is what ReplaceIndexes changes, nil otherwise.
	indexChange *IndexChange
}

// stripe is one stripe of the new root.
type stripe struct {
	from *shard
	// index of the stripe in its input.
	index int
	dir   *metapb.StripeDirectory
	// fields are the references to the copied descriptors, by node number of the target.
	fields []*metapb.DataRef
	// positions of the fields copied so far, by node number of the target.
	positions map[uint32]uint64
	// raw is the sum of the descriptors' raw data sizes, if any has one.
	raw *uint64
}

// chunk is what belongs to the stripe and to no column. Where data moves, the new root has the stripes of one shard.
func (st *stripe) chunk() chunk { return chunk{int32(st.index), noColumn} }

// build lays out the new root.
func (m *merger) build(ctx context.Context) ([]byte, error) {
	m.root = meta.NewRootBuilder()
	for _, step := range []func(context.Context) error{
		m.checkInputs, m.listStripes, m.copyColumns, m.arrange, m.addFieldLists, m.addStripeParts, m.addShardParts,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
		if most := m.options.Limits.RootBytes; most > 0 && int64(m.root.Len()) > most {
			return nil, limit("bytes of metadata", int64(m.root.Len()), most)
		}
	}
	return m.root.Finish(m.directory), nil
}

// checkInputs refuses inputs that must not be merged with each other.
func (m *merger) checkInputs(ctx context.Context) error {
	deleted, clean := "", ""
	for _, s := range m.shards {
		switch dir := s.root.Directory(); {
		case dir.DeletedRecordCount > 0:
			deleted = s.root.URL()
		case dir.TotalRecordCount > 0:
			clean = s.root.URL()
		}
		if err := m.checkExternal(s); err != nil {
			return err
		}
		if len(s.properties.StandardProperties) > 0 && !m.options.AllowStandard {
			return fmt.Errorf("%w: %s has %q", errStandard, s.root.URL(), s.properties.StandardProperties[0].GetName())
		}
	}
	if deleted != "" && clean != "" {
		return fmt.Errorf("%w: %s has some, %s has none", errDeleted, deleted, clean)
	}
	return m.checkTags(ctx)
}

// checkTags refuses inputs of different drop-by tags, whatever the options say: records of both could not be dropped apart any more.
func (m *merger) checkTags(ctx context.Context) error {
	if !slices.ContainsFunc(m.shards, func(s *shard) bool { return meta.Properties(s.properties.StandardProperties).Get(meta.DropBy) != nil }) {
		return nil
	}
	var first []string
	for i, s := range m.shards {
		bags, err := s.root.ReadProperties(ctx)
		if err != nil {
			return err
		}
		tags := bags.Standard.DropByTags()
		if i > 0 && !slices.Equal(tags, first) {
			return fmt.Errorf("%w: %s has %q, %s has %q", errTags, m.shards[0].root.URL(), first, s.root.URL(), tags)
		}
		first = tags
	}
	return nil
}

// checkExternal refuses an input outside the folder of the new root, also one that refers to nothing.
func (m *merger) checkExternal(s *shard) error {
	if m.options.AllowExternal || m.urls.places != nil { // a packed shard is joined under its own name
		return nil
	}
	probe := newURLs(m.out, m.options)
	_, err := probe.store(s.root.URL())
	return err
}

// refBytes is what a field list takes for each field of each stripe.
const refBytes = 18

// listStripes copies the directories of all stripes and gives them their positions.
func (m *merger) listStripes(context.Context) error {
	if err := m.checkSize(); err != nil {
		return err
	}
	position := uint64(0)
	for _, s := range m.shards {
		for _, i := range s.taken {
			dir := s.stripes[i]
			copied := proto.CloneOf(dir)
			copied.ShardPosition = position
			if position+dir.TotalRecordCount > math.MaxInt64 || position+dir.TotalRecordCount < position {
				return limit("records", math.MaxInt64, math.MaxInt64)
			}
			position += dir.TotalRecordCount
			m.stripes = append(m.stripes, &stripe{
				from: s, index: i, dir: copied,
				fields:    make([]*metapb.DataRef, len(m.target.nodes)),
				positions: map[uint32]uint64{},
			})
		}
	}
	return nil
}

// checkSize refuses what will be too large before anything is allocated for it.
func (m *merger) checkSize() error {
	stripes := 0
	for _, s := range m.shards {
		stripes += len(s.taken)
	}
	if most := m.options.Limits.Stripes; most > 0 && stripes > most {
		return limit("stripes", int64(stripes), int64(most))
	}
	lists := refBytes * int64(stripes) * int64(len(m.target.nodes))
	if most := m.options.Limits.RootBytes; most > 0 && lists > most {
		return limit("bytes of field lists", lists, most)
	}
	return nil
}

// copyColumns copies the descriptors, field by field, and folds them into those of the shard.
func (m *merger) copyColumns(ctx context.Context) error {
	m.complete, m.bounds = true, new(meta.BoundsBuilder)
	m.shardFields = make([]*metapb.FieldDescriptor, len(m.target.nodes))
	most := m.options.Limits.RootBytes
	for id := range uint32(len(m.target.nodes)) {
		for _, st := range m.stripes {
			d, err := m.descriptor(ctx, st, id)
			if err != nil {
				return err
			}
			m.note(d.GetField())
			if d == nil {
				m.complete = false
				continue
			}
			st.fields[id] = m.root.Add(d)
			st.note(id, d.Field)
			m.shardFields[id] = stats.Fold(m.shardFields[id], d.Field)
			if most > 0 && int64(m.root.Len()) > most {
				return limit("bytes of metadata and more", int64(m.root.Len()), most)
			}
		}
		if err := m.shardField(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// note keeps of a descriptor what is needed later.
func (st *stripe) note(id uint32, f *metapb.FieldDescriptor) {
	st.positions[id] = f.PositionCount
	if f.RawDataSize == nil {
		return
	}
	if st.raw == nil {
		st.raw = new(uint64)
	}
	*st.raw += *f.RawDataSize
}

// descriptor is the descriptor of a field of the target in one stripe, with references of the new root; nil
// where neither the stripe has one nor one can be made up.
func (m *merger) descriptor(ctx context.Context, st *stripe, id uint32) (*metapb.StripeFieldDescriptor, error) {
	if d, err := m.marker(st, id); d != nil || err != nil {
		return d, err
	}
	old := st.from.mapping[id]
	if old != lacking {
		d, anchor, err := st.from.root.StripeField(ctx, st.index, old)
		if err != nil {
			return nil, err
		}
		if d != nil {
			if m.keepIndexes(st, anchor, d.Field.Indexes); len(d.Field.Indexes.GetIndexDescriptors()) == 0 {
				d.Field.Indexes = nil
			}
			if st.from.root.Draft() {
				d.Field.MembershipFilters = nil // whose seed the draft does not state
			}
			if err := st.from.shorten(ctx, anchor, d.Field.StandardProperties, d.Field.CustomProperties); err != nil {
				return nil, err
			}
			if err := m.urls.move(st.from, anchor, m.chunkOf(st, id), d); err != nil {
				return nil, err
			}
			return d, m.newFieldIndexes(st, id, d.Field)
		}
	}
	node := m.target.nodes[id]
	n, ok := m.positionsIn(st, node.Parent)
	if !ok || len(node.Children) > 0 || node.Basic >= schema.List {
		return nil, nil
	}
	return allNull(node, n), nil
}

// chunkOf is what the data of a field in a stripe belongs to.
func (m *merger) chunkOf(st *stripe, id uint32) chunk {
	n := m.target.nodes[id]
	for n.Parent != schema.NoParent {
		n = m.target.nodes[n.Parent]
	}
	return chunk{int32(st.index), int32(n.ID)}
}

// positionsIn is how many positions a child of parent has in a stripe, as far as that is known without its own
// descriptor: those of the records, or of the Struct it lies in.
func (m *merger) positionsIn(st *stripe, parent uint32) (uint64, bool) {
	if parent == schema.NoParent {
		return st.dir.TotalRecordCount, true
	}
	n, ok := st.positions[parent]
	return n, ok && m.target.nodes[parent].Basic == schema.Struct && n <= math.MaxInt64
}
