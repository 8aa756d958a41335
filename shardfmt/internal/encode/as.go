package encode

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Blocks in an encoding that is requested, whatever it costs: what test vectors and tests need. The planner never
// comes here.

// NumbersAs appends vals as a sub-block whose encodings are those of tree, written as Encoder.Chosen writes it
// ("RunLength[raw, TruncateU8[FLBitPack]]"; raw is a bare array). Parameters are those the planner would take.
// valid is as for Numbers; only an outer BlockDictionary looks at it. Values that the tree can't hold, as negative
// numbers below FLBitPack, come out wrong: request what can be stored.
func NumbersAs[T simd.Number](dst []byte, vals []T, valid []byte, tree string) ([]byte, error) {
	e, t, err := encoderAs(tree)
	if err != nil {
		return dst, err
	}
	defer e.giveBack()
	r := requested{e: e, tree: t}
	switch k := kindOf[T](); simd.SizeOf[T]() {
	case 1:
		return appendAs(dst, r, simd.Cast[uint8](vals), valid, k)
	case 2:
		return appendAs(dst, r, simd.Cast[uint16](vals), valid, k)
	case 4:
		return appendAs(dst, r, simd.Cast[uint32](vals), valid, k)
	default:
		return appendAs(dst, r, simd.Cast[uint64](vals), valid, k)
	}
}

// numbersAsAsked is NumbersAs of values whose null slots hold anything.
func numbersAsAsked[T simd.Number](dst []byte, vals []T, valid []byte, tree string) ([]byte, error) {
	if valid != nil {
		vals = slices.Clone(vals)
		for i := range vals {
			if valid[i/8]>>(i%8)&1 == 0 {
				vals[i] = 0
			}
		}
	}
	return NumbersAs(dst, vals, valid, tree)
}

// BytesAs is NumbersAs for byte strings.
func BytesAs(dst []byte, v Bytes, tree string) ([]byte, error) {
	e, t, err := encoderAs(tree)
	if err != nil {
		return dst, err
	}
	defer e.giveBack()
	s, err := e.gather(&v)
	if err != nil {
		return dst, err
	}
	p, err := bytesAs(e, &s, v.Valid, t)
	if err != nil {
		return dst, err
	}
	return appendByteTree(dst, &s, p), nil
}

// Presence appends the presence section of a block of n values, of which valid is the bitmap: nothing if all are
// present. The form is the smallest one; with plain, always a byte per value where some are present and some not.
func Presence(dst, valid []byte, n int, plain bool) []byte {
	if plain {
		return appendPresence(dst, valid, n, Plain)
	}
	return appendPresence(dst, valid, n, Balanced)
}

// encoderAs gives an encoder with the compressor that tree requests.
func encoderAs(tree string) (*Encoder, *tree, error) {
	t, rest, err := parseTree(tree)
	if err != nil {
		return nil, nil, err
	}
	if rest != "" {
		return nil, nil, fmt.Errorf("%q after a tree of encodings", rest)
	}
	o := Options{Profile: Balanced} // whose compressor is LZ4
	if strings.Contains(tree, block.Zstd.String()) {
		o.Profile = HighCompression
	}
	e := NewEncoder(o)
	e.borrow()
	return e, t, nil
}

// requested is a plan in the making, as a tree of encodings requests it.
type requested struct {
	e    *Encoder
	tree *tree
	p    *plan
}

func appendAs[U word](dst []byte, r requested, vals []U, valid []byte, k kind) ([]byte, error) {
	p, err := numbersAs(r.e, vals, valid, k, r.tree)
	if err != nil {
		return dst, err
	}
	return appendTree(dst, vals, p), nil
}

// tree is an encoding that is requested.
type tree struct {
	code block.Code // 0: raw
	kids []*tree
}

// treeChildren is how many nested streams an encoding has. Byte strings have one more kind: Zstd, LZ4 and FSST with offsets.
var treeChildren = map[block.Code]int{
	block.FrameOfReference: 1, block.Delta: 1, block.ZigZag: 1, block.Alp: 1, block.TruncateU8: 1, block.TruncateU16: 1,
	block.TruncateU32: 1, block.TruncateU64: 1, block.RunLength: 2, block.Sparse: 2, block.BlockDictionary: 2, block.AlpRd: 2,
}

