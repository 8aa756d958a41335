package column

import (
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Searching is a column of byte strings that can be searched for one of them.
type Searching interface {
	Column
	// Search is what Eval is of other columns, for an eval that sets a bit for values that are the needle only. Blocks of which their
	// bytes tell without decoding them that they don't have it are not decoded.
	Search(r colstream.Range, bitmap []byte, needle *simd.Needle, eval EvalFunc) error
}

func (c *bytesColumn) Search(r colstream.Range, bitmap []byte, needle *simd.Needle, eval EvalFunc) error {
	if c.presence != nil { // nulls apart from the blocks
		d, err := c.Read(r)
		if err != nil {
			return err
		}
		return eval(d, bitmap)
	}
	d := c.data
	if err := within(d.Stream, r.Start, r.End); err != nil {
		return err
	}
	clear(bitmap)
	at := 0
	for i := d.findFirst(r.Start); r.Start < r.End; i++ {
		first, last := d.Map().Span(i)
		end := min(last, r.End)
		from, n := int(r.Start-first), int(end-r.Start)
		if held, err := d.holds(i, int(last-first), needle); err != nil {
			return err
		} else if held {
			if err := c.searchBlock(bitmap, at, from, n, eval); err != nil {
				return err
			}
		}
		at, r.Start = at+n, end
	}
	return nil
}

// holds keeps block i of size values if it may have the needle.
func (c *byteStrings) holds(i, size int, needle *simd.Needle) (bool, error) {
	if c.cached == i {
		return true, nil
	}
	f, err := c.Block(i)
	if err != nil {
		return false, err
	}
	if err := c.mem.Work(uint64(len(f.Values))); err != nil {
		return false, c.Locate(outOfProportion(err), i, 0)
	}
	if !block.MayHold(f.Values, c.fixed, needle, c.scratch) {
		return false, nil
	}
	return true, c.keep(i, size)
}

// searchBlock evaluates n values of the kept block, from one on, into a bitmap from bit at on.
func (c *bytesColumn) searchBlock(bitmap []byte, at, from, n int, eval EvalFunc) error {
	d := c.data
	v := &validity{n: n}
	if d.present != nil {
		v.put(0, d.present, from, n)
	}
	some := d.vals
	if d.fixed > 0 {
		some.Data = some.Data[from*d.fixed : (from+n)*d.fixed]
	} else {
		some.Offsets = some.Offsets[from : from+n+1]
	}
	bits := d.mem.Lend(uint64(n+7) / 8)
	if err := eval(bytesData(c.typ, v, &some), bits); err != nil {
		return err
	}
	simd.CopyBits(bitmap, at, bits, 0, n)
	return nil
}
