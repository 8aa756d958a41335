package meta

import (
	"context"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// ShardField is the descriptor of the field with the given node number for the whole shard, nil where there
// is none.
//
// The reference writes the absolute URL of the root into the references to these descriptors. Once the shard
// was moved or renamed, that URL leads nowhere, or elsewhere. Therefore a list whose URLs are all the same
// absolute one is taken to mean the root as long as the bytes of the root bear it out: a frame of exactly the
// range's length, with the right checksum. What cannot be reached counts as absent, since such descriptors
// hold statistics only.
func (r *Root) ShardField(ctx context.Context, id uint32) (*metapb.FieldDescriptor, error) {
	list, err := r.fields.get(ctx, func() (*fieldList, error) {
		list, err := r.fieldList(ctx, r.url, r.dir.FieldListRef)
		if err == nil {
			list.oneURL = list.refs.oneURL()
		}
		return list, err
	})
	if err != nil {
		return nil, err
	}
	ref, err := list.refs.Ref(int(id))
	if err != nil || ref == nil {
		return nil, corrupt.Locate(err, list.anchor, 0)
	}
	m := new(metapb.FieldDescriptor)
	if list.oneURL && strings.Contains(ref.Url, ":") && r.holdsFrame(ctx, ref) {
		if _, err := r.Decode(ctx, r.url, SelfRef(ref.Range.Start, ref.Range.End), m); err != nil {
			return nil, err
		}
		return m, checkStatistics(m, r.url, -1, id)
	}
	if ref.Url != "" {
		if _, err := r.Resolve(list.anchor, ref.Url); err != nil {
			return nil, nil
		}
	}
	if _, err := r.Decode(ctx, list.anchor, ref, m); err != nil {
		if ref.Url != "" && ctx.Err() == nil {
			return nil, nil
		}
		return nil, err
	}
	return m, checkStatistics(m, r.url, -1, id)
}

// holdsFrame says that the range of ref in the root is one whole frame with a right checksum.
func (r *Root) holdsFrame(ctx context.Context, ref *metapb.DataRef) bool {
	start, end, err := RefRange(ref)
	if err != nil || end > r.size {
		return false
	}
	b, err := r.bytes(ctx, r.url, start, end)
	if err != nil {
		return false
	}
	payload, err := Unframe(b)
	return err == nil && len(payload)+FrameOverhead == len(b)
}
