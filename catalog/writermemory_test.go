package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/resthttp"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// TestWritersShareTheMemory: shards of many partitions that are written side by side hold no more together than half of MaxMemory, and
// nothing is lost by the stripes that end early.
func TestWritersShareTheMemory(t *testing.T) {
	ctx, g := context.Background(), newGround(t)
	c, err := Open(ctx, Options{URI: "sqlite:" + filepath.Join(g.dir, "c.db"), Warehouse: "mem://" + g.bucket + "/wh",
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}), MaxMemory: 4 * minWriterMemory})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true, Partition: []string{"bucket(8, id)"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range []int64{2} {
		limit := 2 * minWriterMemory / share
		j, _, err := tbl.BeginJob(ctx, JobAppend, "", nil, tbl.Outputs)
		if err != nil {
			t.Fatal(err)
		}
		w := newShardWriters(tbl, j, &IngestOptions{share: share})
		project, err := tbl.projectSource(people())
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		most, total := int64(0), int64(0)
		for first := 0; first < 2000; first += 200 {
			for b, err := range tbl.records(ctx, source(longRows(random, first, 200)), project) {
				if err == nil {
					err = w.write(ctx, b)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			held := int64(0)
			for _, s := range w.open {
				held += s.writer.Held()
			}
			most, total = max(most, held), total+held
			if held > limit {
				t.Fatalf("%d bytes are held of %d", held, limit)
			}
		}
		entries, err := w.close(ctx)
		if err != nil {
			t.Fatal(err)
		}
		records, stripes := int64(0), int64(0)
		for _, e := range entries {
			records, stripes = records+e.Records, stripes+e.Stripes
		}
		if records != 2000 || len(entries) != 8 || stripes <= 8 || most < limit/2 {
			t.Errorf("%d records in %d shards of %d stripes, at most %d bytes held of %d", records, len(entries), stripes, most, limit)
		}
		j.Fail(ctx, nil)
	}
}

// longRows are rows with a text of 8 KiB each.
func longRows(random *rand.Rand, first, n int) string {
	var b strings.Builder
	for i := range n {
		if b.WriteByte(','); i == 0 {
			b.Reset()
		}
		fmt.Fprintf(&b, `{"id":%d,"ts":null,"small":1,"tags":["`, first+i)
		for range 512 {
			fmt.Fprintf(&b, "%016x", random.Uint64())
		}
		b.WriteString(`"]}`)
	}
	return "[" + b.String() + "]"
}

// TestMetadataBombs: metadata files that unpack to, or decode to, more than there is are refused before anything decodes them, whatever
// names them; those that are compressed in earnest are read.
func TestMetadataBombs(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	c, err := Open(ctx, Options{URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "wh"), MaxMemory: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	at := tbl.MetadataLocation()
	file := strings.TrimPrefix(at, "file://")
	plain, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gzipped := func(text []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(text); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	zstded := func(text []byte) []byte {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		return e.EncodeAll(text, nil)
	}
	spaces := append(bytes.Clone(plain), bytes.Repeat([]byte(" "), minMetadataMemory/2)...)
	with := func(member string) []byte { return append([]byte("{"+member+","), plain[1:]...) }
	const bytesPerStructure = 256
	many := with(`"statistics":[` + strings.Repeat("{},", minMetadataMemory/bytesPerStructure) + `{}]`)
	deep := with(`"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4} // a frame of zstd that holds nothing
	for _, f := range []struct {
		name, suffix string
		text         []byte
		refused      bool
	}{
		{"gzip", ".gz.metadata.json", gzipped(plain), false},
		{"zstd", ".zstd.metadata.json", zstded(plain), false},
		{"gzip bomb", ".gz.metadata.json", gzipped(spaces), true},
		{"gzip bomb by its other name", ".metadata.json.gz", gzipped(spaces), true},
		{"gzip bomb in two members", ".gz.metadata.json", append(gzipped(plain), gzipped(spaces)...), true},
		{"zstd bomb", ".zstd.metadata.json", zstded(spaces), true},
		{"zstd bomb behind a frame without data", ".zstd.metadata.json", append(skippable, zstded(spaces)...), true},
		{"many values", ".metadata.json", many, true},
		{"many values, compressed", ".gz.metadata.json", gzipped(many), true},
		{"deep", ".metadata.json", deep, true},
	} {
		name := strings.TrimSuffix(file, ".metadata.json") + "x" + f.suffix
		if err := os.WriteFile(name, f.text, 0o600); err != nil {
			t.Fatal(err)
		}
		inDatabase(t, c, "UPDATE iceberg_tables SET metadata_location = ?", "file://"+name)
		_, err := c.Load(ctx, tableName)
		if (err != nil) != f.refused || f.refused && !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s: load: %v", f.name, err)
		}
		if f.refused {
			if _, err := c.Recover(ctx, name, RecoverOptions{As: Name{"default", "again"}}); !errors.Is(err, corrupt.ErrCorrupt) {
				t.Errorf("%s: recover: %v", f.name, err)
			}
			if _, err := c.readIDs(ctx, "file://"+name); !errors.Is(err, corrupt.ErrCorrupt) {
				t.Errorf("%s: ids: %v", f.name, err)
			}
		}
	}
	if err := resthttp.CheckJSON(plain, minMetadataMemory); err != nil {
		t.Error(err)
	}
}
