package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
)

// A layer index answers keys and ranges by itself, and reports what it is.
func TestLookupInLayerIndex(t *testing.T) {
	ctx := context.Background()
	dir := filepath.ToSlash(t.TempDir())
	do := func(stdin string, args ...string) (string, error) {
		var out, errs bytes.Buffer
		err := newApp(strings.NewReader(stdin), &out, &errs).execute(ctx, args)
		return out.String(), err
	}
	rows := `{"n":5,"s":"five"}` + "\n" + `{"n":7,"s":"seven"}` + "\n" + `{"n":5,"s":null}` + "\n" + `{"n":-1,"s":"one"}` + "\n"
	if err := os.WriteFile(dir+"/a.ndjson", []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := do("", "shard", "write", dir+"/a.amudai.shard", dir+"/a.ndjson", "--layer-index", "n", "--layer-index", "s"); err != nil {
		t.Fatal(err)
	}
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	shard, err := shardfmt.Open(ctx, client, "file://"+dir+"/a.amudai.shard", shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	indexes, err := shard.Indexes(ctx, 0)
	if err != nil || len(indexes) != 2 {
		t.Fatal(indexes, err)
	}
	for i, questions := range []map[string]string{
		{`{"key":5}`: `[0,2]`, `{"key":6}`: `[]`, `{"from":-1,"to":5}`: `[0,2,3]`, `{"from":6}`: `[1]`},
		{`{"key":"five"}`: `[0]`, `{"to":"one"}`: `[0,3]`},
	} {
		pb, err := indexes[i].MarshalBinary()
		if err == nil {
			err = os.WriteFile(dir+"/index.pb", pb, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for q, want := range questions {
			if got, err := do(q+"\n", "index", "lookup", dir+"/index.pb", "-"); err != nil || !strings.Contains(got, `"positions":`+want) {
				t.Errorf("%s: %s, %v", q, got, err)
			}
		}
		for _, q := range []string{`{"key":1.5}`, `{"term":"five"}`, `{"key":[]}`} {
			if got, err := do(q+"\n", "index", "lookup", dir+"/index.pb", "-"); err == nil {
				t.Errorf("%s: %s", q, got)
			}
		}
		if got, err := do("", "index", "inspect", dir+"/index.pb"); err != nil || !strings.Contains(got, "layer-file-v1") || !strings.Contains(got, "3 records") {
			t.Errorf("%s, %v", got, err)
		}
	}
}
