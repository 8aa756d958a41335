package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestOneDecimalPartitionField: a manifest holds one partition field whose values are decimals in Iceberg; two are refused when they are declared,
// not when rows come.
func TestOneDecimalPartitionField(t *testing.T) {
	ctx, c := context.Background(), newGround(t).open(nil, nil)
	s, err := schema.Parse("a: UInt64, b: UInt64, g: Guid, h: Guid, n: Int64")
	if err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct{ partition, refused string }{
		{"a", ""}, {"g", ""}, {"a;g;n", ""}, {"a;bucket(4, b)", ""}, {"g;h", ""},
		{"a;b", `"a" is one; use bucket(N, b)`}, {"a;truncate(10, b)", `use bucket(N, b)`},
	} {
		tbl, err := c.Create(ctx, Name{"default", "t" + string(rune('a'+i))}, CreateOptions{Schema: s, CreateNamespace: true, Partition: strings.Split(tc.partition, ";")})
		if tc.refused != "" {
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s: %v", tc.partition, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.partition, err)
			continue
		}
		record := `[{"a":1,"b":2,"g":"8e03978e40d543e8bc936894a57f9324","h":"8e03978e40d543e8bc936894a57f9324","n":3}]`
		if _, err := tbl.Ingest(ctx, &rowSource{schema: s, left: []string{record}}, IngestOptions{}); err != nil {
			t.Errorf("%s: %v", tc.partition, err)
		}
	}
}
