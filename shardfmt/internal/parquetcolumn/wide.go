package parquetcolumn

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// wide are values of width bytes, as they are.
type wide struct {
	kind      arrow.DataType
	width     int
	mem       *charged
	dict, out []byte
}

func (w *wide) reset(n int, keep bool) error {
	if keep || cap(w.out)/w.width < n {
		if err := w.mem.take(uint64(n) * uint64(w.width)); err != nil {
			return err
		}
		w.out = nil // as long as there are values, which nothing but an account bounds
		if w.mem != nil {
			w.out = make([]byte, 0, n*w.width)
		}
	}
	w.out = w.out[:0]
	return nil
}

func (w *wide) dictionary(data []byte, n int) error {
	if len(data)/w.width < n {
		return errShort
	}
	w.dict = data[:n*w.width]
	return nil
}

func (w *wide) plain(data []byte, n int) ([]byte, error) {
	if len(data)/w.width < n {
		return nil, errShort
	}
	w.out = append(w.out, data[:n*w.width]...)
	return data[n*w.width:], nil
}

func (w *wide) coded(codes []uint32) error {
	n := len(w.dict) / w.width
	for _, c := range codes {
		if uint64(c) >= uint64(n) {
			return errCode
		}
		w.out = append(w.out, w.dict[int(c)*w.width:][:w.width]...)
	}
	return nil
}

func (w *wide) spread(n int, levels []uint32) {
	more := (len(levels) - n) * w.width
	w.out = slices.Grow(w.out, more)[:len(w.out)+more]
	part := w.out[len(w.out)-len(levels)*w.width:]
	for i := len(levels) - 1; i >= n; i-- { // below n rows in front all are where they belong
		to := part[i*w.width:][:w.width]
		if levels[i] != 0 {
			n--
			copy(to, part[n*w.width:])
		} else {
			clear(to)
		}
	}
}

func (w *wide) array(nulls int, validity *memory.Buffer) (arrow.Array, error) {
	return made(w.kind, len(w.out)/w.width, nulls, validity, w.out), nil
}
