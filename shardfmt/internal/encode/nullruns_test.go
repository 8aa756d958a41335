package encode

import (
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// Null slots hold a neighbour, the one before or the one behind, whatever the nulls are; every value stays where it was.
func TestNullSlotsHoldNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	e := NewEncoder(Options{Profile: HighCompression})
	for _, share := range []float64{0.1, 0.5, 0.74} {
		for _, n := range []int{1024, 1025, 5000, 65_536} {
			vals, valid := make([]uint64, n), make([]byte, (n+7)/8)
			for i := range vals {
				vals[i] = r.Uint64()
				if i == n/2 || (i > n/3 || n < 2000) && (i < n/3+200 || r.Float64() >= share) && i != 0 { // long gaps, too
					valid[i/8] |= 1 << (i % 8)
				}
			}
			valid[len(valid)-1] |= 0xff << (n % 8) & 0xff * byte(min(1, n%8)) // what lies behind the end
			e.borrow()
			present := countOnes(valid, n)
			filled := fillBetween(e, vals, valid, present)
			before, behind := -1, 0
			for i, v := range filled {
				if valid[i/8]>>(i%8)&1 == 1 {
					before = i
					if v != vals[i] {
						t.Fatalf("%d values, %.2f null: value %d is another", n, share, i)
					}
					continue
				}
				for behind < n && (behind <= i || valid[behind/8]>>(behind%8)&1 == 0) {
					behind++
				}
				if (before < 0 || v != vals[before]) && (behind == n || v != vals[behind]) {
					t.Fatalf("%d values, %.2f null: slot %d holds none of its neighbours", n, share, i)
				}
			}
		}
	}
}

// Where every second value is null, the lengths of runs take a tenth less than with the value before in each null slot.
func TestRunsOfNullsAreSteady(t *testing.T) {
	const n = FlushValues
	r := rand.New(rand.NewPCG(11, 12))
	vals, valid := make([]int64, n), make([]byte, n/8)
	for i := range vals {
		vals[i] = int64(r.IntN(1024))
		valid[i/8] |= byte(r.IntN(2)) << (i % 8)
	}
	size := 0
	e := NewEncoder(Options{Profile: HighCompression})
	if err := BlockOfNumbers(e, vals, valid, func(b Block) error {
		size += len(b.Sub)
		out := make([]int64, n)
		err := block.DecodeNumbers(out, b.Sub, new(block.Scratch))
		for i, v := range out {
			if valid[i/8]>>(i%8)&1 == 1 && v != vals[i] {
				t.Fatalf("value %d: %d, not %d", i, v, vals[i])
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// Ten bits for every second value, and 0.9 for each slot; with the value before in each null slot it is 1.
	if bits := 8 * float64(size) / n; bits > 5.93 {
		t.Errorf("%.3f bits a slot", bits)
	}
}
