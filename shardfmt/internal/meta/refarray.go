package meta

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// RefArray is a view of a serialized DataRefArray. On the wire it is three runs,
//
//	12 len url    n times ("12 00" for an empty one)
//	1A len        n starts of eight bytes
//	22 len        n ends of eight bytes
//
// so an element is read where it lies and the others are not decoded. A view costs one comparison of the
// two bytes per empty URL; only URLs that are not empty are walked one by one.
type RefArray struct {
	starts, ends []byte
	// urls is the first run, or nil if all URLs are empty.
	urls []byte
	// marks are the offsets in urls of every markEvery-th element.
	marks []int
	// unknown are the serialized fields that the message does not know.
	unknown []byte
}

const markEvery = 64

// Field tags of DataRefArray.
const (
	urlTag   = 2<<3 | byte(protowire.BytesType)
	startTag = 3<<3 | byte(protowire.BytesType)
	endTag   = 4<<3 | byte(protowire.BytesType)
)

// ParseRefArray makes a view of payload, which must stay unchanged as long as the view is used. Runs of
// unequal length are corrupt.
func ParseRefArray(payload []byte) (*RefArray, error) {
	if a := parseRuns(payload); a != nil {
		return a, nil
	}
	// Legal, but not as writers lay it out: unpacked, interleaved, or with unknown fields.
	var m metapb.DataRefArray
	if err := unmarshal(payload, &m); err != nil {
		return nil, err
	}
	n := len(m.Start)
	if len(m.End) != n || len(m.Url) != n {
		return nil, corrupt.At(0, "reference array of %d URLs, %d starts, %d ends", len(m.Url), n, len(m.End))
	}
	a := parseRuns(Marshal(&metapb.DataRefArray{Url: m.Url, Start: m.Start, End: m.End}))
	if a == nil {
		return nil, corrupt.At(0, "reference array can't be laid out")
	}
	a.unknown = m.ProtoReflect().GetUnknown()
	return a, nil
}

// parseRuns reads the three runs in their usual order, or returns nil if b is laid out otherwise or broken.
func parseRuns(b []byte) *RefArray {
	if len(b) == 0 {
		return &RefArray{}
	}
	a := new(RefArray)
	empty := emptyURLs(b)
	urls, marks, count := walkURLs(b, empty)
	var ok bool
	rest := b[urls:]
	if a.starts, rest, ok = run(rest, startTag); !ok {
		return nil
	}
	if a.ends, rest, ok = run(rest, endTag); !ok || len(rest) != 0 {
		return nil
	}
	if len(a.starts) != len(a.ends) || len(a.starts) != 8*count {
		return nil
	}
	if count > empty {
		a.urls, a.marks = b[:urls], marks
	}
	return a
}

// manyEmpty is a run of empty URLs to compare with.
var manyEmpty = bytes.Repeat([]byte{urlTag, 0}, 4096)

// emptyURLs counts the empty URLs at the start of b.
func emptyURLs(b []byte) int {
	pos := 0
	for len(b)-pos >= len(manyEmpty) && bytes.Equal(b[pos:pos+len(manyEmpty)], manyEmpty) {
		pos += len(manyEmpty)
	}
	const word = uint64(urlTag) * 0x0001000100010001
	for len(b)-pos >= 8 && binary.LittleEndian.Uint64(b[pos:]) == word {
		pos += 8
	}
	for len(b)-pos >= 2 && b[pos] == urlTag && b[pos+1] == 0 {
		pos += 2
	}
	return pos / 2
}

// walkURLs finds the end of the first run, of which the first empty elements are known to be empty, the
// marks into it and the number of its elements.
func walkURLs(b []byte, empty int) (end int, marks []int, count int) {
	pos := 2 * empty
	if pos == len(b) || b[pos] != urlTag {
		return pos, nil, empty
	}
	for i := 0; i < empty; i += markEvery {
		marks = append(marks, 2*i)
	}
	count = empty
	for pos < len(b) && b[pos] == urlTag {
		u, n := protowire.ConsumeBytes(b[pos+1:])
		if n < 0 || !utf8.Valid(u) {
			return pos, nil, count
		}
		if count%markEvery == 0 {
			marks = append(marks, pos)
		}
		pos += 1 + n
		count++
	}
	return pos, marks, count
}

// run takes one length-delimited field with the given tag off b.
func run(b []byte, tag byte) (body, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != tag {
		return nil, nil, false
	}
	body, n := protowire.ConsumeBytes(b[1:])
	if n < 0 || len(body)%8 != 0 {
		return nil, nil, false
	}
	return body, b[1+n:], true
}

// Unknown are the fields of the message that are none of the three, serialized.
func (a *RefArray) Unknown() []byte { return a.unknown }

// Len is the number of elements.
func (a *RefArray) Len() int { return len(a.starts) / 8 }

// At is element i: its URL as stored and its byte range. An element behind the last is absent, as an empty
// one is: lists may be shorter than the number of fields.
func (a *RefArray) At(i int) (url string, start, end int64, err error) {
	if i < 0 || i >= a.Len() {
		return "", 0, 0, nil
	}
	start, end, err = checkRange(binary.LittleEndian.Uint64(a.starts[8*i:]), binary.LittleEndian.Uint64(a.ends[8*i:]))
	if err != nil {
		return "", 0, 0, err
	}
	return a.url(i), start, end, nil
}

// Ref is element i as a reference, nil if it is absent or empty.
func (a *RefArray) Ref(i int) (*metapb.DataRef, error) {
	url, start, end, err := a.At(i)
	if err != nil || start == end {
		return nil, err
	}
	return NewRef(url, uint64(start), uint64(end)), nil
}

func (a *RefArray) url(i int) string {
	if a.urls == nil {
		return ""
	}
	pos := a.marks[i/markEvery]
	for k := i % markEvery; ; k-- {
		u, n := protowire.ConsumeBytes(a.urls[pos+1:])
		if k == 0 {
			return string(u)
		}
		pos += 1 + n
	}
}

// oneURL reports whether all URLs that are not empty are the same.
func (a *RefArray) oneURL() bool {
	var first []byte
	for pos := 0; pos < len(a.urls); {
		u, n := protowire.ConsumeBytes(a.urls[pos+1:])
		if len(u) > 0 {
			if first == nil {
				first = u
			} else if !bytes.Equal(u, first) {
				return false
			}
		}
		pos += 1 + n
	}
	return true
}
