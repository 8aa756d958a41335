package encode

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// planBytes finds the best plan for byte values. Values of a fixed size are never SingleValue or
// BlockDictionary: the reference misreads those.
func (e *Encoder) planBytes(s *byteValues, valid []byte) *plan {
	best := e.newPlan(block.Plain, 3+8*len(s.offsets)+len(s.data))
	if e.o.Dictionary != nil {
		return better(best, e.planByteGeneral(s, e.planOffsets(s), math.MaxInt))
	}
	if s.n == 0 || e.rules.tries == 0 {
		return best
	}
	if s.fixed == 0 {
		if same, ok := s.single(valid); ok {
			p := e.newPlan(block.SingleValue, 2+len(same))
			p.payload = same
			best = better(best, p)
			if len(same) < minSqueeze || e.rules.general == 0 {
				return best
			}
		}
	}
	var tried codeSet
	if s.fixed == 0 && s.n >= 4 && e.mayNest(scope{}, block.BlockDictionary) && e.try(block.BlockDictionary, scope{}, &tried) {
		best = better(best, e.planByteDictionary(s, valid))
	}
	best = e.planTexts(s, best, &tried)
	e.learn(scope{}, tried, best.code)
	return best
}

// planTexts weighs what takes the values as one text and stores the offsets beside it.
func (e *Encoder) planTexts(s *byteValues, best *plan, tried *codeSet) *plan {
	if even := e.planEvenRecords(s); even != nil {
		return better(best, e.planRecordsLZ4(s, even))
	}
	raw := 8*len(s.offsets) + len(s.data)
	general := e.rules.general != 0 && float64(best.size) >= e.rules.generalAbove*float64(raw) &&
		e.try(e.rules.general, scope{}, tried)
	var planned *plan
	isPlanned := false
	offsets := func() *plan {
		if !isPlanned {
			planned, isPlanned = e.planOffsets(s), true
		}
		return planned
	}
	framed := e.planRecords(s, best, tried)
	if framed == nil {
		framed = e.planTextFrame(s, best, offsets, tried)
	}
	if framed != nil {
		best = better(best, framed)
	}
	if general {
		best = better(best, e.planByteGeneral(s, offsets(), int(best.cost())+1))
	}
	if best == framed && framed != nil {
		e.learn(scope{}, *tried, wordFrameTrial)
		*tried = 0
		return best
	}
	if len(s.data) < minFsst || beyondFsst(s, best) || !e.may(scope{}, block.Fsst) || !e.try(block.Fsst, scope{}, tried) {
		return best
	}
	return better(best, e.planFsst(s, offsets(), best.size))
}

// beyondFsst: so little has been made of the text that symbols, which stand for eight bytes at most, can't better it; or by Zstd
// so little that they wouldn't.
func beyondFsst(s *byteValues, best *plan) bool {
	return best.size <= len(s.data)/8 || best.code == block.Zstd && best.size*5 < len(s.data)*2
}

// minSqueeze is the length from which a single value may be compressed instead of stored as it is.
const minSqueeze = 256

// single is the value that all slots hold which aren't null, if there is one.
func (s *byteValues) single(valid []byte) (value []byte, ok bool) {
	first := true
	for i := range s.n {
		if valid != nil && valid[i/8]>>(i%8)&1 == 0 {
			continue
		}
		v := s.data[s.offsets[i]:s.offsets[i+1]]
		if first {
			value, first = v, false
		} else if !bytes.Equal(v, value) {
			return nil, false
		}
	}
	return value, true
}

// planOffsets plans the offsets section of Zstd, LZ4 and FSST: nil for raw ones, or none.
func (e *Encoder) planOffsets(s *byteValues) *plan {
	if s.fixed > 0 {
		return nil
	}
	return unlessRaw(planRepeated(e, &e.offsets, &input[uint64]{vals: s.offsets, kind: unsigned}, scope{}.in(e.rules)), 8*len(s.offsets))
}

// nestOffsets puts the offsets section into p and returns its size.
func nestOffsets(p *plan, s *byteValues, kid *plan) int {
	if s.fixed > 0 {
		return 0
	}
	return nest(p, 0, s.offsets, kid)
}

// planByteGeneral compresses the concatenated values; nil where that is known early to come to limit bytes or more.
func (e *Encoder) planByteGeneral(s *byteValues, offsets *plan, limit int) *plan {
	var payload []byte
	if s.fixed == recordSize && e.rules.general == block.Lz4 && len(s.data) >= 2*recordSize && len(s.data) <= maxGeneral {
		payload = e.compressRecords(s.data)
	} else {
		payload = e.compressBelow(s.data, 0, limit)
	}
	if payload == nil {
		return nil
	}
	e.textRate = max(1, 1000*len(payload)/max(1, len(s.data)))
	p := e.newPlan(e.rules.general, 0)
	p.payload = payload
	p.size = headerOf(6) + align8(len(payload)) + nestOffsets(p, s, offsets)
	return p
}

// appendByteTree carries out a plan for byte values:
//
//	Plain            code, offset width u8; offsets, bytes; nothing padded
//	SingleValue      code; bytes
//	BlockDictionary  code, size of the codes u32, size of the lengths u32, number of entries u32, lengths are
//	                 a sub-block u8; codes, padded, lengths, bytes
//	FSST             code, number of symbols u8, size of the stream u32, offsets are a sub-block u8, offset
//	                 width u8; symbols u64, lengths u8, stream, padding, offsets
//	Zstd, LZ4        code, size of the payload u32, offset width u8, offsets are a sub-block u8; payload,
//	                 padding, offsets
//
// The offset width is 8, or 0 for values of a fixed size, which have no offsets.
func appendByteTree(dst []byte, s *byteValues, p *plan) []byte {
	start := len(dst)
	switch p.code {
	case block.Plain:
		dst = append(appendCode(dst, p.code), s.offsetWidth())
		dst = simd.Append(dst, s.offsets)
		return append(dst, s.data...)
	case block.SingleValue:
		return append(appendCode(dst, p.code), p.payload...)
	case block.BlockDictionary:
		return appendByteDictionary(dst, p)
	case block.Fsst:
		dst, at := appendHeader(dst, p.code, 7)
		at[0] = byte(len(p.symbols.list))
		binary.LittleEndian.PutUint32(at[1:], uint32(len(p.payload)))
		at[5], at[6] = flag(p.kids[0]), s.offsetWidth()
		dst = append(p.symbols.append(dst), p.payload...)
		return appendOffsets(pad(dst, start), p)
	}
	dst, at := appendHeader(dst, p.code, 6)
	binary.LittleEndian.PutUint32(at, uint32(len(p.payload)))
	at[4], at[5] = s.offsetWidth(), flag(p.kids[0])
	dst = append(dst, p.payload...)
	return appendOffsets(pad(dst, start), p)
}

func appendOffsets(dst []byte, p *plan) []byte {
	if p.in[0] == nil {
		return dst
	}
	return appendNested[uint64](dst, p, 0)
}

func (s *byteValues) offsetWidth() byte {
	if s.fixed > 0 {
		return 0
	}
	return 8
}
