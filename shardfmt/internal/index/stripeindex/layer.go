package stripeindex

import (
	"context"
	"errors"
	"slices"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Keys of more records than one in mostShare lie in so many blocks that an index would spare none; fewRecords are looked up
// in any case.
const (
	mostShare  = 64
	fewRecords = 256
	// mostRecords bounds the positions of an answer: 32 MiB of them.
	mostRecords = 4 << 20
)

// askLayer answers which rows have the keys of questions, unless those are many. The questions are about the first columns of the key, all but
// the last of kind Equal.
func (r *Reader) askLayer(ctx context.Context, u *usable, asked ...filter.Question) (rows []filter.Range, known bool, err error) {
	q := asked[0]
	if q.Kind != filter.Equal && q.Kind != filter.Within {
		return nil, false, nil
	}
	if u.layer == nil {
		if u.layer, err = layerindex.Open(ctx, r.store, u.base, u.d, r.policy); err != nil {
			return nil, false, err
		}
	}
	n := q.Path[len(q.Path)-1]
	form, ok := layerindex.FormOf(n)
	encoded := layerindex.Encoded(n)
	if len(u.fields) > 1 {
		form, encoded = layerindex.Bytes, true
	}
	if !ok || form != u.layer.Form() || encoded != u.layer.Encoded() {
		return nil, false, corrupt.Locate(corrupt.At(-1, "a layer index of column %s, %s, whose keys are of another type", n.Name, n.TypeName()), r.root.URL(), 0)
	}
	keys := keysOf(n, q)
	if len(u.fields) > 1 {
		if keys, ok = partsOf(asked); !ok {
			return nil, false, nil
		}
	}
	return u.layer.Rows(ctx, keys, min(mostRecords, max(fewRecords, r.records/mostShare)), r.records)
}

// together answers a question about several columns at once by indexes of keys that start with two of them or more.
func (r *Reader) together(ctx context.Context, q filter.Question) (rows []filter.Range, known bool, err error) {
	for _, u := range r.usable {
		asked := u.starting(q.Parts)
		if len(asked) < 2 {
			continue
		}
		rows, known, err = r.askLayer(ctx, u, asked...)
		if errors.Is(err, corrupt.ErrUnsupported) {
			continue // a scan reads what an index can't tell
		}
		if known || err != nil {
			return rows, known, err
		}
	}
	return nil, false, nil
}

// starting are the questions about the first columns of a key of several, in their order: up to the first range.
func (u *usable) starting(all []filter.Question) (out []filter.Question) {
	if u.d.IndexType != layerindex.Type || len(u.fields) < 2 {
		return nil
	}
	for _, x := range u.fields {
		i := slices.IndexFunc(all, func(q filter.Question) bool {
			n := q.Path[len(q.Path)-1]
			return n.ID == x.node && n.TypeName() == x.typ
		})
		if i < 0 {
			break
		}
		if out = append(out, all[i]); all[i].Kind != filter.Equal {
			break
		}
	}
	return out
}

// mostPrefixes is how many ranges of keys of several columns one question may come to: a list of values for each of two columns may be of many.
const mostPrefixes = 256

// partsOf are the keys of several columns that match questions about the first of them.
func partsOf(asked []filter.Question) (any []layerindex.Keys, ok bool) {
	prefixes := [][]byte{{}}
	for i := range asked {
		q := &asked[i]
		n := q.Path[len(q.Path)-1]
		if q.Kind != filter.Equal {
			for _, p := range prefixes {
				k, ok := partsWithin(p, n, q)
				if !ok {
					return nil, false
				}
				any = append(any, k)
			}
			return any, true
		}
		if len(prefixes)*len(q.Values) > mostPrefixes {
			if i == 0 {
				return nil, false
			}
			break
		}
		var next [][]byte
		for _, p := range prefixes {
			for k := range q.Values {
				if key, ok := orderedKeyOf(n, &q.Values[k]); ok {
					next = append(next, layerindex.AppendPart(slices.Clip(p), n, key))
				}
			}
		}
		prefixes = next
	}
	for _, p := range prefixes {
		any = append(any, layerindex.Starting(p))
	}
	return any, true
}

// partsWithin are the keys that start with a prefix and then have a part within bounds.
func partsWithin(prefix []byte, n *schema.Node, q *filter.Question) (k layerindex.Keys, ok bool) {
	k = layerindex.WithParts(prefix)
	if q.Low != nil {
		low, ok := orderedKeyOf(n, q.Low)
		if !ok {
			return k, false
		}
		if k.Low = layerindex.AppendPart(slices.Clip(prefix), n, low); q.LowOut {
			k.Low = layerindex.Behind(k.Low)
		}
	}
	if q.High != nil {
		high, ok := orderedKeyOf(n, q.High)
		if !ok {
			return k, false
		}
		if k.High = layerindex.AppendPart(slices.Clip(prefix), n, high); !q.HighOut {
			k.High = layerindex.Behind(k.High)
		}
	}
	return k, true
}

// keysOf are the keys that match a question.
func keysOf(n *schema.Node, q filter.Question) (any []layerindex.Keys) {
	if q.Kind == filter.Equal {
		for i := range q.Values {
			if key, ok := orderedKeyOf(n, &q.Values[i]); ok {
				any = append(any, layerindex.Key(key))
			}
		}
		return any
	}
	k := layerindex.Keys{LowOut: q.LowOut, HighOut: q.HighOut}
	if q.Low != nil {
		k.Low, _ = orderedKeyOf(n, q.Low) // no NaN bounds a range
	}
	if q.High != nil {
		k.High, _ = orderedKeyOf(n, q.High)
	}
	return []layerindex.Keys{k}
}

// orderedKeyOf is the bytes of a value of a node as a key, never nil; ok is false for a NaN.
func orderedKeyOf(n *schema.Node, v *filter.Value) (out []byte, ok bool) {
	form, _ := layerindex.FormOf(n)
	key := make([]byte, 0, 8)
	switch {
	case n.Basic == schema.Boolean:
		return layerindex.AppendUnsigned(key, boolKey(v.Bool)), true
	case form == layerindex.Signed:
		return layerindex.AppendSigned(key, v.Int), true
	case form == layerindex.Unsigned:
		return layerindex.AppendUnsigned(key, v.Uint), true
	case form == layerindex.Float:
		return layerindex.AppendFloat(key, v.Float), v.Float == v.Float
	case n.IsDecimal():
		return decimal.AppendKey(key, decimal.From(v.Bytes))
	}
	return append(key, v.Bytes...), true
}
