package merge

import (
	"bytes"
	"context"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// StandardError is an input with standard properties; it matches ErrStandard.
type StandardError struct {
	// URL of the input, Name of its first standard property.
	URL, Name string
}

// Error implements error.
func (e *StandardError) Error() string {
	return fmt.Sprintf("%v: %s has %q", ErrStandard, e.URL, e.Name)
}

// Is matches ErrStandard.
func (e *StandardError) Is(target error) bool { return target == ErrStandard }

// addFieldLists adds the field list of every stripe.
func (m *merger) addFieldLists(ctx context.Context) error {
	for _, st := range m.stripes {
		old, _, err := st.from.root.StripeFieldList(ctx, st.index)
		if err != nil {
			return err
		}
		if m.byStripes {
			m.layStripe(st)
		}
		list := meta.RefsOf(st.fields)
		list.ProtoReflect().SetUnknown(old.Unknown())
		st.dir.FieldListRef = m.root.Add(list)
	}
	return nil
}

// addStripeParts adds the properties and indexes of the stripes, and makes the list of stripes.
func (m *merger) addStripeParts(ctx context.Context) error {
	list := new(metapb.StripeList)
	for _, st := range m.stripes {
		if err := m.addStripeProperties(ctx, st); err != nil {
			return err
		}
		if err := m.addStripeIndexes(ctx, st); err != nil {
			return err
		}
		if !st.from.identical {
			st.dir.RawDataSize = st.raw
		}
		list.Stripes = append(list.Stripes, st.dir)
	}
	var unknown [][]byte
	for _, s := range m.shards {
		old, err := s.root.StripeList(ctx)
		if err != nil {
			return err
		}
		unknown = append(unknown, old.ProtoReflect().GetUnknown())
	}
	list.ProtoReflect().SetUnknown(join(unknown))
	m.directory = &metapb.ShardDirectory{StripeCount: uint64(len(m.stripes))}
	m.stripeList = list
	return nil
}

func (m *merger) addStripeProperties(ctx context.Context, st *stripe) error {
	if m.marks(st) {
		return m.markerProperties(ctx, st)
	}
	if st.dir.PropertiesRef == nil {
		return nil
	}
	p := new(metapb.StripeProperties)
	anchor, err := st.from.root.Decode(ctx, st.from.stripeAnchor, st.dir.PropertiesRef, p)
	if err != nil {
		return err
	}
	if err := m.urls.move(st.from, anchor, p); err != nil {
		return err
	}
	st.dir.PropertiesRef = m.root.Add(p)
	return nil
}

func (m *merger) addStripeIndexes(ctx context.Context, st *stripe) error {
	if st.dir.IndexesRef == nil {
		return nil
	}
	c := new(metapb.IndexCollection)
	anchor, err := st.from.root.Decode(ctx, st.from.stripeAnchor, st.dir.IndexesRef, c)
	if err != nil {
		return err
	}
	c = m.keepIndexes(st, c)
	st.dir.IndexesRef = nil
	if c == nil {
		return nil
	}
	if err := m.urls.move(st.from, anchor, c); err != nil {
		return err
	}
	st.dir.IndexesRef = m.root.Add(c)
	return nil
}

// addShardParts adds what belongs to the shard as a whole, and completes the directory. What every reader needs comes
// last, so that the end of the root holds it.
func (m *merger) addShardParts(ctx context.Context) error {
	m.mergeDirectory()
	if err := m.shardIndexes(ctx); err != nil {
		return err
	}
	if err := m.mergeProperties(); err != nil {
		return err
	}
	list, err := m.urlList()
	if err != nil {
		return err
	}
	m.directory.UrlListRef = m.root.Add(list)
	refs := make([]*metapb.DataRef, len(m.shardFields))
	for id, f := range m.shardFields {
		if f != nil {
			refs[id] = m.root.Add(f)
		}
	}
	m.directory.FieldListRef = m.root.Add(meta.RefsOf(refs))
	m.directory.StripeListRef = m.root.Add(m.stripeList)
	payload := meta.Marshal(m.properties)
	if most := m.options.Limits.PropertyBytes; most > 0 && int64(len(payload)) > most {
		return limit("bytes of properties", int64(len(payload)), most)
	}
	m.directory.PropertiesRef = m.root.AddPayload(payload)
	m.directory.SchemaRef = m.root.AddPayload(m.target.wire)
	return nil
}

// mergeDirectory adds up the counts of the stripes.
func (m *merger) mergeDirectory() {
	var unknown [][]byte
	for _, s := range m.shards {
		unknown = append(unknown, s.root.Directory().ProtoReflect().GetUnknown())
		if s.root.Directory().IndexesRef != nil && m.deletion == nil {
			m.droppedIndexes++
		}
	}
	d := m.directory
	d.ProtoReflect().SetUnknown(join(unknown))
	for _, st := range m.stripes {
		d.TotalRecordCount += st.dir.TotalRecordCount
		d.DeletedRecordCount += st.dir.DeletedRecordCount
		if st.dir.RawDataSize != nil {
			sum := d.GetRawDataSize() + *st.dir.RawDataSize
			d.RawDataSize = &sum
		}
	}
}

// urlList is the list of all objects: those that were met in references, and those that the inputs list. After a
// deletion only the former: the list of the input names the object of the marker that was replaced.
func (m *merger) urlList() (*metapb.UrlList, error) {
	var unknown [][]byte
	for _, s := range m.shards {
		if m.deletion == nil {
			if err := m.urls.addList(s); err != nil {
				return nil, err
			}
		}
		unknown = append(unknown, s.urls.ProtoReflect().GetUnknown())
	}
	list := m.urls.list()
	list.ProtoReflect().SetUnknown(join(unknown))
	return list, nil
}

// join puts the unknown fields of equal messages one behind the other, each once.
func join(all [][]byte) []byte {
	var joined []byte
	for i, b := range all {
		seen := false
		for _, earlier := range all[:i] {
			if seen = bytes.Equal(earlier, b); seen {
				break
			}
		}
		if !seen {
			joined = append(joined, b...)
		}
	}
	return joined
}

// keepIndexes are those of a stripe's indexes that stay right in another shard: their positions start at the
// stripe, and the fields they cover are there. The others are left out and counted. It is nil if none is left.
func (m *merger) keepIndexes(st *stripe, c *metapb.IndexCollection) *metapb.IndexCollection {
	if c == nil || m.deletion != nil { // no record changes its position
		return c
	}
	kept := c.IndexDescriptors[:0]
	for _, d := range c.IndexDescriptors {
		base, _ := meta.Properties(d.Properties).Text("position_base")
		if base != "stripe" || !m.renumber(st, d) {
			m.droppedIndexes++
			continue
		}
		kept = append(kept, d)
	}
	if c.IndexDescriptors = kept; len(kept) == 0 {
		return nil
	}
	return c
}

// renumber gives the fields of an index their numbers in the target; false if the target lacks one.
func (m *merger) renumber(st *stripe, d *metapb.IndexDescriptor) bool {
	if st.from.identical {
		return true
	}
	for _, f := range d.IndexedFields {
		for i, old := range f.SchemaIds {
			id, ok := st.from.mapping.reverse(old)
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

// result tells what was written.
func (m *merger) result(root []byte) *Result {
	r := &Result{
		URL: m.out, Size: int64(len(root)), Root: root, Inputs: len(m.shards), Stripes: len(m.stripes),
		Records: m.directory.TotalRecordCount, Deleted: m.directory.DeletedRecordCount,
		RawDataSize: m.directory.RawDataSize, Objects: m.urls.objects, DroppedIndexes: m.droppedIndexes,
	}
	r.CreationMin, r.CreationMax, r.CreationKnown = meta.Creation(m.properties)
	return r
}
