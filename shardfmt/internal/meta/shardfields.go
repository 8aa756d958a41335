package meta

import (
	"context"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
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
	list, err := r.shardFields(ctx)
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

// shardFields is the list of the shard's descriptors.
func (r *Root) shardFields(ctx context.Context) (*fieldList, error) {
	return r.fields.get(ctx, func() (*fieldList, error) {
		list, err := r.fieldList(ctx, r.url, r.dir.FieldListRef)
		if err == nil {
			list.oneURL = list.refs.oneURL()
		}
		return list, err
	})
}

// holdsFrame reports whether the range of ref in the root is one whole frame with a right checksum.
func (r *Root) holdsFrame(ctx context.Context, ref *metapb.DataRef) bool {
	return r.frame(ctx, ref) != nil
}

// frame is the message of which the range of ref in the root is the frame, nil if it is none with a right checksum.
func (r *Root) frame(ctx context.Context, ref *metapb.DataRef) []byte {
	start, end, err := RefRange(ref)
	if err != nil || end > r.size {
		return nil
	}
	b, err := r.bytes(ctx, r.url, start, end)
	if err != nil {
		return nil
	}
	payload, err := Unframe(b)
	if err != nil || len(payload)+FrameOverhead != len(b) {
		return nil
	}
	return payload
}

// indexesField is the number of indexes in a FieldDescriptor.
const indexesField = 9

// ShardFieldIndexes are the indexes of field id of the shard as a whole, as far as its description lies in the root; nil for none, or where it
// does not hold.
func (r *Root) ShardFieldIndexes(ctx context.Context, id uint32) *metapb.IndexCollection {
	list, err := r.shardFields(ctx)
	if err != nil || list.anchor != r.url {
		return nil
	}
	ref, err := list.refs.Ref(int(id))
	if err != nil || ref == nil || ref.Url != "" || !hasField(r.frame(ctx, ref), indexesField) {
		return nil
	}
	m := new(metapb.FieldDescriptor)
	if _, err := r.Decode(ctx, r.url, ref, m); err != nil {
		return nil
	}
	return m.Indexes
}

// hasField reports whether a message has a field.
func hasField(message []byte, want protowire.Number) bool {
	for len(message) > 0 {
		number, _, n := protowire.ConsumeField(message)
		if number == want || n < 0 {
			return number == want
		}
		message = message[n:]
	}
	return false
}
