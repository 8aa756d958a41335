package block

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Tree is how a sub-block is encoded: its encoding, and the streams nested in it.
type Tree struct {
	// Role is what the stream is to the encoding around it ("codes", "lengths"); "" for the block itself.
	Role string `json:"role,omitempty"`
	// Code is the encoding, 0 for a raw array.
	Code Code `json:"-"`
	// Encoding is the name of Code, or "raw".
	Encoding string `json:"encoding"`
	// Elem is the element type.
	Elem Elem `json:"-"`
	// Type is the name of Elem.
	Type string `json:"type"`
	// Values is the number of values.
	Values int `json:"values"`
	// Offset in bytes from the start of the value sub-block, and Size in bytes with everything nested.
	Offset int `json:"offset"`
	Size   int `json:"size"`
	// Detail is the encoding's parameters, as "width 10, reference -5".
	Detail string `json:"detail,omitempty"`
	// Children are the nested streams in the encoding's own order.
	Children []*Tree `json:"children,omitempty"`
}

// String is the tree as "RunLength[Delta[SingleValue], raw]".
func (t *Tree) String() string {
	if len(t.Children) == 0 {
		return t.Encoding
	}
	names := make([]string, len(t.Children))
	for i, c := range t.Children {
		names[i] = c.String()
	}
	return t.Encoding + "[" + strings.Join(names, ", ") + "]"
}

// Walk calls visit for t and everything below, outer streams first.
func (t *Tree) Walk(visit func(*Tree)) {
	visit(t)
	for _, c := range t.Children {
		c.Walk(visit)
	}
}

