package meta

import (
	"context"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// What a scan asks the shard's properties, and what they state about ten thousand fields is a text of fifty kilobytes, which a decoded message holds
// another time. So a text is read where it lies.

// Fields of ShardProperties, NameValuePair and AnyValue.
const (
	customField = 4
	nameField   = 1
	valueField  = 2
	textField   = 8
)

// wireText is OwnText without decoding the other properties. The text must not be looked at after Close.
func (r *Root) wireText(ctx context.Context, name string) (text string, ok bool, err error) {
	payload, err := r.propertyPayload(ctx)
	if err != nil {
		return "", false, err
	}
	b, found, plain := textIn(payload, name)
	if !plain || !utf8.Valid(b) {
		return r.OwnText(ctx, name) // which reports what is wrong, or follows
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), found, nil
}

// textIn looks for the first custom property of a name in serialized properties. It is not plain if it is not a mere text, or if something
// is wrong with what comes before it.
func textIn(payload []byte, name string) (text []byte, found, plain bool) {
	for rest := payload; len(rest) > 0; {
		number, member, n := nextField(rest)
		if n < 0 {
			return nil, false, false
		}
		if rest = rest[n:]; number != customField {
			continue
		}
		if member == nil {
			return nil, false, false
		}
		switch text, is, plain := pairIn(member, name); {
		case !plain:
			return nil, false, false
		case is:
			return text, true, true
		}
	}
	return nil, false, true
}

// pairIn reads a property, its name before its value as writers lay it out. is means that it has the name.
func pairIn(pair []byte, name string) (text []byte, is, plain bool) {
	number, got, n := nextField(pair)
	if n < 0 || number != nameField || got == nil {
		return nil, false, false
	}
	if string(got) != name {
		number, _, more := nextField(pair[n:])
		return nil, false, more == len(pair)-n && number == valueField // nothing that could name it again
	}
	number, value, more := nextField(pair[n:])
	if more != len(pair)-n || number != valueField || value == nil {
		return nil, true, false
	}
	number, text, n = nextField(value)
	return text, true, n == len(value) && number == textField && text != nil
}

// nextField takes a field off b: its number, its bytes if it has a length, nil if not, and how many bytes it is; a negative number of them if it
// is none.
func nextField(b []byte) (number protowire.Number, member []byte, n int) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, nil, n
	}
	if kind != protowire.BytesType {
		m := protowire.ConsumeFieldValue(number, kind, b[n:])
		if m < 0 {
			return 0, nil, m
		}
		return number, nil, n + m
	}
	member, m := protowire.ConsumeBytes(b[n:])
	if m < 0 {
		return 0, nil, m
	}
	if member == nil {
		member = []byte{}
	}
	return number, member, n + m
}
