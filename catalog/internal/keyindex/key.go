package keyindex

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/layer"
)

// Row is a record: the number of its stripe and its place there.
type Row struct{ Unit, Row uint32 }

const (
	// maxKey is up to how many bytes of a key are kept whole, cutKey how many are left of a longer one beside its checksum.
	maxKey, cutKey = 256, 240
	placeSize      = 8
)

// AppendKey appends a key as it stands in a level.
func AppendKey(dst, key []byte) []byte {
	if len(key) <= maxKey {
		return append(dst, key...)
	}
	sum := xxh3.Hash128(key).Bytes()
	return append(append(dst, key[:cutKey]...), sum[:]...)
}

// appendRow appends a key with the record that it is of.
func appendRow(dst, key []byte, r Row) []byte {
	dst = binary.BigEndian.AppendUint32(AppendKey(dst, key), r.Unit)
	return binary.BigEndian.AppendUint32(dst, r.Row)
}

// placeOf is the record of a row of a level.
func placeOf(row []byte) (r Row, ok bool) {
	if len(row) < placeSize {
		return r, false
	}
	at := row[len(row)-placeSize:]
	return Row{binary.BigEndian.Uint32(at), binary.BigEndian.Uint32(at[4:])}, true
}

// Span is the rows of a level that have keys of a range. Size, if not 0, is how long these rows are: those of one key.
type Span struct {
	layer.Span
	Size int
}

// Ascending sorts spans and leaves out those that are there before: of a list that may have a key twice.
func Ascending(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return bytes.Compare(a.Low.Bytes, b.Low.Bytes) })
	return slices.CompactFunc(spans, func(a, b Span) bool { return bytes.Equal(a.Low.Bytes, b.Low.Bytes) })
}

var last = bytes.Repeat([]byte{0xFF}, maxKey+placeSize+1)

// SpanOf is the rows of one key.
func SpanOf(key []byte) Span {
	key = AppendKey(make([]byte, 0, min(len(key), maxKey)+placeSize), key)
	high := append(make([]byte, 0, len(key)+placeSize), key...)
	return Span{layer.Span{Low: layer.Value{Bytes: key}, High: layer.Value{Bytes: append(high, last[:placeSize]...)}}, len(key) + placeSize}
}

// SpanBetween is the rows whose keys are not below low and not above high or start with it, and maybe some more; nil is no bound.
func SpanBetween(low, high []byte) Span {
	low, high = low[:min(len(low), cutKey)], high[:min(len(high), cutKey)]
	return Span{Span: layer.Span{Low: layer.Value{Bytes: append([]byte{}, low...)}, High: layer.Value{Bytes: append(append([]byte{}, high...), last...)}}}
}
