package parquetcolumn

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

var errTexts = corrupt.Unsupported(-1, "more than 2 GiB of values in a column of one batch: write the file without dictionaries, or with shorter values")

// texts are byte arrays, whose ends are of type O.
type texts[O int32 | int64] struct {
	kind arrow.DataType
	raw  func([]O) []byte
	mem  *charged

	// dict are the texts of the dictionary, as its page has them, of which each is [from, to).
	dict     []byte
	from, to []uint32

	ends []O // one more than there are rows: the first is 0
	data []byte
}

func (t *texts[O]) reset(n int, keep bool) error {
	if keep || cap(t.ends) < n+1 {
		if err := t.mem.take(uint64(n+1)*uint64(unsafe.Sizeof(O(0))) + uint64(cap(t.data))); err != nil {
			return err
		}
		t.ends = make([]O, 0, n+1)
		t.data = make([]byte, 0, cap(t.data))
	}
	t.ends, t.data = append(t.ends[:0], 0), t.data[:0]
	return nil
}

// reserve has space for n bytes more.
func (t *texts[O]) reserve(n int) error {
	need := len(t.data) + n
	if need <= cap(t.data) {
		return nil
	}
	need = max(need, cap(t.data)+cap(t.data)/4+shortText)
	if err := t.mem.take(uint64(need - cap(t.data))); err != nil {
		return err
	}
	t.data = append(make([]byte, 0, need), t.data...)
	return nil
}

func (t *texts[O]) dictionary(data []byte, n int) error {
	if len(data)/4 < n {
		return errShort
	}
	if n > cap(t.from) {
		if err := t.mem.hold(8 * uint64(n)); err != nil {
			return err
		}
		t.from, t.to = make([]uint32, 0, n), make([]uint32, 0, n)
	}
	t.dict, t.from, t.to = data, t.from[:0], t.to[:0]
	for at := 0; n > 0; n-- {
		size, err := textSize(data, at)
		if err != nil {
			return err
		}
		at += 4
		t.from, t.to = append(t.from, uint32(at)), append(t.to, uint32(at+size))
		at += size
	}
	return nil
}

// textSize is the length of the text behind its length.
func textSize(data []byte, at int) (int, error) {
	if len(data)-at < 4 {
		return 0, errShort
	}
	size := binary.LittleEndian.Uint32(data[at:])
	if uint64(size) > uint64(len(data)-at-4) {
		return 0, errShort
	}
	return int(size), nil
}

func (t *texts[O]) plain(data []byte, n int) ([]byte, error) {
	for ; n > 0; n-- {
		size, err := textSize(data, 0)
		if err != nil {
			return nil, err
		}
		if err := t.reserve(size); err != nil {
			return nil, err
		}
		t.data = append(t.data, data[4:4+size]...)
		t.ends = append(t.ends, O(len(t.data)))
		data = data[4+size:]
	}
	return data, t.check()
}

// shortText is how many bytes are copied of each short text of a dictionary, whatever its length, in bytes.
const shortText = 16

func (t *texts[O]) coded(codes []uint32) error {
	from, to, size := t.from, t.to[:len(t.from)], len(t.data)
	for _, c := range codes {
		if uint64(c) >= uint64(len(from)) {
			return errCode
		}
		size += int(to[c] - from[c])
	}
	if size > math.MaxInt32 {
		return errTexts
	}
	at, first := len(t.data), len(t.ends)
	if err := t.reserve(size - at + shortText); err != nil {
		return err
	}
	data := t.data[:size+shortText]
	ends := slices.Grow(t.ends, len(codes))[:first+len(codes)]
	for i, c := range codes {
		text := t.dict[from[c]:]
		if n := int(to[c] - from[c]); n <= shortText && len(text) >= shortText {
			copy(data[at:at+shortText], text[:shortText])
			at += n
		} else {
			at += copy(data[at:], text[:n])
		}
		ends[first+i] = O(at)
	}
	t.data, t.ends = data[:size], ends
	return nil
}

// check refuses more bytes than ends can say, or than a dictionary may be repeated to.
func (t *texts[O]) check() error {
	if len(t.data) > math.MaxInt32 {
		return errTexts
	}
	return nil
}

func (t *texts[O]) spread(n int, levels []uint32) {
	first := len(t.ends) - n
	before := t.ends[first-1]
	for range len(levels) - n {
		t.ends = append(t.ends, 0)
	}
	part := t.ends[first:]
	for i := len(levels) - 1; i >= n; i-- { // below n rows in front all are where they belong
		part[i] = before
		if n > 0 {
			part[i] = part[n-1]
		}
		n -= int(levels[i])
	}
}

func (t *texts[O]) array(nulls int, validity *memory.Buffer) (arrow.Array, error) {
	return made(t.kind, len(t.ends)-1, nulls, validity, t.raw(t.ends), t.data), nil
}
