package conformance

import (
	"context"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// graft is a shard of one object and one stripe that is taken apart, changed and put together again, with every checksum right:
// what is wrong then is only found by looking at what the bytes mean.
type graft struct {
	body    []byte // the root without its directory; the buffers keep their places
	dir     *metapb.ShardDirectory
	stripes *metapb.StripeList
	fields  []*metapb.StripeFieldDescriptor
	// behind are bytes behind the message of a field, in its frame; last changes the directory when all else is placed.
	behind map[int][]byte
	last   func(*metapb.ShardDirectory)
	// slack follows every frame of a field, inside its range; magic ends the object, the usual one if nil.
	slack, magic []byte
	// list changes the field list of the stripe.
	list func(*metapb.DataRefArray)
	// objects are others than the root, by their keys below its folder.
	objects map[string][]byte
}

// takeApart reads the root of a shard of one object.
func takeApart(ctx context.Context, client *blobio.Client, url string) (*graft, error) {
	b, _, err := client.ReadAll(ctx, url, 1<<24)
	if err != nil {
		return nil, err
	}
	r, err := meta.OpenRoot(ctx, client, url, meta.Options{})
	if err != nil {
		return nil, err
	}
	tail, err := meta.TailSize(b, int64(len(b)))
	if err != nil {
		return nil, err
	}
	g := &graft{body: b[:int64(len(b))-tail], dir: proto.CloneOf(r.Directory())}
	if g.stripes, err = r.StripeList(ctx); err != nil {
		return nil, err
	}
	s, err := r.Schema(ctx)
	if err != nil {
		return nil, err
	}
	for id := range s.Count {
		f, _, err := r.StripeField(ctx, 0, id)
		if err != nil {
			return nil, err
		}
		g.fields = append(g.fields, proto.CloneOf(f))
	}
	g.stripes = proto.CloneOf(g.stripes)
	return g, nil
}

// add appends a framed message.
func (g *graft) add(payload []byte) *metapb.DataRef {
	start := uint64(len(g.body))
	g.body = meta.AppendFrame(g.body, payload)
	return meta.SelfRef(start, uint64(len(g.body)))
}

// together gives the object: new descriptors, a new stripe list, a new directory behind what was there.
func (g *graft) together() []byte {
	list := meta.RefsOf(g.refs())
	if g.list != nil {
		g.list(list)
	}
	g.stripes.Stripes[0].FieldListRef = g.add(meta.Marshal(list))
	g.dir.StripeListRef = g.add(meta.Marshal(g.stripes))
	if g.last != nil {
		g.last(g.dir)
	}
	return g.close()
}

// close appends the directory.
func (g *graft) close() []byte {
	payload := meta.Marshal(g.dir)
	out := meta.AppendFrame(g.body, payload)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(payload)))
	if g.magic != nil {
		return append(out, g.magic...)
	}
	return append(out, meta.Magic[:]...)
}

// buffers of a field.
func (g *graft) buffers(field int) []*metapb.EncodedBuffer {
	return g.fields[field].Encodings[0].GetNative().Buffers
}

// buffer of a field, of a kind.
func (g *graft) buffer(field int, kind metapb.BufferKind) *metapb.EncodedBuffer {
	for _, b := range g.buffers(field) {
		if b.Kind == kind {
			return b
		}
	}
	panic(fmt.Sprintf("field %d has no buffer %v", field, kind)) // the shard is ours
}

// bytes of a buffer, in place.
func (g *graft) bytes(b *metapb.EncodedBuffer) []byte {
	return g.body[b.Buffer.Range.Start:b.Buffer.Range.End]
}

// blockMap is the bytes of a buffer's block map.
func (g *graft) blockMap(b *metapb.EncodedBuffer) []byte {
	return g.body[b.BlockMap.Range.Start:b.BlockMap.Range.End]
}

// block changes the first block of a field's buffer and makes its checksum right: values is its sub-block, presence its
// presence section.
func (g *graft) block(field int, kind metapb.BufferKind, change func(presence, values []byte)) {
	b := g.buffer(field, kind)
	m, err := colstream.ParseMap(g.blockMap(b))
	if err != nil {
		panic(err) // the shard is ours
	}
	start, end := m.Range(0)
	data := g.bytes(b)[start:end]
	f, err := block.ParseFrame(data, true)
	if err != nil {
		panic(err)
	}
	change(f.Presence, f.Values)
	binary.LittleEndian.PutUint32(data[len(data)-4:], meta.Checksum(data[:len(data)-4]))
}
