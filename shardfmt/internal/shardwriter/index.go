package shardwriter

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// IndexTarget is where an index is written: as objects of Store whose names start with Prefix. Root is the object that will hold the descriptor, whose
// references are relative to it.
type IndexTarget struct {
	Store        Store
	Root, Prefix string
}

// Index is built beside the stripes of a shard, of the same batches.
type Index interface {
	// Kind is a word for the names of objects.
	Kind() string
	// Add takes the next records of the stripe available. Nothing of the batch is kept.
	Add(b arrow.RecordBatch) error
	// Size is about how many bytes are held.
	Size() int
	// Finish writes the index of the stripe available and describes it; there are no descriptors if there is nothing to index. Then the
	// next stripe begins. After an error the objects are those that were written all the same.
	Finish(ctx context.Context, to IndexTarget) ([]*metapb.IndexDescriptor, []Object, error)
	// Close writes what the stripes share and completes their descriptors, which must not be encoded before. It describes an index of the
	// shard as a whole, if there is one.
	Close(ctx context.Context, to IndexTarget) ([]*metapb.IndexDescriptor, []Object, error)
	// Abort lets go of what is held.
	Abort()
}

// PropertyHolder reports where the descriptor of an index stands: HolderField in the description of its field, else among those of the stripe or
// shard. Term filters stand there in any case.
const (
	PropertyHolder = "shardcat.holder"
	HolderField    = "field"
)

// described are the indexes of a stripe, or of the shard.
type described struct {
	all *metapb.IndexCollection // nil for none
	// ofFields stand in the descriptions of fields, by their number.
	ofFields map[uint32]*metapb.IndexCollection
}

// add puts descriptors to where they stand.
func (x *described) add(all []*metapb.IndexDescriptor) {
	for _, d := range all {
		c := &x.all
		var of *metapb.IndexCollection
		id, inField := FieldOf(d)
		if inField {
			of = x.ofFields[id]
			c = &of
		}
		if *c == nil {
			*c = new(metapb.IndexCollection)
		}
		(*c).IndexDescriptors = append((*c).IndexDescriptors, d)
		if inField {
			if x.ofFields == nil {
				x.ofFields = map[uint32]*metapb.IndexCollection{}
			}
			x.ofFields[id] = *c
		}
	}
}

// FieldOf is the field in whose description an index stands; ok is false for one that stands among those of a stripe or shard.
func FieldOf(d *metapb.IndexDescriptor) (id uint32, ok bool) {
	holder, _ := meta.Properties(d.Properties).Text(PropertyHolder)
	if holder != HolderField || d.IndexType == meta.TermFilterType || len(d.IndexedFields) != 1 || len(d.IndexedFields[0].SchemaIds) != 1 {
		return 0, false
	}
	return d.IndexedFields[0].SchemaIds[0], true
}

// finishIndexes writes the indexes of a stripe, the number-th.
func (w *objects) finishIndexes(ctx context.Context, number int) (c described, err error) {
	for i, x := range w.o.Indexes {
		prefix := fmt.Sprintf("%s-%d.%s%d-", w.prefix, number, x.Kind(), i)
		d, objects, err := x.Finish(ctx, IndexTarget{w.store, w.url, prefix})
		w.written = append(w.written, objects...)
		if err != nil {
			return c, err
		}
		c.add(d)
	}
	return c, nil
}

// closeIndexes writes what the indexes of all stripes share, and gives the indexes of the shard.
func (w *objects) closeIndexes(ctx context.Context) (c described, err error) {
	for i, x := range w.o.Indexes {
		d, objects, err := x.Close(ctx, IndexTarget{w.store, w.url, fmt.Sprintf("%s.%s%d-", w.prefix, x.Kind(), i)})
		w.written = append(w.written, objects...)
		if err != nil {
			return c, err
		}
		c.add(d)
	}
	return c, nil
}