// parseTree reads a tree, and returns what follows it.
func parseTree(s string) (*tree, string, error) {
	end := strings.IndexAny(s, "[], ")
	if end < 0 {
		end = len(s)
	}
	t := &tree{}
	for c := block.Plain; c <= block.Sparse; c++ {
		if c.String() == s[:end] {
			t.code = c
		}
	}
	if t.code == 0 && s[:end] != "raw" {
		return nil, s, fmt.Errorf("unknown encoding %q", s[:end])
	}
	s = s[end:]
	for open := "["; strings.HasPrefix(s, open); open = ", " {
		kid, rest, err := parseTree(s[len(open):])
		if err != nil {
			return nil, s, err
		}
		t.kids, s = append(t.kids, kid), rest
	}
	if len(t.kids) > 0 {
		closed := false
		if s, closed = strings.CutPrefix(s, "]"); !closed {
			return nil, s, fmt.Errorf("missing bracket in a tree of encodings before %q", s)
		}
	}
	return t, s, nil
}

// child is nested stream i of t, raw if t does not state.
func (t *tree) child(i int) *tree {
	if i < len(t.kids) {
		return t.kids[i]
	}
	return new(tree)
}

// numbersAs makes the plan that t requests.
func numbersAs[U word](e *Encoder, vals []U, valid []byte, k kind, t *tree) (p *plan, err error) {
	if len(t.kids) > treeChildren[t.code] {
		return nil, fmt.Errorf("%v has %d nested streams, not %d", t.code, treeChildren[t.code], len(t.kids))
	}
	p = e.newPlan(t.code, 0)
	r := requested{e, t, p}
	least, most := extremes(vals, k)
	switch t.code {
	case block.FLBitPack:
		p.width = max(1, widthOf(most))
	case block.FusedFrameOfReference:
		p.ref, p.width = uint64(least), max(1, widthOf(most-least))
	case block.FrameOfReference:
		p.ref = uint64(least)
		err = nestAs(r, 0, each1(vals, func(v U) U { return v - least }), unsigned)
	case block.Delta:
		if len(vals) == 0 {
			return nil, errors.New("no values: the encoding Delta needs at least one")
		}
		p.ref = uint64(vals[0])
		diffs := make([]U, len(vals)-1)
		for i := range diffs {
			diffs[i] = vals[i+1] - vals[i]
		}
		err = nestAs(r, 0, diffs, k)
	case block.ZigZag:
		err = nestAs(r, 0, each1(vals, zigZag[U]), unsigned)
	case block.TruncateU8:
		err = nestAs(r, 0, each1(vals, func(v U) uint8 { return uint8(v) }), unsigned)
	case block.TruncateU16:
		err = nestAs(r, 0, each1(vals, func(v U) uint16 { return uint16(v) }), unsigned)
	case block.TruncateU32:
		err = nestAs(r, 0, each1(vals, func(v U) uint32 { return uint32(v) }), unsigned)
	case block.TruncateU64:
		err = nestAs(r, 0, each1(vals, func(v U) uint64 { return uint64(v) }), unsigned)
	case block.RunLength, block.Sparse, block.BlockDictionary:
		err = twoAs(r, vals, valid, k)
	case block.Alp:
		exponent, factor, _ := chooseDecimals(e, decimalsOf[U](), vals)
		p.exponent, p.factor = uint8(exponent), uint8(factor)
		err = nestAs(r, 0, toIntegers(e, p, decimalsOf[U](), vals), signed)
	case block.AlpRd:
		cut, _ := chooseCut(e, vals)
		err = cutAs(r, vals, &cut)
	case block.Lz4, block.Zstd:
		p.payload = e.compress(simd.AsBytes(vals), sizeOf[U]())
	case block.Fsst:
		err = fmt.Errorf("%v on numbers", t.code)
	}
	return p, err
}

