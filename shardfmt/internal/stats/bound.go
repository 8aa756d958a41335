package stats

import (
	"bytes"
	"unicode/utf8"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// BoundSize is how many bytes the bounds of strings and byte strings may have: space for what prefixes of
// paths, URLs and keys have in common, and little enough for the bounds of ten thousand fields.
const BoundSize = 64

// boundRange is the range of values between min and max, bounds shortened, or nil where no upper bound of
// BoundSize bytes exists. text bounds stay valid UTF-8; bounds that are none give no range.
func boundRange(min, max []byte, text bool) *metapb.RangeStats {
	if text && !(utf8.Valid(min) && utf8.Valid(max)) {
		return nil
	}
	lower, upper, exact := shorten(min, text), max, true
	if len(max) > BoundSize {
		exact = false
		if upper = countUp(shorten(max, text), text); upper == nil {
			return nil
		}
	}
	return &metapb.RangeStats{
		MinValue: byteValue(lower, text), MinInclusive: true,
		MaxValue: byteValue(upper, text), MaxInclusive: exact,
	}
}

// shorten is the longest prefix of at most BoundSize bytes, whole characters if text.
func shorten(b []byte, text bool) []byte {
	if len(b) <= BoundSize {
		return b
	}
	n := BoundSize
	for text && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

// countUp is the smallest string that stands above every string that starts with b, as far as one of no
// more bytes (characters, if text) goes; nil if there is none.
func countUp(b []byte, text bool) []byte {
	if text {
		return countUpText(b)
	}
	b = bytes.TrimRight(b, "\xff")
	if len(b) == 0 {
		return nil
	}
	up := bytes.Clone(b)
	up[len(up)-1]++
	return up
}

func countUpText(b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeLastRune(b)
		b = b[:len(b)-n]
		if r == utf8.MaxRune {
			continue
		}
		r++
		if r == 0xD800 { // surrogates are not characters
			r = 0xE000
		}
		return utf8.AppendRune(bytes.Clone(b), r)
	}
	return nil
}

// byteValue is a string or bytes value.
func byteValue(b []byte, text bool) *metapb.AnyValue {
	if text {
		return &metapb.AnyValue{Kind: &metapb.AnyValue_StringValue{StringValue: string(b)}}
	}
	return &metapb.AnyValue{Kind: &metapb.AnyValue_BytesValue{BytesValue: bytes.Clone(b)}}
}
