package merge

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// IndexChange is what ReplaceIndexes changes.
type IndexChange struct {
	Options
	// Drop reports whether an index of a stripe, or of the shard as a whole, goes; nil keeps all.
	Drop func(index.Descriptor) bool
	// Add are new indexes by the number of their stripe, AddShard such of the shard as a whole, described in terms of the new root. Their objects
	// exist.
	Add      map[int][]index.Descriptor
	AddShard []index.Descriptor
}

// ReplaceIndexes writes the shard out: the stripes of in with their data where it is, and other indexes. What a dropped
// index consists of is no longer referred to. No data is read; the requests are those of DeleteRecords without markers.
func ReplaceIndexes(ctx context.Context, sp *blobio.Client, out string, in Input, c IndexChange) (*Result, error) {
	s, o, err := openOne(ctx, sp, in, c.Options)
	if err != nil {
		return nil, err
	}
	for i := range c.Add {
		if i < 0 || i >= len(s.stripes) {
			return nil, fmt.Errorf("%s: an index of stripe %d, of %d", in.URL, i, len(s.stripes))
		}
	}
	s.mapping, s.identical = identityMapping(s.schema.Count), true
	m := &merger{out: out, options: o, target: newSchemaTarget(s.schema, s.schemaWire, s.ids), shards: []*shard{s}, urls: newURLs(out, o), indexChange: &c}
	root, err := m.build(ctx)
	if err != nil {
		return nil, err
	}
	if err := write(ctx, sp, out, root); err != nil {
		return nil, err
	}
	return m.result(root), nil
}

// sameRecords reports whether the new root has one shard's records, each at its position: only then do shard-wide
// indexes and descriptors stay true.
func (m *merger) sameRecords() bool {
	return m.deletion != nil || m.indexChange != nil || m.urls.places != nil
}

// addStripeIndexes adds the indexes of a stripe that stay, and those that it gets.
func (m *merger) addStripeIndexes(ctx context.Context, st *stripe) error {
	c := new(metapb.IndexCollection)
	if st.dir.IndexesRef != nil {
		anchor, err := st.from.root.Decode(ctx, st.from.stripeAnchor, st.dir.IndexesRef, c)
		if err != nil {
			return err
		}
		m.keepIndexes(st, anchor, c)
		if err := m.urls.move(st.from, anchor, st.chunk(), c); err != nil {
			return err
		}
	}
	if err := m.newIndexes(st, c); err != nil {
		return err
	}
	if st.dir.IndexesRef = nil; len(c.IndexDescriptors) > 0 {
		st.dir.IndexesRef = m.root.Add(c)
	}
	return nil
}

// newIndexes adds the indexes that a stripe gets.
func (m *merger) newIndexes(st *stripe, c *metapb.IndexCollection) error {
	if m.indexChange == nil {
		return nil
	}
	var add []*metapb.IndexDescriptor
	for _, d := range stripeindex.Messages(m.indexChange.Add[st.index]) {
		if _, ofField := stripeindex.FieldOf(d); !ofField {
			add = append(add, d)
		}
	}
	c.IndexDescriptors = append(c.IndexDescriptors, add...)
	return m.describeNew(add)
}

// newFieldIndexes adds the indexes that the description of a field in a stripe gets.
func (m *merger) newFieldIndexes(st *stripe, id uint32, f *metapb.FieldDescriptor) error {
	if m.indexChange == nil {
		return nil
	}
	var add []*metapb.IndexDescriptor
	for _, d := range stripeindex.Messages(m.indexChange.Add[st.index]) {
		if of, ofField := stripeindex.FieldOf(d); ofField && of == id {
			add = append(add, d)
		}
	}
	addIndexes(f, add)
	return m.describeNew(add)
}

// addIndexes adds indexes to the description of a field.
func addIndexes(f *metapb.FieldDescriptor, add []*metapb.IndexDescriptor) {
	if len(add) == 0 {
		return
	}
	if f.Indexes == nil {
		f.Indexes = new(metapb.IndexCollection)
	}
	f.Indexes.IndexDescriptors = append(f.Indexes.IndexDescriptors, add...)
}

// keepIndexes leaves those of a stripe's indexes that stay right in another shard: their positions start at the
// stripe, and the fields they cover are there. anchor is the object of their description.
func (m *merger) keepIndexes(st *stripe, anchor string, c *metapb.IndexCollection) {
	m.keep(st.from, anchor, c, func(d *metapb.IndexDescriptor) bool {
		if m.dropped(d) {
			return false
		}
		base, _ := meta.Properties(d.Properties).Text("position_base")
		return m.sameRecords() || base == "stripe" && m.renumber(st.from, d)
	})
}

// keep leaves the indexes that are right; the others are counted, and what they consist of is not listed for their sake.
func (m *merger) keep(s *shard, anchor string, c *metapb.IndexCollection, right func(*metapb.IndexDescriptor) bool) {
	if c == nil {
		return
	}
	kept := c.IndexDescriptors[:0]
	for _, d := range c.IndexDescriptors {
		if right(d) {
			kept = append(kept, d)
			continue
		}
		if d.GetIndexType() != meta.TermFilterType { // it goes with its index
			m.droppedIndexes++
		}
		for _, a := range d.Artifacts {
			m.urls.leaveOut(s, anchor, a.GetDataRef().GetUrl())
		}
	}
	c.IndexDescriptors = kept
}

// dropped reports whether an index is to go.
func (m *merger) dropped(d *metapb.IndexDescriptor) bool {
	return m.indexChange != nil && m.indexChange.Drop != nil && m.indexChange.Drop(stripeindex.DescriptorOf(d))
}

// renumber gives the fields of an index their numbers in the target; false if the target lacks one.
func (m *merger) renumber(s *shard, d *metapb.IndexDescriptor) bool {
	if s.identical {
		return true
	}
	for _, f := range d.IndexedFields {
		for i, old := range f.SchemaIds {
			id, ok := s.mapping.reverse(old)
			if !ok {
				return false
			}
			f.SchemaIds[i] = id
		}
	}
	return true
}

// reverse is the node of the target that node old of the input became.
func (m mapping) reverse(old uint32) (uint32, bool) {
	for id, from := range m {
		if from == old {
			return uint32(id), true
		}
	}
	return 0, false
}
