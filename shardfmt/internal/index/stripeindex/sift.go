package stripeindex

import (
	"context"
	"math"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/index/bloommatrix"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

const (
	// maxProbes is how many rows of a matrix one question may cost: a list of more values goes to the indexes.
	maxProbes = 16
	// siftedTogether is how many rows are read at the same time where the store does not state.
	siftedTogether = 16
)

// Sift asks term filters which units, each a stripe by its filters, may have rows for which f is true. Each row of a matrix
// that a question needs is one short read, all at the same time. A filter that is damaged, or can't be read, rules nothing
// out: the only error is that of a context that ended.
func Sift(ctx context.Context, st meta.Store, f *filter.Bound, units [][]*Filter) (may []bool, err error) {
	s := &sieve{rows: map[probe][]byte{}, probes: map[matrixAt]int{}}
	for _, unit := range units {
		s.collect(f, unit)
	}
	if err := s.read(ctx, st); err != nil {
		return nil, err
	}
	may = make([]bool, len(units))
	for i, unit := range units {
		rows, known, _ := f.Candidates(func(q filter.Question) ([]filter.Range, bool, error) { return nil, s.absent(unit, q), nil })
		may[i] = !known || len(rows) > 0
	}
	return may, nil
}

// matrixAt is where a matrix lies, probe one of its rows.
type matrixAt struct {
	object string
	start  int64
	bloommatrix.Matrix
}

type probe struct {
	of  matrixAt
	row int
}

// sieve holds the rows that questions need.
type sieve struct {
	rows   map[probe][]byte // its blocks; nil if they are not known
	order  []probe
	probes map[matrixAt]int
}

func (f *Filter) probe(key uint64) probe {
	return probe{matrixAt{f.Object, f.Start, f.Matrix}, f.Row(key)}
}

// collect notes the rows that all tests of f need of the filters of a unit.
func (s *sieve) collect(f *filter.Bound, unit []*Filter) {
	all := []filter.Range{{Start: 0, End: math.MaxUint64}}
	f.Candidates(func(q filter.Question) ([]filter.Range, bool, error) {
		for _, x := range unit {
			any, _ := x.keys(q)
			for _, keys := range any {
				for _, k := range keys {
					s.want(x.probe(k))
				}
			}
		}
		return all, true, nil // so that every test is come to
	})
}

func (s *sieve) want(p probe) {
	if _, known := s.rows[p]; known || s.probes[p.of] == maxProbes {
		return
	}
	s.probes[p.of]++
	s.rows[p], s.order = nil, append(s.order, p)
}

// read reads the rows.
func (s *sieve) read(ctx context.Context, st meta.Store) error {
	blocks := make([][]byte, len(s.order))
	one := func(ctx context.Context, st meta.Store, i int) error {
		p := s.order[i]
		start, end := p.of.RowRange(p.row)
		data := make([]byte, end-start)
		if _, err := st.ReadRange(ctx, p.of.object, p.of.start+start, data); err == nil {
			blocks[i] = p.of.Blocks(p.row, data)
		}
		return ctx.Err()
	}
	var err error
	if b, ok := st.(branching); ok {
		err = b.Each(ctx, len(s.order), func(ctx context.Context, c *blobio.Client, i int) error { return one(ctx, c, i) })
	} else {
		err = parallel.Each(ctx, siftedTogether, len(s.order), func(i int) error { return one(ctx, st, i) })
	}
	for i, p := range s.order {
		s.rows[p] = blocks[i]
	}
	return err
}

// branching is a store that distinguishes requests which wait for one another from those that don't; a *blobio.Client is one.
type branching interface {
	Each(ctx context.Context, n int, do func(ctx context.Context, c *blobio.Client, i int) error) error
}

// absent reports whether some filter of a unit rules out that any row answers a question.
func (s *sieve) absent(unit []*Filter, q filter.Question) bool {
	for _, x := range unit {
		if any, ok := x.keys(q); ok && s.noneOf(x, any) {
			return true
		}
	}
	return false
}

// noneOf reports whether of each alternative a key is not there.
func (s *sieve) noneOf(x *Filter, any [][]uint64) bool {
	for _, keys := range any {
		lacks := false
		for _, k := range keys {
			blocks := s.rows[x.probe(k)]
			lacks = lacks || blocks != nil && !bloommatrix.Has(bloommatrix.Block(blocks, x.Column), k)
		}
		if !lacks {
			return false
		}
	}
	return true
}
