package merge

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// TestOptionalPack: where a pack is not requested as such, shards that can't be packed are concatenated, with all that this version doesn't know.
func TestOptionalPack(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		unknown bool
		inputs  int
		all     bool
		refused error // where it is requested as such
		still   error // where it is optional
	}{
		"unknown fields":        {true, 2, false, errUnknownFields, nil},
		"all, unknown fields":   {true, 2, true, errUnknownFields, nil},
		"one object":            {false, 1, true, ErrNothingToPack, nil},
		"one object, not all":   {false, 1, false, ErrNothingToPack, ErrNothingToPack},
		"more objects than may": {true, 3, false, errUnknownFields, errLimit},
	} {
		t.Run(name, func(t *testing.T) {
			sp, at := newSpace(t)
			var in []Input
			for i := range c.inputs {
				s := spec{schema: "a: Int64", stripes: []uint64{5}}
				if c.unknown {
					s.change = func(p *parts) { p.properties.ProtoReflect().SetUnknown([]byte{0x9a, 0x06, 3, 'a', 'b', 'c'}) }
				}
				in = append(in, s.make(t, sp, at+string(rune('a'+i))+"/x.amudai.shard"))
			}
			o := PackOptions{Options: Options{Limits: Limits{Objects: 2}, Attempt: "same"}, All: c.all}
			object := at + "data/packed.amudai.stripe"
			o.Object = object
			if _, err := Pack(ctx, sp, at+"no.amudai.shard", in, o); !errors.Is(err, c.refused) {
				t.Fatalf("%v, want %v", err, c.refused)
			}
			o.Optional = true
			out := at + "out.amudai.shard"
			res, err := Pack(ctx, sp, out, in, o)
			if !errors.Is(err, c.still) {
				t.Fatalf("%v, want %v", err, c.still)
			}
			if _, err := sp.Stat(ctx, object); !errors.Is(err, blobio.ErrNotFound) {
				t.Errorf("the object: %v", err)
			}
			if c.still != nil {
				if _, err := sp.Stat(ctx, out); !errors.Is(err, blobio.ErrNotFound) {
					t.Errorf("the root: %v", err)
				}
				return
			}
			if res.Packed != 0 || res.BytesMoved != 0 || res.Inputs != c.inputs {
				t.Errorf("%+v", res)
			}
			if err := sp.Delete(ctx, out, ""); err != nil {
				t.Fatal(err)
			}
			want, err := Concat(ctx, sp, out, in, o.Options)
			if err != nil || !bytes.Equal(res.Root, want.Root) {
				t.Errorf("the root differs from that of a concatenation, %v", err)
			}
		})
	}
}
