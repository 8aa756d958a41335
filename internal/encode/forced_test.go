package encode

import (
	"strings"

	"github.com/shardcat/shardcat/internal/block"
	"github.com/shardcat/shardcat/internal/kernel"
)

// tree is an encoding that a test demands, written as Plan.String writes it.
type tree struct {
	code block.Code // 0: raw
	kids []*tree
}

// parseTree reads a tree, and returns what follows it.
func parseTree(s string) (*tree, string) {
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
		panic("no encoding " + s)
	}
	s = s[end:]
	if !strings.HasPrefix(s, "[") {
		return t, s
	}
	for !strings.HasPrefix(s, "]") {
		var kid *tree
		kid, s = parseTree(strings.TrimLeft(s, "[, "))
		t.kids = append(t.kids, kid)
	}
	return t, s[1:]
}

// forced makes the plan that t demands, with the parameters that the reference would choose.
func forced[U word](e *Encoder, vals []U, k kind, t *tree) *plan {
	p := e.newPlan(t.code, 0)
	least, most := extremes(vals, k)
	switch t.code {
	case block.FLBitPack:
		p.width = widthOf(most)
	case block.FusedFrameOfReference:
		p.ref, p.width = uint64(least), widthOf(most-least)
	case block.FrameOfReference:
		p.ref = uint64(least)
		demand(e, p, 0, each1(vals, func(v U) U { return v - least }), unsigned, t)
	case block.Delta:
		p.ref = uint64(vals[0])
		diffs := make([]U, len(vals)-1)
		for i := range diffs {
			diffs[i] = vals[i+1] - vals[i]
		}
		demand(e, p, 0, diffs, k, t)
	case block.ZigZag:
		demand(e, p, 0, each1(vals, zigZag[U]), unsigned, t)
	case block.TruncateU8:
		demand(e, p, 0, each1(vals, func(v U) uint8 { return uint8(v) }), unsigned, t)
	case block.TruncateU16:
		demand(e, p, 0, each1(vals, func(v U) uint16 { return uint16(v) }), unsigned, t)
	case block.TruncateU32:
		demand(e, p, 0, each1(vals, func(v U) uint32 { return uint32(v) }), unsigned, t)
	case block.TruncateU64:
		demand(e, p, 0, each1(vals, func(v U) uint64 { return uint64(v) }), unsigned, t)
	case block.RunLength:
		heads, lengths := runsOf(vals)
		demand(e, p, 0, heads, k, t)
		demand(e, p, 1, lengths, unsigned, t)
	case block.Sparse:
		where, stored := presentOf(vals)
		demand(e, p, 0, where, unsigned, t)
		if len(stored) > 0 {
			demand(e, p, 1, stored, k, t)
		}
	case block.BlockDictionary:
		codes, entries := number(e, vals, nil, len(vals)+1)
		demand(e, p, 0, codes, unsigned, t)
		demand(e, p, 1, entries, k, t)
	case block.Lz4, block.Zstd:
		p.payload = e.compress(kernel.AsBytes(vals), true)
	}
	return p
}

func demand[U word](e *Encoder, p *plan, i int, vals []U, k kind, t *tree) {
	var kid *plan
	if t.kids[i].code != 0 {
		kid = forced(e, vals, k, t.kids[i])
	}
	nest(p, i, vals, kid)
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

func runsOf[U word](vals []U) (heads []U, lengths []uint32) {
	for i, v := range vals {
		if i == 0 || v != vals[i-1] {
			heads, lengths = append(heads, v), append(lengths, 0)
		}
		lengths[len(lengths)-1]++
	}
	return heads, lengths
}

func presentOf[U word](vals []U) (where []uint32, stored []U) {
	where = []uint32{}
	for i, v := range vals {
		if v != 0 {
			where, stored = append(where, uint32(i)), append(stored, v)
		}
	}
	return where, stored
}

// forcedAlp is ALP with a given exponent and factor.
func forcedAlp[U word](e *Encoder, vals []U, exponent, factor uint8, kid string) *plan {
	p := e.newPlan(block.Alp, 0)
	p.exponent, p.factor = exponent, factor
	ints := toIntegers(e, p, decimalsOf[U](), vals)
	t, _ := parseTree(kid)
	nest(p, 0, ints, forced(e, ints, signed, t))
	return p
}

// forcedAlpRd is ALP-RD with a given cut and dictionary.
func forcedAlpRd[U word](e *Encoder, vals []U, right uint8, lefts []uint16, left, rights string) *plan {
	p := e.newPlan(block.AlpRd, 0)
	p.factor, p.lefts = right, lefts
	splitFloats(e, p, vals)
	t, _ := parseTree(left)
	p.kids[0] = forced(e, stream[uint16](p, 0), unsigned, t)
	t, _ = parseTree(rights)
	p.kids[1] = forced(e, stream[U](p, 1), unsigned, t)
	return p
}
