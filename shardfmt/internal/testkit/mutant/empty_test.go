package mutant

import (
	"math/rand/v2"
	"testing"
)

// TestEveryShardCanBeChanged: of a shard that has nothing for most kinds of mutation there is a mutant all the same, however the draws fall.
func TestEveryShardCanBeChanged(t *testing.T) {
	own, err := Own(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range own {
		if s.Name != "own-empty" {
			continue
		}
		for seed := range uint64(20_000) {
			if _, err := New(rand.New(rand.NewPCG(seed, 1)), s, nil); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		return
	}
	t.Fatal("there is no empty shard")
}
