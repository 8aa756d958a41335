package meta

import (
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// RootBuilder lays out the metadata of a root object: frames back to back in the order in which they are
// added, then the directory. It keeps everything in memory.
type RootBuilder struct {
	base  uint64
	buf   []byte
	draft bool
}

// NewRootBuilder starts a root that holds metadata only; the magic at its start is written.
func NewRootBuilder() *RootBuilder {
	return &RootBuilder{buf: append([]byte(nil), Magic[:]...)}
}

// NewRootBuilderAt continues an object of which the first base bytes, its magic and the buffers of its
// stripes, were written by others.
func NewRootBuilderAt(base uint64) *RootBuilder { return &RootBuilder{base: base} }

// Draft makes b write the messages that are added from now on in the form of the draft wire. Bloom filters with a seed are left
// out: the draft can't say it.
func (b *RootBuilder) Draft() { b.draft = true }

// Add appends m in a frame and returns the reference to it.
func (b *RootBuilder) Add(m proto.Message) *metapb.DataRef { return b.AddPayload(b.marshal(m)) }

// AddSchema appends a schema.
func (b *RootBuilder) AddSchema(s *schema.Schema) *metapb.DataRef {
	if b.draft {
		return b.AddPayload(schemawire.MarshalDraft(s))
	}
	return b.AddPayload(schemawire.Marshal(s))
}

func (b *RootBuilder) marshal(m proto.Message) []byte {
	payload := Marshal(m)
	if !b.draft {
		return payload
	}
	out, err := toDraft.message(payload, m.ProtoReflect().Descriptor(), 0)
	if err != nil {
		panic("meta: " + err.Error()) // the payload is ours
	}
	return out
}

// AddPayload appends a serialized message in a frame and returns the reference to it.
func (b *RootBuilder) AddPayload(payload []byte) *metapb.DataRef {
	start := b.base + uint64(len(b.buf))
	b.buf = AppendFrame(b.buf, payload)
	return SelfRef(start, b.base+uint64(len(b.buf)))
}

// Payload is what was added as ref, which Add or AddPayload returned.
func (b *RootBuilder) Payload(ref *metapb.DataRef) []byte {
	start, end := ref.GetRange().GetStart()-b.base, ref.GetRange().GetEnd()-b.base
	return b.buf[start+4 : end-4]
}

// Len is the number of bytes laid out so far, base not counted.
func (b *RootBuilder) Len() int { return len(b.buf) }

// Finish appends the directory, its length and the magic, and returns everything from base on. The builder
// is used up.
func (b *RootBuilder) Finish(dir *metapb.ShardDirectory) []byte {
	payload := b.marshal(dir)
	b.AddPayload(payload)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, uint32(len(payload)))
	return append(b.buf, Magic[:]...)
}
