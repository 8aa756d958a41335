package encode

import (
	"fmt"
	"math/bits"
)

// Bytes are byte strings: value i is Data[Offsets[i]:Offsets[i+1]], or, when Fixed is positive, Data[i*Fixed:(i+1)*Fixed] without Offsets. Valid
// is as for Numbers.
type Bytes struct {
	Data    []byte
	Offsets []int64
	Fixed   int
	Valid   []byte
}

// len is how many values there are.
func (v *Bytes) len() int {
	if v.Fixed > 0 {
		return len(v.Data) / v.Fixed
	}
	return max(0, len(v.Offsets)-1)
}

// size is how many bytes the values have.
func (v *Bytes) size() int {
	if v.Fixed > 0 || len(v.Offsets) == 0 {
		return len(v.Data)
	}
	return int(v.Offsets[len(v.Offsets)-1] - v.Offsets[0])
}

// byteValues is a run of byte strings: offsets has one entry more than there are values and starts at 0, or
// is nil for values of a fixed size. Null slots have no bytes, or fixed zero bytes.
type byteValues struct {
	data    []byte
	offsets []uint64
	fixed   int
	n       int
}

// AppendBytes appends one value sub-block that holds byte strings. The encoder keeps its working memory for the next call.
func (e *Encoder) AppendBytes(dst []byte, v Bytes) ([]byte, error) {
	if e.o.Tree != "" {
		return BytesAs(dst, v, e.o.Tree)
	}
	e.borrow()
	s, err := e.gather(&v)
	if err != nil {
		return dst, err
	}
	e.chosen = e.planRecalled(&s, v.Valid)
	return appendByteTree(dst, &s, e.chosen), nil
}

// gather checks the caller's values and brings them into the form that is stored: offsets from 0, nothing in
// null slots.
func (e *Encoder) gather(v *Bytes) (byteValues, error) {
	if v.Fixed > 0 {
		return e.gatherFixed(v.Data, v.Fixed, v.Valid)
	}
	data, offsets, valid := v.Data, v.Offsets, v.Valid
	if len(offsets) == 0 {
		offsets = []int64{0}
	}
	n := len(offsets) - 1
	if err := checkValid(n, valid); err != nil {
		return byteValues{}, err
	}
	base, at := offsets[0], offsets[0]
	rebased, leaks := take[uint64](&e.arena, n+1), false
	for i, end := range offsets {
		if end < at {
			return byteValues{}, fmt.Errorf("offset %d of %d comes after %d", i, at, end)
		}
		if i > 0 && end > at && valid != nil && valid[(i-1)/8]>>((i-1)%8)&1 == 0 {
			leaks = true
		}
		rebased[i], at = uint64(end-base), end
	}
	if base < 0 || at > int64(len(data)) {
		return byteValues{}, fmt.Errorf("offsets %d to %d in %d bytes", base, at, len(data))
	}
	s := byteValues{data: data[base:at], offsets: rebased, n: n}
	if leaks {
		s = e.dropNulls(s, valid)
	}
	return s, nil
}

// dropNulls takes the bytes out of null slots.
func (e *Encoder) dropNulls(s byteValues, valid []byte) byteValues {
	kept := take[uint8](&e.arena, len(s.data))[:0]
	from := uint64(0)
	for i := range s.n {
		to := s.offsets[i+1]
		if valid[i/8]>>(i%8)&1 == 1 {
			kept = append(kept, s.data[from:to]...)
		}
		s.offsets[i+1], from = uint64(len(kept)), to
	}
	s.data = kept
	return s
}

func (e *Encoder) gatherFixed(data []byte, fixed int, valid []byte) (byteValues, error) {
	s := byteValues{data: data, fixed: fixed, n: len(data) / fixed}
	if len(data)%fixed != 0 {
		return s, fmt.Errorf("%d bytes are not a multiple of the value size %d", len(data), fixed)
	}
	if err := checkValid(s.n, valid); err != nil || valid == nil {
		return s, err
	}
	s.data = take[uint8](&e.arena, len(data))
	copy(s.data, data)
	for at := 0; at < s.n; at += 8 {
		null := ^valid[at/8]
		if rest := s.n - at; rest < 8 {
			null &= 1<<rest - 1
		}
		for ; null != 0; null &= null - 1 {
			i := at + bits.TrailingZeros8(null)
			clear(s.data[i*fixed : (i+1)*fixed])
		}
	}
	return s, nil
}
