package layer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

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
	if err := MergeRuns(ctx, &out, runs, tiny); err != nil {
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
	if err := MergeRuns(ctx, &out, []*File{heavy, heavy}, WriteOptions{}); err == nil {
		t.Error("a weight beyond 64 bits")
	}
	other, _ := mustOpen(t, write(t, 3, "i64,()", WriteOptions{}, even), "i64,()")
	for _, runs := range [][]*File{nil, {heavy, other}, {other}} {
		if err := MergeRuns(ctx, &out, runs, WriteOptions{}); !errors.Is(err, ErrRuns) {
			t.Errorf("%d runs: %v", len(runs), err)
		}
	}
}
