package hashindex

import (
	"context"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/oneobject"
	"github.com/shardcat/shardcat/urlresolve"
)

// FuzzPartition: whatever the bytes of a partition are, a lookup ends in ascending positions or in an error.
func FuzzPartition(f *testing.F) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	root, err := client.Mount(ctx, "mem://hashfuzz/root.pb")
	if err != nil {
		f.Fatal(err)
	}
	b := NewBuilder(0)
	for i := range uint64(9) {
		b.Add(i%4*0x9e3779b97f4a7c15, i)
	}
	d, objects, err := b.Write(ctx, shardwriter.IndexTarget{Store: client, Root: root, Prefix: "mem://hashfuzz/"}, Type)
	if err != nil {
		f.Fatal(err)
	}
	whole, _, err := client.ReadAll(ctx, objects[0].URL, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, uint64(0x9e3779b97f4a7c15))
	f.Add(whole[:len(whole)/2], uint64(0))
	f.Add([]byte{}, uint64(1))
	f.Fuzz(func(t *testing.T, data []byte, hash uint64) {
		x, err := Open(oneobject.Store(data), root, d, urlresolve.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with what was kept of the first
			if got, err := x.Lookup(ctx, hash); err == nil && !slices.IsSorted(got) {
				t.Errorf("positions %v", got)
			}
		}
	})
}
