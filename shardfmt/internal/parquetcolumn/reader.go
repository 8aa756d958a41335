package parquetcolumn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

// Depth is where the values of a column are among its levels.
type Depth struct {
	// Def and Rep are the highest levels: the value is there.
	Def, Rep uint32
	// Element is the definition level from which an entry is a position: that of the innermost repeated node, 0 without one.
	Element uint32
}

// Nullable reports whether a position may be null.
func (d Depth) Nullable() bool { return d.Def > d.Element }

// reader decodes pages into arrays.
type reader struct {
	leaf   parquetcodec.Leaf
	depth  Depth
	values values
	// take is given the bytes that an encoding needs which is made plain.
	take func(size uint64) error
	// coding: there is a dictionary.
	coding bool

	// left is how many positions of the page are still to be read: by levels if there may be nulls, which are those of marked if that is not nil, then of
	// codes or plain.
	left   int
	levels hybrid
	marked []uint32
	coded  bool
	codes  hybrid
	plain  []byte

	// numbers and marks are the codes and the levels that are read at once, valid the validity of the array.
	numbers, marks []uint32
	valid          []byte
}

// reset begins an array of n positions.
func (r *reader) reset(n int, keep bool) error {
	r.valid = r.valid[:0]
	if r.depth.Nullable() {
		size := int(bitutil.BytesForBits(int64(n)))
		r.valid = slices.Grow(r.valid, size)[:size]
	}
	return r.values.reset(n, keep)
}

// array gives what was read.
func (r *reader) array(nulls int, keep bool) (arrow.Array, error) {
	var validity *memory.Buffer
	if nulls > 0 {
		validity = memory.NewBufferBytes(r.valid)
		if keep {
			r.valid = nil
		}
	}
	return r.values.array(nulls, validity)
}

// read reads k positions of the page, behind those of the array that are done, and gives how many of them are null.
func (r *reader) read(k, done int) (nulls int, err error) {
	r.left -= k
	if !r.depth.Nullable() {
		return 0, r.dense(k)
	}
	levels := r.marked
	if levels == nil {
		level, all, err := r.levels.constant(k)
		if err != nil {
			return 0, err
		}
		if all && level == 1 {
			bitutil.SetBitsTo(r.valid, int64(done), int64(k), true)
			return 0, r.dense(k)
		}
		r.marks = slices.Grow(r.marks[:0], k)[:k]
		levels = r.marks
		clear(levels)
		if !all { // else all are 0
			if err := r.levels.fill(levels); err != nil {
				return 0, err
			}
		}
	} else {
		levels, r.marked = levels[:k], levels[k:]
	}
	here := 0
	for i, level := range levels {
		here += int(level)
		bitutil.SetBitTo(r.valid, done+i, level != 0)
	}
	if err := r.dense(here); err != nil {
		return 0, err
	}
	r.values.spread(here, levels)
	return k - here, nil
}

// dense reads the next n values, without nulls.
func (r *reader) dense(n int) (err error) {
	if !r.coded {
		r.plain, err = r.values.plain(r.plain, n)
		return err
	}
	if n == 0 {
		return nil
	}
	r.numbers = slices.Grow(r.numbers[:0], n)[:n]
	if err := r.codes.fill(r.numbers); err != nil {
		return err
	}
	return r.values.coded(r.numbers)
}

func (r *reader) dictionary(p *parquetcodec.Page) error {
	if r.coding {
		return errors.New("a second dictionary")
	}
	if p.Encoding != parquet.Encodings.Plain && p.Encoding != parquet.Encodings.PlainDict {
		return fmt.Errorf("a dictionary encoded as %v", p.Encoding)
	}
	err := r.values.dictionary(p.Data, p.Values)
	r.coding = err == nil // else there may be memory for it the next time
	return err
}

// begin begins a data page.
func (r *reader) begin(p *parquetcodec.Page) (err error) {
	s, err := Split(p, r.depth)
	if err != nil {
		return err
	}
	r.left, r.marked = p.Values, nil
	if flat := r.depth.Def <= 1 && r.depth.Rep == 0 && s.defs.runs; flat {
		r.levels, _ = newHybrid(s.defs.data, 1)
	} else if r.depth.Def > 0 {
		if err := r.mark(p.Values, s.defs); err != nil {
			return err
		}
	}
	r.plain, r.coded, r.codes = s.Values, true, hybrid{}
	switch e := p.Encoding; {
	case r.leaf.Type == parquet.Types.Boolean && e == parquet.Encodings.Plain:
		r.codes = hybrid{width: 1, packed: 8 * len(s.Values), groups: s.Values}
	case r.leaf.Type == parquet.Types.Boolean && e == parquet.Encodings.RLE:
		runs, _, err := prefixed(s.Values)
		if err != nil {
			return err
		}
		r.codes, err = newHybrid(runs, 1)
		return err
	case e == parquet.Encodings.Plain:
		r.coded = false
	case e == parquet.Encodings.PlainDict || e == parquet.Encodings.RLEDict:
		if !r.coding {
			return errors.New("codes without a dictionary")
		}
		if len(s.Values) > 0 { // else all are null, or the codes are missed when they are read
			r.codes, err = newHybrid(s.Values[1:], int(s.Values[0]))
		}
	default:
		r.coded = false
		if r.plain, err = r.leaf.Plain(e, s.Values, p.Values, r.take); err != nil {
			return fmt.Errorf("%w: %v", err, e)
		}
	}
	return err
}