// Describe reads how the value sub-block sub of n values is encoded, without decoding them. fixed is the
// size of each value of FixedBinary, else 0. Offsets of errors are relative to sub.
func Describe(sub []byte, elem Elem, n, fixed int) (*Tree, error) {
	t := &Tree{Elem: elem, Values: n, Size: len(sub)}
	var err error
	switch {
	case elem == Binary || elem == FixedBinary:
		err = t.bytes(sub, fixed)
	case elem == Uint32 && isNamed(sub):
		t.set(Named, "dictionary %d", binary.LittleEndian.Uint32(sub[4:]))
		err = t.add("codes", part{b: sub[namedHeader:], at: namedHeader, nested: true, elem: Uint32, count: n}, 1)
	default:
		err = t.numbers(sub, 0)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// set notes an encoding and its parameters.
func (t *Tree) set(c Code, format string, args ...any) {
	t.Code, t.Encoding, t.Type = c, c.String(), t.Elem.String()
	t.Detail = fmt.Sprintf(format, args...)
}

// add describes a stream inside t.
func (t *Tree) add(role string, p part, depth int) error {
	child := &Tree{Role: role, Encoding: "raw", Elem: p.elem, Type: p.elem.String(),
		Values: p.count, Offset: t.Offset + p.at, Size: len(p.b)}
	t.Children = append(t.Children, child)
	if !p.nested {
		return nil
	}
	return corrupt.Locate(child.numbers(p.b, depth), "", int64(p.at))
}

// numbers describes a numeric sub-block, depth levels down.
func (t *Tree) numbers(sub []byte, depth int) error {
	if depth == maxDepth {
		return corrupt.At(0, "encodings nest deeper than %d", maxDepth)
	}
	code, err := codeOf(sub, t.Elem.kind(), t.Elem.size())
	if err != nil {
		return err
	}
	t.set(code, "")
	switch t.Elem.size() {
	case 1:
		return describe[uint8](t, sub, depth+1)
	case 2:
		return describe[uint16](t, sub, depth+1)
	case 4:
		return describe[uint32](t, sub, depth+1)
	}
	return describe[uint64](t, sub, depth+1)
}

// describe fills in what lies below a sub-block whose encoding is known.
func describe[U simd.Unsigned](t *Tree, sub []byte, depth int) error {
	switch code := t.Code; code {
	case FLBitPack, FusedFrameOfReference:
		p, err := parsePacked[U](sub, code, t.Values)
		t.packed(code, p.width, signedValue(t.Elem, uint64(p.ref)))
		return err
	case FrameOfReference, Delta:
		return describeBased[U](t, sub, depth)
	case TruncateU8, TruncateU16, TruncateU32, TruncateU64:
		p, err := parseMapped(sub, code, elemOf(unsigned, truncatedSize(code)), t.Values)
		return t.children(err, depth, "values", p)
	case ZigZag:
		p, err := parseMapped(sub, code, elemOf(unsigned, t.Elem.size()), t.Values)
		return t.children(err, depth, "values", p)
	case RunLength:
		values, lengths, err := parseRuns(sub, t.Elem, t.Values)
		t.Detail = fmt.Sprintf("%d runs", values.count)
		return t.children(err, depth, "values", values, "lengths", lengths)
	case Sparse:
		positions, values, err := parseSparse(sub, t.Elem, t.Values)
		t.Detail = fmt.Sprintf("%d stored", positions.count)
		return t.children(err, depth, "positions", positions, "values", values)
	case BlockDictionary:
		codes, entries, err := parseDictionary(sub, t.Elem, t.Values)
		t.Detail = fmt.Sprintf("%d entries", entries.count)
		return t.children(err, depth, "codes", codes, "entries", entries)
	case Alp:
		a, err := parseAlp(sub, t.Elem.size(), t.Values)
		t.Detail = fmt.Sprintf("exponent %d, factor %d, %d exceptions", a.exponent, a.factor, len(a.positions)/4)
		return t.children(err, depth, "integers", a.integers)
	case AlpRd:
		a, err := parseAlpRd(sub, t.Elem.size(), t.Values)
		t.Detail = fmt.Sprintf("%d right bits, %d entries, %d exceptions", a.rightBits, a.entryCount, len(a.positions)/4)
		return t.children(err, depth, "left", a.left, "right", a.right)
	}
	return nil
}

// describeBased fills in FrameOfReference and Delta.
func describeBased[U simd.Unsigned](t *Tree, sub []byte, depth int) error {
	elem, count, role, name := elemOf(unsigned, t.Elem.size()), t.Values, "differences", "reference"
	if t.Code == Delta {
		elem, count, role, name = t.Elem, t.Values-1, "differences", "base"
	}
	base, p, err := parseBased[U](sub, t.Code, elem, count)
	t.Detail = fmt.Sprintf("%s %d", name, signedValue(t.Elem, uint64(base)))
	return t.children(err, depth, role, p)
}

// packed notes the parameters of a bit-packed stream.
func (t *Tree) packed(code Code, width int, ref any) {
	t.Detail = fmt.Sprintf("width %d", width)
	if code == FusedFrameOfReference {
		t.Detail += fmt.Sprintf(", reference %d", ref)
	}
}

// children describes pairs of a role and a part, unless the header had an error.
func (t *Tree) children(err error, depth int, pairs ...any) error {
	for i := 0; err == nil && i < len(pairs); i += 2 {
		p := pairs[i+1].(part)
		if t.Code == Sparse && p.count == 0 {
			continue // neither positions nor values are stored
		}
		err = t.add(pairs[i].(string), p, depth)
	}
	return err
}

// signedValue is the number that the bits v of an element stand for, an int64 or a uint64.
func signedValue(e Elem, v uint64) any {
	if e.kind() == unsigned {
		return v
	}
	shift := 64 - 8*e.size()
	return int64(v<<shift) >> shift
}

// bytes describes a sub-block of byte strings.
func (t *Tree) bytes(sub []byte, fixed int) error {
	code, err := bytesCodeOf(sub)
	if err != nil {
		return err
	}
	t.set(code, "")
	switch code {
	case BlockDictionary:
		d, err := parseBytesDictionary(sub, t.Values, fixed)
		t.Detail = fmt.Sprintf("%d entries, %d bytes", d.entries, len(d.data))
		if fixed > 0 {
			return t.children(err, 1, "codes", d.codes)
		}
		return t.children(err, 1, "codes", d.codes, "lengths", d.lengths)
	case Fsst:
		f := new(fsst)
		err := f.parse(sub, fixed)
		t.Detail = fmt.Sprintf("%d symbols, %d bytes of codes", f.symbols, len(f.stream))
		return t.offsets(err, f.offsets, f.offAt, f.nested, fixed)
	case Lz4, Zstd:
		c, err := parseCompressed(sub, code, fixed)
		t.Detail = fmt.Sprintf("%d compressed bytes", len(c.data))
		return t.offsets(err, c.offsets, c.offAt, c.nested, fixed)
	}
	return nil
}

// offsets describes an offsets section.
func (t *Tree) offsets(err error, section []byte, at int, nested bool, fixed int) error {
	if err != nil || fixed > 0 {
		return err
	}
	return t.add("offsets", part{b: section, at: at, nested: nested, elem: Uint64, count: t.Values + 1}, 1)
}
