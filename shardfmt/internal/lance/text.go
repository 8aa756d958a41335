package lance

import (
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// text decodes strings and binary values: offsets, and the bytes one behind the other.
type text struct {
	t       arrow.DataType
	ends    ends
	content buffer
	symbols *symbolTable // of FSST, or nil
}

// isLarge reports whether a type has offsets of 64 bits.
func isLarge(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.LARGE_LIST:
		return true
	}
	return false
}

func isString(t arrow.DataType) bool {
	return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING
}

func (d *text) weigh(low, end uint64) uint64 {
	size := d.ends.weigh(low, end)
	if !d.ends.ready(low, end) {
		return size
	}
	from, to, err := d.ends.target(low, end)
	if err != nil {
		return size // decode reports
	}
	if d.symbols != nil {
		return size + (to-from)*maxSymbol
	}
	return size + to - from
}

func (d *text) request(low, end uint64, r *requests) error {
	if !d.ends.ready(low, end) {
		return d.ends.around(low, end, r)
	}
	from, to, err := d.ends.target(low, end)
	if err == nil {
		d.content.want(int64(from), int64(to), r)
	}
	return err
}

func (d *text) decode(low, end uint64) (arrow.ArrayData, error) {
	from, offsets, valid, missing, err := d.ends.offsets(low, end)
	if err != nil {
		return nil, err
	}
	b, err := d.content.bytes(int64(from), int64(from+offsets[len(offsets)-1]))
	if err != nil {
		return nil, err
	}
	if d.symbols != nil {
		if b, err = d.symbols.expand(b, offsets); err != nil {
			return nil, corrupt.Locate(err, "", d.content.at)
		}
	}
	if isString(d.t) {
		if i, ok := firstInvalid(b, offsets, valid); !ok {
			return nil, corrupt.At(d.content.at, "value %d, %.40q, is not UTF-8", low+uint64(i), b[offsets[i]:offsets[i+1]])
		}
	}
	return textData(d.t, b, offsets, valid, missing)
}

// textData makes Arrow data of bytes and offsets.
func textData(t arrow.DataType, b []byte, offsets []uint64, valid []byte, missing int) (arrow.ArrayData, error) {
	narrowed, err := narrow(offsets, isLarge(t))
	if err != nil {
		return nil, err
	}
	return array.NewData(t, len(offsets)-1, []*memory.Buffer{bitmapBuffer(valid), memory.NewBufferBytes(narrowed), memory.NewBufferBytes(b)}, nil, missing, 0), nil
}

func bitmapBuffer(valid []byte) *memory.Buffer {
	if valid == nil {
		return nil
	}
	return memory.NewBufferBytes(valid)
}

// firstInvalid finds a value that is not null and no UTF-8. Usually one look at all bytes, and at where values begin,
// is enough.
func firstInvalid(b []byte, offsets []uint64, valid []byte) (int, bool) {
	if utf8.Valid(b) && beginsRunes(b, offsets) {
		return 0, true
	}
	for i := range len(offsets) - 1 {
		if valid != nil && valid[i/8]>>(i%8)&1 == 0 {
			continue
		}
		if !utf8.Valid(b[offsets[i]:offsets[i+1]]) {
			return i, false
		}
	}
	return 0, true
}

func beginsRunes(b []byte, offsets []uint64) bool {
	for _, at := range offsets {
		if at < uint64(len(b)) && !utf8.RuneStart(b[at]) {
			return false
		}
	}
	return true
}
