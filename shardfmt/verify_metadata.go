package shardfmt

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// metadata checks the messages of the shard as a whole: directory, schema, properties, lists, descriptors.
func (v *verifier) metadata() {
	root := v.shard.root
	dir := root.Directory()
	v.magics(v.url, root.Size())
	v.directory()
	v.frame(v.url, dir.SchemaRef)
	if _, err := root.Schema(v.ctx); err != nil {
		v.error(err)
	}
	v.message(v.url, dir.PropertiesRef, new(metapb.ShardProperties))
	v.message(v.url, dir.UrlListRef, new(metapb.UrlList))
	v.message(v.url, dir.StripeListRef, new(metapb.StripeList))
	v.message(v.url, dir.IndexesRef, new(metapb.IndexCollection))
	v.shardFields()
}

// magics checks both ends of an object. Other versions than ours are damage in an object of our own.
func (v *verifier) magics(url string, size int64) {
	n := int64(len(meta.Magic))
	for _, at := range [...]int64{0, size - n} {
		if at < 0 {
			continue
		}
		b, err := v.read(url, uint64(at), uint64(at+n))
		if err != nil {
			v.error(err)
			return
		}
		v.cover(url, at, at+n)
		if err := meta.CheckMagic(b); err != nil {
			v.error(corrupt.Locate(err, url, at))
		} else if !bytes.Equal(b, meta.Magic[:]) {
			v.find(url, at, fmt.Sprintf("format version % x is not known", b[4:]))
		}
	}
}

// directory checks what opening does not: that both copies of the directory's length agree.
func (v *verifier) directory() {
	size := v.shard.root.Size()
	b, err := v.read(v.url, uint64(size-12), uint64(size-8))
	if err != nil {
		v.error(err)
		return
	}
	n := int64(binary.LittleEndian.Uint32(b))
	start := size - 20 - n
	if first, err := v.read(v.url, uint64(start), uint64(start+4)); err != nil {
		v.error(err)
	} else if !bytes.Equal(first, b) {
		v.find(v.url, start, "the two lengths of the directory differ")
	}
	v.cover(v.url, start, size-8)
}

// frame checks a framed message, which must fill its range, and gives its payload and object; nil if there is
// none or it is damaged.
func (v *verifier) frame(anchor string, ref *metapb.DataRef) (payload []byte, url string) {
	if ref == nil || meta.IsEmpty(ref) {
		return nil, ""
	}
	url, err := v.shard.root.Resolve(anchor, ref.GetUrl())
	if err != nil {
		v.error(err)
		return nil, ""
	}
	start, end, err := meta.RefRange(ref)
	if err != nil {
		v.error(corrupt.Locate(err, anchor, 0))
		return nil, ""
	}
	b, err := v.read(url, uint64(start), uint64(end))
	if err != nil {
		v.error(err)
		return nil, ""
	}
	v.cover(url, start, end)
	if payload, err = meta.Unframe(b); err != nil {
		v.error(corrupt.Locate(err, url, start))
		return nil, ""
	}
	if behind := len(b) - meta.FrameOverhead - len(payload); behind > 0 {
		v.find(url, start, fmt.Sprintf("message of %d bytes in a range of %d", len(payload), len(b)))
	}
	return payload, url
}

// message checks a framed protobuf message and reads it into m.
func (v *verifier) message(anchor string, ref *metapb.DataRef, m proto.Message) (url string, ok bool) {
	payload, url := v.frame(anchor, ref)
	if payload == nil {
		return "", false
	}
	if err := meta.Unmarshal(payload, m); err != nil {
		v.error(corrupt.Locate(err, url, int64(ref.GetRange().GetStart())+4))
		return "", false
	}
	return url, true
}

// shardFields checks the descriptors of the fields for the whole shard. Those that the reference wrote before
// the shard was moved lead nowhere; they are statistics only, and were looked for in the root.
func (v *verifier) shardFields() {
	payload, _ := v.frame(v.url, v.shard.root.Directory().FieldListRef)
	if payload == nil {
		return
	}
	refs, err := meta.ParseRefArray(payload)
	if err != nil {
		v.error(corrupt.Locate(err, v.url, int64(v.shard.root.Directory().FieldListRef.GetRange().GetStart())+4))
		return
	}
	for i := range refs.Len() {
		ref, err := refs.Ref(i)
		if err != nil {
			v.error(corrupt.Locate(err, v.url, 0))
			continue
		}
		if ref == nil {
			continue
		}
		if ref.Url != "" {
			ref = meta.SelfRef(ref.Range.Start, ref.Range.End)
			if d, err := v.shard.root.ShardField(v.ctx, uint32(i)); err != nil || d == nil {
				v.error(err)
				continue
			}
		}
		d := new(metapb.FieldDescriptor)
		v.message(v.url, ref, d)
	}
}
