package blobio_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/internal/parallel"
)

// One range is read as it is read beside another one that is empty: the same bytes for the same request, or the same kind of error.
func TestReadOneRange(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	url := "file://" + t.TempDir() + "/object"
	data := bytes.Repeat([]byte("0123456789"), 1000)
	if err := c.Put(t.Context(), url, data); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []blobio.Range{{0, 10}, {17, 9000}, {0, 10_000}, {9_999, 10_001}, {20_000, 20_001}, {5, 5}, {-1, 3}, {7, 3}} {
		for _, ctx := range []context.Context{t.Context(), cancelled} {
			before := c.Counters()
			want, wrong := c.ReadRanges(ctx, url, []blobio.Range{r, {0, 0}})
			between := c.Counters()
			got, err := c.ReadRanges(ctx, url, []blobio.Range{r})
			if blobio.Class(err) != blobio.Class(wrong) || (err == nil) != (wrong == nil) {
				t.Errorf("%v: %v, and beside another range %v", r, err, wrong)
				continue
			}
			if one, two := c.Counters().Sub(between), between.Sub(before); one != two {
				t.Errorf("%v: %+v requests, and beside another range %+v", r, one, two)
			}
			if err == nil && (len(got) != 1 || !bytes.Equal(got[0], want[0])) {
				t.Errorf("%v: other bytes", r)
			}
		}
	}
	_, err := c.ReadRangesInto(t.Context(), url, []blobio.Range{{0, 10}}, func(int) []byte { panic("no memory") })
	if p := (*parallel.Panic)(nil); !errors.As(err, &p) {
		t.Errorf("a panic of who gives the memory: %v", err)
	}
}
