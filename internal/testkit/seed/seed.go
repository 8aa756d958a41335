// Package seed chooses the seeds of random tests. A change is judged by the same cases whoever runs them, and whenever: a finding of
// a gate is of the change, not of the dice. New cases are looked for by .ci/full, which sets SHARDCAT_NEW_SEEDS.
package seed

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Of returns the seed of a test, which it logs: the number in SHARDCAT_SEED (given is true then: one case is repeated), a new one if
// SHARDCAT_NEW_SEEDS is set, else one that depends on the test's name only. It is below 2^32, so that cases may count from it.
func Of(t testing.TB) (seed uint64, given bool) {
	t.Helper()
	if text := os.Getenv("SHARDCAT_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SHARDCAT_SEED=%q is not a number", text)
		}
		return seed, true
	}
	if os.Getenv("SHARDCAT_NEW_SEEDS") != "" {
		seed = uint64(rand.Uint32())
	} else {
		h := fnv.New32a()
		h.Write([]byte(t.Name()))
		seed = uint64(h.Sum32())
	}
	t.Logf("SHARDCAT_SEED=%d", seed)
	return seed, false
}
