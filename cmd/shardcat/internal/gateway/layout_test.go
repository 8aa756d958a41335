package gateway

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/gateway/view"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// fetchObject reads an object of a loaded table; ok is false for one that does not exist.
func (l *loaded) fetchObject(t *testing.T, server, location string) (body string, ok bool) {
	t.Helper()
	res, body := do(t, l.request(t, "GET", server, keyOf(t, location), "", time.Now()))
	if res.StatusCode == http.StatusNotFound && strings.Contains(body, "NoSuchKey") {
		return "", false
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %.300s", location, res.StatusCode, body)
	}
	return body, true
}

// existing is fetchObject of an object that must exist.
func (l *loaded) existing(t *testing.T, server string) func(location string) string {
	return func(location string) string {
		t.Helper()
		body, ok := l.fetchObject(t, server, location)
		if !ok {
			t.Fatalf("%s does not exist", location)
		}
		return body
	}
}

// TestLayoutIsInEveryName: the version of the layout is part of the name of every object, so that a server of another version has other names, and
// names of other versions are unknown to it.
func TestLayoutIsInEveryName(t *testing.T) {
	c := openCatalog(t)
	tbl := createFlights(t, c, "flat")
	appendFlights(t, tbl, 0, 250, "")
	deleteFlights(t, tbl, "id < 20")
	old := served(t, c).URL
	l := loadTable(t, old, "flat", "")
	names := l.objects(t, l.existing(t, old))
	ours := view.Layout
	defer func() { view.Layout = ours }()
	view.Layout = "9.9"
	served := served(t, c).URL
	after := loadTable(t, served, "flat", "")
	renamed := after.objects(t, after.existing(t, served))
	if len(names) != len(renamed) || len(names) < 5 {
		t.Errorf("%d objects, %d of another version", len(names), len(renamed))
	}
	for _, name := range names {
		other := strings.Replace(name, "/"+ours+"/", "/9.9/", 1)
		if other == name || !slices.Contains(renamed, other) {
			t.Errorf("%s: the version is not in the name, or the server of another version does not have it", name)
		}
		if _, ok := after.fetchObject(t, served, name); ok {
			t.Errorf("%s: served by a server of another version", name)
		}
	}
}

// TestMetadataFileIsWhatItsNameStates: clients unpack a metadata file by its name, so that of a table whose files are compressed is gzip too, and
// that of another table is not.
func TestMetadataFileIsWhatItsNameStates(t *testing.T) {
	c := openCatalog(t)
	tbl := createFlights(t, c, "flat")
	appendFlights(t, tbl, 0, 10, "")
	server := served(t, c).URL
	for codec, ending := range map[string]string{"gzip": ".gz.metadata.json", "none": ".metadata.json"} {
		if err := tbl.SetProperties(t.Context(), map[string]string{table.MetadataCompressionKey: codec, "note": strings.Repeat("x", 256<<10)}, nil); err != nil {
			t.Fatal(err)
		}
		l := loadTable(t, server, "flat", "")
		if packed := strings.HasSuffix(l.Location, ".gz.metadata.json"); !strings.HasSuffix(l.Location, ending) || packed != (codec == "gzip") {
			t.Errorf("%s: the metadata file is %s", codec, l.Location)
		}
		var from io.Reader = strings.NewReader(l.existing(t, server)(l.Location))
		if codec == "gzip" {
			z, err := gzip.NewReader(from)
			if err != nil {
				t.Fatal(err)
			}
			from = z
		}
		var m struct{ Location string }
		if err := json.NewDecoder(from).Decode(&m); err != nil || m.Location != l.Metadata.Location {
			t.Errorf("%s: location %q, want %q: %v", codec, m.Location, l.Metadata.Location, err)
		}
	}
}

// TestWidenedDecimalHasAnotherName: files of a shard have one type under one name. After a decimal was widened they have other names, and under those
// that a reader knows from before the same bytes as before.
func TestWidenedDecimalHasAnotherName(t *testing.T) {
	var engine icecatalog.Catalog
	o := catalog.Options{URI: "sqlite:" + t.TempDir() + "/catalog.db", Warehouse: t.TempDir()}
	icebergaccess.Wrap(&o, func(inner icecatalog.Catalog) icecatalog.Catalog { engine = inner; return inner })
	c, err := catalog.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CreateNamespace(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	at := []string{"default", "prices"}
	s := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "price", Type: iceberg.DecimalTypeOf(9, 2)})
	if _, err := engine.CreateTable(t.Context(), at, s, icecatalog.WithLocation(o.Warehouse+"/default/prices")); err != nil {
		t.Fatal(err)
	}
	add := func(prices ...string) {
		t.Helper()
		tbl, err := c.Load(t.Context(), catalog.Name{Namespace: "default", Table: "prices"})
		if err != nil {
			t.Fatal(err)
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: "price", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		b.Field(0).(*array.StringBuilder).AppendValues(prices, nil)
		r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tbl.Append(t.Context(), r, catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	add("1.25", "2.50")
	server := served(t, c).URL
	l := loadTable(t, server, "prices", "")
	before := map[string]string{}
	for _, name := range l.objects(t, l.existing(t, server)) {
		before[name] = l.existing(t, server)(name)
	}
	ice, err := engine.LoadTable(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	tx := ice.NewTransaction()
	wide := table.ColumnUpdate{FieldType: iceberg.Optional[iceberg.Type]{Valid: true, Val: iceberg.DecimalTypeOf(18, 2)}}
	if err := tx.UpdateSchema(true, false).UpdateColumn([]string{"price"}, wide).Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	add("1234567890123456.75")
	other := served(t, c).URL // has nothing cached
	for _, at := range []string{server, other} {
		again := loadTable(t, at, "prices", "")
		for _, name := range again.objects(t, again.existing(t, at)) {
			if _, ok := before[name]; ok && name != l.Location {
				t.Errorf("%s has its name from before", name)
			}
		}
		for name, body := range before {
			if again.existing(t, at)(name) != body {
				t.Errorf("%s has other bytes than before", name)
			}
		}
	}
}
