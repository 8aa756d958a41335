package lance

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// texts gathers strings or binary values.
type texts struct {
	ends   []uint64 // where each ends; a null as its complement
	bytes  []byte
	scheme string
	level  int // of the scheme, 0 if none is named
	// dictionary: strings that are few in a page are stored once.
	dictionary bool
	// most bytes before the page is full, or 0: values may be large.
	most int
	// shares: pages have the strings that they store once in common; common are those available.
	shares bool
	common *commonTexts
}

// bytesOf gives the bytes of values of any array of strings or binary values.
func bytesOf(a arrow.Array) (func(i int) []byte, error) {
	switch a := a.(type) {
	case array.BinaryLike:
		content := a.Data().Buffers()[2]
		if content == nil {
			return func(int) []byte { return nil }, nil
		}
		b := content.Bytes()
		return func(i int) []byte { return b[a.ValueOffset64(i):][:a.ValueLen(i)] }, nil
	case interface{ Value(int) []byte }:
		return a.Value, nil
	case *array.StringView:
		return func(i int) []byte { return []byte(a.Value(i)) }, nil
	}
	return nil, fmt.Errorf("%s is not text", a.DataType())
}

func (t *texts) add(a arrow.Array, from, to int) (int, error) {
	value, err := bytesOf(a)
	if err != nil {
		return 0, err
	}
	for i := from; i < to; i++ {
		if t.most > 0 && len(t.bytes) >= t.most {
			return i - from, nil
		}
		if a.IsNull(i) {
			t.ends = append(t.ends, ^uint64(len(t.bytes)))
			continue
		}
		t.append(value(i))
	}
	return to - from, nil
}

func (t *texts) append(b []byte) {
	t.bytes = append(t.bytes, b...)
	t.ends = append(t.ends, uint64(len(t.bytes)))
}

func (t *texts) size() int { return 8*len(t.ends) + len(t.bytes) }

// Strings are stored once each in a page of at least dictionaryRows of them, of which fewer than dictionaryItems differ.
const (
	dictionaryRows  = 100
	dictionaryItems = 100
)

func (t *texts) encode(p *pageEncoder) ([]byte, error) {
	defer t.reset()
	if t.dictionary && len(t.ends) >= dictionaryRows {
		if indices, items, ok := t.distinct(); ok {
			if t.shares {
				return t.shared(p, indices, items), nil
			}
			return items.indexed(p, indices)
		}
	}
	return t.binary(p)
}

func (t *texts) reset() { t.ends, t.bytes = t.ends[:0], t.bytes[:0] }

// binary encodes the values one behind the other.
func (t *texts) binary(p *pageEncoder) ([]byte, error) {
	adjustment := uint64(len(t.bytes)) + 1
	stored := make([]byte, 0, 8*len(t.ends))
	for _, end := range t.ends {
		if end > math.MaxInt64 {
			end = ^end + adjustment
		}
		stored = binary.LittleEndian.AppendUint64(stored, end)
	}
	indices := noNulls(p.flat(64, stored))
	content, err := compress(t.scheme, t.level, t.bytes)
	if err != nil {
		return nil, err
	}
	bytes := p.compressed(content, t.scheme, t.level)
	return arrayEncoding(binaryKind, appendNumber(appendMessage(appendMessage(nil, 1, indices), 2, bytes), 3, adjustment)), nil
}

// distinct finds the values of the page if they are few: the index of each, counted from 1, 0 for nulls.
func (t *texts) distinct() (indices []byte, items *texts, ok bool) {
	known := map[string]byte{}
	items = &texts{}
	indices = make([]byte, 0, len(t.ends))
	start := uint64(0)
	for _, end := range t.ends {
		if end > math.MaxInt64 {
			indices = append(indices, 0)
			continue
		}
		value := t.bytes[start:end]
		start = end
		index, seen := known[string(value)]
		if !seen {
			if len(known) == dictionaryItems-1 {
				return nil, nil, false
			}
			index = byte(len(known) + 1)
			known[string(value)] = index
			items.append(value)
		}
		indices = append(indices, index)
	}
	return indices, items, len(known) > 0
}

// indexed encodes indices of one byte, and these values as what they stand for.
func (t *texts) indexed(p *pageEncoder, indices []byte) ([]byte, error) {
	first := noNulls(p.flat(8, indices))
	items, err := t.binary(p)
	return dictionaryOf(first, items, uint64(len(t.ends))), err
}
