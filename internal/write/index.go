package write

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// Index is built beside the stripes of a shard, of the same batches.
type Index interface {
	// Kind is a word for the names of objects.
	Kind() string
	// Add takes the next records of the stripe at hand. Nothing of the batch is kept.
	Add(b arrow.RecordBatch) error
	// Size is about how many bytes are held.
	Size() int
	// Finish writes the index of the stripe at hand, as objects whose names start with prefix, and describes it in
	// terms of the shard's root; there are no descriptors if there is nothing to index. Then the next stripe begins. After an
	// error the objects are those that were written all the same.
	Finish(ctx context.Context, st Store, root, prefix string) ([]*metapb.IndexDescriptor, []Object, error)
	// Close writes what the stripes share, as objects whose names start with prefix, and completes their descriptors, which must not be
	// encoded before. It describes an index of the shard as a whole, if there is one.
	Close(ctx context.Context, st Store, root, prefix string) ([]*metapb.IndexDescriptor, []Object, error)
	// Abort lets go of what is held.
	Abort()
}

// finishIndexes writes the indexes of a stripe, the number-th.
func (w *objects) finishIndexes(ctx context.Context, number int) (*metapb.IndexCollection, error) {
	c := new(metapb.IndexCollection)
	for i, x := range w.o.Indexes {
		prefix := fmt.Sprintf("%s-%d.%s%d-", w.prefix, number, x.Kind(), i)
		d, objects, err := x.Finish(ctx, w.store, w.url, prefix)
		w.written = append(w.written, objects...)
		if err != nil {
			return nil, err
		}
		c.IndexDescriptors = append(c.IndexDescriptors, d...)
	}
	if len(c.IndexDescriptors) == 0 {
		return nil, nil
	}
	return c, nil
}

// closeIndexes writes what the indexes of all stripes share, and gives the indexes of the shard.
func (w *objects) closeIndexes(ctx context.Context) (*metapb.IndexCollection, error) {
	c := new(metapb.IndexCollection)
	for i, x := range w.o.Indexes {
		d, objects, err := x.Close(ctx, w.store, w.url, fmt.Sprintf("%s.%s%d-", w.prefix, x.Kind(), i))
		w.written = append(w.written, objects...)
		if err != nil {
			return nil, err
		}
		c.IndexDescriptors = append(c.IndexDescriptors, d...)
	}
	return c, nil
}
