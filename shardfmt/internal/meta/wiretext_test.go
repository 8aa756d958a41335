package meta

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// FuzzTextIn holds what is read where it lies against what the decoder states.
func FuzzTextIn(f *testing.F) {
	noted := Text("noted")
	noted.Annotation = proto.String("why")
	for _, custom := range []Properties{
		nil,
		{Pair("a", Text("x")), Pair("wanted", Text("1,2,3"))},
		{Pair("wanted", Text("")), Pair("wanted", Text("second"))},
		{Pair("wanted", Uint(7))}, {Pair("wanted", noted)}, {Pair("wanted", nil)}, {Pair("", Text("x"))},
	} {
		f.Add(Marshal(&metapb.ShardProperties{CustomProperties: custom, StandardProperties: Properties{Pair("wanted", Text("standard"))}}))
	}
	f.Add([]byte("\x22\x0c\x0a\x06wanted\x0a\x02no"))                       // named twice
	f.Add([]byte("\x22\x10\x0a\x06wanted\x12\x02\x42\x00\x12\x02\x10\x01")) // with two values
	f.Add([]byte("\x20\x01"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		text, found, plain := textIn(payload, "wanted")
		m := new(metapb.ShardProperties)
		if !plain || unmarshal(payload, m) != nil {
			return
		}
		v := Properties(m.CustomProperties).Get("wanted")
		if found != (v != nil) {
			t.Fatalf("found: %v; %v", found, m)
		}
		if want, ok := TextOf(v); found && (!ok || string(text) != want || v.Annotation != nil) {
			t.Errorf("%q, %v", text, v)
		}
	})
}

// What writers lay out is read where it lies.
func TestTextIn(t *testing.T) {
	b := Marshal(&metapb.ShardProperties{CustomProperties: Properties{Pair("a", Uint(1)), Pair("wanted", Text("1,2,3")), Pair("z", Text(""))}})
	for name, want := range map[string]string{"wanted": "1,2,3", "z": "", "none": ""} {
		if text, found, plain := textIn(b, name); !plain || found != (name != "none") || string(text) != want {
			t.Errorf("%s: %q, %v, %v", name, text, found, plain)
		}
	}
	if _, _, plain := textIn(b, "a"); plain {
		t.Error("a number was read as a text")
	}
}
