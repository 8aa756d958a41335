package catalog

import (
	"context"
	"errors"
	"testing"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/gc"
)

// renameFault is a catalog whose answer to a rename is another one, and whose next loads fail.
type renameFault struct {
	icecatalog.Catalog
	carriedOut bool
	answer     error
	loads      []error
	asked      bool
}

func (c *renameFault) RenameTable(ctx context.Context, from, to table.Identifier) (t *table.Table, err error) {
	c.asked = true
	if c.carriedOut {
		if t, err = c.Catalog.RenameTable(ctx, from, to); err != nil {
			return nil, err
		}
	}
	if c.answer != nil {
		return nil, c.answer
	}
	return t, nil
}

func (c *renameFault) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	if c.asked && len(c.loads) > 0 {
		err := c.loads[0]
		c.loads = c.loads[1:]
		if err != nil {
			return nil, err
		}
	}
	return c.Catalog.LoadTable(ctx, ident)
}

// TestRenameIsFinal: a rename that the catalog has carried out is reported as done, or as unknown where nothing shows the table, whatever the
// looks at the table say afterwards.
func TestRenameIsFinal(t *testing.T) {
	gone, away := icecatalog.ErrNoSuchTable, errLost
	for name, c := range map[string]struct {
		carriedOut bool
		answer     error
		loads      []error
		want       error
	}{
		"success, then 404":                   {true, nil, []error{gone}, nil},
		"success, then reset":                 {true, nil, []error{away}, nil},
		"answer lost":                         {true, away, nil, nil},
		"answer lost, then 404 once":          {true, away, []error{gone}, nil},
		"answer lost, then reset for ever":    {true, away, []error{away, away, away, away}, ErrUnknownOutcome},
		"answer lost, then 404 for ever":      {true, away, []error{gone, gone, gone, gone}, ErrUnknownOutcome},
		"404 of the look after it":            {true, gone, []error{gone}, nil},
		"404 of the look after it, for ever":  {true, gone, []error{gone, gone, gone}, ErrUnknownOutcome},
		"refused":                             {false, rest.ErrForbidden, []error{gone}, rest.ErrForbidden},
		"refused, and no table can be loaded": {false, rest.ErrForbidden, []error{away, away, away}, ErrUnknownOutcome},
		"not carried out, reset":              {false, away, nil, errLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			g := newGround(t)
			uuid := g.create(g.open(nil, nil)).UUID()
			faulty := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog {
				return &renameFault{Catalog: ice, carriedOut: c.carriedOut, answer: c.answer, loads: c.loads}
			})
			to := Name{tableName.Namespace, "moved"}
			got, err := faulty.Rename(ctx, tableName, to)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || c.want != ErrUnknownOutcome && errors.Is(err, ErrUnknownOutcome) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if err == nil && (got.Name() != to || got.UUID() != uuid) {
				t.Errorf("table %s, %s", got.Name(), got.UUID())
			}
			if err == nil {
				if err := got.SetProperties(ctx, map[string]string{"owner": "ops"}, nil); err != nil {
					t.Errorf("a change of the table: %v", err)
				}
			}
			at, err := g.open(nil, nil).nameOf(ctx, uuid)
			if err != nil || at == nil || (*at == to) != c.carriedOut {
				t.Errorf("the table is %v, %v", at, err)
			}
		})
	}
}

// TestNameOfTwoRenames: of two renames, the record of the first one, written after that of the second, has the name of the second.
func TestNameOfTwoRenames(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	first, second := Name{"default", "first"}, Name{"default", "second"}
	tbl := g.create(g.open(nil, nil))
	c := g.open(nil, nil)
	if _, err := c.ice.RenameTable(ctx, tableName.identifier(), first.identifier()); err != nil {
		t.Fatal(err)
	}
	behind, err := c.Load(ctx, first) // and has its name recorded last
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.open(nil, nil).Rename(ctx, first, second); err != nil {
		t.Fatal(err)
	}
	c.recordName(ctx, behind)
	var note nameNote
	if err := c.records.ReadLast(ctx, tbl.VaultFolder()+gc.NameNotes, &note); err != nil || note.Table != second.String() {
		t.Errorf("recorded: %v, %v", note, err)
	}
}
