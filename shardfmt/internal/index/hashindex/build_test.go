package hashindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// What an index answers is what was added to it, whatever the number of partitions and of hashes.
func TestAgainstMap(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	for i, c := range []struct{ bits, hashes int }{{0, 0}, {0, 1}, {0, 17}, {0, 5000}, {1, 3}, {3, 700}} {
		folder := fmt.Sprintf("mem://hash/%d/", i)
		root, err := client.Mount(ctx, folder+"root.pb")
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(i), 1))
		want, b := map[uint64][]uint64{}, NewBuilder(c.bits)
		for range c.hashes {
			h := r.Uint64()
			for range 1 + r.IntN(4) {
				p := r.Uint64N(1000)
				want[h] = append(want[h], p)
				b.Add(h, p)
			}
		}
		d, objects, err := b.Write(ctx, shardwriter.IndexTarget{Store: client, Root: root, Prefix: folder}, Type)
		if err != nil || len(objects) != 1<<c.bits {
			t.Fatal(objects, err)
		}
		x, err := Open(client, root, d, urlresolve.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for h, positions := range want {
			if asked++; asked > 200 {
				break
			}
			slices.Sort(positions)
			if got, err := x.Lookup(ctx, h); err != nil || !slices.Equal(got, slices.Compact(positions)) {
				t.Fatalf("%d hashes: %x: got %v, %v, want %v", c.hashes, h, got, err, positions)
			}
		}
		for range 20 {
			if got, err := x.Lookup(ctx, r.Uint64()); err != nil || len(got) > 0 {
				t.Fatalf("a hash that does not occur: %v, %v", got, err)
			}
		}
	}
}

// The numbers of buckets of docs/format/indexes.md.
func TestBuckets(t *testing.T) {
	for n, want := range map[int]int{0: 2, 1: 2, 2: 2, 4: 2, 5: 2, 6: 4, 8: 4, 9: 4, 10: 8, 17: 8, 18: 16} {
		if got := bucketsFor(n); got != want {
			t.Errorf("%d hashes: %d buckets, want %d", n, got, want)
		}
	}
}
