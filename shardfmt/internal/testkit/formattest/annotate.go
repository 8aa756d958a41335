package formattest

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// annotate reports what every byte of a shard in the single-file layout is.
func annotate(b []byte) ([]note, error) {
	a := &annotator{b: b}
	a.add(0, len(meta.Magic), "magic: \"amud\", patch 0, minor version 1, major 0")
	end := len(b) - len(meta.Magic)
	a.add(end, len(meta.Magic), "magic")
	n := int(binary.LittleEndian.Uint32(b[end-4:]))
	a.add(end-4, 4, "length of the directory once more: %d", n)
	d := new(metapb.ShardDirectory)
	a.frame(end-4-n-8, "ShardDirectory", d)
	a.directory(d)
	return a.finish()
}

func (a *annotator) directory(d *metapb.ShardDirectory) {
	a.ref(d.GetPropertiesRef(), "ShardProperties", new(metapb.ShardProperties))
	a.ref(d.GetUrlListRef(), "UrlList", new(metapb.UrlList))
	at := a.start(d.GetSchemaRef())
	a.frame(at, "Schema (FlatBuffers)", nil)
	a.schema(at + 4)
	list := new(metapb.DataRefArray)
	a.ref(d.GetFieldListRef(), "field list of the shard, a DataRefArray", list)
	for i := range list.Start {
		a.frame(int(list.Start[i]), fmt.Sprintf("FieldDescriptor of node %d, of the shard", i), new(metapb.FieldDescriptor))
	}
	stripes := new(metapb.StripeList)
	a.ref(d.GetStripeListRef(), "StripeList", stripes)
	for _, s := range stripes.Stripes {
		a.ref(s.GetPropertiesRef(), "StripeProperties", new(metapb.StripeProperties))
		fields := new(metapb.DataRefArray)
		a.ref(s.GetFieldListRef(), "field list of the stripe, a DataRefArray", fields)
		for i := range fields.Start {
			f := new(metapb.StripeFieldDescriptor)
			a.frame(int(fields.Start[i]), fmt.Sprintf("StripeFieldDescriptor of node %d", i), f)
			for _, e := range f.GetEncodings() {
				for _, b := range e.GetNative().GetBuffers() {
					a.buffer(b, i)
				}
			}
		}
	}
}

func (a *annotator) start(r *metapb.DataRef) int {
	if r == nil {
		a.fail("a reference is missing")
	}
	return int(r.GetRange().GetStart())
}

// ref notes the message that a reference leads to.
func (a *annotator) ref(r *metapb.DataRef, name string, m proto.Message) {
	if at := a.start(r); r.GetRange().GetEnd() > uint64(at) {
		a.frame(at, name, m)
	}
}

// elements of the blocks of the shard's DATA buffers, by node.
var shardElements = []block.Elem{block.Int64, block.Binary, 0, block.Int32}

// buffer notes a buffer of a node.
func (a *annotator) buffer(e *metapb.EncodedBuffer, node int) {
	start, end := int(e.Buffer.Range.Start), int(e.Buffer.Range.End)
	name := fmt.Sprintf("%v of node %d", e.Kind, node)
	elem := shardElements[node]
	switch e.Kind {
	case metapb.BufferKind_RANGE_INDEX:
		a.rangeIndex(start, name)
		return
	case metapb.BufferKind_PRESENCE:
		elem = block.Uint8
	case metapb.BufferKind_OFFSETS:
		elem = block.Uint64
	}
	at := int(e.BlockMap.Range.Start)
	m, err := colstream.ParseMap(a.b[at:end])
	if err != nil {
		a.fail("%s: %v", name, err)
		return
	}
	for i := range m.Blocks() {
		from, to := m.Range(i)
		first, last := m.Span(i)
		a.block(start+int(from), start+int(to), fmt.Sprintf("%s, block %d", name, i), elem, int(last-first))
	}
	a.blockMap(at, end, name, m)
}

