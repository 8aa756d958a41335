package encode

import (
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// Short texts often begin and end as the one before does, and differ in a few letters or digits: names with numbers, keys, paths. Zstd's
// encoders, which look for what occurred anywhere, copy a bit more or less of each from all over, and pay for distances and lengths.
// A text frame is a frame of Zstd (RFC 8878) with one sequence for each border between two texts: as literals the rest of the first
// one, and one copy of its end and the beginning of the next. Both stand as far behind as the first one is long, so where texts are
// equally long that is a repeated offset.

const (
	// longestTexts is the mean length of texts up to which frames of them are tried.
	longestTexts = 256
	// textFrameGain is the share of what else would be stored, as a divisor, that a text frame must promise to save.
	textFrameGain = 50
)

// copied is how much at most is copied of the end of a text and of the beginning of the next one: lengths that are always the same cost
// nothing, and now and then another letter in common isn't worth one that isn't.
type copied struct{ end, beginning int }

// planTextFrame plans a frame of texts with their offsets; nil if a sample has too little in common.
func (e *Encoder) planTextFrame(s *byteValues, best *plan, offsets func() *plan, tried *codeSet) *plan {
	if s.fixed > 0 || s.n < minWordFrame || len(s.data) < minFsst || len(s.data) > min(maxGeneral, longestTexts*s.n) || e.rules.general != block.Zstd ||
		e.o.Hint == Sketch {
		return nil
	}
	expect, most := e.frame.expectTexts(s)
	least := min(best.size, len(s.data))
	if e.textRate > 0 {
		least = min(least, len(s.data)*e.textRate/1000)
	}
	if expect >= least-least/textFrameGain || !e.try(wordFrameTrial, scope{}, tried) {
		return nil
	}
	payload := e.textFrame(s, most)
	if payload == nil {
		return nil
	}
	p := e.newPlan(block.Zstd, 0)
	p.payload = payload
	p.size = headerOf(6) + align8(len(payload)) + nestOffsets(p, s, offsets())
	return p
}

// expectTexts is about what a frame comes to, by runs of texts from all over the block, and how much it should copy.
func (f *wordFrame) expectTexts(s *byteValues) (size int, most copied) {
	const anything = 1 << 20
	all, usual := f.informationOfTexts(s, copied{anything, anything})
	if some, _ := f.informationOfTexts(s, usual); some < all {
		return some, usual
	}
	return all, copied{anything, anything}
}

// informationOfTexts is expectTexts with a bound on what is copied, and what is copied most often.
func (f *wordFrame) informationOfTexts(s *byteValues, most copied) (size int, usual copied) {
	const runs, run, longest = 4, 256, 64
	var counts [4][256]int // of literals, and of the codes of their lengths, of offsets, of lengths of matches
	var lengths [2][longest]int
	extra, sampled := 0, 0
	for r := range runs {
		from := (s.n - run) * r / (runs - 1)
		f.recent = [3]uint32{}
		f.lengths = &lengths
		f.parseTexts(s, from, from+run, most)
		f.lengths = nil
		sampled += int(s.offsets[from+run] - s.offsets[from])
		for _, b := range f.literals {
			counts[0][b]++
		}
		for _, q := range f.sequences {
			a, b, c := literalsCode(q.literals), bits.Len32(q.offset)-1, matchCode(q.match)
			counts[1][a]++
			counts[2][b]++
			counts[3][c]++
			extra += int(literalsBits[a]) + b + int(matchBits[c])
		}
	}
	total := float64(extra)
	for i := range counts {
		total += information(counts[i][:])
	}
	for n := range longest {
		if lengths[0][n] > lengths[0][usual.end] {
			usual.end = n
		}
		if lengths[1][n] > lengths[1][usual.beginning] {
			usual.beginning = n
		}
	}
	return int(total / 8 / float64(max(1, sampled)) * float64(len(s.data))), usual
}

// textFrame is the frame of texts; nil if one is longer than a block of a frame.
func (e *Encoder) textFrame(s *byteValues, most copied) []byte {
	f := &e.frame
	f.recent = [3]uint32{1, 4, 8}
	dst := e.beginFrame(len(s.data))
	for from := 0; from < s.n; {
		to := from + 1
		for to < s.n && s.offsets[to+1]-s.offsets[from] <= zstdBlock {
			to++
		}
		if s.offsets[to] == uint64(len(s.data)) {
			to = s.n
		}
		if s.offsets[to]-s.offsets[from] > zstdBlock {
			return nil
		}
		before := f.recent
		f.parseTexts(s, from, to, most)
		dst = e.appendFrameBlock(dst, s.data[s.offsets[from]:s.offsets[to]], to == s.n, before)
		from = to
	}
	return dst
}

// parseTexts cuts the texts from one on up to another into sequences. Empty ones, null slots among them, have no bytes.
func (f *wordFrame) parseTexts(s *byteValues, from, to int, most copied) {
	f.literals, f.sequences = f.literals[:0], f.sequences[:0]
	last, done := from-1, int(s.offsets[from])
	for last >= 0 && s.offsets[last] == s.offsets[last+1] {
		last--
	}
	for i := from; i <= to; i++ {
		if i < to && s.offsets[i] == s.offsets[i+1] {
			continue
		}
		if last >= 0 {
			done = f.parseBorder(s, last, int(s.offsets[min(i+1, to)]), done, most)
		}
		last = i
	}
	f.literals = append(f.literals, s.data[done:s.offsets[to]]...)
}

// parseBorder makes a sequence of the rest of a text, done bytes on, and the beginning of the next one, which ends at a byte. It returns how far
// that went.
func (f *wordFrame) parseBorder(s *byteValues, last, limit, done int, most copied) int {
	text, at := s.data, int(s.offsets[last+1])
	far := at - int(s.offsets[last])
	end := 0
	for end < most.end && at-end > done && at-end > far && text[at-end-1] == text[at-end-1-far] {
		end++
	}
	beginning := 0
	for beginning < most.beginning && at+beginning < limit && text[at+beginning] == text[at+beginning-far] {
		beginning++
	}
	if f.lengths != nil {
		f.lengths[0][min(end, len(f.lengths[0])-1)]++
		f.lengths[1][min(beginning, len(f.lengths[1])-1)]++
	}
	if end+beginning < minMatch {
		return done
	}
	literals := text[done : at-end]
	f.literals = append(f.literals, literals...)
	f.sequences = append(f.sequences, sequence{uint32(len(literals)), uint32(end + beginning), f.offset(uint32(far), len(literals) == 0)})
	return at + beginning
}
