package encode

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Zstd's encoders are bad at words of which a few bytes say something and the upper ones are those of the word before: they
// look for what occurred anywhere, and every match costs a distance. A word frame is a frame of Zstd (RFC 8878) with one
// sequence for each word, or for each run of equal ones: the lower bytes as literals, the upper ones copied from the word
// before, or from the second or third word before where that has more in common. These three distances stay among the
// repeated offsets. Literals are Huffman-coded, lengths of literals and matches by tables of finite states (see fsetable.go),
// which cost nothing where all words are alike.

// minWordFrame are the fewest words worth a frame, and wordFrameTrial stands for it among the trials: Plain is none.
const (
	minWordFrame   = 1024
	wordFrameTrial = block.Plain
	// furthestWord is how many words before may be copied from.
	furthestWord = 3
	// largestRecord is the largest size of records; they must fill the blocks of a frame, so it is a power of two.
	largestRecord = 64
	// worthFurther is how many more bytes must be found further off than in the word before.
	worthFurther = 3
)

// sequence is what a block of a frame does next: it appends literals, then copies match bytes from offset bytes before; offset
// is as stored, 1 to 3 for the repeated ones.
type sequence struct {
	literals, match, offset uint32
}

// wordFrame writes frames. Its memory is part of the bench.
type wordFrame struct {
	literals  []byte
	sequences []sequence
	recent    [3]uint32
	tables    [3]fseTable
	codes     [3][]uint8
	// lengths, if not nil, counts how much is copied of ends and of beginnings of texts.
	lengths *[2][64]int
}

// planWordFrame plans a frame of words; nil if the profile has no Zstd, or a sample has too many bytes that differ from those
// of the words before.
func planWordFrame[U word](e *Encoder, vals []U, best *plan, sc scope, tried *codeSet) *plan {
	size := sizeOf[U]()
	if size < 4 || len(vals) < minWordFrame || e.rules.general != block.Zstd || sc.level >= e.rules.depth {
		return nil
	}
	text := simd.AsBytes(vals)
	if e.frame.expect(text, size) >= best.size-best.size/lowBytesGain || !e.try(wordFrameTrial, sc, tried) {
		return nil
	}
	payload := e.wordFrame(text, size)
	p := e.newPlan(block.Zstd, headerOf(0)+len(payload))
	p.payload = payload
	return p
}

// planRecords plans a frame of values of a fixed size, as decimals are, whose upper bytes are mostly those of the value before.
func (e *Encoder) planRecords(s *byteValues, best *plan, tried *codeSet) *plan {
	if s.fixed < 8 || s.fixed > largestRecord || zstdBlock%s.fixed != 0 || s.n < minWordFrame || len(s.data) > maxGeneral || e.rules.general != block.Zstd {
		return nil
	}
	if e.frame.expect(s.data, s.fixed) >= best.size || !e.try(wordFrameTrial, scope{}, tried) {
		return nil
	}
	p := e.newPlan(block.Zstd, 0)
	p.payload = e.wordFrame(s.data, s.fixed)
	p.size = headerOf(6) + align8(len(p.payload))
	return p
}

