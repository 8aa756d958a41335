package lance

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// pageLayoutType is the message that describes a page since version 2.1.
const pageLayoutType = "lance.encodings21.PageLayout"

// layoutKind is the layout of a page, by its number in the message PageLayout.
type layoutKind protowire.Number

// The layouts of pages.
const (
	miniBlockLayout layoutKind = 1
	constantLayout  layoutKind = 2
	fullZipLayout   layoutKind = 3
	blobLayout      layoutKind = 4
)

// layerKind is the meaning of the levels of one layer of nesting: an item, which is a value or a struct, or a list.
type layerKind uint64

// The kinds of layers.
const (
	validItem       layerKind = 1
	validList       layerKind = 2
	nullableItem    layerKind = 3
	nullableList    layerKind = 4
	emptyableList   layerKind = 5
	nullOrEmptyList layerKind = 6
)

func (k layerKind) isList() bool {
	return k == validList || k == nullableList || k == emptyableList || k == nullOrEmptyList
}

var layerNames = map[layerKind]string{
	validItem: "item", validList: "list", nullableItem: "item?", nullableList: "list?", emptyableList: "list0", nullOrEmptyList: "list?0",
}

// pageLayout describes a page since version 2.1. Which fields have a meaning depends on its kind.
type pageLayout struct {
	kind   layoutKind
	layers []layerKind // innermost first

	rep, def   *codec // compression of the levels, nil without them (MiniBlock) or for u16 (Constant)
	values     *codec
	dictionary *codec

	dictionaryItems uint64
	buffers         uint64 // MiniBlock: of values, a chunk
	repDepth        uint64 // MiniBlock: of the repetition index
	items           uint64 // MiniBlock
	large           bool   // MiniBlock: sizes have 32 bits instead of 16

	repBits, defBits      uint64 // FullZip
	valueBits, lengthBits uint64 // FullZip: one of them
	repValues, defValues  uint64 // Constant: levels after decompression
	inline                []byte // Constant: the value
	hasInline             bool

	inner *pageLayout // Blob: of the descriptions
}

// String is the layout in short: MiniBlock{item?, def OutOfLineBitpacking{…}, InlineBitpacking{32}}.
func (p *pageLayout) String() string {
	var parts []string
	for i := len(p.layers) - 1; i >= 0; i-- {
		parts = append(parts, layerNames[p.layers[i]])
	}
	parts = []string{strings.Join(parts, " ")}
	add := func(name string, c *codec) {
		if c != nil {
			parts = append(parts, name+c.String())
		}
	}
	add("rep ", p.rep)
	add("def ", p.def)
	add("", p.values)
	if p.dictionary != nil {
		add(fmt.Sprintf("dictionary of %d ", p.dictionaryItems), p.dictionary)
	}
	if p.inner != nil {
		parts = append(parts, p.inner.String())
	}
	name := map[layoutKind]string{miniBlockLayout: "MiniBlock", constantLayout: "Constant", fullZipLayout: "FullZip", blobLayout: "Blob"}[p.kind]
	return name + "{" + strings.Join(parts, ", ") + "}"
}

