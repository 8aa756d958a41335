package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// A shard that promises 2^63 records, all deleted, in a few hundred bytes does not become part of a table, whatever is read.
func TestRegisterRefusesPoison(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	packed, err := os.ReadFile("../shardfmt/testdata/hostile/c25-all-deleted-2e63.amudai.shard.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	url := "mem://" + g.bucket + "/elsewhere/bomb.amudai.shard"
	if err := c.Client().Put(ctx, url, data); err != nil {
		t.Fatal(err)
	}
	shard, err := shardfmt.Open(ctx, c.Client(), url, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := shard.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: s, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range []verify.ReadData{verify.ReadSmall, verify.ReadLeast} {
		if _, err := tbl.Register(ctx, []string{url}, RegisterOptions{Read: read}); !errors.Is(err, corrupt.ErrUnsupported) {
			t.Error(err)
		}
	}
	if tbl, err = c.Load(ctx, tbl.Name()); err != nil || tbl.Head() != 0 {
		t.Errorf("snapshot %d, %v", tbl.Head(), err)
	}
}
