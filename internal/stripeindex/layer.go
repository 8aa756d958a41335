package stripeindex

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/layerindex"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Keys of more records than one in mostShare lie in so many blocks that an index would spare none; fewRecords are looked up
// in any case.
const (
	mostShare  = 64
	fewRecords = 256
)

// askLayer answers which rows have keys that are asked for, unless those are many.
func (r *Reader) askLayer(ctx context.Context, u *usable, q filter.Question) (rows []filter.Range, known bool, err error) {
	if q.Kind != filter.Equal && q.Kind != filter.Within {
		return nil, false, nil
	}
	if u.layer == nil {
		if u.layer, err = layerindex.Open(ctx, r.store, r.root.URL(), u.d, r.policy); err != nil {
			return nil, false, err
		}
	}
	n := q.Path[len(q.Path)-1]
	if form, ok := layerindex.FormOf(n); !ok || form != u.layer.Form() {
		return nil, false, corrupt.Locate(corrupt.At(-1, "a layer index of column %s, %s, whose keys are of another type", n.Name, n.TypeName()), r.root.URL(), 0)
	}
	return u.layer.Rows(ctx, keysOf(n, q), max(fewRecords, r.records/mostShare), r.records)
}

// keysOf are the keys that a question asks for.
func keysOf(n *schema.Node, q filter.Question) (any []layerindex.Keys) {
	if q.Kind == filter.Equal {
		for i := range q.Values {
			if v := &q.Values[i]; v.Float == v.Float {
				any = append(any, layerindex.Key(orderedKeyOf(n, v)))
			}
		}
		return any
	}
	k := layerindex.Keys{LowOut: q.LowOut, HighOut: q.HighOut}
	if q.Low != nil {
		k.Low = orderedKeyOf(n, q.Low)
	}
	if q.High != nil {
		k.High = orderedKeyOf(n, q.High)
	}
	return []layerindex.Keys{k}
}

// orderedKeyOf is the bytes of a value of a node as a key, never nil.
func orderedKeyOf(n *schema.Node, v *filter.Value) []byte {
	form, _ := layerindex.FormOf(n)
	key := make([]byte, 0, 8)
	switch {
	case n.Basic == schema.Boolean:
		return layerindex.AppendUnsigned(key, boolKey(v.Bool))
	case form == layerindex.Signed:
		return layerindex.AppendSigned(key, v.Int)
	case form == layerindex.Unsigned:
		return layerindex.AppendUnsigned(key, v.Uint)
	case form == layerindex.Float:
		return layerindex.AppendFloat(key, v.Float)
	}
	return append(key, v.Bytes...)
}
