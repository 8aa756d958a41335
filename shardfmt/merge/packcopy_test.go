package merge_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// Ranges that the store copies itself, here all of them, lie where they would lie had they been fetched, and are not fetched.
func TestPackCopiesInTheStore(t *testing.T) {
	ctx := context.Background()
	roots, err := filepath.Glob(filepath.Join(interop.Dir(t), "merged", "*", "case.json"))
	require.NoError(t, err)
	require.NotEmpty(t, roots)
	packed := 0
	for _, root := range roots {
		folder := filepath.Dir(root)
		sp := blobio.NewClient()
		defer sp.Close()
		at := "mem://packcopy-" + filepath.Base(folder) + "/"
		in, cases := packedCase(t, sp, folder, at)
		pack := func(name string, least int64) (*merge.Result, []byte, blobio.Counters) {
			defer merge.SetCopyLeast(least)()
			start := sp.Counters()
			res, err := merge.Pack(ctx, sp, at+name+".amudai.shard", at+"data/"+name+"/0.amudai.stripe", in, merge.PackOptions{Copy: true})
			require.NoError(t, err)
			used := sp.Counters().Sub(start)
			data, _, err := sp.ReadAll(ctx, res.Objects[0], 1<<30)
			require.NoError(t, err)
			return res, data, used
		}
		fetched, want, all := pack("fetched", 1<<40)
		copied, got, few := pack("copying", 1)
		require.Equal(t, want, got)
		require.Equal(t, fetched.BytesMoved, copied.BytesMoved)
		samples := few.GetBytes - (all.GetBytes - fetched.BytesMoved) // the rest are the roots
		require.Positive(t, samples)
		require.LessOrEqual(t, samples, int64(copied.Packed)*4<<10, "1 KiB at both ends of each range and of its source")
		packed++
		sch, rows := scan(t, sp, copied.URL)
		compareRows(t, sch, rows, cases...)
		report, err := verify.Shard(ctx, sp, copied.URL, verify.Options{})
		require.NoError(t, err)
		require.Empty(t, report.Errors)
	}
	require.Positive(t, packed)
}