// expect is about what a frame comes to, by runs of words from all over the text: the information in their literals and lengths.
func (f *wordFrame) expect(text []byte, size int) int {
	const runs, run = 4, 256
	n := len(text) / size
	f.recent = [3]uint32{uint32(size), 2 * uint32(size), 3 * uint32(size)}
	var counts [4][256]int // of literals, and of the codes of their lengths, of offsets, of lengths of matches
	extra := 0
	for r := range runs {
		from := (n - run) * r / (runs - 1) * size
		f.parse(text, from, from+run*size, size)
		for _, b := range f.literals {
			counts[0][b]++
		}
		for _, s := range f.sequences {
			a, b, c := literalsCode(s.literals), bits.Len32(s.offset)-1, matchCode(s.match)
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
	return int(total / (8 * runs * run) * float64(n))
}

// information is the bits that symbols come to which occur so often.
func information(counts []int) (bits float64) {
	all := 0
	for _, n := range counts {
		all += n
	}
	for _, n := range counts {
		if n > 0 {
			bits += float64(n) * math.Log2(float64(all)/float64(n))
		}
	}
	return bits
}

// differing is the number of bytes of the first words of a and b up to the last one that differs.
func differing(a, b []byte, size int) int {
	switch size {
	case 4:
		return (bits.Len32(binary.LittleEndian.Uint32(a)^binary.LittleEndian.Uint32(b)) + 7) / 8
	case 8:
		return (bits.Len64(binary.LittleEndian.Uint64(a)^binary.LittleEndian.Uint64(b)) + 7) / 8
	}
	for size >= 8 {
		if x := binary.LittleEndian.Uint64(a[size-8:]) ^ binary.LittleEndian.Uint64(b[size-8:]); x != 0 {
			return size - 8 + (bits.Len64(x)+7)/8
		}
		size -= 8
	}
	return 0
}

// wordFrame is the frame of text, words of size bytes: 4, or a multiple of 8.
func (e *Encoder) wordFrame(text []byte, size int) []byte {
	f := &e.frame
	f.recent = [3]uint32{1, 4, 8}
	dst := e.beginFrame(len(text))
	for from := 0; from < len(text); from += zstdBlock {
		to := min(from+zstdBlock, len(text))
		before := f.recent
		f.parse(text, from, to, size)
		dst = e.appendFrameBlock(dst, text[from:to], to == len(text), before)
	}
	return dst
}

// beginFrame is the start of a frame of a text of so many bytes, with space for all of it.
func (e *Encoder) beginFrame(size int) []byte {
	return appendFrameHeader(take[uint8](&e.arena, size+size/64+1024)[:0], size)
}

// appendFrameBlock appends the block of a piece of text that was parsed; raw, and with the distances that were the last ones before, if that is no
// larger.
func (e *Encoder) appendFrameBlock(dst, text []byte, last bool, before [3]uint32) []byte {
	f := &e.frame
	at := len(dst)
	dst = append(dst, 0, 0, 0)
	dst = e.appendAnyLiterals(dst, f.literals)
	dst = f.appendSequences(dst)
	if n := len(dst) - at - 3; n < len(text) {
		putBlockHeader(dst[at:], n, last)
		return dst
	}
	f.recent = before
	return appendRawBlock(dst[:at], text, last)
}

// parse cuts a block of the text into sequences.
func (f *wordFrame) parse(text []byte, from, to, size int) {
	f.literals, f.sequences = f.literals[:0], f.sequences[:0]
	pending := 0
	for at := from; at < to; {
		far, k := f.source(text, at, size)
		if size-k < minMatch {
			f.literals = append(f.literals, text[at:at+size]...)
			pending += size
			at += size
			continue
		}
		f.literals = append(f.literals, text[at:at+k]...)
		pending += k
		end := at + size
		for end < to && differing(text[end:], text[end-far:], size) == 0 {
			end += size
		}
		f.sequences = append(f.sequences, sequence{uint32(pending), uint32(end - at - k), f.offset(uint32(far), pending == 0)})
		at, pending = end, 0
	}
}

// source is how many bytes before a word the one is from which to copy, and how many of the word's bytes are not to be copied.
func (f *wordFrame) source(text []byte, at, size int) (far, k int) {
	k = size
	for d := size; d <= furthestWord*size && d <= at; d += size {
		if n := differing(text[at:], text[at-d:], size); n < k && (size-k < minMatch || n+worthFurther <= k) {
			far, k = d, n
		}
		if size-k >= minMatch && k <= worthFurther {
			break
		}
	}
	return far, k
}

// offset is a distance as a sequence stores it: by its place among the repeated ones, or as itself plus 3.
func (f *wordFrame) offset(far uint32, noLiterals bool) uint32 {
	r := f.recent
	place := uint32(0)
	for place < 3 && r[place] != far {
		place++
	}
	switch {
	case noLiterals && place == 0:
		place = 3
	case place == 0:
		return 1
	}
	switch place {
	case 1:
		f.recent = [3]uint32{r[1], r[0], r[2]}
	case 2:
		f.recent = [3]uint32{r[2], r[0], r[1]}
	default:
		f.recent = [3]uint32{far, r[0], r[1]}
		return far + 3
	}
	if noLiterals {
		return place
	}
	return place + 1
}

// appendAnyLiterals appends the literals section, raw where Huffman codes don't help.
func (e *Encoder) appendAnyLiterals(dst, literals []byte) []byte {
	if len(literals) >= 64 {
		at := len(dst)
		if out := e.appendLiterals(dst, literals); out != nil && len(out)-at < len(literals) {
			return out
		}
		dst = dst[:at]
	}
	h := uint32(len(literals))<<4 | 3<<2
	return append(append(dst, byte(h), byte(h>>8), byte(h>>16)), literals...)
}

// appendSequences appends the sequences section.
func (f *wordFrame) appendSequences(dst []byte) []byte {
	n := len(f.sequences)
	if n == 0 {
		return append(dst, 0)
	}
	dst = appendCount(dst, n)
	for i := range f.codes {
		f.codes[i] = f.codes[i][:0]
	}
	for _, s := range f.sequences {
		f.codes[0] = append(f.codes[0], literalsCode(s.literals))
		f.codes[1] = append(f.codes[1], uint8(bits.Len32(s.offset)-1))
		f.codes[2] = append(f.codes[2], matchCode(s.match))
	}
	at := len(dst)
	dst = append(dst, 0)
	for i := range f.tables {
		mode := byte(0)
		if dst, mode = f.tables[i].appendTable(dst, f.codes[i]); mode != 0 {
			dst[at] |= mode << (6 - 2*i)
		}
	}
	return f.appendBits(dst)
}

// appendBits appends the stream of the sequences, which is read from its end.
func (f *wordFrame) appendBits(dst []byte) []byte {
	w := bitWriter{dst: dst}
	ll, of, ml := &f.tables[0], &f.tables[1], &f.tables[2]
	last := len(f.sequences) - 1
	for i := last; i >= 0; i-- {
		s, a, b, c := f.sequences[i], f.codes[0][i], f.codes[1][i], f.codes[2][i]
		if i == last {
			ml.begin(c)
			of.begin(b)
			ll.begin(a)
		} else {
			of.encode(&w, b)
			ml.encode(&w, c)
			ll.encode(&w, a)
		}
		w.add(s.literals-literalsBase[a], literalsBits[a])
		w.add(s.match-matchBase[c], matchBits[c])
		w.add(s.offset-1<<b, b)
	}
	ml.end(&w)
	of.end(&w)
	ll.end(&w)
	return w.close()
}
