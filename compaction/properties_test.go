package compaction

import (
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// A rebuild brings rows of several stripes together: the new ones, and their fields, carry what is said of any of the old ones, once.
func TestRebuildKeepsPropertiesOfStripesAndFields(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	pair := func(name, value string) *metapb.NameValuePair { return meta.Pair(name, meta.Text(value)) }
	for i, batch := range []string{"7", "8", "8"} {
		_, err := tbl.Ingest(ctx, rows(10*i, 10), catalog.IngestOptions{
			CreationTime:     time.Date(2024, 1, 1, 0, i, 0, 0, time.UTC),
			StripeProperties: meta.Bags{Custom: meta.Properties{pair("batch", batch)}, Standard: meta.Properties{pair("tier", "hot")}},
			FieldProperties:  map[string]meta.Bags{"id": {Custom: meta.Properties{pair("unit", "EUR")}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tbl.AddColumns(ctx, wider()); err != nil {
		t.Fatal(err)
	}
	report, err := Compact(ctx, tbl, Policy{}, Options{Check: true})
	if err != nil || len(report.Results) == 0 || report.Results[0].Mode != Rebuild {
		t.Fatalf("%+v, %v", report, err)
	}
	r, err := meta.OpenRoot(ctx, blobio.NewClient(), entriesOf(t, g.load(nil))[0].Path, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stripe, err := r.ReadStripeProperties(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	var batches []string
	for _, p := range stripe.Custom {
		if p.Name == "batch" {
			batches = append(batches, p.Value.GetStringValue())
		}
	}
	if len(batches) != 2 || batches[0] != "7" || batches[1] != "8" || len(stripe.Standard) != 1 {
		t.Errorf("batches %v, standard %v", batches, stripe.Standard)
	}
	id, err := r.ReadFieldProperties(ctx, 0, 0)
	if unit, _ := id.Custom.Text("unit"); err != nil || unit != "EUR" || len(id.Custom) != 1 {
		t.Errorf("%v, %v", id, err)
	}
}
