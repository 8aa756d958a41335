package stripeindex

import (
	"context"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/index/bloommatrix"
	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// SiftKeys asks term filters of hashes which of some keys units may have, each a stripe by its filters: may[unit][key]. A key is a value for each of
// some columns. The rows of a matrix that keys need are read together, in few requests where they lie close. A filter that is damaged, or can't be
// read, rules nothing out: the only error is that of a context that ended.
func SiftKeys(ctx context.Context, st meta.Store, columns []*schema.Node, keys [][]filter.Value, units [][]*Filter) (may [][]bool, err error) {
	k := &keySieve{columns: columns, keys: keys, hashes: map[string][]uint64{}, rows: map[matrixAt]map[int][]byte{}}
	for _, unit := range units {
		k.each(unit, func(f *Filter, hashes []uint64) {
			rows := k.rows[f.at()]
			if rows == nil {
				rows = map[int][]byte{}
				k.rows[f.at()] = rows
			}
			for _, h := range hashes {
				rows[f.Row(h)] = nil
			}
		})
	}
	if err := k.read(ctx, st); err != nil {
		return nil, err
	}
	may = make([][]bool, len(units))
	for i, unit := range units {
		of := make([]bool, len(keys))
		for j := range of {
			of[j] = true
		}
		k.each(unit, func(f *Filter, hashes []uint64) {
			rows := k.rows[f.at()]
			for j, h := range hashes {
				if blocks := rows[f.Row(h)]; of[j] && blocks != nil {
					of[j] = bloommatrix.Has(bloommatrix.Block(blocks, f.Column), h)
				}
			}
		})
		may[i] = of
	}
	return may, nil
}

// keySieve holds the rows of matrices that keys need.
type keySieve struct {
	columns []*schema.Node
	keys    [][]filter.Value
	hashes  map[string][]uint64 // of the keys, by the number of the column and the prefix
	rows    map[matrixAt]map[int][]byte
}

func (f *Filter) at() matrixAt { return matrixAt{f.Object, f.Start, f.Matrix} }

// each calls do with the filters of a unit that hold the hashes of a column, and those of the keys.
func (k *keySieve) each(unit []*Filter, do func(f *Filter, hashes []uint64)) {
	for _, f := range unit {
		if !f.Hash {
			continue
		}
		for c, n := range k.columns {
			i := slices.IndexFunc(f.Fields, func(x FilterField) bool { return x.Node == n.ID && x.Type == n.TypeName() })
			if i >= 0 {
				do(f, k.of(c, f.Fields[i].Prefix))
			}
		}
	}
}

// of are the hashes of a column's values.
func (k *keySieve) of(column int, prefix string) []uint64 {
	name := string(rune(column)) + prefix
	if k.hashes[name] == nil {
		all := make([]uint64, len(k.keys))
		for i, key := range k.keys {
			all[i] = hashindex.Hash(prefix, keyOf(k.columns[column], key[column]))
		}
		k.hashes[name] = all
	}
	return k.hashes[name]
}

// read reads the rows, matrix by matrix.
func (k *keySieve) read(ctx context.Context, st meta.Store) error {
	var all []matrixAt
	for m := range k.rows {
		all = append(all, m)
	}
	one := func(ctx context.Context, st meta.Store, i int) error {
		m := all[i]
		rows := k.rows[m]
		var numbers []int
		for row := range rows {
			numbers = append(numbers, row)
		}
		slices.Sort(numbers)
		ranges := make([]blobio.Range, len(numbers))
		for j, row := range numbers {
			start, end := m.RowRange(row)
			ranges[j] = blobio.Range{Start: m.start + start, End: m.start + end}
		}
		data, err := st.ReadRanges(ctx, m.object, ranges)
		for j := range data {
			if err == nil {
				rows[numbers[j]] = m.Blocks(numbers[j], data[j])
			}
		}
		return ctx.Err()
	}
	if b, ok := st.(branching); ok {
		return b.Each(ctx, len(all), func(ctx context.Context, c *blobio.Client, i int) error { return one(ctx, c, i) })
	}
	return parallel.Each(ctx, siftedTogether, len(all), func(i int) error { return one(ctx, st, i) })
}
