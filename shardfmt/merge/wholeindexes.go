package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// wholeIndex is an index of an input as a whole, in terms of the new root's schema.
type wholeIndex struct {
	of     *shard
	anchor string
	d      *metapb.IndexDescriptor
	// ofField: it stands in the description of its field.
	ofField bool
	// usable: scans rely on it, and the new root has its columns.
	usable, stays bool
}

// shardIndexes gives the new root indexes of the shard as a whole: where no record changes its position those that there are and those
// that are new, else what the inputs' are merged into.
func (m *merger) shardIndexes(ctx context.Context) error {
	c := new(metapb.IndexCollection)
	if !m.sameRecords() {
		all, err := m.wholeIndexes(ctx)
		if err == nil {
			err = m.joinIndexes(ctx, all, c)
		}
		if err != nil {
			return err
		}
	} else if s := m.shards[0]; s.root.Directory().IndexesRef != nil {
		anchor, err := s.root.Decode(ctx, s.root.URL(), s.root.Directory().IndexesRef, c)
		if err != nil {
			return err
		}
		m.keep(s, anchor, c, func(d *metapb.IndexDescriptor) bool { return !m.dropped(d) })
		if err := m.urls.move(s, anchor, wholeShard, c); err != nil {
			return err
		}
	}
	if m.indexChange != nil {
		if err := m.describeNew(stripeindex.Messages(m.indexChange.AddShard)); err != nil {
			return err
		}
		for _, d := range stripeindex.Messages(m.indexChange.AddShard) {
			m.addWhole(c, d)
		}
	}
	if len(c.IndexDescriptors) > 0 {
		m.directory.IndexesRef = m.root.Add(c)
	}
	return nil
}

// addWhole adds an index of the shard as a whole to c, or to the description of its field.
func (m *merger) addWhole(c *metapb.IndexCollection, d *metapb.IndexDescriptor) {
	id, ofField := stripeindex.FieldOf(d)
	if !ofField || int(id) >= len(m.shardFields) {
		c.IndexDescriptors = append(c.IndexDescriptors, d)
		return
	}
	if m.shardFields[id] == nil {
		m.shardFields[id] = new(metapb.FieldDescriptor)
	}
	addIndexes(m.shardFields[id], []*metapb.IndexDescriptor{d})
}

// wholeIndexes are the indexes of the inputs as wholes, input by input.
func (m *merger) wholeIndexes(ctx context.Context) (all [][]*wholeIndex, err error) {
	for _, s := range m.shards {
		var of []*wholeIndex
		if ref := s.root.Directory().IndexesRef; ref != nil {
			c := new(metapb.IndexCollection)
			anchor, err := s.root.Decode(ctx, s.root.URL(), ref, c)
			if err != nil {
				return nil, err
			}
			for _, d := range c.IndexDescriptors {
				of = append(of, m.wholeIndex(s, anchor, d))
			}
		}
		ofFields, err := m.wholeFieldIndexes(ctx, s)
		if err != nil {
			return nil, err
		}
		all = append(all, append(of, ofFields...))
	}
	return all, nil
}

// wholeIndex is an index of an input as a whole.
func (m *merger) wholeIndex(s *shard, anchor string, d *metapb.IndexDescriptor) *wholeIndex {
	x := &wholeIndex{of: s, anchor: anchor, d: d, usable: stripeindex.OfShardAsWhole(d, s.root.Directory().TotalRecordCount)}
	x.usable = m.renumber(s, d) && x.usable && len(s.taken) == len(s.stripes)
	return x
}

// wholeFieldIndexes are the indexes of fields of the shard as a whole. Those of the only stripe may be listed a second time there.
func (m *merger) wholeFieldIndexes(ctx context.Context, s *shard) (all []*wholeIndex, err error) {
	for id := range s.schema.Count {
		of := s.root.ShardFieldIndexes(ctx, id).GetIndexDescriptors()
		if len(of) == 0 {
			continue
		}
		if len(s.stripes) == 1 {
			f, _, err := s.root.StripeField(ctx, 0, id)
			if err != nil {
				return nil, err
			}
			of = slices.DeleteFunc(of, func(d *metapb.IndexDescriptor) bool {
				return slices.ContainsFunc(f.GetField().GetIndexes().GetIndexDescriptors(), func(x *metapb.IndexDescriptor) bool { return proto.Equal(x, d) })
			})
		}
		for _, d := range of {
			x := m.wholeIndex(s, s.root.URL(), proto.CloneOf(d))
			x.ofField, x.usable = true, x.usable && stripeindex.OfItsField(d)
			all = append(all, x)
		}
	}
	return all, nil
}

