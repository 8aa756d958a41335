package arrowhttp_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/internal/testkit/nested"
)

// TestNestedTypesAboveAndBelowAVector reads rows of nested types, whole, filtered, cut by a limit, and one column of them, as Arrow
// and as NDJSON, and compares them with rows generated independently.
func TestNestedTypesAboveAndBelowAVector(t *testing.T) {
	g := newGround(t, arrowhttp.Options{})
	for _, n := range nested.Sizes {
		name := fmt.Sprint("nested_", n)
		table, err := g.cat.Create(t.Context(), catalog.Name{Table: name}, catalog.CreateOptions{Arrow: nested.Schema(), CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		all := nested.Numbers(n, func(int) bool { return true })
		b, err := nested.Batch(all)
		if err != nil {
			t.Fatal(err)
		}
		g.append(table, catalog.IngestOptions{StripeRows: 3000}, b)
		for _, c := range []struct {
			parameters []string
			rows       []int
		}{
			{nil, all},
			{[]string{"where", "id >= 2045 and odd = 1"}, nested.Numbers(n, func(i int) bool { return i >= 2045 && i%2 == 1 })},
			{[]string{"where", "id < 3 or id >= 2040 and id < 2060", "limit", "10"}, nested.Numbers(n, func(i int) bool { return i < 3 || i >= 2040 && i < 2047 })},
			{[]string{"limit", "2049"}, all[:min(n, 2049)]},
		} {
			t.Run(fmt.Sprint(n, c.parameters), func(t *testing.T) {
				checkArrow(t, g, name, c.parameters, c.rows)
				checkNDJSON(t, g, name, c.parameters, c.rows)
			})
		}
	}
}

// checkArrow compares an answer in Arrow with rows, column by column, and holds what the reader takes to what it gives back.
func checkArrow(t *testing.T, g *ground, name string, parameters []string, rows []int) {
	t.Helper()
	_, stream := g.ask("GET", rowsPath(name, append([]string{"format", "arrow"}, parameters...)...), nil, nil)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r, err := ipc.NewReader(strings.NewReader(stream), ipc.WithAllocator(mem))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if err := nested.Compare(r, rows); err != nil {
		t.Error(err)
	}
}

// checkNDJSON compares an answer in NDJSON with rows.
func checkNDJSON(t *testing.T, g *ground, name string, parameters []string, rows []int) {
	t.Helper()
	_, text := g.ask("GET", rowsPath(name, append([]string{"format", "ndjson"}, parameters...)...), nil, nil)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	if len(lines) != len(rows) {
		t.Fatalf("%d lines, want %d", len(lines), len(rows))
	}
	for at, i := range rows {
		want, err := nested.Printed(i)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal([]byte(lines[at]), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("row %d is %s, want %v (%v)", i, lines[at], want, err)
		}
	}
}
