package compaction

import (
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
)

// A rebuild brings rows of several stripes together: the new ones, and their fields, carry what is reported of any of the old ones, once.
func TestRebuildKeepsPropertiesOfStripesAndFields(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	list := func(name, value string) []shardfmt.Property {
		return []shardfmt.Property{shardfmt.TextProperty(name, value)}
	}
	for i, batch := range []string{"7", "8", "8"} {
		_, err := tbl.Ingest(ctx, rows(10*i, 10), catalog.IngestOptions{
			CreationTime:     time.Date(2024, 1, 1, 0, i, 0, 0, time.UTC),
			StripeProperties: shardfmt.Properties{Custom: list("batch", batch), Standard: list("tier", "hot")},
			FieldProperties:  map[string]shardfmt.Properties{"id": {Custom: list("unit", "EUR")}},
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
	r, err := shardfmt.Open(ctx, blobio.NewClient(blobio.ClientOptions{}), entriesOf(t, g.load(nil))[0].Path, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stripes, err := r.StripeProperties(ctx, []uint32{0})
	if err != nil {
		t.Fatal(err)
	}
	stripe := stripes[0]
	var batches []string
	for _, p := range stripe.Custom {
		if batch, _ := p.Text(); p.Name() == "batch" {
			batches = append(batches, batch)
		}
	}
	if len(batches) != 2 || batches[0] != "7" || batches[1] != "8" || len(stripe.Standard) != 1 {
		t.Errorf("batches %v, standard %v", batches, stripe.Standard)
	}
	id := stripe.Fields[0].Custom
	if len(id) != 1 || id[0].Name() != "unit" || id[0].EncodedValue() != shardfmt.TextProperty("", "EUR").EncodedValue() {
		t.Errorf("%v", id)
	}
}