// joinIndexes puts the indexes together that all inputs with records have, into c. The others are dropped, and counted.
func (m *merger) joinIndexes(ctx context.Context, all [][]*wholeIndex, c *metapb.IndexCollection) error {
	var with [][]*wholeIndex // of the inputs with records
	for i, s := range m.shards {
		if s.root.Directory().TotalRecordCount > 0 {
			with = append(with, all[i])
		}
	}
	for len(with) > 0 && len(with[0]) > 0 {
		first := with[0][0]
		with[0] = with[0][1:]
		parts := together(first, with)
		if parts == nil {
			continue
		}
		d, err := m.joinIndex(ctx, parts, m.joinedIndexes)
		if err != nil {
			return err
		}
		if d == nil {
			continue
		}
		m.addWhole(c, d)
		for _, x := range parts {
			x.stays = true
		}
	}
	for _, of := range all {
		for _, x := range of {
			if !x.stays {
				m.droppedIndexes++
			}
			if !x.stays || len(with) > 1 {
				for _, a := range x.d.Artifacts {
					m.urls.leaveOut(x.of, x.anchor, a.GetDataRef().GetUrl())
				}
			}
		}
	}
	return nil
}

// together are the indexes, one of each input in order, that can be one with first, which is of the first; nil if an input has none.
func together(first *wholeIndex, with [][]*wholeIndex) []*wholeIndex {
	if !first.usable || !stripeindex.Alike(first.d, first.d) {
		return nil
	}
	parts := []*wholeIndex{first}
	for _, of := range with[1:] {
		found := false
		for _, x := range of {
			if x.usable && x.ofField == first.ofField && stripeindex.Alike(first.d, x.d) {
				parts, found = append(parts, x), true
				break
			}
		}
		if !found {
			return nil
		}
	}
	return parts
}

// joinIndex writes one index of several, the number-th. It is nil if one of them is damaged: a scan does without.
func (m *merger) joinIndex(ctx context.Context, parts []*wholeIndex, number int) (*metapb.IndexDescriptor, error) {
	if len(parts) == 1 { // no record moves
		d := proto.CloneOf(parts[0].d)
		return d, m.urls.move(parts[0].of, parts[0].anchor, wholeShard, &metapb.IndexCollection{IndexDescriptors: []*metapb.IndexDescriptor{d}})
	}
	in := make([]stripeindex.Part, len(parts))
	for i, x := range parts {
		in[i] = stripeindex.Part{Descriptor: x.d, Base: x.anchor, Stripes: len(x.of.stripes), Records: x.of.root.Directory().TotalRecordCount}
	}
	var d *metapb.IndexDescriptor
	var objects []shardwriter.Object
	damaged := func(err error) bool { return errors.Is(err, corrupt.ErrCorrupt) }
	err := nocache.Retry(ctx, damaged, func(ctx context.Context) (err error) {
		d, objects, err = m.join(ctx, number, in)
		return err
	})
	if errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, corrupt.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		m.written = append(m.written, o.URL)
		m.indexBytes += o.Size
	}
	m.joinedIndexes++
	return d, m.describeNew([]*metapb.IndexDescriptor{d})
}

// join writes one index of several, or leaves nothing.
func (m *merger) join(ctx context.Context, number int, in []stripeindex.Part) (*metapb.IndexDescriptor, []shardwriter.Object, error) {
	prefix, err := m.indexPrefix(number)
	if err != nil {
		return nil, nil, err
	}
	d, objects, err := stripeindex.Join(ctx, m.store, in,
		stripeindex.JoinOptions{Root: m.out, Prefix: prefix, Policy: m.options.Policy, Memory: m.options.IndexMemory})
	if err != nil {
		m.discardIndex(ctx, prefix)
	}
	return d, objects, err
}

// describeNew puts the objects of new indexes, described in terms of the new root, into its list.
func (m *merger) describeNew(all []*metapb.IndexDescriptor) error {
	for _, d := range all {
		for _, a := range d.Artifacts {
			object, err := urlresolve.Resolve(m.out, a.DataRef.GetUrl(), m.options.Policy)
			if err != nil {
				return err
			}
			m.urls.artifacts[object] = true
			if a.DataRef.Url, err = m.urls.store(object); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexPrefix is how the URLs of a merged index's objects start, under a name that no other has.
func (m *merger) indexPrefix(number int) (string, error) {
	id := newAttempt()
	if m.options.IndexPrefix != "" {
		return fmt.Sprintf("%s%s.index%d-", m.options.IndexPrefix, id, number), nil
	}
	name := strings.TrimSuffix(m.out[strings.LastIndexByte(m.out, '/')+1:], ".amudai.shard")
	return urlresolve.Resolve(m.out, fmt.Sprintf("%s-%s.index%d-", name, id, number), urlresolve.Policy{})
}

// discardIndex deletes what there is of an index that was not finished, found by its name: whether an object was written whose write failed, or that could
// not be read back, is known to the store alone. The context may have ended, so it is not asked.
func (m *merger) discardIndex(ctx context.Context, prefix string) {
	ctx = context.WithoutCancel(ctx)
	for o, err := range m.store.List(ctx, prefix) {
		if err != nil {
			return // a collection deletes the rest
		}
		_ = m.store.Delete(ctx, o.URL, "")
	}
}

// discard deletes what was written for a root that will not be. The context may have ended, so it is not asked.
func (m *merger) discard(ctx context.Context) {
	for _, url := range m.written {
		_ = m.store.Delete(context.WithoutCancel(ctx), url, "") // a collection deletes the rest
	}
	m.written = nil
}
