package merge

import (
	"bytes"
	"context"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

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
	if err := st.from.shorten(ctx, anchor, p.StandardProperties, p.CustomProperties); err != nil {
		return err
	}
	if err := m.urls.moveProperties(st.from, anchor, st.chunk(), p); err != nil {
		return err
	}
	st.dir.PropertiesRef = m.root.Add(p)
	return nil
}

// addShardParts adds what belongs to the shard as a whole, and completes the directory. What every reader needs comes
// last, so that the end of the root holds it.
func (m *merger) addShardParts(ctx context.Context) error {
	m.mergeDirectory()
	if err := m.shardIndexes(ctx); err != nil {
		return err
	}
	if err := m.mergeProperties(ctx); err != nil {
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

// urlList is the list of all objects: those that were met in references, and those that the inputs list. Of a
// shard that is changed only the former: its list names the marker or the indexes that were replaced.
func (m *merger) urlList() (*metapb.UrlList, error) {
	var unknown [][]byte
	for _, s := range m.shards {
		if !m.sameRecords() {
			if err := m.urls.addList(s); err != nil {
				return nil, err
			}
		}
		unknown = append(unknown, s.urls.ProtoReflect().GetUnknown())
	}
	if err := m.urls.check(); err != nil {
		return nil, err
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

// result reports what was written.
func (m *merger) result(root []byte) *Result {
	r := &Result{
		URL: m.out, Size: int64(len(root)), Root: root, Inputs: len(m.shards), Stripes: len(m.stripes),
		Records: m.directory.TotalRecordCount, Deleted: m.directory.DeletedRecordCount,
		RawDataSize: m.directory.RawDataSize, Objects: m.urls.objects, DroppedIndexes: m.droppedIndexes,
		JoinedIndexes: m.joinedIndexes, IndexBytes: m.indexBytes, Written: m.written,
	}
	r.CreationMin, r.CreationMax, r.CreationKnown = meta.Creation(m.properties)
	return r
}
