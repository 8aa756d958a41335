package memblob

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// A listing has every object once, in order, however many came and went and came again.
func TestListOfManyChanges(t *testing.T) {
	b, ctx, r := New(), t.Context(), rand.New(rand.NewPCG(1, 2))
	there := map[string]bool{}
	for i := range 20_000 {
		key := fmt.Sprintf("%02d/%03d", r.IntN(30), r.IntN(200))
		if i%2 == 0 || !there[key] {
			b.Replace(key, nil)
			there[key] = true
		} else if err := b.Delete(ctx, key, blobio.DeleteOptions{}); err != nil {
			t.Fatal(err)
		} else {
			delete(there, key)
		}
		if i%97 != 0 {
			continue
		}
		prefix := []string{"", "0", "07/", "07/1", "30/"}[r.IntN(5)]
		want := slices.DeleteFunc(slices.Sorted(maps.Keys(there)), func(key string) bool { return !strings.HasPrefix(key, prefix) })
		var got []string
		for info, err := range b.List(ctx, prefix, blobio.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, info.Key)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after %d changes, %q: %d keys, want %d", i+1, prefix, len(got), len(want))
		}
	}
}
