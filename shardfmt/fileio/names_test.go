package fileio

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Columns and members of structs without a name are read by their place, also where only some columns are: alone, by a filter,
// and as an input among others.
func TestColumnsWithoutName(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	ctx := context.Background()
	for _, version := range []string{"2.1", "2.2"} {
		path, err := filepath.Abs("../internal/lance/testdata/structural/empty_name-" + version + ".lance")
		if err != nil {
			t.Fatal(err)
		}
		url, err := c.Mount(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		where, err := filter.Parse("column1 > 1")
		if err != nil {
			t.Fatal(err)
		}
		for _, read := range []struct {
			columns []string
			where   filter.Expr
			want    string
		}{
			{nil, nil, `{"a":"x","column1":1,"s":{"b":true,"column1":1}}|{"a":"","column1":null,"s":{"b":false,"column1":null}}|{"a":null,"column1":3,"s":{"b":null,"column1":3}}`},
			{[]string{"s"}, nil, `{"s":{"b":true,"column1":1}}|{"s":{"b":false,"column1":null}}|{"s":{"b":null,"column1":3}}`},
			{[]string{"a", "column1"}, where, `{"a":null,"column1":3}`},
		} {
			rows, err := OpenRows(ctx, c, url, SourceOptions{Format: Lance, Columns: read.columns, Where: read.where})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for batch, err := range rows.All(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				text, err := batch.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				var records []json.RawMessage
				if err := json.Unmarshal(text, &records); err != nil {
					t.Fatal(err)
				}
				for _, r := range records {
					got = append(got, string(r))
				}
			}
			if all := strings.Join(got, "|"); all != read.want {
				t.Errorf("%s, columns %q: %s, want %s", version, read.columns, all, read.want)
			}
			rows.Close()
		}
		src, err := OpenSource(ctx, c, []string{url}, SourceOptions{Format: Lance})
		if err != nil {
			t.Fatal(err)
		}
		if s := src.Schema(); s.Fields[0].Name != "column1" || s.Fields[2].Name != "s" {
			t.Errorf("%s: schema %v", version, s)
		}
		src.Close()
	}
}
