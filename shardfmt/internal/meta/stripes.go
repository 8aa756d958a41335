package meta

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// fieldList is a list of references to field descriptors, with the object it was read from.
type fieldList struct {
	refs   *RefArray
	anchor string
	// oneURL, for a shard's list only: all URLs that are not empty are the same.
	oneURL bool
}

// stripeList is the list of stripes, with the object it was read from and the field lists read so far.
type stripeList struct {
	anchor  string
	message *metapb.StripeList
	list    []*metapb.StripeDirectory
	fields  []memo[*fieldList]
}

// Stripes are the stripes of the shard in order. Their number, the sums of their records and their positions
// are checked against each other and against the directory.
func (r *Root) Stripes(ctx context.Context) ([]*metapb.StripeDirectory, error) {
	s, err := r.loadStripes(ctx)
	if err != nil {
		return nil, err
	}
	return s.list, nil
}

func (r *Root) loadStripes(ctx context.Context) (*stripeList, error) {
	return r.stripes.get(ctx, func() (*stripeList, error) {
		m := new(metapb.StripeList)
		url, err := r.Decode(ctx, r.url, r.dir.StripeListRef, m)
		if err != nil {
			return nil, err
		}
		if err := checkStripes(r.dir, m.Stripes); err != nil {
			return nil, corrupt.Locate(err, url, int64(r.dir.StripeListRef.GetRange().GetStart())+4)
		}
		return &stripeList{
			anchor: url, message: m, list: m.Stripes, fields: make([]memo[*fieldList], len(m.Stripes)),
		}, nil
	})
}

// checkStripes checks what the stripes and the directory state about each other.
func checkStripes(dir *metapb.ShardDirectory, stripes []*metapb.StripeDirectory) error {
	if uint64(len(stripes)) != dir.StripeCount {
		return corrupt.At(0, "%d stripes, the directory says %d", len(stripes), dir.StripeCount)
	}
	var records, deleted uint64
	for i, s := range stripes {
		if s.FieldListRef == nil {
			return corrupt.At(0, "stripe %d has no field_list_ref", i)
		}
		if s.ShardPosition != records {
			return corrupt.At(0, "stripe %d starts at record %d, but %d records precede it", i, s.ShardPosition, records)
		}
		if s.DeletedRecordCount > s.TotalRecordCount {
			return corrupt.At(0, "stripe %d: %d of %d records are deleted", i, s.DeletedRecordCount, s.TotalRecordCount)
		}
		if s.TotalRecordCount > dir.TotalRecordCount-records {
			return corrupt.At(0, "stripes up to %d hold more records than the directory's %d", i, dir.TotalRecordCount)
		}
		records += s.TotalRecordCount
		deleted += s.DeletedRecordCount
	}
	if records != dir.TotalRecordCount || deleted != dir.DeletedRecordCount {
		return corrupt.At(0, "stripes hold %d records, %d deleted; the directory says %d and %d",
			records, deleted, dir.TotalRecordCount, dir.DeletedRecordCount)
	}
	return nil
}

// stripe gives the directory of stripe i and the object it stands in.
func (r *Root) stripe(ctx context.Context, i int) (*stripeList, *metapb.StripeDirectory, error) {
	s, err := r.loadStripes(ctx)
	if err != nil {
		return nil, nil, err
	}
	if i < 0 || i >= len(s.list) {
		return nil, nil, corrupt.Locate(corrupt.At(-1, "stripe %d of %d", i, len(s.list)), r.url, 0)
	}
	return s, s.list[i], nil
}

// StripeProperties are the properties of stripe i, empty if it has none.
func (r *Root) StripeProperties(ctx context.Context, i int) (*metapb.StripeProperties, error) {
	m := new(metapb.StripeProperties)
	anchor, err := r.stripePart(ctx, i, (*metapb.StripeDirectory).GetPropertiesRef, m)
	if err != nil {
		return nil, err
	}
	return m, checkObjects(m.CustomProperties, anchor)
}

