package catalog

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// packedFrom is the size from which metadata files are compressed.
const packedFrom = 256 << 10

// checkCodecOf fails unless the table's metadata file is compressed by a codec, by its name and by its bytes, and can be loaded.
func checkCodecOf(t *testing.T, tbl *Table, codec string) {
	t.Helper()
	at := tbl.MetadataLocation()
	file, err := os.ReadFile(localPath(at))
	if err != nil {
		t.Fatal(err)
	}
	named, packed := strings.HasSuffix(at, ".gz.metadata.json"), bytes.HasPrefix(file, []byte{0x1f, 0x8b})
	if want := codec == "gzip"; named != want || packed != want || tbl.Properties()[table.MetadataCompressionKey] != codec {
		t.Errorf("%s: gzip by its name %v, by its bytes %v, property %q, want %s", at, named, packed, tbl.Properties()[table.MetadataCompressionKey], codec)
	}
	if _, err := tbl.cat.Load(context.Background(), tbl.name); err != nil {
		t.Error(err)
	}
}

// TestMetadataCodec: metadata files of new tables of an SQL catalog are compressed by gzip, a table's property turns that off and on again, and
// what some engines do not read is refused.
func TestMetadataCodec(t *testing.T) {
	ctx := context.Background()
	large := strings.Repeat("x", packedFrom)
	c, _ := openLocal(t)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true, Properties: map[string]string{"note": large}})
	if err != nil {
		t.Fatal(err)
	}
	checkCodecOf(t, tbl, "gzip")
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	checkCodecOf(t, tbl, "gzip")
	for _, codec := range []string{"none", "gzip", "none"} {
		if err := tbl.SetProperties(ctx, map[string]string{table.MetadataCompressionKey: codec}, nil); err != nil {
			t.Fatal(err)
		}
		checkCodecOf(t, tbl, codec)
	}
	ingest(t, tbl, IngestOptions{}, rows(10, 10)) // a table of an earlier version keeps what it has
	checkCodecOf(t, tbl, "none")
	plain, err := c.Create(ctx, Name{"default", "plain"}, CreateOptions{Schema: people(), Properties: map[string]string{"note": large, table.MetadataCompressionKey: "none"}})
	if err != nil {
		t.Fatal(err)
	}
	checkCodecOf(t, plain, "none")
	for _, codec := range []string{"zstd", "GZIP", ""} {
		set := map[string]string{table.MetadataCompressionKey: codec}
		if err := tbl.SetProperties(ctx, set, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("setting %q: %v", codec, err)
		}
		if _, err := c.Create(ctx, Name{"default", "other"}, CreateOptions{Schema: people(), Properties: set}); !errors.Is(err, ErrInvalid) {
			t.Errorf("a table with %q: %v", codec, err)
		}
	}
	remote := &Catalog{opts: Options{URI: "rest+http://127.0.0.1:1"}}
	if codec := remote.settings()[table.MetadataCompressionKey]; codec != "none" {
		t.Errorf("tables of a REST server are made with %q", codec)
	}
}

// TestSmallMetadataStayText: metadata files are compressed from a size on.
func TestSmallMetadataStayText(t *testing.T) {
	c, _ := openLocal(t)
	tbl, err := c.Create(context.Background(), tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, packedFrom - 8<<10, packedFrom} {
		if err := tbl.SetProperties(context.Background(), map[string]string{"note": strings.Repeat("x", size)}, nil); err != nil {
			t.Fatal(err)
		}
		at := tbl.MetadataLocation()
		file, err := os.ReadFile(localPath(at))
		if err != nil {
			t.Fatal(err)
		}
		named, packed, want := strings.HasSuffix(at, ".gz.metadata.json"), bytes.HasPrefix(file, []byte{0x1f, 0x8b}), size == packedFrom
		if named != want || packed != want {
			t.Errorf("%d bytes of a property: %s is gzip by its name %v, by its bytes %v, want %v", size, at, named, packed, want)
		}
		if again, err := c.Load(context.Background(), tableName); err != nil || len(again.Properties()["note"]) != size {
			t.Error(err)
		}
	}
}

// TestMetadataCodecOfOtherEngines: an empty table of another engine that is taken over keeps a codec that all engines read, and no other.
func TestMetadataCodecOfOtherEngines(t *testing.T) {
	for has, want := range map[string]string{"": "gzip", "none": "none", "gzip": "gzip", "zstd": "gzip"} {
		g := newGround(t)
		tbl := g.foreign(g.open(nil, nil), "2", idField())
		if has != "" {
			_, _, err := tbl.cat.ice.CommitTable(context.Background(), tbl.name.identifier(), nil,
				[]table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{table.MetadataCompressionKey: has})})
			if err == nil {
				err = tbl.Refresh(context.Background())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := appendFake(tbl, "", 1); err != nil {
			t.Fatal(err)
		}
		if is := tbl.Properties()[table.MetadataCompressionKey]; is != want {
			t.Errorf("a table with %q has %q afterwards, want %q", has, is, want)
		}
	}
}