// mark reads the definition levels of n entries and keeps of those that are positions whether the value is there.
func (r *reader) mark(n int, levels levelBytes) error {
	r.marks = slices.Grow(r.marks[:0], n)[:n]
	if err := levels.read(r.marks, r.depth.Def); err != nil {
		return err
	}
	k := 0
	for _, def := range r.marks {
		if def < r.depth.Element {
			continue
		}
		r.marks[k] = 0
		if def == r.depth.Def {
			r.marks[k] = 1
		}
		k++
	}
	r.left, r.marked = k, r.marks[:k]
	return nil
}

// Parts are the levels and the values of a data page.
type Parts struct {
	reps, defs levelBytes
	depth      Depth
	Values     []byte
}

// levelBytes are the levels of a page: runs, or packed one behind the other as old writers have them.
type levelBytes struct {
	data []byte
	runs bool
}

var errLevels = errors.New("levels that do not fit into the page")

// Split takes a data page apart.
func Split(p *parquetcodec.Page, d Depth) (s Parts, err error) {
	s = Parts{reps: levelBytes{runs: true}, defs: levelBytes{runs: true}, depth: d, Values: p.Data}
	if p.Kind == parquetcodec.DataPageV2 {
		if p.RepSize+p.DefSize > len(p.Levels) {
			return s, errLevels
		}
		s.reps.data, s.defs.data = p.Levels[:p.RepSize], p.Levels[p.RepSize:][:p.DefSize]
		return s, nil
	}
	if s.reps, s.Values, err = levelsOf(s.Values, p.RepEncoding, p.Values, d.Rep); err == nil {
		s.defs, s.Values, err = levelsOf(s.Values, p.DefEncoding, p.Values, d.Def)
	}
	return s, err
}

// levelsOf takes n levels of up to most off a page of version 1; there are none where the highest is 0.
func levelsOf(data []byte, e parquet.Encoding, n int, most uint32) (levels levelBytes, rest []byte, err error) {
	switch {
	case most == 0:
		return levelBytes{runs: true}, data, nil
	case e == parquet.Encodings.RLE:
		levels.runs = true
		levels.data, rest, err = prefixed(data)
		return levels, rest, err
	case e != parquet.Encodings.BitPacked:
		return levels, nil, fmt.Errorf("levels encoded as %v", e)
	}
	size := (n*bits.Len32(most) + 7) / 8
	if size > len(data) {
		return levels, nil, errLevels
	}
	levels.data = data[:size]
	return levels, data[size:], nil
}

// prefixed takes bytes behind their length off a page.
func prefixed(data []byte) (b, rest []byte, err error) {
	if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
		return nil, nil, errLevels
	}
	end := 4 + int(binary.LittleEndian.Uint32(data))
	return data[4:end], data[end:], nil
}

// Levels reads the repetition and definition levels of all entries.
func (s Parts) Levels(reps, defs []uint32) error {
	if err := s.reps.read(reps, s.depth.Rep); err != nil {
		return err
	}
	return s.defs.read(defs, s.depth.Def)
}

// read reads levels of up to most; there are no bytes of them where most is 0.
func (l levelBytes) read(dst []uint32, most uint32) error {
	width := bits.Len32(most)
	switch {
	case most == 0:
		clear(dst)
	case l.runs:
		h, err := newHybrid(l.data, width)
		if err == nil {
			err = h.fill(dst)
		}
		if err != nil {
			return err
		}
	default: // the highest bit first
		for i := range dst {
			dst[i] = 0
			for bit := i * width; bit < (i+1)*width; bit++ {
				dst[i] = dst[i]<<1 | uint32(l.data[bit>>3]>>(7-bit&7)&1)
			}
		}
	}
	for _, level := range dst {
		if level > most {
			return errors.New("a level above the highest")
		}
	}
	return nil
}
