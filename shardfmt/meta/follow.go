package meta

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// maxHops is how many references may lead from a value to the value that is meant.
const maxHops = 4

// Follow gives the value that v means when it stands in a message of the object anchor: v itself, or, where v
// is a reference, the message it leads to, which may be a reference again. It also gives that message's
// object. More than MaxHops references are corrupt: they may well run in a circle.
func (r *Root) Follow(ctx context.Context, anchor string, v *metapb.AnyValue) (*metapb.AnyValue, string, error) {
	for range maxHops + 1 {
		x, ok := v.GetKind().(*metapb.AnyValue_DataRef)
		if !ok {
			return v, anchor, nil
		}
		next := new(metapb.AnyValue)
		url, err := r.Decode(ctx, anchor, x.DataRef, next)
		if err != nil {
			return nil, "", err
		}
		v, anchor = next, url
	}
	return nil, "", corrupt.Locate(corrupt.At(-1, "a value is more than %d references away", maxHops), anchor, 0)
}
