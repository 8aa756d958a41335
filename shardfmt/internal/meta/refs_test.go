package meta

import (
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// fill sets every field of m, two elements in lists, down to depth; each member of a oneof in turn.
func fill(m protoreflect.Message, depth, turn int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && o.Fields().Get(turn%o.Fields().Len()) != fd {
			continue
		}
		switch {
		case fd.IsList() && fd.Message() != nil:
			for k := range 2 {
				if depth > 0 {
					fill(m.Mutable(fd).List().AppendMutable().Message(), depth-1, turn+k)
				}
			}
		case fd.IsList() && fd.Kind() == protoreflect.StringKind:
			m.Mutable(fd).List().Append(protoreflect.ValueOfString("u"))
		case fd.Message() != nil:
			if depth > 0 {
				fill(m.Mutable(fd).Message(), depth-1, turn)
			}
		case fd.Kind() == protoreflect.StringKind:
			m.Set(fd, protoreflect.ValueOfString("u"))
		}
	}
}

// count finds the references in m by reflection.
func count(m protoreflect.Message, found map[string]int) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.FullName() == "amudai.DataRef.url" || fd.FullName() == "amudai.ParquetColumnChunkRef.file_url":
			found[v.String()]++
		case fd.FullName() == "amudai.DataRefArray.url":
			for i := range v.List().Len() {
				found[v.List().Get(i).String()]++
			}
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				count(v.List().Get(i).Message(), found)
			}
		case fd.Message() != nil:
			count(v.Message(), found)
		}
		return true
	})
}

// TestRewriteReachesEveryReference compares the walk with what reflection finds in messages that have
// everything set.
func TestRewriteReachesEveryReference(t *testing.T) {
	for _, m := range []proto.Message{
		&metapb.ShardDirectory{}, &metapb.StripeList{}, &metapb.StripeDirectory{}, &metapb.ShardProperties{},
		&metapb.StripeProperties{}, &metapb.FieldDescriptor{}, &metapb.StripeFieldDescriptor{},
		&metapb.DataRefArray{}, &metapb.IndexCollection{}, &metapb.AnyValue{},
	} {
		total := 0
		for turn := range 13 {
			m := m.ProtoReflect().New()
			fill(m, 9, turn)
			before := map[string]int{}
			count(m, before)
			total += before["u"]

			seen := 0
			eachURL(m.Interface(), func(url string) {
				if got := url; got != "u" {
					t.Fatalf("got %v, want %v", got, "u")
				}
				seen++
			})
			if want, got := before["u"], seen; !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: got %v, want %v", m.Descriptor().Name(), got, want)
			}
			RewriteURLs(m.Interface(), func(string) string { return "v" })
			after := map[string]int{}
			count(m, after)
			if want, got := (map[string]int{"v": before["u"]}), addZero(after); !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: got %v, want %v", fmt.Sprint(m.Descriptor().Name(), turn), got, want)
			}
		}
		if total == 0 {
			t.Fatalf("%v: total is 0", m.ProtoReflect().Descriptor().Name())
		}
	}
}

func addZero(m map[string]int) map[string]int {
	m["v"] += 0
	return m
}
