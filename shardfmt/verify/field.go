package verify

import (
	"math/bits"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// fieldWalk checks one field of one stripe.
type fieldWalk struct {
	*walk
	node       *schema.Node
	anchor     string
	descriptor *metapb.StripeFieldDescriptor
	// positions the field must have, negative if only its parent's values could tell.
	positions int64
	// inFixed means that they follow from those of a fixed-size list above it.
	inFixed bool
	// dictionaries are the ids of the value dictionaries of the encoding available, 0 for one without.
	dictionaries []uint32
	// opaques are the opaque dictionaries of the encoding available, nil if it has none.
	opaques *block.Opaque
}

// check collects the buffers of the field's native encodings.
func (f *fieldWalk) check(name string) error {
	if f.descriptor == nil {
		return nil
	}
	d := f.descriptor.GetField()
	if d == nil {
		return corrupt.At(-1, "%s: the descriptor has no field", name)
	}
	if f.positions >= 0 && d.PositionCount != uint64(f.positions) && !f.mayFallShort() {
		f.v.found(f.anchor, -1, "%s: %d positions, its parent has %d", name, d.PositionCount, f.positions)
	}
	if d.NullCount != nil && *d.NullCount > d.PositionCount {
		f.v.found(f.anchor, -1, "%s: %d nulls in %d positions", name, *d.NullCount, d.PositionCount)
	}
	if err := f.values(f.anchor, d); err != nil {
		return err
	}
	f.indexArtifacts(f.anchor, d.GetIndexes(), d.GetPositionCount())
	for _, e := range f.descriptor.GetEncodings() {
		if err := f.v.judge(f.external(e.GetParquet()), f.anchor, 0); err != nil {
			return err
		}
		f.dictionaries = nil
		opaque, err := f.opaque(e.GetNative())
		if err := f.v.judge(err, f.anchor, 0); err != nil {
			return err
		}
		f.opaques = opaque
		for _, b := range e.GetNative().GetBuffers() {
			if b.Kind == metapb.BufferKind_VALUE_DICTIONARY {
				f.dictionaries = append(f.dictionaries, b.GetBufferId())
			}
		}
		for _, b := range e.GetNative().GetBuffers() {
			if b.PackedGroupIndex != nil && b.Buffer == nil {
				continue // in the buffer of the parent
			}
			if err := f.v.judge(f.buffer(name, b, e.GetNative().GetPackedGroup()), f.anchor, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// opaque reads the opaque dictionaries of an encoding, which its blocks can't be decoded without.
func (f *fieldWalk) opaque(n *metapb.NativeDataEncoding) (*block.Opaque, error) {
	var out *block.Opaque
	for _, b := range n.GetBuffers() {
		if b.Kind != metapb.BufferKind_OPAQUE_DICTIONARY {
			continue
		}
		o, start, end, err := f.reach(f.anchor, b.GetBuffer())
		if err != nil {
			return nil, err
		}
		if end-start > maxRead {
			return nil, corrupt.Unsupported(start, "an opaque dictionary of %d bytes", end-start)
		}
		data := make([]byte, end-start)
		if _, err := f.v.st.ReadRange(f.v.ctx, o.url, start, data); err != nil {
			return nil, err
		}
		if out == nil {
			out = new(block.Opaque)
		}
		content, err := meta.Unframe(data)
		if err == nil {
			err = out.Add(b.GetBufferId(), content)
		}
		if err != nil {
			return nil, corrupt.Locate(err, o.url, start)
		}
	}
	return out, nil
}

// checkFrame checks the frame of an opaque dictionary.
func checkFrame(data []byte) (unprotected int64, err error) {
	content, err := meta.Unframe(data)
	if err == nil && len(content)+meta.FrameOverhead != len(data) {
		err = corrupt.At(0, "bytes after an opaque dictionary")
	}
	return 0, err
}

// external notes the Parquet files that hold the field, and checks the page maps. The pages are read with the values, which
// are held to the statistics.
func (f *fieldWalk) external(e *metapb.ExternalParquetDataEncoding) error {
	for _, file := range e.GetFileColumnRefs() {
		o, start, end, err := f.reach(f.anchor, file.GetFileRef())
		if err != nil {
			return err
		}
		if end-start < parquetMagic {
			return corrupt.At(-1, "a Parquet file of %d bytes", end-start)
		}
		o.isExternal()
		o.whole = max(o.whole, end)
		for _, chunk := range file.ColumnChunks {
			if chunk.FileUrl != nil {
				other, _, _, err := f.reach(f.anchor, meta.NewRef(*chunk.FileUrl, 0, 0))
				if err != nil {
					return err
				}
				other.isExternal()
			}
			if chunk.DataPageMap == nil {
				continue
			}
			if o, start, end, err = f.reach(f.anchor, chunk.DataPageMap); err != nil {
				return err
			}
			o.add(piece{start: start, end: end, check: checkPageMap})
		}
	}
	return nil
}

// isExternal notes that an object is a Parquet file: what of it has no checksum nothing protects.
func (o *object) isExternal() {
	if !o.external {
		o.external = true
		o.add(piece{start: 0, end: parquetMagic, check: checkMagic})
	}
}

// checkPageMap checks a page map by itself.
func checkPageMap(data []byte) (unprotected int64, err error) {
	m, err := colstream.ParseMap(data)
	if err == nil && !m.Canonical(data) {
		err = corrupt.At(0, "the page map is not in canonical form")
	}
	return int64(len(data)), err
}

// mayFallShort reports whether the field lacks positions that it may lack: a node below a fixed-size list, as the reference writes
// it, can lack its last nulls.
func (f *fieldWalk) mayFallShort() bool {
	return f.descriptor.GetField().PositionCount < uint64(f.positions) && f.inFixed
}

// isSparse reports whether a field has OFFSETS: of a union they are where the values of each variant are.
func (f *fieldWalk) isSparse() bool {
	for _, e := range f.descriptor.GetEncodings() {
		for _, b := range e.GetNative().GetBuffers() {
			if b.Kind == metapb.BufferKind_OFFSETS {
				return true
			}
		}
	}
	return false
}

// childPositions is what the children of the field must have.
func (f *fieldWalk) childPositions() int64 {
	if f.descriptor.GetField() == nil {
		return -1
	}
	n := f.descriptor.GetField().PositionCount
	switch f.node.Basic {
	case schema.Union:
		if f.isSparse() {
			return -1
		}
		return int64(n)
	case schema.Struct:
		return int64(n)
	case schema.FixedSizeList:
		if hi, lo := bits.Mul64(n, f.node.FixedSize); hi == 0 && int64(lo) >= 0 {
			return int64(lo)
		}
	}
	return -1
}

// buffer adds one encoded buffer to its object; packed means that it is that of a packed group.
func (f *fieldWalk) buffer(name string, b *metapb.EncodedBuffer, packed bool) error {
	o, start, end, err := f.reach(f.anchor, b.GetBuffer())
	if err != nil {
		return err
	}
	n := f.descriptor.GetField().PositionCount
	switch b.Kind {
	case metapb.BufferKind_VALUE_DICTIONARY:
		o.add(piece{start: start, end: end, name: name, check: func(data []byte) (int64, error) {
			d, err := colstream.ParseDictionary(data, f.node.Basic, f.entrySize(), true)
			if err == nil {
				err = d.CheckOrder()
			}
			return 0, err
		}})
	case metapb.BufferKind_RANGE_INDEX:
		o.add(piece{start: start, end: end, name: name, check: func(data []byte) (int64, error) {
			x, err := colstream.ParseRangeIndex(data, f.node.Basic, indexWidth(f.node), n, true)
			// The header has no checksum: of sizes that are powers of two, no flipped bit makes another.
			if err == nil && (bits.OnesCount64(x.BlockSize) != 1 || x.BlockSize < colstream.RangeIndexBlock || x.BlockSize > colstream.WidestRangeIndexBlock) {
				err = corrupt.At(36, "a range index of %d positions a block, not of a power of two from %d to %d", x.BlockSize,
					colstream.RangeIndexBlock, colstream.WidestRangeIndexBlock)
			}
			return rangeIndexHeader, err
		}})
	case metapb.BufferKind_OPAQUE_DICTIONARY:
		o.add(piece{start: start, end: end, name: name, check: checkFrame})
	case metapb.BufferKind_DATA, metapb.BufferKind_PRESENCE, metapb.BufferKind_OFFSETS:
		s, err := f.stream(b, start, end)
		if err != nil {
			return err
		}
		s.packed = packed
		if o == f.v.object(f.r.URL()) {
			s.start, s.copies = uint64(start), f.copiesOf(uint64(start), uint64(end))
		}
		o.add(piece{start: start, end: end, name: name, check: s.check})
	default:
		o.add(piece{start: start, end: end, name: name, unprotected: true})
		f.v.report.Warnings = append(f.v.report.Warnings, name+": a buffer of kind "+b.Kind.String()+" is not checked")
	}
	return nil
}

// copiesOf takes the copies of what lies in a buffer [start, end) of the root's object.
func (w *walk) copiesOf(start, end uint64) (out []meta.RangeCopy) {
	w.copies = slices.DeleteFunc(w.copies, func(c meta.RangeCopy) bool {
		in := start <= c.Start && c.Start+uint64(len(c.Bytes)) <= end
		if in {
			out = append(out, c)
		}
		return in
	})
	return out
}

// rangeIndexHeader is the length of a range index's header, which has no checksum.
const rangeIndexHeader = 40

// stream describes a block stream of the field.
func (f *fieldWalk) stream(b *metapb.EncodedBuffer, start, end int64) (*streamCheck, error) {
	mapStart, mapEnd, err := meta.RefRange(b.GetBlockMap())
	if err != nil {
		return nil, err
	}
	if mapStart < start || mapEnd != end {
		return nil, corrupt.At(-1, "a block map [%d, %d) that is not the end of its buffer [%d, %d)", mapStart, mapEnd, start, end)
	}
	d := f.descriptor.GetField()
	s := &streamCheck{mapAt: mapStart - start, checksums: b.BlockChecksums, blocks: -1, nulls: -1, opaque: f.opaques}
	if b.BlockCount != nil {
		s.blocks = int64(*b.BlockCount)
	}
	n := d.PositionCount
	switch {
	case b.Kind == metapb.BufferKind_OFFSETS && f.node.Basic == schema.Union:
		// One offset a position, each in the sequence of its variant: they need not ascend.
		s.decode, s.values = decodeNumbers[uint64], n
	case b.Kind == metapb.BufferKind_OFFSETS:
		s.decode, s.values = decodeOffsets(), n+1
	case b.Kind == metapb.BufferKind_PRESENCE:
		s.decode, s.values = decodeNumbers[uint8], bitBytes(n)
	case len(f.dictionaries) > 0:
		s.decode, s.values = decodeNumbers[uint32], n
		if len(f.dictionaries) > 1 && b.Kind == metapb.BufferKind_DATA {
			s.named = f.dictionaries
		}
	case f.node.Basic == schema.Boolean:
		s.decode, s.values = decodeNumbers[uint8], bitBytes(n)
	case (f.node.Basic == schema.String || f.node.Basic == schema.Binary) && f.isSparse():
		// A stream of bytes beside OFFSETS, which report how many there are: reading the values compares them.
		s.decode, s.free = decodeNumbers[uint8], true
	default:
		s.decode, s.values = f.decoder(), n
		if b.EmbeddedPresence {
			s.nulls, s.embedded = nullsOf(d), true
		}
	}
	return s, nil
}

func nullsOf(d *metapb.FieldDescriptor) int64 {
	if d.NullCount == nil {
		return -1
	}
	return int64(*d.NullCount)
}

func bitBytes(n uint64) uint64 { return n/8 + (n%8+7)/8 }

// fixed is the size of a value of the byte types, 0 if it varies.
func (f *fieldWalk) fixed() int {
	switch f.node.Basic {
	case schema.FixedSizeBinary, schema.Guid:
		return int(f.node.FixedSize)
	}
	return 0
}

// entrySize is the size of an entry of a value dictionary, 0 if it varies: numbers are stored as their bytes.
func (f *fieldWalk) entrySize() int {
	switch f.node.Basic {
	case schema.String, schema.Binary:
		return 0
	}
	return int(width(f.node))
}

// indexWidth is the size of a value of a range index in bytes.
func indexWidth(n *schema.Node) int { return int(width(n)) }

// decoder decodes the blocks of a field's own values.
func (f *fieldWalk) decoder() decode {
	signed := f.node.Signed
	switch f.node.Basic {
	case schema.Int8:
		return pick(signed, decodeNumbers[int8], decodeNumbers[uint8])
	case schema.Int16:
		return pick(signed, decodeNumbers[int16], decodeNumbers[uint16])
	case schema.Int32:
		return pick(signed, decodeNumbers[int32], decodeNumbers[uint32])
	case schema.Int64:
		return pick(signed, decodeNumbers[int64], decodeNumbers[uint64])
	case schema.DateTime:
		return decodeNumbers[uint64]
	case schema.Float32:
		return decodeNumbers[float32]
	case schema.Float64:
		return decodeNumbers[float64]
	case schema.Union:
		return decodeNumbers[uint8]
	}
	return decodeBytes(f.fixed())
}

func pick(yes bool, a, b decode) decode {
	if yes {
		return a
	}
	return b
}

// decode decodes the values of one block of n, given its presence bitmap or nil.
type decode func(sub []byte, n int, present []byte, s *block.Scratch) error

// maxBlockValues bounds what a block may claim: its bytes bound most encodings, but a constant has none.
const maxBlockValues = 1 << 24

func decodeNumbers[T block.Number](sub []byte, n int, _ []byte, s *block.Scratch) error {
	return block.DecodeNumbers(make([]T, n), sub, s)
}

func decodeBytes(fixed int) decode {
	return func(sub []byte, n int, present []byte, s *block.Scratch) error {
		return block.DecodeBytes(new(block.Bytes), sub, n, fixed, present, s)
	}
}

// decodeOffsets also checks that offsets start at zero and never fall.
func decodeOffsets() decode {
	last, first := uint64(0), true
	return func(sub []byte, n int, _ []byte, s *block.Scratch) error {
		values := make([]uint64, n)
		if err := block.DecodeNumbers(values, sub, s); err != nil {
			return err
		}
		for i, v := range values {
			if v < last || first && v != 0 {
				return corrupt.At(-1, "offset %d of its block is %d, after %d", i, v, last)
			}
			last, first = v, false
		}
		return nil
	}
}