// twoAs is for the encodings with two streams.
func twoAs[U word](r requested, vals []U, valid []byte, k kind) error {
	switch r.tree.code {
	case block.RunLength:
		heads, lengths := runsOf(vals)
		if err := nestAs(r, 0, heads, k); err != nil {
			return err
		}
		return nestAs(r, 1, lengths, unsigned)
	case block.Sparse:
		where, stored := storedOf(vals)
		if err := nestAs(r, 0, where, unsigned); err != nil || len(stored) == 0 {
			return err
		}
		return nestAs(r, 1, stored, k)
	}
	codes, entries := number(r.e, vals, valid, len(vals)+1)
	if err := nestAs(r, 0, codes, unsigned); err != nil {
		return err
	}
	return nestAs(r, 1, entries, k)
}

// cutAs is ALP-RD with a given cut and dictionary.
func cutAs[U word](r requested, vals []U, cut *rdCut) error {
	p := r.p
	p.factor, p.lefts = uint8(cut.right), cut.lefts[:cut.entries]
	splitFloats(r.e, p, vals)
	rights := each1(vals, func(v U) U { return v & (U(1)<<cut.right - 1) })
	if err := nestAs(r, 0, stream[uint16](p, 0), unsigned); err != nil {
		return err
	}
	return nestAs(r, 1, rights, unsigned)
}

// nestAs puts stream i into the plan as the tree has it.
func nestAs[U word](r requested, i int, vals []U, k kind) (err error) {
	var kid *plan
	if c := r.tree.child(i); c.code != 0 {
		kid, err = numbersAs(r.e, vals, nil, k, c)
	}
	nest(r.p, i, vals, kid)
	return err
}

// bytesAs makes the plan that t requests of byte strings.
func bytesAs(e *Encoder, s *byteValues, valid []byte, t *tree) (*plan, error) {
	p := e.newPlan(t.code, 0)
	r := requested{e, t, p}
	switch t.code {
	case block.Plain:
		return p, nil
	case block.SingleValue:
		p.payload, _ = s.single(valid)
		return p, nil
	case block.BlockDictionary:
		codes, entries := e.numberBytes(s, valid, s.n+1)
		p = e.dictionaryOf(s, entries)
		r.p = p
		if err := nestAs(r, 0, codes, unsigned); err != nil {
			return nil, err
		}
		return p, nestAs(r, 1, stream[uint32](p, 1), unsigned)
	case block.Fsst:
		p = e.planFsst(s, nil, math.MaxInt)
		r.p = p
	case block.Lz4, block.Zstd:
		p.payload = e.compress(s.data, 0)
	default:
		return nil, fmt.Errorf("%v on byte strings", t.code)
	}
	if s.fixed > 0 {
		return p, nil
	}
	return p, nestAs(r, 0, s.offsets, unsigned)
}

func each1[U, V word](vals []U, f func(U) V) []V {
	out := make([]V, len(vals))
	for i, v := range vals {
		out[i] = f(v)
	}
	return out
}

// extremes are the smallest and the largest value of their kind.
func extremes[U word](vals []U, k kind) (least, most U) {
	flip := U(0)
	if k == signed {
		flip = 1 << (bitsOf[U]() - 1)
	}
	least, most = ^U(0), 0
	for _, v := range vals {
		least, most = min(least, v^flip), max(most, v^flip)
	}
	return least ^ flip, most ^ flip
}

// runsOf are the values of the runs and how often each stands.
func runsOf[U word](vals []U) (heads []U, lengths []uint32) {
	for i, v := range vals {
		if i == 0 || v != vals[i-1] {
			heads, lengths = append(heads, v), append(lengths, 0)
		}
		lengths[len(lengths)-1]++
	}
	return heads, lengths
}

// storedOf are the values other than zero and where they stand.
func storedOf[U word](vals []U) (where []uint32, stored []U) {
	where = []uint32{}
	for i, v := range vals {
		if v != 0 {
			where, stored = append(where, uint32(i)), append(stored, v)
		}
	}
	return where, stored
}
