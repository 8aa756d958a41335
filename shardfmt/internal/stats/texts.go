package stats

import (
	"bytes"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Texts without nulls are looked at array by array, others from null to null: whether they are ASCII and how long they are in passes of their own, and the
// bounds by the first eight bytes, which mostly decide.

// wholeText gives the text of an array whose values have any length, and where they end in it, after where the first starts.
func wholeText(a arrow.Array) (text []byte, ends []int64, ok bool) {
	switch v := a.(type) {
	case *array.LargeString:
		ends = v.ValueOffsets()
	case *array.LargeBinary:
		ends = v.ValueOffsets()
	}
	if len(ends) < 2 {
		return nil, nil, false
	}
	if b := a.Data().Buffers()[2]; b != nil {
		text = b.Bytes()
	}
	return text, ends, true
}

// addAll takes values that lie one after the other, at least one: value i is text[ends[i]:ends[i+1]].
func (s *byteStrings) addAll(text []byte, ends []int64) {
	first := !s.measured
	s.measureAll(text, ends)
	if from, to := ends[0], ends[1]; first {
		s.begin(text[from:to])
	}
	last := text[ends[0]:ends[0]] // none
	for i, from := range ends[:len(ends)-1] {
		v := text[from:ends[i+1]]
		if i > 0 && bytes.Equal(v, last) {
			continue
		}
		last = v
		if s.sketch.exact.full && s.hashes.done() {
			s.sketch.sketch.addHash(sketchHash(v))
		} else if s.sketch.add(v) {
			continue
		} else {
			s.hashes.add(v)
		}
		if head := textHead(text, int(from), int(ends[i+1])); head <= s.minHead || head >= s.maxHead {
			s.bound(v, head)
		}
	}
}

// leastTogether is the fewest values between nulls that are taken together.
const leastTogether = 4

// addBetween is addAll of the values of an array that has nulls among them.
func (s *byteStrings) addBetween(a arrow.Array, text []byte, ends []int64) {
	for from := 0; from < a.Len(); from++ { // past a null
		to := from
		for to < a.Len() && a.IsValid(to) {
			to++
		}
		if to-from >= leastTogether {
			s.addAll(text, ends[from:to+1])
			from = to
			continue
		}
		for ; from < to; from++ {
			s.one(text[ends[from]:ends[from+1]])
		}
	}
}

// measureAll takes the lengths of values as addAll has them.
func (s *byteStrings) measureAll(text []byte, ends []int64) {
	all := text[ends[0]:ends[len(ends)-1]]
	s.size += uint64(len(all))
	ascii := isASCII(all)
	if ascii {
		s.ascii += uint64(len(ends) - 1)
	}
	for i, from := range ends[:len(ends)-1] {
		s.measure(uint64(ends[i+1] - from))
		if !ascii && isASCII(text[from:ends[i+1]]) {
			s.ascii++
		}
	}
}

// textHead is the first eight bytes of the value from start to end in data, zeros after its end, as a number: where those of two values
// differ, they order as the values do.
func textHead(data []byte, start, end int) uint64 {
	if end-start >= 8 {
		return binary.BigEndian.Uint64(data[start:])
	}
	var head [8]byte
	copy(head[:], data[start:end])
	return binary.BigEndian.Uint64(head[:])
}
