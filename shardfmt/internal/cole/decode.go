package cole

import (
	"encoding/binary"
	"math"
)

// integers yields the values of one page of integers. A run is not expanded before it is requested, so that what is
// held in memory is bounded by the stored bytes.
type integers struct {
	cursor
	typ      Type
	encoding Encoding
	left     uint64 // values not yielded yet
	runs     uint64 // runs not begun yet
	run      uint64 // values left of the run available
	value    int64  // of the run, or the last one of a DELTA page
	begun    bool
}

// newIntegers begins a page of n values. An empty page has no bytes; that of RLE may have its number of runs.
func newIntegers(t Type, e Encoding, data []byte, base int64, n uint64) (*integers, error) {
	p := &integers{cursor: cursor{b: data, base: base}, typ: t, encoding: e, left: n}
	if n == 0 && len(data) == 0 {
		return p, nil
	}
	return p, p.open()
}

func (p *integers) open() error {
	switch p.encoding {
	case RLE:
		runs, err := p.uvarint(32)
		if err != nil {
			return err
		}
		if runs > uint64(p.cursor.left())/2 {
			return p.corrupt("%d runs in %d bytes", runs, p.cursor.left())
		}
		p.runs = runs
	case Delta:
		if p.left == 0 {
			return p.corrupt("a DELTA page of no values with data")
		}
		b, err := p.take(p.typ.width(), "the first value")
		if err != nil {
			return err
		}
		p.value = fixed(p.typ, b)
		n, err := p.uvarint(32)
		if err != nil {
			return err
		}
		if n != p.left-1 {
			return p.corrupt("%d deltas for %d values", n, p.left)
		}
		if n > uint64(p.cursor.left()) {
			return p.corrupt("%d deltas in %d bytes", n, p.cursor.left())
		}
	default:
		if uint64(len(p.b)) < p.left*uint64(p.typ.width()) {
			return p.corrupt("%d values of %v in %d bytes", p.left, p.typ, len(p.b))
		}
	}
	return nil
}

