package shardfmt_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestStripesStayWithTheirRoot: stripes of a shard whose root may be there stay; where the store refused the root they go.
func TestStripesStayWithTheirRoot(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		stays  bool
	}{
		"root written, answers lost":          {"put~out.amudai.shard *: lost transient\nget~out.amudai.shard *: fail transient", true},
		"root may be written":                 {"put~out.amudai.shard *: fail unknown\nget~out.amudai.shard *: fail transient", true},
		"first attempt unknown, then refused": {"put~out 2: fail transient\nput~out 3-: fail denied", true},
		"refused":                             {"put~out.amudai.shard *: fail denied", false},
		"written, but refused by a proxy":     {"put~out.amudai.shard *: lost denied", true},
		"the same, and denied once":           {"put~out.amudai.shard *: lost denied\nstat~out.amudai.shard 1: hide", true},
		"the same, and denied the other time": {"put~out.amudai.shard *: lost denied\nstat~out.amudai.shard 2: hide", true},
		"written, but throttled by a proxy":   {"put~out.amudai.shard *: lost throttled", true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			bucket := "keep-" + strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", "")
			faulty := blobfake.NewFaulty(t, memblob.Open(bucket), c.script)
			client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: 3, First: time.Millisecond, Most: time.Millisecond, Budget: time.Second}})
			defer client.Close()
			if err := client.MountBucket("mem://"+bucket+"/", faulty); err != nil {
				t.Fatal(err)
			}
			s, err := schema.Parse("id: int64")
			if err != nil {
				t.Fatal(err)
			}
			w, err := shardfmt.NewWriter(ctx, client, "mem://"+bucket+"/out.amudai.shard", s, shardfmt.WriterOptions{StripeRows: 2})
			if err != nil {
				t.Fatal(err)
			}
			b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s), strings.NewReader(`[{"id":1},{"id":2},{"id":3}]`))
			if err != nil {
				t.Fatal(err)
			}
			err = w.Write(ctx, b)
			if err == nil {
				_, err = w.Close(ctx)
			}
			if err == nil {
				t.Fatal("the root was written")
			}
			w.Abort(ctx)
			stripes := 0
			for info, err := range memblob.Open(bucket).List(ctx, "", blobio.ListOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(info.Key, ".stripe") {
					stripes++
				}
			}
			if (stripes > 0) != c.stays {
				t.Errorf("%d stripes after %v", stripes, err)
			}
		})
	}
}