// StripeIndexes are the indexes of stripe i, empty if it has none.
func (r *Root) StripeIndexes(ctx context.Context, i int) (*metapb.IndexCollection, error) {
	m := new(metapb.IndexCollection)
	_, err := r.stripePart(ctx, i, (*metapb.StripeDirectory).GetIndexesRef, m)
	return m, err
}

// stripePart decodes the message that a reference of stripe i leads to, if there is one, and gives the object
// it lies in.
func (r *Root) stripePart(ctx context.Context, i int, ref func(*metapb.StripeDirectory) *metapb.DataRef, m proto.Message) (anchor string, err error) {
	s, dir, err := r.stripe(ctx, i)
	if err != nil || ref(dir) == nil {
		return r.url, err
	}
	return r.Decode(ctx, s.anchor, ref(dir), m)
}

// StripeList is the message that holds the directories of the stripes, checked as Stripes does.
func (r *Root) StripeList(ctx context.Context) (*metapb.StripeList, error) {
	s, err := r.loadStripes(ctx)
	if err != nil {
		return nil, err
	}
	return s.message, nil
}

// StripeAnchor is the object that holds the list of stripes: the one that references without URL mean there.
func (r *Root) StripeAnchor(ctx context.Context) (string, error) {
	s, err := r.loadStripes(ctx)
	if err != nil {
		return "", err
	}
	return s.anchor, nil
}

// StripeField is the descriptor of the field with the given node number in stripe i, and the object it was
// read from, which is the anchor of the references in it. It is nil where the stripe lacks the field: all its
// values are null then.
func (r *Root) StripeField(ctx context.Context, i int, id uint32) (*metapb.StripeFieldDescriptor, string, error) {
	m, url, _, err := r.stripeField(ctx, i, id)
	return m, url, err
}

// stripeField is StripeField with the size of the serialized descriptor.
func (r *Root) stripeField(ctx context.Context, i int, id uint32) (m *metapb.StripeFieldDescriptor, url string, size int, err error) {
	if m, size, err := r.fromColumn(i, id); m != nil || err != nil {
		return m, r.url, size, err
	}
	list, err := r.stripeFields(ctx, i)
	if err != nil {
		return nil, "", 0, err
	}
	ref, start, end, err := list.refs.At(int(id))
	if err != nil || start == end {
		return nil, "", 0, corrupt.Locate(err, list.anchor, 0)
	}
	payload, url, err := r.messageAt(ctx, list.anchor, ref, uint64(start), uint64(end))
	if err != nil {
		return nil, "", 0, err
	}
	m = new(metapb.StripeFieldDescriptor)
	if err := unmarshal(payload, m); err != nil {
		return nil, "", 0, corrupt.Locate(err, url, start+4)
	}
	return m, url, int(end - start), checkField(m, url, start+4, i, id)
}

// stripeFields is the field list of stripe i.
func (r *Root) stripeFields(ctx context.Context, i int) (*fieldList, error) {
	s, dir, err := r.stripe(ctx, i)
	if err != nil {
		return nil, err
	}
	return s.fields[i].get(ctx, func() (*fieldList, error) { return r.fieldList(ctx, s.anchor, dir.FieldListRef) })
}

// StripeFieldList is the list of references to the descriptors of stripe i, by node number, and the object
// they are relative to.
func (r *Root) StripeFieldList(ctx context.Context, i int) (*RefArray, string, error) {
	list, err := r.stripeFields(ctx, i)
	if err != nil {
		return nil, "", err
	}
	return list.refs, list.anchor, nil
}

func (r *Root) fieldList(ctx context.Context, anchor string, ref *metapb.DataRef) (*fieldList, error) {
	payload, url, err := r.message(ctx, anchor, ref)
	if err != nil {
		return nil, err
	}
	refs, err := ParseRefArray(payload)
	if err != nil {
		return nil, corrupt.Locate(err, url, int64(ref.GetRange().GetStart())+4)
	}
	return &fieldList{refs: refs, anchor: url}, nil
}
