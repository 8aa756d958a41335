package meta

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Reach lists every object that a reference of the shard names, by canonical URL, the root itself among them: of
// the directory, stripes, fields, buffers, block maps, indexes and properties, and of the URL list, which other
// writers leave incomplete. Artifacts are those of the objects that are shards of their own, with references of
// their own: the parts of indexes. All metadata is read.
//
// A reference that the root's policy refuses is an error. Those to the shard-level statistics of a field are the
// exception: some writers store the absolute URL at which the root was written; see ShardField.
func (r *Root) Reach(ctx context.Context) (objects, artifacts []string, err error) {
	w := &reach{ctx: ctx, r: r, known: map[string]bool{}}
	w.object(r.url)
	for _, step := range []func() error{w.shard, w.shardFields, w.stripes} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	return w.objects, w.artifacts, nil
}

// TermFilterType is the type of indexes whose artifacts are not shards: the term filters of package bloommatrix.
const TermFilterType = "shardcat-term-filter-v1"

type reach struct {
	ctx                context.Context
	r                  *Root
	known              map[string]bool
	objects, artifacts []string
}

// object notes an object.
func (w *reach) object(url string) {
	if !w.known[url] {
		w.known[url] = true
		w.objects = append(w.objects, url)
	}
}

// message notes what the references in m name, a message of the object anchor.
func (w *reach) message(anchor string, m proto.Message) (err error) {
	eachURL(m, func(ref string) {
		object, failed := w.r.Resolve(anchor, ref)
		if failed != nil {
			if err == nil {
				err = failed
			}
			return
		}
		w.object(object)
	})
	if err != nil {
		return err
	}
	eachBag(m, func(bag Properties) {
		if err == nil {
			err = w.follow(anchor, bag)
		}
	})
	return err
}

// follow notes the objects that references in properties lead to by way of others. What is damaged leads no further: that is
// for verification to say, and no reason to keep a collector from its work.
func (w *reach) follow(anchor string, bag Properties) error {
	for _, p := range bag {
		if p.GetName() == PropertyObjects {
			continue
		}
		err := w.r.VisitReferences(w.ctx, anchor, p.GetValue(), func(object string, _, _ int64) { w.object(object) })
		var damage *corrupt.Error
		if err != nil && !errors.As(err, &damage) {
			return err
		}
	}
	return nil
}

// shard goes through what belongs to the shard as a whole.
func (w *reach) shard() error {
	r := w.r
	if err := w.message(r.url, r.dir); err != nil {
		return err
	}
	if r.dir.PropertiesRef != nil {
		p := new(metapb.ShardProperties)
		anchor, err := r.Decode(w.ctx, r.url, r.dir.PropertiesRef, p)
		if err != nil {
			return err
		}
		if err := w.message(anchor, p); err != nil {
			return err
		}
	}
	if err := w.indexes(r.url, r.dir.IndexesRef); err != nil {
		return err
	}
	urls, err := r.URLList(w.ctx)
	if err != nil {
		return err
	}
	for _, ref := range urls.GetUrls() {
		object, err := r.Resolve(r.url, ref)
		if err != nil {
			return err
		}
		w.object(object)
	}
	return nil
}

// shardFields goes through the statistics of the whole shard.
func (w *reach) shardFields() error {
	s, err := w.r.Schema(w.ctx)
	if err != nil {
		return err
	}
	for id := range s.Count {
		f, err := w.r.ShardField(w.ctx, id)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		if err := w.message(w.r.url, f); err != nil {
			return err
		}
		if err := w.collection(w.r.url, f.Indexes); err != nil {
			return err
		}
	}
	return w.fieldObjects()
}

// fieldObjects notes the objects that hold the shard's field descriptors, as far as they may be read.
func (w *reach) fieldObjects() error {
	list, err := w.r.fieldList(w.ctx, w.r.url, w.r.dir.FieldListRef)
	if err != nil {
		return err
	}
	for i := range list.refs.Len() {
		ref, err := list.refs.Ref(i)
		if err != nil {
			return err
		}
		if ref == nil {
			continue
		}
		if object, err := w.r.Resolve(list.anchor, ref.Url); err == nil {
			w.object(object)
		}
	}
	return nil
}

// stripes goes through the stripes and their fields.
func (w *reach) stripes() error {
	r := w.r
	s, err := r.loadStripes(w.ctx)
	if err != nil {
		return err
	}
	w.object(s.anchor)
	schema, err := r.Schema(w.ctx)
	if err != nil {
		return err
	}
	all, ids := make([]int, len(s.list)), make([]uint32, schema.Count)
	for i := range all {
		all[i] = i
	}
	for i := range ids {
		ids[i] = uint32(i)
	}
	if err := r.LoadFields(w.ctx, all, ids); err != nil {
		return err
	}
	for i, dir := range s.list {
		if err := w.stripe(s.anchor, i, dir, ids); err != nil {
			return err
		}
	}
	return nil
}

func (w *reach) stripe(anchor string, i int, dir *metapb.StripeDirectory, ids []uint32) error {
	if err := w.message(anchor, dir); err != nil {
		return err
	}
	p := new(metapb.StripeProperties)
	at, err := w.r.stripePart(w.ctx, i, (*metapb.StripeDirectory).GetPropertiesRef, p)
	if err != nil {
		return err
	}
	if err := w.message(at, p); err != nil {
		return err
	}
	if err := w.indexes(anchor, dir.IndexesRef); err != nil {
		return err
	}
	for _, id := range ids {
		f, at, err := w.r.StripeField(w.ctx, i, id)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		w.object(at)
		if err := w.message(at, f); err != nil {
			return err
		}
		if err := w.collection(at, f.GetField().GetIndexes()); err != nil {
			return err
		}
	}
	return nil
}

// indexes reads a collection of indexes, if there is one.
func (w *reach) indexes(anchor string, ref *metapb.DataRef) error {
	if ref == nil {
		return nil
	}
	c := new(metapb.IndexCollection)
	at, err := w.r.Decode(w.ctx, anchor, ref, c)
	if err != nil {
		return err
	}
	if err := w.message(at, c); err != nil {
		return err
	}
	return w.collection(at, c)
}

// LayerIndexType is the type of indexes whose artifact is a layer file, and no shard.
const LayerIndexType = "layer-file-v1"

// collection notes the artifacts of indexes, which are shards of their own but for layer files.
func (w *reach) collection(anchor string, c *metapb.IndexCollection) error {
	for _, d := range c.GetIndexDescriptors() {
		for _, a := range d.Artifacts {
			if a.DataRef == nil {
				continue
			}
			object, err := w.r.Resolve(anchor, a.DataRef.Url)
			if err != nil {
				return err
			}
			w.object(object)
			if object != w.r.url && d.IndexType != TermFilterType && d.IndexType != LayerIndexType {
				w.artifacts = append(w.artifacts, object)
			}
		}
	}
	return nil
}
