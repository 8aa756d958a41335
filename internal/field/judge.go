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
	// Judge writes for each position of r, one byte each, what judge says of its value. judge gets arrays of the column's type and
	// must write a byte for each of their slots; it keeps neither.
	Judge(r buffer.Range, out []byte, judge func(values arrow.ArrayData, out []byte) error) error
}

func (c *numberColumn[T]) Judge(r buffer.Range, out []byte, judge func(values arrow.ArrayData, out []byte) error) error {
	if c.presence != nil { // nulls apart from the blocks
		d, err := c.Read(r)
		if err != nil {
			return err
		}
		return judge(d, out)
	}
	if err := within(c.data.Stream, r.Start, r.End); err != nil {
		return err
	}
	for i := c.data.Map().Find(r.Start); r.Start < r.End; i++ {
		first, last := c.data.Map().Span(i)
		end := min(last, r.End)
		n := int(end - r.Start)
		if err := c.judgeBlock(out[:n], i, int(r.Start-first), int(last-first), judge); err != nil {
			return err
		}
		out, r.Start = out[n:], end
	}
	return nil
}

// judgeBlock judges values of block i, which has size, from value from on.
func (c *numberColumn[T]) judgeBlock(out []byte, i, from, size int, judge func(values arrow.ArrayData, out []byte) error) error {
	n := c.data
	of := func(vals []T, v *validity) arrow.ArrayData {
		return newData(c.typ, v, []*memory.Buffer{bufferOf(vals)})
	}
	if n.cached != i {
		f, err := n.open(i, size)
		if err != nil {
			return err
		}
		if n.present == nil && len(out) == size {
			done, err := block.Judge(out, f.Values, n.scratch, func(vals []T, out []byte) error {
				return judge(of(vals, &validity{n: len(vals)}), out)
			})
			if err != nil {
				return n.Locate(err, i, f.ValuesOffset())
			}
			if done {
				if err := n.mem.Work(uint64(size)); err != nil {
					return n.Locate(outOfProportion(err), i, 0)
				}
				return nil
			}
		}
		if err := n.room(size); err != nil {
			return err
		}
		if err := n.decodeFrame(n.vals, f, i); err != nil {
			return err
		}
		n.cached = i
	}
	v := &validity{n: len(out)}
	if n.present != nil {
		v.put(0, n.present, from, len(out))
	}
	return judge(of(n.vals[from:from+len(out)], v), out)
}

func (c *constantColumn) Judge(_ buffer.Range, out []byte, judge func(values arrow.ArrayData, out []byte) error) error {
	return judgeOne(c, out, judge)
}

func (c *nullColumn) Judge(_ buffer.Range, out []byte, judge func(values arrow.ArrayData, out []byte) error) error {
	return judgeOne(c, out, judge)
}

// judgeOne judges the one value that a column has in all positions.
func judgeOne(c Column, out []byte, judge func(values arrow.ArrayData, out []byte) error) error {
	d, err := c.Read(buffer.Range{Start: 0, End: 1})
	if err != nil {
		return err
	}
	var one [1]byte
	if err := judge(d, one[:]); err != nil {
		return err
	}
	kernel.Fill(out, one[0])
	return nil
}
