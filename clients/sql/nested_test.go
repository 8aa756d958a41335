package shardsql

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/catalog"
)

// nestedColumns are values of nested types by row number i, with nulls at every level.
var nestedColumns = []string{
	`{'a': i, 'b': 'text ' || i} AS struct`,
	`CASE WHEN i % 3 = 0 THEN NULL ELSE {'a': CASE WHEN i % 5 = 0 THEN NULL ELSE i END, 'b': {'c': i * 2, 'd': {'e': 'deep ' || i}}} END AS structs`,
	`[i, NULL, i + 1][1 : 1 + i % 3] AS list`,
	`CASE WHEN i % 7 = 0 THEN NULL ELSE [{'a': i, 'b': [i, i + 1]}, NULL, {'a': NULL, 'b': NULL}][1 : 1 + i % 3] END AS list_of_structs`,
	`{'a': [i, i + 1], 'b': [{'c': i}, {'c': NULL}]} AS struct_of_lists`,
	`MAP {'k' || i: i, 'same': NULL} AS map`,
	`MAP {i: {'a': i, 'b': 'v' || i}} AS map_of_structs`,
	`{'m': MAP {'k': i}, 'x': i / 2} AS struct_of_map`,
	`[i, i + 1, i + 2]::BIGINT[3] AS array`,
	`{'a': [i, i + 1]::BIGINT[2], 'b': i % 2 = 0} AS struct_of_array`,
}

// TestNestedTypesAboveAndBelowAVector reads rows of nested types below, at and above the 2,048 rows of DuckDB's vectors, whole and
// from the middle, and compares them with those DuckDB holds itself.
func TestNestedTypesAboveAndBelowAVector(t *testing.T) {
	c, err := shardcat.Open(t.Context(), t.TempDir(), shardcat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	original := newEngine(t, c, Options{})
	for _, n := range []int{1, 2047, 2048, 2049, 5000} {
		name := fmt.Sprintf("nested_%d", n)
		columns := ""
		for _, column := range nestedColumns {
			columns += ", " + column
		}
		rows(t, original, fmt.Sprintf("CREATE TABLE %s AS SELECT i AS id%s FROM range(%d) t(i)", name, columns, n))
		r, err := original.Query(t.Context(), "FROM "+name)
		if err != nil {
			t.Fatal(err)
		}
		table, err := c.Create(t.Context(), catalog.Name{Table: name}, catalog.CreateOptions{Arrow: r.Schema(), CreateNamespace: true})
		if err == nil {
			_, err = table.Append(t.Context(), r, catalog.IngestOptions{})
		}
		if err != nil {
			t.Fatal(name, err)
		}
		r.Release()
		scanned := newEngine(t, c, Options{})
		for _, question := range []string{
			"FROM %s ORDER BY id", "FROM %s WHERE id >= 2045 AND id %% 2 = 1 ORDER BY id",
			"SELECT id, structs, map FROM %s WHERE id > 3000 ORDER BY id",
			"SELECT sum(struct.a), sum(structs.b.c), max(structs.b.d.e), sum(list_of_structs[1].a), sum(struct_of_array.a[2]) FROM %s",
		} {
			question = fmt.Sprintf(question, name)
			want, got := rows(t, original, question), rows(t, scanned, question)
			if len(want) == 0 && n > 4000 {
				t.Fatalf("%s: no rows to compare", question)
			}
			if !slices.Equal(got, want) {
				for i := range want {
					if i >= len(got) || got[i] != want[i] {
						t.Errorf("%s: row %d of %d (wanted %d) differs: %s", question, i, len(got), len(want), want[i])
						break
					}
				}
			}
		}
	}
}
