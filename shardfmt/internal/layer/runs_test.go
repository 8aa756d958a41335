package layer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// errRuns are files that can't be merged.
var errRuns = errors.New("these files can't be merged")

// mergeRuns writes the sum of many files of the same types to one: where they have rows of the same keys, the auxiliary
// values of the last column, which must be signed integers, are added; a row whose sum is zero is left out, and so is
// what owns no row any more. It holds a block of each level of each file. This is the integral of a stream whose changes
// came as files.
func mergeRuns(ctx context.Context, to io.Writer, runs []*File, o WriteOptions) error {
	if len(runs) == 0 {
		return fmt.Errorf("%w: no files", errRuns)
	}
	types := runs[0].types
	for _, f := range runs {
		if f.types == nil || TypesText(f.types) != TypesText(types) {
			return fmt.Errorf("%w: %s has other types, or none", errRuns, f.url)
		}
	}
	weight := types[len(types)-1].Aux
	if weight.Kind < I8 || weight.Kind > I64 || weight.Optional {
		return fmt.Errorf("%w: the last auxiliary value is of type %s: weights must be i8 to i64", errRuns, weight)
	}
	w, err := NewWriter(to, types, o)
	if err != nil {
		return err
	}
	m := &runMerger{types: types, out: rowWriter{w: w, types: types}}
	for _, f := range runs {
		if err := m.add(ctx, f); err != nil {
			return err
		}
	}
	if err := m.run(ctx); err != nil {
		return err
	}
	return m.out.close()
}

// run is a file on its way through a merge.
type run struct {
	s   *source
	row []Value
}

// next moves to the next row.
func (r *run) next(ctx context.Context) (bool, error) {
	more, err := r.s.advance(ctx, len(r.s.levels)-1)
	for i := 0; i < len(r.s.levels) && more && err == nil; i++ {
		if r.row[2*i], err = r.s.levels[i].Key(); err == nil {
			r.row[2*i+1], err = r.s.levels[i].Aux()
		}
	}
	return more, err
}

// runMerger merges runs, of which there are few: it looks at the row of each.
type runMerger struct {
	types []Pair
	runs  []*run
	out   rowWriter
}

// add takes a run in, unless it has no rows.
func (m *runMerger) add(ctx context.Context, f *File) error {
	src, err := f.Read(ctx, fileformat.ReadOptions{})
	if err != nil {
		return err
	}
	r := &run{src.(*source), make([]Value, 2*len(m.types))}
	more, err := r.next(ctx)
	if more {
		m.runs = append(m.runs, r)
	}
	return err
}

// compare orders rows by their keys.
func (m *runMerger) compare(a, b []Value) int {
	for i, p := range m.types {
		if c := p.Key.compare(a[2*i], b[2*i]); c != 0 {
			return c
		}
	}
	return 0
}

func (m *runMerger) run(ctx context.Context) error {
	row := make([]Value, 2*len(m.types))
	for len(m.runs) > 0 {
		least := m.runs[0]
		for _, r := range m.runs[1:] {
			if m.compare(r.row, least.row) < 0 {
				least = r
			}
		}
		copy(row, least.row)
		weight, err := m.take(ctx, row)
		if err != nil {
			return err
		}
		if weight == 0 {
			continue
		}
		if row[len(row)-1], err = m.types[len(m.types)-1].Aux.fromInt(weight); err != nil {
			return fmt.Errorf("%w: the sum of weights: %w", corrupt.ErrUnsupported, err)
		}
		if err := m.out.put(row); err != nil {
			return err
		}
	}
	return nil
}

// take adds up the weights of a row and moves all runs past it.
func (m *runMerger) take(ctx context.Context, row []Value) (sum int64, err error) {
	left := m.runs[:0]
	for _, r := range m.runs {
		more := true
		if m.compare(r.row, row) == 0 {
			if sum, err = addWeights(sum, r.row[len(row)-1].Int); err != nil {
				return 0, err
			}
			if more, err = r.next(ctx); err != nil {
				return 0, err
			}
		}
		if more {
			left = append(left, r)
		}
	}
	m.runs = left
	return sum, nil
}

