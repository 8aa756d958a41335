package column

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// numbers decodes a block stream of numbers. It keeps the last block that was needed in part only.
type numbers[T block.Number] struct {
	*colstream.Stream
	scratch *block.Scratch
	mem     *budget.Account

	cached int // block in vals and present, -1 if none
	vals   []T
	sparse int      // block of which a few values were read alone, -1 if none
	places []uint32 // of those values
	// present is the bitmap of the block in vals, or of the current block; nil if nothing is null.
	present, bits []byte
	words         []uint64 // see wordsOf
	marks         []byte   // see marksOf
}

func openNumbers[T block.Number](s *colstream.Stream, f *stored) *numbers[T] {
	return &numbers[T]{Stream: s, scratch: f.scratch, mem: f.o.mem, cached: -1, sparse: -1}
}

// read decodes the positions from start on into dst, and their nulls into v from slot at on. With v nil,
// nulls are corrupt.
func (c *numbers[T]) read(dst []T, start uint64, v *validity, at int) error {
	if len(dst) == 0 {
		return nil
	}
	end := start + uint64(len(dst))
	if err := within(c.Stream, start, end); err != nil {
		return err
	}
	for i := c.Map().Find(start); start < end; i++ {
		first, last := c.Map().Span(i)
		stop := min(last, end)
		n := int(stop - start)
		if err := c.part(dst[:n], i, int(start-first), int(last-first)); err != nil {
			return err
		}
		if err := c.nulls(v, at, i, int(start-first), n); err != nil {
			return err
		}
		dst, start, at = dst[n:], stop, at+n
	}
	return nil
}

// nulls puts which of n values of block i, from value from on, are present into v from slot at on.
func (c *numbers[T]) nulls(v *validity, at, i, from, n int) error {
	if c.present == nil {
		return nil
	}
	if v == nil {
		return c.Locate(corrupt.At(0, "nulls in a stream that has none"), i, 0)
	}
	v.put(at, c.present, from, n)
	return nil
}

// part gives the values of block i, which has size, from value from on.
func (c *numbers[T]) part(dst []T, i, from, size int) error {
	if len(dst) == size {
		c.cached = -1
		return c.decode(dst, i)
	}
	if c.cached != i {
		c.cached = -1
		if done, err := c.few(dst, piece{block: i, size: size, from: from, count: len(dst), n: len(dst)}); done || err != nil {
			return err
		}
		if err := c.keep(i, size); err != nil {
			return err
		}
	}
	copy(dst, c.vals[from:])
	return nil
}

// fewValues of a block are cheaper read alone than with the block, which has some thousands.
const fewValues = 16

// fewShare: so are one in so many values of a larger block.
const fewShare = 16

// open takes block i of size values apart and decodes which of them are present.
func (c *numbers[T]) open(i, size int) (f block.Frame, err error) {
	if f, err = c.Block(i); err != nil {
		return f, err
	}
	c.present = nil
	if len(f.Presence) == 0 {
		return f, nil
	}
	if err := c.mem.Work(uint64(size) / 8); err != nil {
		return f, c.Locate(outOfProportion(err), i, 0)
	}
	c.present, err = c.presence(f.Presence, size, i)
	return f, err
}

// decode decodes block i as a whole.
func (c *numbers[T]) decode(dst []T, i int) error {
	f, err := c.open(i, len(dst))
	if err != nil {
		return err
	}
	return c.decodeFrame(dst, f, i)
}

// decodeFrame decodes block i, which was opened.
func (c *numbers[T]) decodeFrame(dst []T, f block.Frame, i int) error {
	if err := c.mem.Work(uint64(len(dst)) * uint64(unsafe.Sizeof(dst[0]))); err != nil {
		return c.Locate(outOfProportion(err), i, 0)
	}
	return c.Locate(block.DecodeNumbers(dst, f.Values, c.scratch), i, f.ValuesOffset())
}

func (c *numbers[T]) presence(section []byte, n, i int) ([]byte, error) {
	if cap(c.bits) < (n+7)/8 {
		c.bits = make([]byte, (n+7)/8)
	}
	bits := c.bits[:(n+7)/8]
	_, err := block.DecodePresence(bits, section, n)
	return bits, c.Locate(err, i, 8)
}

// outOfProportion makes an error of stored data of work that exceeds the budget.
func outOfProportion(err error) error {
	return &corrupt.Error{Kind: corrupt.ErrUnsupported, Offset: 0, What: "the data expands beyond the limit", Err: err}
}

// numberColumn is a field of numbers.
type numberColumn[T block.Number] struct {
	typ      arrow.DataType
	data     *numbers[T]
	presence *bitReader
}

func newNumbers[T block.Number](f *stored) (Column, error) {
	s, err := f.stream(metapb.BufferKind_DATA, f.count)
	if err != nil {
		return nil, err
	}
	p, err := f.presence()
	return &numberColumn[T]{f.typ, openNumbers[T](s, f), p}, err
}

func (c *numberColumn[T]) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	return needAll(ranges, whole, c.data, c.presence)
}

func (c *numberColumn[T]) Read(r colstream.Range) (arrow.ArrayData, error) {
	var zero T
	if err := c.data.mem.Take(r.Len() * uint64(unsafe.Sizeof(zero))); err != nil {
		return nil, err
	}
	vals := budget.LendOf[T](c.data.mem, r.Len())
	v := &validity{n: len(vals)}
	if err := c.data.read(vals, r.Start, v, 0); err != nil {
		return nil, err
	}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	return newData(c.typ, v, []*memory.Buffer{bufferOf(vals)}), nil
}

func (c *numberColumn[T]) Release(pos uint64) {
	c.data.Release(pos)
	c.presence.Release(pos)
}

func (c *numberColumn[T]) Size() uint64 { return c.data.Size() + c.presence.Size() }

// bufferOf gives the memory of a slice to Arrow.
func bufferOf[T any](vals []T) *memory.Buffer {
	var zero T
	return memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(vals))), len(vals)*int(unsafe.Sizeof(zero))))
}

// needer is what a column is made of.
type needer interface {
	Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error)
}

// needAll gathers the requests of several parts that cover the same positions.
func needAll(ranges []colstream.Range, whole bool, parts ...needer) ([]colstream.Request, error) {
	var out []colstream.Request
	for _, p := range parts {
		q, err := p.Need(ranges, whole)
		if err != nil {
			return nil, err
		}
		if len(out) == 0 {
			out = q // as mostly the only ones
			continue
		}
		out = append(out, q...)
	}
	return out, nil
}
