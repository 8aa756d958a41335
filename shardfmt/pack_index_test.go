package shardfmt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/merge"
)

// The indexes of stripes answer in a packed shard as before: their objects stay where they are.
func TestPackKeepsIndexes(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	folder := "file://" + t.TempDir() + "/"
	if _, err := client.Mount(ctx, folder); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	var in []merge.Input
	for i := range 4 {
		url := fmt.Sprintf("%s%d.amudai.shard", folder, i)
		writeIndexed(t, client, url, r, 700*i, 700, indexedSpecs(t))
		in = append(in, merge.Input{URL: url})
	}
	out := folder + "packed.amudai.shard"
	_, err := merge.Pack(ctx, client, out, in, merge.PackOptions{Object: folder + "packed.amudai.stripe", All: true})
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for range 20 {
		where := oddFilter(r, 2)
		var stats ScanStats
		got := matching(t, client, out, where, ScanOptions{Stats: &stats})
		want := matching(t, client, out, where, ScanOptions{IgnoreIndexes: true})
		if !slices.Equal(got, want) {
			t.Fatal(where)
		}
		used += stats.StripesIndexed
	}
	if used == 0 {
		t.Error("no index was asked")
	}
}
