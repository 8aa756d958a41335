package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Evaluating is a column whose values can be evaluated block by block, those that a block has once for many positions once.
type Evaluating interface {
	Column
	// Eval sets the bits of the positions of r whose values eval sets a bit for, in a bitmap that starts at r.Start, and clears
	// those of all others. eval gets arrays of the column's type and a bitmap with a bit for each of their slots; it keeps
	// neither. If v is not nil, eval does the same as v of what is not null, and may be left out for it.
	Eval(r colstream.Range, bitmap []byte, eval EvalFunc, v *simd.Interval) error
}

// EvalFunc writes a bit for each slot of an array.
type EvalFunc func(values arrow.ArrayData, bitmap []byte) error

func (c *numberColumn[T]) Eval(r colstream.Range, bitmap []byte, eval EvalFunc, v *simd.Interval) error {
	if c.presence != nil { // nulls apart from the blocks
		d, err := c.Read(r)
		if err != nil {
			return err
		}
		return eval(d, bitmap)
	}
	if err := within(c.data.Stream, r.Start, r.End); err != nil {
		return err
	}
	at := 0
	for i := c.data.Map().Find(r.Start); r.Start < r.End; i++ {
		first, last := c.data.Map().Span(i)
		end := min(last, r.End)
		n := int(end - r.Start)
		if err := c.evalPart(bitmap, at, piece{block: i, from: int(r.Start - first), count: n, size: int(last - first)}, eval, v); err != nil {
			return err
		}
		at, r.Start = at+n, end
	}
	return nil
}

// evalPart evaluates values of a block into a bitmap from bit at on.
func (c *numberColumn[T]) evalPart(bitmap []byte, at int, p piece, eval EvalFunc, v *simd.Interval) error {
	if n := p.count; at%8 == 0 && n%8 == 0 {
		return c.evalBlock(bitmap[at/8:(at+n)/8], p, eval, v)
	}
	some := c.data.mem.Lend(uint64(p.count+7) / 8)
	if err := c.evalBlock(some, p, eval, v); err != nil {
		return err
	}
	simd.CopyBits(bitmap, at, some, 0, p.count)
	return nil
}

// evalBlock is evalPart into a bitmap of its own.
func (c *numberColumn[T]) evalBlock(bitmap []byte, p piece, eval EvalFunc, v *simd.Interval) error {
	d := c.data
	if d.cached != p.block {
		d.cached = -1 // what is present is another block's now
		f, err := d.open(p.block, p.size)
		if err != nil {
			return err
		}
		if p.count == p.size {
			if done, err := c.evalStored(bitmap, p, f, eval, v); done || err != nil {
				return err
			}
		}
		if err := d.room(p.size); err != nil {
			return err
		}
		if err := d.decodeFrame(d.vals, f, p.block); err != nil {
			return err
		}
		d.cached = p.block
	}
	vals := d.vals[p.from : p.from+p.count]
	if v != nil {
		d.evalWithin(bitmap, vals, v)
		c.andPresent(bitmap, p)
		return nil
	}
	valid := &validity{n: p.count}
	switch {
	case d.present == nil:
	case p.count == p.size:
		valid.bits = d.present // as eval keeps nothing
	default:
		valid.put(0, d.present, p.from, p.count)
	}
	return eval(c.array(vals, valid), bitmap)
}

// wordsOf is memory for n bits, valid until it is requested again.
func (c *numbers[T]) wordsOf(n int) []uint64 {
	n = (n + 63) / 64
	if cap(c.words) < n {
		c.words = make([]uint64, n)
	}
	return c.words[:n]
}

// marksOf is memory for n bytes, valid until it is requested again.
func (c *numbers[T]) marksOf(n int) []byte {
	if cap(c.marks) < n {
		c.marks = c.mem.LendToEnd(uint64(n))
	}
	return c.marks[:n]
}

// evalWithin sets a bit for each value that an interval has.
func (c *numbers[T]) evalWithin(bitmap []byte, vals []T, v *simd.Interval) {
	words := c.wordsOf(len(vals))
	simd.Eval(words, vals, v)
	simd.PutWords(bitmap, words, len(vals))
}