// block notes a block in [at, end).
func (a *annotator) block(at, end int, name string, elem block.Elem, n int) {
	f, err := block.ParseFrame(a.b[at:end], true)
	if err != nil {
		a.fail("%s: %v", name, err)
		return
	}
	a.add(at, 4, "── %s of %d values: size of its presence section %d", name, n, len(f.Presence))
	a.add(at+4, 4, "  size of the values %d", len(f.Values))
	a.add(at+8, len(f.Presence), "  presence")
	sub := at + int(f.ValuesOffset())
	tree, err := block.Describe(f.Values, elem, n, 0)
	if err != nil {
		a.fail("%s: %v", name, err)
		return
	}
	a.tree(sub, tree, "  ")
	a.add(end-4, 4, "  checksum of the block")
}

// tree notes a sub-block: its header, its streams, and what follows them.
func (a *annotator) tree(base int, t *block.Tree, indent string) {
	at, end := base+t.Offset, base+t.Offset+t.Size
	if t.Code == 0 {
		a.add(at, t.Size, "%s%s: %d raw values of %s", indent, t.Role, t.Values, t.Type)
		return
	}
	role := t.Role
	if role == "" {
		role = "values"
	}
	a.add(at, 2, "%s%s of type %s: %d %s", indent, role, t.Type, t.Code, t.Encoding)
	rest := at + 2
	if len(t.Children) > 0 {
		first := base + t.Children[0].Offset
		a.add(rest, first-rest, "%s  header, padding %s", indent, t.Detail)
		for _, c := range t.Children {
			a.tree(base, c, indent+"  ")
			rest = base + c.Offset + c.Size
		}
	}
	text := "values"
	if t.Detail != "" && len(t.Children) == 0 {
		text = t.Detail
	}
	a.add(rest, end-rest, "%s  %s", indent, text)
}

// blockMap notes a block map of one segment, or of none.
func (a *annotator) blockMap(at, end int, name string, m *colstream.Map) {
	if m.Blocks() > 0 {
		values, sizes := a.b[at+24], a.b[at+25]
		if m.Blocks() > 1 || values != 8 || sizes != 8 {
			a.fail("%s: more than one block", name)
			return
		}
		a.add(at, 8, "── block map of %s: first position", name)
		a.add(at+8, 8, "  offset of the first block")
		a.add(at+16, 4, "  least number of values %d", a.u32(at+16))
		a.add(at+20, 4, "  least number of bytes %d", a.u32(at+20))
		a.add(at+24, 2, "  widths of the two arrays in bits")
		a.add(at+26, 2, "  blocks of the segment")
		a.add(at+28, 4, "  values less the least, padding")
		a.add(at+32, 8, "  bytes less the least, padding")
	}
	list := end - 40 - 16*2
	if m.Blocks() == 0 {
		list = end - 40 - 16
	}
	for p := list; p < end-40; p += 8 {
		a.add(p, 8, "  list of segments: %d", a.u32(p))
	}
	for i, what := range []string{"values", "blocks", "segments", "blocks per segment", "bytes of all blocks"} {
		a.add(end-40+8*i, 8, "  footer: %s %d", what, a.u32(end-40+8*i))
	}
}

// rangeIndex notes a range index.
func (a *annotator) rangeIndex(at int, name string) {
	a.add(at, 2, "── %s: version", name)
	a.add(at+2, 1, "  basic type of the values")
	a.add(at+3, 1, "  1: the arrays have checksums")
	a.add(at+4, 8, "  positions %d", a.u32(at+4))
	a.add(at+12, 8, "  bytes of the minima %d", a.u32(at+12))
	a.add(at+20, 8, "  bytes of the maxima %d", a.u32(at+20))
	a.add(at+28, 8, "  bytes of the counts %d", a.u32(at+28))
	a.add(at+36, 4, "  positions of a block %d, zeros", a.u16(at+36))
	positions, per := a.u32(at+4), a.u16(at+36)
	width := map[byte]int{4: 4, 5: 8}[a.b[at+2]]
	p := at + 40
	for i, array := range []string{"minima", "maxima", "counts of nulls"} {
		size := a.u32(at + 12 + 8*i)
		if size == 0 {
			continue
		}
		if i == 2 {
			width = 2
		}
		a.block(p, p+size, array+" of "+name, block.Uint8, (positions+per-1)/per*width)
		p += size
	}
}
