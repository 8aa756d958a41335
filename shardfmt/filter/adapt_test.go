package filter

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// renamedSample is the sample with other names in another order, and the path there of each path.
func renamedSample(t *testing.T) (*schema.Schema, arrow.RecordBatch, func(Path) Path) {
	s, batch := sample(t)
	var fields []arrow.Field
	var columns []arrow.Array
	there := &schema.Schema{}
	for i := len(s.Fields) - 1; i >= 0; i-- {
		n := *s.Fields[i]
		n.Name = "old_" + n.Name
		at := batch.Schema().FieldIndices(s.Fields[i].Name)[0]
		f := batch.Schema().Field(at)
		f.Name = n.Name
		there.Fields, fields, columns = append(there.Fields, &n), append(fields, f), append(columns, batch.Column(at))
	}
	there.Number()
	to := func(p Path) Path { return append(Path{"old_" + p[0]}, p[1:]...) }
	return there, array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows()), to
}

// TestAdapt: a filter that is adapted to a schema with other names selects the same rows by the same tests, and is the filter with these names bound
// to it.
func TestAdapt(t *testing.T) {
	s, batch := sample(t)
	there, renamed, to := renamedSample(t)
	for _, text := range []string{
		"i = 7 OR i IS NULL", "NOT (i = 7 OR s HAS 'disk')", "p.x = 3 AND b", "s LIKE '%disk%' AND u IN (0, 1) AND f < 1", "d > -3", "p IS NULL",
	} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := Bind(e, s)
		if err != nil {
			t.Fatal(err)
		}
		var paths []Path
		for _, p := range bound.Paths() {
			paths = append(paths, to(p))
		}
		adapted, ok := bound.Adapt(there, paths)
		if !ok {
			t.Fatalf("%s: not adapted", text)
		}
		if want := Rename(e, to).String(); adapted.String() != want {
			t.Errorf("%s: adapted to %s, want %s", text, adapted, want)
		}
		want, n, err := bound.Select(batch)
		if err != nil {
			t.Fatal(err)
		}
		got, m, err := adapted.Select(renamed)
		if err != nil || m != n || !bytes.Equal(got, want) {
			t.Errorf("%s: adapted selects %b, want %b (%v)", text, got, want, err)
		}
		if len(adapted.Conjuncts()) != len(bound.Conjuncts()) {
			t.Errorf("%s: %d conjuncts, want %d", text, len(adapted.Conjuncts()), len(bound.Conjuncts()))
		}
	}
}

// TestAdaptRefuses: a field that a schema lacks, or has of another type, can't take the tests of a bound filter.
func TestAdaptRefuses(t *testing.T) {
	s, _ := sample(t)
	e, err := Parse("i = 7")
	if err != nil {
		t.Fatal(err)
	}
	bound, err := Bind(e, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []Path{{"none"}, {"u"}, {"span"}, {"p", "x"}, {"t"}} {
		if _, ok := bound.Adapt(s, []Path{to}); ok {
			t.Errorf("the test of an Int64 is adapted to %s", to)
		}
	}
}

// TestBoundFilterIsBoundOnce: the tests of a bound filter are used again where it is bound to its schema, alone and as the first part of another
// filter, and it is bound again for another schema.
func TestBoundFilterIsBoundOnce(t *testing.T) {
	s, batch := sample(t)
	e, err := Parse("i = 7 AND s CONTAINS 'a'")
	if err != nil {
		t.Fatal(err)
	}
	bound, err := Bind(e, s)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Bind(bound, s); again != bound || err != nil {
		t.Errorf("bound again: %v", err)
	}
	more, err := Bind(And(bound, Not(IsNull(Path{"i"}))), s)
	if err != nil {
		t.Fatal(err)
	}
	if more.root.(andPredicate).left != bound.root || len(more.Paths()) != 2 || len(more.Conjuncts()) != 2 {
		t.Errorf("%s: not the tests of the bound part, over %s", more, more.Paths())
	}
	if parsed, err := Parse(more.String()); err != nil || parsed.String() != more.String() {
		t.Errorf("%s: %v", more, err)
	}
	twice, err := Bind(Or(Not(bound), bound), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, n, err := twice.Select(batch); err != nil || n != 4 || len(twice.Paths()) != 2 {
		t.Errorf("%s selects %d rows over %s: %v", twice, n, twice.Paths(), err)
	}
	other, _ := sample(t)
	if again, err := Bind(bound, other); err != nil || again == bound || again.String() != bound.String() {
		t.Errorf("bound to another schema: %v, %v", again, err)
	}
}