// andPresent clears the bits of values of a block that are null.
func (c *numberColumn[T]) andPresent(bitmap []byte, p piece) {
	switch {
	case c.data.present == nil:
	case p.count == p.size:
		simd.AndBits(bitmap, c.data.present)
	default:
		valid := &validity{n: p.count}
		if valid.put(0, c.data.present, p.from, p.count); valid.bits != nil {
			simd.AndBits(bitmap, valid.bits)
		}
	}
}

// evalStored evaluates a whole block as it is stored; done is false if it has to be decoded.
func (c *numberColumn[T]) evalStored(bitmap []byte, p piece, f block.Frame, eval EvalFunc, v *simd.Interval) (done bool, err error) {
	if v == nil {
		if c.data.present != nil {
			return false, nil
		}
		return c.evalCoded(bitmap, p, f, func(vals []T, bits []byte) error {
			return eval(c.array(vals, &validity{n: len(vals)}), bits)
		})
	}
	done, err = c.evalPacked(bitmap, p, f, v)
	if !done && err == nil {
		done, err = c.evalCoded(bitmap, p, f, func(vals []T, bits []byte) error {
			c.data.evalWithin(bits, vals, v)
			return nil
		})
	}
	if done {
		c.andPresent(bitmap, p)
	}
	return done, err
}

// evalPacked evaluates a whole block of bit-packed values; done is false if it is none.
func (c *numberColumn[T]) evalPacked(bitmap []byte, p piece, f block.Frame, v *simd.Interval) (done bool, err error) {
	words := c.data.wordsOf(p.size)
	if done, err = block.EvalWithin[T](words, f.Values, p.size, c.data.scratch, v); err != nil {
		return false, c.data.Locate(err, p.block, f.ValuesOffset())
	}
	if !done {
		return false, nil
	}
	if err := c.data.mem.Work(uint64(p.size) * uint64(simd.SizeOf[T]())); err != nil {
		return false, c.data.Locate(outOfProportion(err), p.block, 0)
	}
	simd.PutWords(bitmap, words, p.size)
	return true, nil
}

// evalCoded evaluates a whole block that has its values once for many positions; done is false if it does not.
func (c *numberColumn[T]) evalCoded(bitmap []byte, p piece, f block.Frame, eval func(vals []T, bits []byte) error) (done bool, err error) {
	bytes := c.data.marksOf(p.size)
	done, err = block.Eval(bytes, f.Values, c.data.scratch, func(vals []T, out []byte) error {
		bits := make([]byte, (len(vals)+7)/8)
		if err := eval(vals, bits); err != nil {
			return err
		}
		simd.BytesOfBits(out, bits)
		return nil
	})
	if err != nil {
		return false, c.data.Locate(err, p.block, f.ValuesOffset())
	}
	if !done {
		return false, nil
	}
	if err := c.data.mem.Work(uint64(p.size)); err != nil {
		return false, c.data.Locate(outOfProportion(err), p.block, 0)
	}
	simd.BitsOfBytes(bitmap, bytes)
	return true, nil
}

// array is values of the column as an array.
func (c *numberColumn[T]) array(vals []T, v *validity) arrow.ArrayData {
	return newData(c.typ, v, []*memory.Buffer{bufferOf(vals)})
}

func (c *constantColumn) Eval(r colstream.Range, bitmap []byte, eval EvalFunc, _ *simd.Interval) error {
	return evalOne(c, r, bitmap, eval)
}

func (c *nullColumn) Eval(r colstream.Range, bitmap []byte, eval EvalFunc, _ *simd.Interval) error {
	return evalOne(c, r, bitmap, eval)
}

// evalOne evaluates the one value that a column has in all positions.
func evalOne(c Column, r colstream.Range, bitmap []byte, eval EvalFunc) error {
	d, err := c.Read(colstream.Range{Start: 0, End: 1})
	if err != nil {
		return err
	}
	var one [1]byte
	if err := eval(d, one[:]); err != nil {
		return err
	}
	clear(bitmap)
	if one[0]&1 == 1 {
		simd.SetBits(bitmap, int(r.Len()))
	}
	return nil
}