// addWeights adds within 64 bits.
func addWeights(a, b int64) (int64, error) {
	c := a + b
	if a > 0 && b > 0 && c < 0 || a < 0 && b < 0 && c >= 0 {
		return 0, fmt.Errorf("%w: a weight out of 64 bits", corrupt.ErrUnsupported)
	}
	return c, nil
}

// weights makes a file of two columns out of weights by their two keys.
func weights(t *testing.T, of map[[2]int64]int64) *File {
	t.Helper()
	pairs, _ := ParseTypes(weightTypes)
	var out bytes.Buffer
	w, err := NewWriter(&out, pairs, WriteOptions{MinDataBlock: 512, MinIndexBlock: 512, MinBranch: 2})
	if err != nil {
		t.Fatal(err)
	}
	rows := rowWriter{w: w, types: pairs}
	keys := slices.SortedFunc(maps.Keys(of), func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		if err := rows.put([]Value{{Int: k[0]}, {}, {Bytes: fmt.Appendf(nil, "%06d", k[1])}, {Int: of[k]}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.close(); err != nil {
		t.Fatal(err)
	}
	f, _ := mustOpen(t, out.Bytes(), weightTypes)
	return f
}

const weightTypes = "i64,()/string,i64"

// The integral of a stream of changes: weights of equal keys are added, zeros and what they leave empty disappear.
func TestMergeRuns(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(3, 9))
	want := map[[2]int64]int64{}
	var runs []*File
	for range 7 {
		change := map[[2]int64]int64{}
		for range 400 {
			change[[2]int64{r.Int64N(60), r.Int64N(30)}] = r.Int64N(5) - 2
		}
		for k, w := range change {
			if want[k] += w; want[k] == 0 {
				delete(want, k)
			}
		}
		runs = append(runs, weights(t, change))
	}
	back := map[[2]int64]int64{}
	for k, w := range want { // take all of key 7 back: it must not be left without rows
		if k[0] == 7 {
			back[k] = -w
			delete(want, k)
		}
	}
	runs = append(runs, weights(t, back), weights(t, nil))
	var out bytes.Buffer
	if err := mergeRuns(ctx, &out, runs, tiny); err != nil {
		t.Fatal(err)
	}
	f, _ := mustOpen(t, out.Bytes(), weightTypes)
	if rep, err := f.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !rep.OK {
		t.Fatalf("%+v, %v", rep, err)
	}
	got := map[[2]int64]int64{}
	m := &runMerger{types: f.types}
	if err := m.add(ctx, f); err != nil {
		t.Fatal(err)
	}
	for more, err := true, error(nil); more && err == nil; more, err = m.runs[0].next(ctx) {
		row := m.runs[0].row
		var k int64
		fmt.Sscanf(string(row[2].Bytes), "%d", &k)
		got[[2]int64{row[0].Int, k}] = row[3].Int
	}
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if c, err := f.Lookup(ctx, Value{Int: 7}); c != nil || err != nil {
		t.Errorf("key 7 is there: %v", err)
	}
}

func TestMergeRunsRefuses(t *testing.T) {
	ctx := context.Background()
	heavy := weights(t, map[[2]int64]int64{{1, 1}: math.MaxInt64})
	var out bytes.Buffer
	if err := mergeRuns(ctx, &out, []*File{heavy, heavy}, WriteOptions{}); err == nil {
		t.Error("a weight beyond 64 bits")
	}
	other, _ := mustOpen(t, write(t, 3, "i64,()", WriteOptions{}, even), "i64,()")
	for _, runs := range [][]*File{nil, {heavy, other}, {other}} {
		if err := mergeRuns(ctx, &out, runs, WriteOptions{}); !errors.Is(err, errRuns) {
			t.Errorf("%d runs: %v", len(runs), err)
		}
	}
}
