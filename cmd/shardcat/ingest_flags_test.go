package main

import (
	"reflect"
	"testing"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

// Every flag of shards is passed to an ingestion: no option of a writer that an ingestion has too stays behind.
func TestIngestTakesEveryFlagOfShards(t *testing.T) {
	var f shardFlags
	cmd := &cobra.Command{}
	f.add(cmd)
	for name, value := range map[string]string{
		"profile": "minimal-size", "stripe-rows": "7", "creation-time": "2024-01-01T00:00:00Z", "bloom": "a", "text-index": "a", "hash-index": "a", "layer-index": "b", "pack": "g=a,b",
		"opaque-dictionary": "a", "dictionary-entries": "b=3", "also-encode": "a=plain", "layout": "single", "sparse-unions": "true", "ingestion-time": "true",
		"record-id": "true", "property": "a=b", "standard-property": "drop-by=x", "stripe-property": "a=b", "standard-stripe-property": "a=b",
		"field-property": "a:b=c", "standard-field-property": "a:b=c",
	} {
		if err := cmd.Flags().Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if n := cmd.Flags().NFlag(); n != 21 {
		t.Errorf("%d flags are set", n)
	}
	w, err := f.options()
	if err != nil {
		t.Fatal(err)
	}
	var o catalog.IngestOptions
	if err := f.ingestOptions(&o); err != nil {
		t.Fatal(err)
	}
	from, to := reflect.ValueOf(w), reflect.ValueOf(o)
	for i := range from.NumField() {
		name := from.Type().Field(i).Name
		has := to.FieldByName(name)
		if from.Field(i).IsZero() || !has.IsValid() {
			if !from.Field(i).IsZero() && name != "CreationMin" && name != "CreationMax" {
				t.Errorf("an ingestion has no %s", name)
			}
			continue
		}
		if !reflect.DeepEqual(from.Field(i).Interface(), has.Interface()) {
			t.Errorf("%s: %v became %v", name, from.Field(i), has)
		}
	}
	if o.CreationTime.IsZero() || !o.IngestionTime || !o.RecordID {
		t.Errorf("%+v", o)
	}
}