// parsePageLayout reads a PageLayout.
func parsePageLayout(b []byte, depth int) (*pageLayout, error) {
	if depth > 1 {
		return nil, corrupt.At(-1, "PageLayout: a blob layout inside of another")
	}
	p := &pageLayout{}
	var body []byte
	err := walk("PageLayout", b, func(f wireField) error {
		if f.typ != protowire.BytesType {
			return nil
		}
		p.kind, body = layoutKind(f.num), f.bytes
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch p.kind {
	case miniBlockLayout:
		err = walk("MiniBlockLayout", body, p.parseMiniBlock)
		if err == nil && p.values == nil {
			err = corrupt.At(-1, "MiniBlockLayout: missing value compression")
		}
	case constantLayout:
		err = walk("ConstantLayout", body, p.parseConstant)
	case fullZipLayout:
		err = walk("FullZipLayout", body, p.parseFullZip)
		if err == nil && p.values == nil {
			err = corrupt.At(-1, "FullZipLayout: missing value compression")
		}
	case blobLayout:
		err = walk("BlobLayout", body, func(f wireField) (err error) {
			switch {
			case f.message(1):
				p.inner, err = parsePageLayout(f.bytes, depth+1)
			case f.num == 2:
				err = p.parseLayers(f)
			}
			return err
		})
		if err == nil && p.inner == nil {
			err = corrupt.At(-1, "BlobLayout: missing inner layout")
		}
	default:
		return nil, corrupt.Unsupported(-1, "page layout %d: versions 2.1 and 2.2 have mini-block, constant, full-zip and blob", p.kind)
	}
	return p, err
}

func (p *pageLayout) parseLayers(f wireField) error {
	layers, err := f.numbers(nil)
	for _, v := range layers {
		k := layerKind(v)
		if layerNames[k] == "" {
			return corrupt.Unsupported(-1, "layer of kind %d, which versions 2.1 and 2.2 do not have", v)
		}
		if p.layers = append(p.layers, k); len(p.layers) > 2*maxDepth {
			return corrupt.Unsupported(-1, "page of more than %d layers", 2*maxDepth)
		}
	}
	return err
}

func (p *pageLayout) parseMiniBlock(f wireField) (err error) {
	switch {
	case f.message(1):
		p.rep, err = parseCodec(f.bytes, 0)
	case f.message(2):
		p.def, err = parseCodec(f.bytes, 0)
	case f.message(3):
		p.values, err = parseCodec(f.bytes, 0)
	case f.message(4):
		p.dictionary, err = parseCodec(f.bytes, 0)
	case f.number(5):
		p.dictionaryItems = f.value
	case f.num == 6:
		err = p.parseLayers(f)
	case f.number(7):
		p.buffers = f.value
	case f.number(8):
		p.repDepth = f.value
	case f.number(9):
		p.items = f.value
	case f.number(10):
		p.large = f.value != 0
	default:
		err = unknownField("MiniBlockLayout", f)
	}
	return err
}

func (p *pageLayout) parseConstant(f wireField) (err error) {
	switch {
	case f.num == 5:
		err = p.parseLayers(f)
	case f.message(6):
		p.inline, p.hasInline = f.bytes, true
	case f.message(7):
		p.rep, err = parseCodec(f.bytes, 0)
	case f.message(8):
		p.def, err = parseCodec(f.bytes, 0)
	case f.number(9):
		p.repValues = f.value
	case f.number(10):
		p.defValues = f.value
	default:
		err = unknownField("ConstantLayout", f)
	}
	return err
}

func (p *pageLayout) parseFullZip(f wireField) (err error) {
	switch {
	case f.number(1):
		p.repBits = f.value
	case f.number(2):
		p.defBits = f.value
	case f.number(3):
		p.valueBits, p.lengthBits = f.value, 0
	case f.number(4):
		p.valueBits, p.lengthBits = 0, f.value
	case f.number(5), f.number(6): // numbers of items, which the entries themselves show
	case f.message(7):
		p.values, err = parseCodec(f.bytes, 0)
	case f.num == 8:
		err = p.parseLayers(f)
	default:
		err = unknownField("FullZipLayout", f)
	}
	return err
}

// unknownField refuses a field that a later version added: to skip it could give other rows than were written.
func unknownField(message string, f wireField) error {
	return corrupt.Unsupported(-1, "%s: field %d, which versions 2.1 and 2.2 do not have", message, f.num)
}

// codecKind is a compressive encoding, by its number in the message CompressiveEncoding.
type codecKind protowire.Number

// The compressive encodings.
const (
	flatCodec           codecKind = 1
	variableCodec       codecKind = 2
	constantCodec       codecKind = 3
	outOfLineCodec      codecKind = 4
	inlineCodec         codecKind = 5
	fsstCodec           codecKind = 6
	dictionaryCodec     codecKind = 7
	rleCodec            codecKind = 8
	splitCodec          codecKind = 9
	generalCodec        codecKind = 10
	fixedListCodec      codecKind = 11
	packedCodec         codecKind = 12
	variablePackedCodec codecKind = 13
)

var codecNames = map[codecKind]string{
	flatCodec: "Flat", variableCodec: "Variable", constantCodec: "Constant", outOfLineCodec: "OutOfLineBitpacking", inlineCodec: "InlineBitpacking",
	fsstCodec: "Fsst", dictionaryCodec: "Dictionary", rleCodec: "Rle", splitCodec: "ByteStreamSplit", generalCodec: "General",
	fixedListCodec: "FixedSizeList", packedCodec: "PackedStruct", variablePackedCodec: "VariablePackedStruct",
}

// String is the name of the message that describes the encoding.
func (k codecKind) String() string {
	if name, ok := codecNames[k]; ok {
		return name
	}
	return fmt.Sprintf("CompressiveEncoding %d", k)
}

// codec is one node of a tree of compressive encodings. Which fields have a meaning depends on its kind.
type codec struct {
	kind   codecKind
	bits   uint64 // Flat, and both bitpackings: of a value before compression
	scheme string // General: of the compression
	level  string // General: as text, for people
	values *codec // of the inner values, offsets (Variable) or indices
	more   *codec // Rle: run lengths

	symbols     []byte // Fsst
	dimension   uint64 // FixedSizeList
	hasValidity bool   // FixedSizeList: of its items
	widths      []uint64
	fields      []packedField // VariablePackedStruct
}

// packedField is a field of a struct whose rows have no fixed width.
type packedField struct {
	values     *codec
	bits       uint64 // of a value
	lengthBits uint64 // of the length in front of a value, 0 if values have a fixed width
}

// String is the tree in short: Fsst{Variable{Flat{32}}}.
func (c *codec) String() string {
	var parts []string
	if c.bits != 0 {
		parts = append(parts, fmt.Sprint(c.bits))
	}
	if c.scheme != "" {
		parts = append(parts, c.scheme+c.level)
	}
	if c.kind == fixedListCodec {
		parts = append(parts, fmt.Sprint(c.dimension))
	}
	for _, inner := range []*codec{c.values, c.more} {
		if inner != nil {
			parts = append(parts, inner.String())
		}
	}
	for _, f := range c.fields {
		parts = append(parts, f.values.String())
	}
	return c.kind.String() + "{" + strings.Join(parts, ", ") + "}"
}

// parseCodec reads a CompressiveEncoding.
func parseCodec(b []byte, depth int) (*codec, error) {
	if depth > maxDepth {
		return nil, corrupt.Unsupported(-1, "encodings nested more than %d deep", maxDepth)
	}
	c := &codec{}
	var body []byte
	err := walk("CompressiveEncoding", b, func(f wireField) error {
		if f.typ == protowire.BytesType {
			c.kind, body = codecKind(f.num), f.bytes
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	inner := func(into **codec, b []byte) (err error) {
		*into, err = parseCodec(b, depth+1)
		return err
	}
	compressed := func() error {
		return corrupt.Unsupported(-1, "%v with a compression of its buffer, which no writer of versions 2.1 and 2.2 uses", c.kind)
	}
	err = walk(c.kind.String(), body, func(f wireField) error {
		switch c.kind {
		case flatCodec, inlineCodec:
			if f.number(1) {
				c.bits = f.value
				return nil
			}
			if f.message(2) {
				return compressed()
			}
		case outOfLineCodec:
			if f.number(1) {
				c.bits = f.value
				return nil
			}
			if f.message(3) {
				return inner(&c.values, f.bytes)
			}
		case variableCodec:
			if f.message(1) {
				return inner(&c.values, f.bytes)
			}
			if f.message(2) {
				return compressed()
			}
		case fsstCodec:
			if f.message(1) {
				c.symbols = f.bytes
				return nil
			}
			if f.message(2) {
				return inner(&c.values, f.bytes)
			}
		case rleCodec:
			if f.message(1) {
				return inner(&c.values, f.bytes)
			}
			if f.message(2) {
				return inner(&c.more, f.bytes)
			}
		case splitCodec:
			if f.message(1) {
				return inner(&c.values, f.bytes)
			}
		case generalCodec:
			if f.message(1) {
				return c.parseScheme(f.bytes)
			}
			if f.message(3) {
				return inner(&c.values, f.bytes)
			}
		case fixedListCodec:
			switch {
			case f.number(1):
				c.dimension = f.value
				return nil
			case f.number(3):
				c.hasValidity = f.value != 0
				return nil
			case f.message(2):
				return inner(&c.values, f.bytes)
			}
		case packedCodec:
			if f.num == 1 {
				var err error
				c.widths, err = f.numbers(c.widths)
				return err
			}
			if f.message(2) {
				return inner(&c.values, f.bytes)
			}
		case variablePackedCodec:
			if f.message(1) {
				return c.parsePackedField(f.bytes, depth+1)
			}
		default:
			return corrupt.Unsupported(-1, "encoding %v, which no writer of versions 2.1 and 2.2 uses", c.kind)
		}
		return unknownField(c.kind.String(), f)
	})
	if err == nil {
		err = c.complete()
	}
	return c, err
}

func (c *codec) parseScheme(b []byte) error {
	return walk("BufferCompression", b, func(f wireField) error {
		switch {
		case f.number(1):
			switch f.value {
			case 1:
				c.scheme = schemeLz4
			case 2:
				c.scheme = schemeZstd
			default:
				return corrupt.Unsupported(-1, "unknown compression scheme %d: must be lz4 or zstd", f.value)
			}
		case f.number(2):
			c.level = fmt.Sprintf(" level %d", int32(f.value))
		default:
			return unknownField("BufferCompression", f)
		}
		return nil
	})
}

func (c *codec) parsePackedField(b []byte, depth int) error {
	var p packedField
	err := walk("FieldEncoding", b, func(f wireField) (err error) {
		switch {
		case f.message(1):
			p.values, err = parseCodec(f.bytes, depth)
		case f.number(2):
			p.bits, p.lengthBits = f.value, 0
		case f.number(3):
			p.bits, p.lengthBits = 0, f.value
		default:
			err = unknownField("FieldEncoding", f)
		}
		return err
	})
	if err == nil && (p.values == nil || p.bits == 0 && p.lengthBits == 0) {
		return corrupt.At(-1, "VariablePackedStruct: incomplete field")
	}
	c.fields = append(c.fields, p)
	return err
}

// complete refuses an encoding without one of its parts.
func (c *codec) complete() error {
	needsValues := c.kind != flatCodec && c.kind != inlineCodec && c.kind != variablePackedCodec
	switch {
	case codecNames[c.kind] == "" || c.kind == constantCodec || c.kind == dictionaryCodec:
		return corrupt.Unsupported(-1, "encoding %v, which no writer of versions 2.1 and 2.2 uses", c.kind)
	case needsValues && c.values == nil, c.kind == rleCodec && c.more == nil, c.kind == generalCodec && c.scheme == "",
		c.kind == variablePackedCodec && len(c.fields) == 0, c.kind == packedCodec && len(c.widths) == 0:
		return corrupt.At(-1, "%v: missing part of the encoding", c.kind)
	case c.kind == flatCodec && (c.bits == 0 || c.bits > maxValueBits):
		return corrupt.At(-1, "Flat: %d bits a value", c.bits)
	case (c.kind == inlineCodec || c.kind == outOfLineCodec) && !isWordBits(c.bits):
		return corrupt.At(-1, "%v: values of %d bits", c.kind, c.bits)
	case c.kind == outOfLineCodec && (c.values.kind != flatCodec || c.values.bits > c.bits):
		return corrupt.At(-1, "OutOfLineBitpacking: values of %d bits as %v", c.bits, c.values)
	case c.kind == fixedListCodec && (c.dimension == 0 || c.dimension > maxValueBits):
		return corrupt.At(-1, "FixedSizeList: %d items a value", c.dimension)
	}
	return nil
}

// isWordBits reports whether bitpacking knows values of this many bits.
func isWordBits(bits uint64) bool { return bits == 8 || bits == 16 || bits == 32 || bits == 64 }