// fixed reads an integer of the width of its type.
func fixed(t Type, b []byte) int64 {
	if t == Int32 {
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// next fills dst, of which there must be no more than the rest.
func (p *integers) next(dst []int64) error {
	p.left -= uint64(len(dst))
	switch p.encoding {
	case RLE:
		return p.nextRuns(dst)
	case Delta:
		return p.nextDeltas(dst)
	}
	width := p.typ.width()
	b, err := p.take(len(dst)*width, "the values")
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = fixed(p.typ, b[i*width:])
	}
	return nil
}

func (p *integers) nextRuns(dst []int64) error {
	for len(dst) > 0 {
		if err := p.beginRun(); err != nil {
			return err
		}
		n := min(p.run, uint64(len(dst)))
		for i := range dst[:n] {
			dst[i] = p.value
		}
		p.run -= n
		dst = dst[n:]
	}
	return nil
}

// beginRun makes sure that there are values left of a run.
func (p *integers) beginRun() (err error) {
	for p.run == 0 {
		if p.runs == 0 {
			return p.corrupt("the runs have fewer values than the page")
		}
		p.runs--
		if p.run, err = p.uvarint(32); err != nil {
			return err
		}
		if p.value, err = p.svarint(8 * p.typ.width()); err != nil {
			return err
		}
	}
	return nil
}

func (p *integers) nextDeltas(dst []int64) error {
	for i := range dst {
		if !p.begun {
			p.begun = true
		} else {
			d, err := p.svarint(8 * p.typ.width())
			if err != nil {
				return err
			}
			p.value += d
			if p.typ == Int32 {
				p.value = int64(int32(p.value))
			}
		}
		dst[i] = p.value
	}
	return nil
}

// skip leaves out n values.
func (p *integers) skip(n uint64) error {
	switch p.encoding {
	case Plain:
		p.left -= n
		_, err := p.take(int(n)*p.typ.width(), "the values")
		return err
	case RLE:
		p.left -= n
		for n > 0 {
			if err := p.beginRun(); err != nil {
				return err
			}
			of := min(p.run, n)
			p.run, n = p.run-of, n-of
		}
		return nil
	}
	var few [256]int64
	for n > 0 {
		of := min(n, uint64(len(few)))
		if err := p.next(few[:of]); err != nil {
			return err
		}
		n -= of
	}
	return nil
}

// end checks that nothing but empty runs is left, and gives the number of bytes behind the values.
func (p *integers) end() (spare int, err error) {
	if p.run > 0 {
		return 0, p.corrupt("the runs have more values than the page")
	}
	for p.runs > 0 {
		if err := p.emptyRun(); err != nil {
			return 0, err
		}
	}
	return p.cursor.left(), nil
}

func (p *integers) emptyRun() error {
	p.runs--
	n, err := p.uvarint(32)
	if err != nil {
		return err
	}
	if n > 0 {
		return p.corrupt("the runs have more values than the page")
	}
	_, err = p.svarint(8 * p.typ.width())
	return err
}

// texts yields the values of one page of strings, as parts of the page's bytes.
type texts struct {
	cursor
	left    uint64
	indices *integers // of a DICTIONARY page, else nil
	entries [][]byte
	offsets []byte // of a PLAIN page: those from the next value on
	bytes   []byte
	base    uint32 // the offset that the next value begins at
}

// newTexts begins a page of n strings. An empty page has no bytes, or the one zero that its encoding starts with.
func newTexts(e Encoding, data []byte, base int64, n uint64) (*texts, error) {
	p := &texts{cursor: cursor{b: data, base: base}, left: n}
	if n == 0 && (len(data) == 0 || len(data) == 4 && binary.LittleEndian.Uint32(data) == 0) {
		p.at = len(data)
		return p, nil
	}
	if e == Dictionary {
		return p, p.openDictionary(n)
	}
	return p, p.openPlain(n)
}

func (p *texts) openPlain(n uint64) error {
	if n > uint64(len(p.b))/4 || 4*(n+1) > uint64(len(p.b)) {
		return p.corrupt("the offsets of %d strings in %d bytes", n, len(p.b))
	}
	p.offsets = p.b[:4*(n+1)]
	p.at = len(p.offsets)
	p.bytes = p.b[p.at:]
	if first := binary.LittleEndian.Uint32(p.offsets); first != 0 {
		return p.corrupt("the first offset is %d", first)
	}
	p.offsets = p.offsets[4:]
	return nil
}

func (p *texts) openDictionary(n uint64) error {
	size, err := p.u32("the size of the dictionary")
	if err != nil {
		return err
	}
	if size > math.MaxInt32 || int64(size)*4 > int64(p.cursor.left()) {
		return p.corrupt("%d entries in %d bytes", size, p.cursor.left())
	}
	p.entries = make([][]byte, 0, size)
	for range size {
		length, err := p.u32("the length of an entry")
		if err != nil {
			return err
		}
		if int64(length) > int64(p.cursor.left()) {
			return p.corrupt("an entry of %d bytes, but %d remain", length, p.cursor.left())
		}
		entry, err := p.take(int(length), "an entry")
		if err != nil {
			return err
		}
		p.entries = append(p.entries, entry)
	}
	p.indices, err = newIntegers(Int32, RLE, p.b[p.at:], p.cursor.base+int64(p.at), n)
	return err
}

// next fills dst, of which there must be no more than the rest.
func (p *texts) next(dst [][]byte) error {
	p.left -= uint64(len(dst))
	if p.indices == nil {
		return p.nextPlain(dst)
	}
	var few [512]int64
	for len(dst) > 0 {
		n := min(len(dst), len(few))
		if err := p.indices.next(few[:n]); err != nil {
			return err
		}
		for i, k := range few[:n] {
			if k < 0 || k >= int64(len(p.entries)) {
				return p.indices.corrupt("index %d into a dictionary of %d entries", k, len(p.entries))
			}
			dst[i] = p.entries[k]
		}
		dst = dst[n:]
	}
	return nil
}

func (p *texts) nextPlain(dst [][]byte) error {
	for i := range dst {
		end := binary.LittleEndian.Uint32(p.offsets)
		if end < p.base || uint64(end) > uint64(len(p.bytes)) {
			return p.corrupt("a string from offset %d to %d of %d bytes", p.base, end, len(p.bytes))
		}
		dst[i] = p.bytes[p.base:end:end]
		p.offsets, p.base = p.offsets[4:], end
	}
	return nil
}

// skip leaves out n values.
func (p *texts) skip(n uint64) error {
	if p.indices != nil {
		p.left -= n
		return p.indices.skip(n)
	}
	var few [256][]byte
	for n > 0 {
		of := min(n, uint64(len(few)))
		if err := p.next(few[:of]); err != nil {
			return err
		}
		n -= of
	}
	return nil
}

// end gives the number of bytes behind the values.
func (p *texts) end() (spare int, err error) {
	if p.indices != nil {
		return p.indices.end()
	}
	return len(p.bytes) - int(p.base), nil
}
