package column

import (
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// clearedPrefix restores bits that a writer cleared. The reference's bit buffers hold a run of equal bits as one bit and a count; where
// an empty array follows a run of set bits, that one bit is cleared, and with it every bit of the run. The statistics are
// collected elsewhere and count what was written. So the bits that are missing are the first of the buffer, as many as the
// statistics count more set bits than there are, and all of them are clear.
type clearedPrefix struct {
	// want is the number of set bits by the statistics, of positions among those that mask has set.
	count, want uint64
	mask        *bitReader
	// end is the position before which every bit is set, known once it is settled.
	settled bool
	end     uint64
	report  func(error)
	locate  func(format string, args ...any) error
	what    string
}

// prefixChunk is how many bytes of bits are looked at together.
const prefixChunk = 16 << 10

// restorable reports whether the statistics of a type count what its bit buffers hold.
func restorable(b schema.Basic) bool {
	switch b {
	case schema.Boolean, schema.List, schema.Map, schema.FixedSizeList, schema.Struct:
		return true
	}
	return false
}

// presencePrefix restores presence by the stated count of nulls; nil where nothing is stated, or all positions are null.
func (f *stored) presencePrefix() *clearedPrefix {
	if !restorable(f.node.Basic) || f.desc.NullCount == nil || f.desc.GetNullCount() >= f.count {
		return nil
	}
	return f.prefix("presence", f.count-f.desc.GetNullCount(), nil)
}

// truePrefix restores booleans by the stated count of true ones.
func (f *stored) truePrefix(presence *bitReader) *clearedPrefix {
	s, ok := f.desc.GetTypeSpecific().(*metapb.FieldDescriptor_BooleanStats)
	if !ok || s.BooleanStats.GetTrueCount() == 0 {
		return nil
	}
	return f.prefix("booleans", s.BooleanStats.GetTrueCount(), presence)
}

func (f *stored) prefix(what string, want uint64, mask *bitReader) *clearedPrefix {
	return &clearedPrefix{count: f.count, want: want, mask: mask, report: f.o.restored, locate: f.corrupt, what: what}
}

// need gives the requests to be made before it is settled, after the first bit can be read, which mostly settles it.
func (p *clearedPrefix) need(b *bitReader, whole bool) ([]colstream.Request, error) {
	first, err := b.stored(colstream.Range{Start: 0, End: 1})
	if err != nil {
		return nil, err
	}
	if first[0]&1 != 0 {
		p.settled = true
		return nil, nil
	}
	all := colstream.Range{Start: 0, End: p.count}
	out, err := b.n.Need([]colstream.Range{bytesOf(all)}, whole)
	if err != nil || len(out) > 0 {
		return out, err
	}
	if out, err = p.mask.Need([]colstream.Range{all}, whole); err != nil || len(out) > 0 {
		return out, err
	}
	return nil, p.settle(b)
}

// settle counts the bits that are set and finds out where the missing ones end.
func (p *clearedPrefix) settle(b *bitReader) error {
	set, clear, run := uint64(0), uint64(0), true
	err := p.chunks(func(r colstream.Range, mask []byte) (bool, error) {
		bits, err := b.stored(r)
		if err != nil {
			return false, err
		}
		n := int(r.Len())
		if run {
			k := leadingZeros(bits, n)
			clear, run = clear+uint64(k), k == n
		}
		if mask != nil {
			simd.AndBits(bits[:(n+7)/8], mask)
		}
		set += uint64(simd.Ones(bits, n))
		return true, nil
	})
	if err != nil {
		return err
	}
	p.settled = true
	if set >= p.want {
		return nil
	}
	end, err := p.place(p.want - set)
	if err != nil {
		return err
	}
	switch {
	case p.want == p.count:
		p.end = p.count // as where the buffer is not read
	case end <= clear:
		p.end = end
	}
	if p.report != nil {
		how := "the first ones are read as set"
		if p.end == 0 {
			how = "they are read as they are stored"
		}
		p.report(p.locate("%d bits of the %s are set, the statistics count %d: %s", set, p.what, p.want, how))
	}
	return nil
}

// place is the position behind the missing bits: those of the mask, if there is one. It is behind all positions if there are not as many.
func (p *clearedPrefix) place(missing uint64) (end uint64, err error) {
	if p.mask == nil {
		return missing, nil
	}
	end = p.count + 1
	err = p.chunks(func(r colstream.Range, mask []byte) (bool, error) {
		if have := uint64(simd.Ones(mask, int(r.Len()))); have < missing {
			missing -= have
			return true, nil
		}
		for i := range r.Len() {
			if mask[i/8]>>(i%8)&1 != 0 {
				missing--
			}
			if missing == 0 {
				end = r.Start + i + 1
				break
			}
		}
		return false, nil
	})
	return end, err
}

// chunks calls do with all positions, a chunk at a time, and the bits of the mask, until do returns false.
func (p *clearedPrefix) chunks(do func(r colstream.Range, mask []byte) (bool, error)) error {
	for at := uint64(0); at < p.count; at += 8 * prefixChunk {
		r := colstream.Range{Start: at, End: min(p.count, at+8*prefixChunk)}
		var mask []byte
		if p.mask != nil {
			var err error
			if mask, err = p.mask.read(r); err != nil {
				return err
			}
		}
		if more, err := do(r, mask); err != nil || !more {
			return err
		}
	}
	return nil
}

// apply sets those bits of r that were cleared.
func (p *clearedPrefix) apply(bits []byte, r colstream.Range) {
	if p != nil && r.Start < p.end {
		bitutil.SetBitsTo(bits, 0, int64(min(r.End, p.end)-r.Start), true)
	}
}

// leadingZeros counts the clear bits before the first of n that is set.
func leadingZeros(bits []byte, n int) int {
	for i := range n {
		if i%8 == 0 && bits[i/8] == 0 {
			continue
		}
		if bits[i/8]>>(i%8)&1 != 0 {
			return i
		}
	}
	return n
}
