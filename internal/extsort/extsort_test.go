package extsort

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// Whatever fits into memory, the records come sorted, equal keys in the order they came, and no file is left.
func TestSorted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, memory := range []int{0, 200, 5000} {
		r := rand.New(rand.NewPCG(1, 2))
		s := New(memory)
		var want []string
		for i := range 3000 {
			key := fmt.Sprintf("%03d", r.IntN(500))
			want = append(want, fmt.Sprintf("%s %05d", key, i))
			if err := s.Add([]byte(key), fmt.Appendf(nil, "%05d", i)); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(want)
		var got []string
		for rec, err := range s.Sorted() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(rec.Key)+" "+string(rec.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("memory %d: %d records out of order", memory, len(got))
		}
		if (s.Spills() > 0) != (memory > 0) {
			t.Errorf("memory %d: %d spills", memory, s.Spills())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
}
