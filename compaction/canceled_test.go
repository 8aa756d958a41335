package compaction

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestCanceledPlan: a plan ends with the request in which its context ends, be it for a manifest or for a shard of a shape that no schema of the table has
// had: the request that failed must not decide how the shard is merged.
func TestCanceledPlan(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	s := &schema.Schema{Fields: []*schema.Node{{Name: "id", Basic: schema.Int64, Signed: true, Nullable: true}}}
	s.Number()
	url := fmt.Sprintf("mem://%s/elsewhere/s.amudai.shard", g.bucket)
	w, err := shardfmt.NewWriter(ctx, tbl.Catalog().Client(), url, s, shardfmt.WriterOptions{})
	if err == nil {
		b, _ := (&source{s, `[{"id":1}]`}).Next(ctx)
		err = w.Write(ctx, b)
	}
	if err == nil {
		_, err = w.Close(ctx)
	}
	if err == nil {
		_, err = tbl.Register(ctx, []string{url}, catalog.RegisterOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	shards := 0
	for n := 1; ; n++ {
		bucket := blobfake.NewCanceling(memblob.Open(g.bucket))
		c := g.over(bucket, g.options())
		tbl, err := c.Load(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		resting := runtime.NumGoroutine()
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		bucket.CancelAt(n, false, cancel)
		plan, err := NewPlan(inner, tbl, Policy{External: true})
		late, _ := bucket.Late()
		at := bucket.Canceled()
		if at == "" {
			if err != nil || plan.Shards != 4 || n < 5 || shards == 0 {
				t.Errorf("%+v, %v, canceled at %d requests, %d of them for shards", plan, err, n-1, shards)
			}
			return
		}
		if at == "get elsewhere/s.amudai.shard" {
			shards++
		}
		if !errors.Is(err, context.Canceled) || plan != nil || len(late) > 0 {
			t.Fatalf("canceled at request %d (%s): %+v, %v, then %v", n, at, plan, err, late)
		}
		blobfake.AwaitGoroutines(t, resting)
	}
}
