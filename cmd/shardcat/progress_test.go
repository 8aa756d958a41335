package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// slowBucket gives what it holds a piece at a time, and waits before each.
type slowBucket struct {
	*memblob.Bucket
	piece int
	wait  time.Duration
}

func (b *slowBucket) Open(ctx context.Context, key string, off int64, o blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	r, info, err := b.Bucket.Open(ctx, key, off, o)
	return &slowReader{r, b}, info, err
}

type slowReader struct {
	io.ReadCloser
	b *slowBucket
}

func (r *slowReader) Read(p []byte) (int, error) {
	time.Sleep(r.b.wait)
	return r.ReadCloser.Read(p[:min(len(p), r.b.piece)])
}

// TestProgressOnATerminal: a person at a terminal sees share, rate and time left of an ingestion of a second and more, also where
// the output goes elsewhere; the bytes of the input report how far it is.
func TestProgressOnATerminal(t *testing.T) {
	terminal, seen := openTerminal(t)
	bucket := &slowBucket{Bucket: memblob.New(), piece: 64 << 10, wait: 60 * time.Millisecond}
	bucket.Replace("rows.ndjson", []byte(strings.Repeat("{\"a\":1}\n", 200_000)))
	blobio.Register("slow", func(context.Context, *url.URL) (blobio.Bucket, error) { return bucket, nil })
	const place = "slow://bucket/"
	var out bytes.Buffer
	a := newApp(strings.NewReader(""), &out, terminal)
	code := a.finish(t.Context(), a.execute(t.Context(), []string{"--catalog", "sqlite:" + filepath.Join(t.TempDir(), "c.db"),
		"--warehouse", t.TempDir(), "ingest", "t", place + "rows.ndjson", "--create"}))
	if code != exitDone || !strings.Contains(out.String(), "200000 rows") {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	terminal.Close()
	if text := seen(); !regexp.MustCompile(`ingest \[=+ *\] +\d+% [0-9.]+ ?[kM]? ?B/s, \d+s left`).MatchString(text) {
		t.Errorf("no bar with share, rate and time left on %q", text)
	}
}

// TestProgressKnowsTheWhole: commands whose size is known report how far they are; at the end that is all of it.
func TestProgressKnowsTheWhole(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &errs)
		global := []string{"--catalog", "sqlite:" + filepath.Join(dir, "c.db"), "--warehouse", filepath.Join(dir, "w"), "--progress", "always"}
		if code := a.finish(t.Context(), a.execute(t.Context(), append(global, args...))); code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, errs.String())
		}
		return errs.String()
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	const flights = "../../testdata/flights/2013-01.csv.gz"
	for _, c := range [][]string{
		{"write", "shard", "write", file("a.amudai.shard"), flights, "--property", "x=y"},
		{"verify", "shard", "verify", file("a.amudai.shard")},
		{"merge", "shard", "merge", file("m.amudai.shard"), file("a.amudai.shard"), file("a.amudai.shard")},
		{"ingest", "ingest", "flights", flights, "--create", "--shard-rows", "1500"},
		{"register", "register", "flights", file("a.amudai.shard")},
		{"verify", "verify", "flights"},
		{"verify", "verify", "flights", "--read-data-subset", "50%"},
		{"scan", "scan", "flights", "--select", "origin"},
		{"scan", "scan", "flights", "--select", "origin", "--limit", "30000"},
		{"export", "export", "flights", file("o.ndjson")},
		{"compact", "compact", "flights"},
		{"convert", "convert", flights, file("a.parquet")},
		{"convert", "convert", file("a.parquet"), file("a.arrow")},
		{"convert", "convert", file("a.arrow"), file("a.lance/")},
		{"convert", "convert", file("a.lance"), file("b.amudai.shard")},
		{"convert", "convert", file("b.amudai.shard"), file("b.lance")},
		{"convert", "convert", file("b.lance"), file("b.csv")},
		{"verify", "shard", "verify", file("a.parquet")},
		{"verify", "shard", "verify", file("a.lance")},
		{"verify", "shard", "verify", file("b.lance")},
		{"verify", "shard", "verify", file("b.csv")},
	} {
		text := run(c[1:]...)
		last := regexp.MustCompile(fmt.Sprintf(`%s \[=+ *\] +(\d+)%% [^,]*/s, 0s left\n`, c[0])).FindStringSubmatch(text)
		if last == nil || last[1] != "100" && !(c[0] == "verify" && last[1] >= "90") {
			t.Errorf("%v ends with %.300q", c[1:], text[max(0, len(text)-300):])
		}
	}
}
