package faultproxy_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// costs are requests by kind.
type costs struct{ get, stat, list, put, delete int }

func (c costs) String() string {
	return fmt.Sprintf("get %d stat %d list %d put %d delete %d", c.get, c.stat, c.list, c.put, c.delete)
}

// TestWhatACallCosts: the requests that reach the store are those that the package comments of the drivers
// promise, and those that a Client counts (--io-stats).
func TestWhatACallCosts(t *testing.T) {
	large := bytes.Repeat([]byte("part"), 12<<18) // 12 MiB: three parts
	calls := []struct {
		what       string
		call       func(ctx context.Context, sp *blobio.Client, root string) error
		s3, az, gs costs
	}{
		{"put", func(ctx context.Context, sp *blobio.Client, root string) error {
			return sp.Put(ctx, root+"small", []byte("0123456789"))
		}, costs{put: 1}, costs{put: 1}, costs{put: 1}},
		{"put in parts", func(ctx context.Context, sp *blobio.Client, root string) error {
			return sp.Put(ctx, root+"large", large)
		}, costs{put: 5}, costs{put: 4}, costs{put: 4}},
		{"range", func(ctx context.Context, sp *blobio.Client, root string) error {
			_, err := sp.ReadRange(ctx, root+"small", 3, make([]byte, 4))
			return err
		}, costs{get: 1}, costs{get: 1}, costs{get: 1}},
		{"suffix", func(ctx context.Context, sp *blobio.Client, root string) error {
			_, _, err := sp.ReadSuffix(ctx, root+"small", 4)
			return err
		}, costs{get: 1}, costs{get: 1, stat: 1}, costs{get: 1}},
		{"whole", func(ctx context.Context, sp *blobio.Client, root string) error {
			_, _, err := sp.ReadAll(ctx, root+"large", 1<<30)
			return err
		}, costs{get: 1}, costs{get: 1}, costs{get: 1}},
		{"stat", func(ctx context.Context, sp *blobio.Client, root string) error {
			_, err := sp.Stat(ctx, root+"small")
			return err
		}, costs{stat: 1}, costs{stat: 1}, costs{stat: 1}},
		{"list", func(ctx context.Context, sp *blobio.Client, root string) error {
			for _, err := range sp.List(ctx, root) {
				if err != nil {
					return err
				}
			}
			return nil
		}, costs{list: 1}, costs{list: 1}, costs{list: 1}},
		{"delete", func(ctx context.Context, sp *blobio.Client, root string) error {
			return sp.Delete(ctx, root+"small", "")
		}, costs{stat: 1, delete: 1}, costs{delete: 1}, costs{delete: 1}},
	}
	eachStore(t, func(t *testing.T, at place) {
		client, root := mount(t, at.broken, at.prefix)
		for _, c := range calls {
			if err := at.proxy.Set(""); err != nil {
				t.Fatal(err)
			}
			before := client.Counters()
			if err := c.call(t.Context(), client, root); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			want := map[string]costs{"S3": c.s3, "AZURE": c.az, "GCS": c.gs}[t.Name()[strings.LastIndex(t.Name(), "_")+1:]]
			n := at.proxy.Requests
			made := costs{n("get"), n("stat"), n("list"), n("put"), n("delete")}
			io := client.Counters().Sub(before)
			counted := costs{int(io.Gets), int(io.Heads), int(io.Lists), int(io.Puts), int(io.Deletes)}
			if made != want || counted != want {
				t.Errorf("%s: want %s; made %s; counted %s", c.what, want, made, counted)
			}
		}
	})
}
