package blobio_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// garbling is a way to a store on which a bit of the first n objects flips.
type garbling struct {
	blobio.Bucket
	n int
}

func (g *garbling) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	w, err := g.Bucket.Create(ctx, key, opts)
	if g.n--; err != nil || g.n < 0 {
		return w, err
	}
	return garblingWriter{w}, nil
}

type garblingWriter struct{ blobio.Writer }

func (w garblingWriter) Write(p []byte) (int, error) {
	p = bytes.Clone(p)
	p[len(p)/2] ^= 1
	return w.Writer.Write(p)
}

// TestReceipts: what the store proves to have is not read back; what arrived damaged is read back, deleted and written again; and the receipts
// of a store that is known not to compare checksums count for nothing.
func TestReceipts(t *testing.T) {
	data := []byte("one of the objects that others hang on")
	for _, c := range []struct {
		name             string
		receipts, unsure bool
		garbled          int
		gets, puts       int64
	}{
		{"no receipts", false, false, 0, 1, 1},
		{"receipts", true, false, 0, 0, 1},
		{"receipts of a store that checks nothing", true, true, 0, 1, 1},
		{"damaged, no receipts", false, false, 1, 2, 2},
		{"damaged, receipts", true, false, 1, 1, 2},
		{"damaged twice, receipts", true, false, 2, 2, 3},
	} {
		for _, later := range []bool{false, true} {
			var bucket blobio.Bucket = memblob.New()
			if c.receipts {
				bucket = blobfake.Receipts{Bucket: bucket}
			}
			client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{First: 1}})
			if err := client.MountBucket("s3://receipts/", &garbling{bucket, c.garbled}); err != nil {
				t.Fatal(err)
			}
			if c.unsure {
				client.ReadBackWrites()
			}
			const url = "s3://receipts/k"
			var err error
			if later {
				var readBack func(context.Context, *blobio.Client) error
				if readBack, err = client.PutReadBackLater(t.Context(), url, data); err == nil {
					err = readBack(t.Context(), client)
				}
			} else {
				err = client.PutReadBack(t.Context(), url, data)
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			n := client.Counters()
			got := make([]byte, len(data))
			if _, err := client.ReadRange(t.Context(), url, 0, got); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %q, %v", c.name, got, err)
			}
			if puts, gets := c.puts, c.gets; n.Gets != gets || n.Puts != puts {
				t.Errorf("%s, later %v: %d reads and %d writes, want %d and %d", c.name, later, n.Gets, n.Puts, gets, puts)
			}
			client.Close()
		}
	}
}
