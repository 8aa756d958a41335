package field

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/block"
	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/internal/kernel"
)

// Judging is a column whose values can be judged block by block, those that a block has once for many positions once.
type Judging interface {
	Column
	// Judge sets the bits of the positions of r whose values judge sets a bit for, in a bitmap that starts at r.Start, and clears
	// those of all others. judge gets arrays of the column's type and a bitmap with a bit for each of their slots; it keeps
	// neither.
	Judge(r buffer.Range, bitmap []byte, judge JudgeFunc) error
}

// JudgeFunc writes a bit for each slot of an array.
type JudgeFunc func(values arrow.ArrayData, bitmap []byte) error

func (c *numberColumn[T]) Judge(r buffer.Range, bitmap []byte, judge JudgeFunc) error {
	if c.presence != nil { // nulls apart from the blocks
		d, err := c.Read(r)
		if err != nil {
			return err
		}
		return judge(d, bitmap)
	}
	if err := within(c.data.Stream, r.Start, r.End); err != nil {
		return err
	}
	at := 0
	for i := c.data.Map().Find(r.Start); r.Start < r.End; i++ {
		first, last := c.data.Map().Span(i)
		end := min(last, r.End)
		n := int(end - r.Start)
		if err := c.judgePart(bitmap, at, i, int(r.Start-first), n, int(last-first), judge); err != nil {
			return err
		}
		at, r.Start = at+n, end
	}
	return nil
}

// judgePart judges n values of block i, which has size, from value from on, into a bitmap from bit at on.
func (c *numberColumn[T]) judgePart(bitmap []byte, at, i, from, n, size int, judge JudgeFunc) error {
	if at%8 == 0 && n%8 == 0 {
		return c.judgeBlock(bitmap[at/8:(at+n)/8], i, from, n, size, judge)
	}
	some := c.data.mem.Lend(uint64(n+7) / 8)
	if err := c.judgeBlock(some, i, from, n, size, judge); err != nil {
		return err
	}
	kernel.CopyBits(bitmap, at, some, 0, n)
	return nil
}

// judgeBlock is judgePart into a bitmap of its own.
func (c *numberColumn[T]) judgeBlock(bitmap []byte, i, from, n, size int, judge JudgeFunc) error {
	d := c.data
	if d.cached != i {
		f, err := d.open(i, size)
		if err != nil {
			return err
		}
		if d.present == nil && n == size {
			if done, err := c.judgeCoded(bitmap, i, size, f, judge); done || err != nil {
				return err
			}
		}
		if err := d.room(size); err != nil {
			return err
		}
		if err := d.decodeFrame(d.vals, f, i); err != nil {
			return err
		}
		d.cached = i
	}
	v := &validity{n: n}
	switch {
	case d.present == nil:
	case n == size:
		v.bits = d.present // as judge keeps nothing
	default:
		v.put(0, d.present, from, n)
	}
	return judge(c.array(d.vals[from:from+n], v), bitmap)
}

// judgeCoded judges a whole block that has its values once for many positions; done is false if it does not.
func (c *numberColumn[T]) judgeCoded(bitmap []byte, i, size int, f block.Frame, judge JudgeFunc) (done bool, err error) {
	bytes := c.data.mem.Lend(uint64(size))
	done, err = block.Judge(bytes, f.Values, c.data.scratch, func(vals []T, out []byte) error {
		bits := make([]byte, (len(vals)+7)/8)
		if err := judge(c.array(vals, &validity{n: len(vals)}), bits); err != nil {
			return err
		}
		kernel.BytesOfBits(out, bits)
		return nil
	})
	if err != nil {
		return false, c.data.Locate(err, i, f.ValuesOffset())
	}
	if !done {
		return false, nil
	}
	if err := c.data.mem.Work(uint64(size)); err != nil {
		return false, c.data.Locate(outOfProportion(err), i, 0)
	}
	kernel.BitsOfBytes(bitmap, bytes)
	return true, nil
}

// array is values of the column as an array.
func (c *numberColumn[T]) array(vals []T, v *validity) arrow.ArrayData {
	return newData(c.typ, v, []*memory.Buffer{bufferOf(vals)})
}

func (c *constantColumn) Judge(r buffer.Range, bitmap []byte, judge JudgeFunc) error {
	return judgeOne(c, r, bitmap, judge)
}

func (c *nullColumn) Judge(r buffer.Range, bitmap []byte, judge JudgeFunc) error {
	return judgeOne(c, r, bitmap, judge)
}

// judgeOne judges the one value that a column has in all positions.
func judgeOne(c Column, r buffer.Range, bitmap []byte, judge JudgeFunc) error {
	d, err := c.Read(buffer.Range{Start: 0, End: 1})
	if err != nil {
		return err
	}
	var one [1]byte
	if err := judge(d, one[:]); err != nil {
		return err
	}
	clear(bitmap)
	if one[0]&1 == 1 {
		kernel.SetBits(bitmap, int(r.Len()))
	}
	return nil
}
