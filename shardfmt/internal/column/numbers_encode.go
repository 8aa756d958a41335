package column

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"

	"github.com/shardcat/shardcat/internal/view"
)

// numberWriter stages numbers and cuts blocks from them.
type numberWriter[T block.Number] struct {
	enc   *encode.Encoder
	vals  []T
	valid bitmap
	out   colstream.StreamWriter
}

// flush cuts blocks if enough is staged, or all with final.
func (w *numberWriter[T]) flush(final bool) error {
	if !final && len(w.vals) < encode.FlushValues {
		return nil
	}
	taken, err := encode.CutNumbers(w.enc, w.vals, w.valid.bytes(), final, w.out.Add)
	if err != nil {
		return err
	}
	w.vals = w.vals[:copy(w.vals, w.vals[taken:])]
	w.valid.drop(taken)
	return nil
}

func (w *numberWriter[T]) size() int { return w.out.Len() + cap(w.vals)*int(unsafe.Sizeof(*new(T))) }

// numberEncoder is a field of numbers.
type numberEncoder[T block.Number] struct {
	base
	numberWriter[T]
	index *indexBuilder[T]
}

func numberEncoderOf(b base) Encoder {
	switch b.node.Basic {
	case schema.Int8:
		return pickEncoder[int8, uint8](b)
	case schema.Int16:
		return pickEncoder[int16, uint16](b)
	case schema.Int32:
		return pickEncoder[int32, uint32](b)
	case schema.Float32:
		return newNumberEncoder[float32](b)
	case schema.Float64:
		return newNumberEncoder[float64](b)
	default: // Int64, and DateTime, which is unsigned
		return pickEncoder[int64, uint64](b)
	}
}

func pickEncoder[S, U block.Number](b base) Encoder {
	if b.node.Signed {
		return newNumberEncoder[S](b)
	}
	return newNumberEncoder[U](b)
}

func newNumberEncoder[T block.Number](b base) Encoder {
	e := &numberEncoder[T]{base: b, numberWriter: numberWriter[T]{enc: b.encoder(false), out: b.stream()}}
	if b.o.Profile != encode.Plain && !b.o.NoRangeIndex {
		e.index = new(indexBuilder[T])
	}
	return e
}

func (e *numberEncoder[T]) Add(a arrow.Array) error {
	e.stats.Add(a)
	vals := values[T](a)
	if e.index != nil {
		e.index.add(vals, a)
	}
	for at := 0; at < len(vals); {
		n := min(len(vals)-at, encode.FlushValues)
		if n == encode.FlushValues && len(e.vals) == 0 && a.NullN() == 0 {
			if err := e.unstaged(vals[at : at+n]); err != nil {
				return err
			}
			at += n
			continue
		}
		e.valid.add(a, at, n, len(e.vals))
		e.vals = append(e.vals, vals[at:at+n]...)
		if err := e.flush(false); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// unstaged cuts blocks from values where they lie, as many as are flushed at once; the rest of them is staged.
func (e *numberEncoder[T]) unstaged(vals []T) error {
	taken, err := encode.CutNumbers(e.enc, vals, nil, false, e.out.Add)
	e.vals = append(e.vals, vals[taken:]...)
	return err
}

// values gives the numbers of an array, those of null slots too.
func values[T block.Number](a arrow.Array) []T {
	d := a.Data()
	if d.Len() == 0 {
		return nil
	}
	b := d.Buffers()[1].Bytes()
	all := view.Of[T](b, len(b)/int(unsafe.Sizeof(*new(T))))
	return all[d.Offset() : d.Offset()+d.Len()]
}

func (e *numberEncoder[T]) Finish(yield func(*Encoded) error) error {
	out := e.encoded()
	if out.Descriptor.ConstantValue != nil {
		return yield(out)
	}
	if err := e.flush(true); err != nil {
		return err
	}
	out.add(&metapb.EncodedBuffer{Kind: metapb.BufferKind_DATA, EmbeddedPresence: true}, e.out.Finish())
	if e.index != nil {
		if err := out.addIndex(e.index.finish(e.node.Basic), e.o.Profile); err != nil {
			return err
		}
	}
	return yield(out)
}

func (e *numberEncoder[T]) Size() int { return e.size() }
