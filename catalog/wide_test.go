package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// manyColumns is a schema of so many columns.
func manyColumns(columns int) *schema.Schema {
	s := &schema.Schema{}
	for i := range columns {
		s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprintf("c%d", i), Basic: schema.Int64, Signed: true, Nullable: true})
	}
	s.Number()
	return s
}

// TestTooManyColumnsAreRefusedAtOnce: a table whose manifests could not be written is not made, nor does one grow so wide.
func TestTooManyColumnsAreRefusedAtOnce(t *testing.T) {
	c := newGround(t).open(nil, nil)
	if _, err := c.Create(t.Context(), Name{Table: "wide"}, CreateOptions{Schema: manyColumns(20_000), CreateNamespace: true}); !errors.Is(err, ErrInvalid) || !strings.Contains(fmt.Sprint(err), "too many columns") {
		t.Errorf("created: %v", err)
	}
	if _, err := c.Load(t.Context(), Name{Table: "wide"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("loaded: %v", err)
	}
	tbl, err := c.Create(t.Context(), Name{Table: "grows"}, CreateOptions{Schema: manyColumns(10), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.AddColumns(t.Context(), manyColumns(20_000)); !strings.Contains(fmt.Sprint(err), "too many columns") {
		t.Errorf("extended: %v", err)
	}
	if n := len(tbl.Schema().Fields); n != 10 {
		t.Errorf("%d columns", n)
	}
}
