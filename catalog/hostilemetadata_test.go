package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// TestManifestListsElsewhere: a manifest list that another bucket, another host or any local file is named as is not requested, and
// nothing of the file is shown.
func TestManifestListsElsewhere(t *testing.T) {
	ctx := context.Background()
	c, dir := openLocal(t)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	secret := filepath.Join(dir, "secret.avro")
	if err := os.WriteFile(secret, []byte("hunter2 is the password"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{
		"file://" + secret, secret, "file:" + secret, "s3://others/list.avro", "gs://others/list.avro", "http://169.254.169.254/latest/meta-data",
		"file:///etc/passwd", c.warehouse + "/../secret.avro", "", "x",
	} {
		edit(t, tbl.MetadataLocation(), func(m map[string]any) { m["snapshots"].([]any)[0].(map[string]any)["manifest-list"] = list })
		broken, err := c.Load(ctx, tableName)
		if err != nil {
			t.Fatal(err)
		}
		requests := c.MetadataCounters()
		for _, scanErr := range broken.Scan(ctx, ScanOptions{}, nil) {
			err = scanErr
		}
		if !errors.Is(err, ErrUnsafe) && !errors.Is(err, corrupt.ErrCorrupt) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", list, err)
		}
		if done := c.MetadataCounters().Sub(requests); done.Gets != 0 {
			t.Errorf("%q: %+v", list, done)
		}
	}
}

// relist commits a snapshot whose entries are changed as a hostile writer could.
func relist(t *testing.T, tbl *Table, add []*manifest.Entry) {
	t.Helper()
	j, _, err := tbl.BeginJob(context.Background(), JobAppend, "", nil, tbl.Outputs)
	if err == nil {
		_, err = j.commit(context.Background(), change{Change: manifest.Change{Operation: table.OpAppend, Add: add}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestHostileEntries: a shard that is listed twice would double its rows; records beyond 2^63 would be printed as a negative count.
func TestHostileEntries(t *testing.T) {
	ctx := context.Background()
	for name, change := range map[string]func(e *manifest.Entry){
		"listed twice":     func(*manifest.Entry) {},
		"records overflow": func(e *manifest.Entry) { e.Path, e.Records = strings.Replace(e.Path, "-0001", "-0002", 1), 1<<63-1 },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			tbl := g.create(g.open(nil, nil))
			ingest(t, tbl, IngestOptions{}, rows(0, 10))
			again := *firstEntry(t, tbl)
			change(&again)
			relist(t, tbl, []*manifest.Entry{&again})
			tbl = g.load(g.open(nil, nil))
			p, err := tbl.Plan(ctx, ScanOptions{})
			n := int64(-1)
			if err == nil {
				n, err = p.Count(ctx, nil)
			}
			if !errors.Is(err, corrupt.ErrCorrupt) {
				t.Errorf("counted %d, %v", n, err)
			}
			if d := tbl.Describe(); d.Records < 0 || d.RootBytes < 0 {
				t.Errorf("described: %+v", d)
			}
		})
	}
}

// The beginning of year 1 is Go's zero time, and no reason to show the newest rows.
func TestAsOfYearOne(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	for _, when := range []time.Time{{}, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if _, err := tbl.Plan(context.Background(), ScanOptions{At: AtTime(when)}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", when, err)
		}
	}
	if p, err := tbl.Plan(context.Background(), ScanOptions{At: AtTime(time.Now().Add(time.Hour))}); err != nil || len(p.Shards) != 1 {
		t.Errorf("now: %v", err)
	}
}
