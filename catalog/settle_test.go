package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/commiterr"
)

// afterCommit lets something happen after each commit request, and takes part in the loads that follow.
type afterCommit struct {
	icecatalog.Catalog
	// commit makes the answer of a request from that of the catalog.
	commit func(meta table.Metadata, at string, err error) (table.Metadata, string, error)
	// load stands in for loads after the first request, by their number.
	load func(n int, real func() (*table.Table, error)) (*table.Table, error)
	sent bool
	n    int
}

func (c *afterCommit) CommitTable(ctx context.Context, ident table.Identifier, r []table.Requirement, u []table.Update) (table.Metadata, string, error) {
	meta, at, err := c.Catalog.CommitTable(ctx, ident, r, u)
	c.sent = true
	if c.commit != nil {
		return c.commit(meta, at, err)
	}
	return meta, at, err
}

func (c *afterCommit) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	real := func() (*table.Table, error) { return c.Catalog.LoadTable(ctx, ident) }
	if !c.sent || c.load == nil {
		return real()
	}
	c.n++
	return c.load(c.n, real)
}

var errLost = errors.New("connection reset")

// lostAnswer is an answer that does not arrive.
func lostAnswer(table.Metadata, string, error) (table.Metadata, string, error) {
	return nil, "", errLost
}

// changesOfRows are the operations that write shards, each on a table of the rows 0 to 19; they give the rows that are there afterwards.
var changesOfRows = map[string]struct {
	do   func(ctx context.Context, t *testing.T, tbl *Table) error
	rows []int64
}{
	"ingest": {func(ctx context.Context, t *testing.T, tbl *Table) error {
		_, err := tbl.Ingest(ctx, source(rows(20, 5)), IngestOptions{})
		return err
	}, between(0, 25)},
	"ingest of files": {func(ctx context.Context, t *testing.T, tbl *Table) error {
		_, err := tbl.IngestFiles(ctx, []InputFile{{URL: "file:///in/1.ndjson", Size: 1}}, FilesOptions{
			Open: func(context.Context, []InputFile) (FileSource, error) { return closingSource{source(rows(20, 5))}, nil }})
		return err
	}, between(0, 25)},
	"delete": {func(ctx context.Context, t *testing.T, tbl *Table) error {
		_, err := tbl.Delete(ctx, where(t, "id = 3"), DeleteOptions{})
		return err
	}, without(between(0, 20), func(id int64) bool { return id == 3 })},
	"overwrite": {func(ctx context.Context, t *testing.T, tbl *Table) error {
		_, err := tbl.Overwrite(ctx, where(t, "id >= 15"), source(rows(30, 5)), IngestOptions{})
		return err
	}, slices.Concat(between(0, 15), between(30, 35))},
	"upsert": {func(ctx context.Context, t *testing.T, tbl *Table) error {
		_, err := tbl.Ingest(ctx, source(rows(15, 10)), IngestOptions{UpsertBy: []string{"id"}})
		return err
	}, between(0, 25)},
}

// TestSuccessIsFinal: the catalog reported success. Whatever it states about the table afterwards, the change is reported as committed,
// and its rows are there.
func TestSuccessIsFinal(t *testing.T) {
	later := map[string]func(g *ground, c *afterCommit, other *Catalog){
		"one 404":        func(_ *ground, c *afterCommit, _ *Catalog) { c.load = fails(1, icecatalog.ErrNoSuchTable) },
		"404 for ever":   func(_ *ground, c *afterCommit, _ *Catalog) { c.load = fails(1000, icecatalog.ErrNoSuchTable) },
		"403 for ever":   func(_ *ground, c *afterCommit, _ *Catalog) { c.load = fails(1000, rest.ErrForbidden) },
		"503 for ever":   func(_ *ground, c *afterCommit, _ *Catalog) { c.load = fails(1000, rest.ErrServiceUnavailable) },
		"reset for ever": func(_ *ground, c *afterCommit, _ *Catalog) { c.load = fails(1000, errLost) },
		"old state": func(g *ground, c *afterCommit, other *Catalog) {
			was, err := other.ice.LoadTable(context.Background(), tableName.identifier())
			if err != nil {
				g.t.Fatal(err)
			}
			c.load = func(int, func() (*table.Table, error)) (*table.Table, error) { return was, nil }
		},
		"another table": func(g *ground, c *afterCommit, other *Catalog) {
			name := Name{"default", "other"}
			if _, err := other.Create(context.Background(), name, CreateOptions{Schema: people()}); err != nil {
				g.t.Fatal(err)
			}
			c.load = func(int, func() (*table.Table, error)) (*table.Table, error) {
				return other.ice.LoadTable(context.Background(), name.identifier())
			}
		},
		"renamed": func(g *ground, c *afterCommit, other *Catalog) {
			c.commit = func(meta table.Metadata, at string, err error) (table.Metadata, string, error) {
				if _, renamed := other.Rename(context.Background(), tableName, Name{"default", "moved"}); renamed != nil {
					g.t.Error(renamed)
				}
				return meta, at, err
			}
		},
		"dropped": func(g *ground, c *afterCommit, other *Catalog) {
			c.commit = func(meta table.Metadata, at string, err error) (table.Metadata, string, error) {
				if dropped := other.Drop(context.Background(), tableName); dropped != nil {
					g.t.Error(dropped)
				}
				return meta, at, err
			}
		},
	}
	for name, fault := range later {
		for what, change := range changesOfRows {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				ctx := context.Background()
				g, tbl, wrapped, other := newAfterCommit(t)
				fault(g, wrapped, other)
				if err := change.do(ctx, t, tbl); err != nil {
					t.Errorf("a change that the catalog acknowledged: %v", err)
				}
				g.rowsAre(other, change.rows)
			})
		}
	}
}

// TestUnknownIsKept: the answer of the catalog is lost and the table can't be found afterwards. Nothing is deleted: the rows are there when the
// table is back.
func TestUnknownIsKept(t *testing.T) {
	for what, change := range changesOfRows {
		for name, fault := range map[string]func(g *ground, c *afterCommit, other *Catalog){
			"404 for ever": func(_ *ground, c *afterCommit, _ *Catalog) { c.load = fails(1000, icecatalog.ErrNoSuchTable) },
			"dropped": func(g *ground, c *afterCommit, other *Catalog) {
				c.commit = func(table.Metadata, string, error) (table.Metadata, string, error) {
					if dropped := other.Drop(context.Background(), tableName); dropped != nil && !errors.Is(dropped, ErrNotFound) {
						g.t.Error(dropped)
					}
					return nil, "", errLost
				}
			},
			// The first request is carried out; the second, which another server answers, finds no table, or is refused.
			"lost, then 404": func(_ *ground, c *afterCommit, _ *Catalog) {
				c.commit, c.load = lostThen(icecatalog.ErrNoSuchTable), fails(1000, icecatalog.ErrNoSuchTable)
			},
			"lost, then refused": func(g *ground, c *afterCommit, other *Catalog) {
				was, err := other.ice.LoadTable(context.Background(), tableName.identifier())
				if err != nil {
					g.t.Fatal(err)
				}
				c.commit = lostThen(rest.ErrForbidden)
				c.load = func(int, func() (*table.Table, error)) (*table.Table, error) { return was, nil }
			},
			"lost, then a conflict with an old state": func(g *ground, c *afterCommit, other *Catalog) {
				was, err := other.ice.LoadTable(context.Background(), tableName.identifier())
				if err != nil {
					g.t.Fatal(err)
				}
				c.commit = lostThen(table.ErrCommitFailed)
				c.load = func(int, func() (*table.Table, error)) (*table.Table, error) { return was, nil }
			},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				g, tbl, wrapped, other := newAfterCommit(t)
				wrapped.commit = lostAnswer
				fault(g, wrapped, other)
				if err := change.do(context.Background(), t, tbl); !errors.Is(err, ErrUnknownOutcome) {
					t.Errorf("%v, want an unknown outcome", err)
				}
				g.rowsAre(other, change.rows)
			})
		}
	}
}

// TestRenamedAfterLostAnswer: the answer is lost, and the table has another name when the writer looks. It is found by its UUID.
func TestRenamedAfterLostAnswer(t *testing.T) {
	for what, change := range changesOfRows {
		t.Run(what, func(t *testing.T) {
			g, tbl, wrapped, other := newAfterCommit(t)
			wrapped.commit = func(table.Metadata, string, error) (table.Metadata, string, error) {
				if _, renamed := other.Rename(context.Background(), tableName, Name{"default", "moved"}); renamed != nil {
					t.Error(renamed)
				}
				return nil, "", errLost
			}
			if err := change.do(context.Background(), t, tbl); err != nil || what != "ingest of files" && tbl.Name().Table != "moved" { // files are landed by tables of their own
				t.Errorf("table %s: %v", tbl.Name(), err)
			}
			g.rowsAre(other, change.rows)
		})
	}
}

// TestRefusals: a refusal of the catalog is reported as one, at once, and what was written is gone.
func TestRefusals(t *testing.T) {
	for what, change := range changesOfRows {
		for name, c := range map[string]struct{ answer, want error }{
			"400": {rest.ErrBadRequest, ErrRefused}, "401": {rest.ErrUnauthorized, ErrRefused}, "403": {rest.ErrForbidden, ErrRefused},
			"404": {icecatalog.ErrNoSuchTable, ErrRefused}, "501": {iceberg.ErrNotImplemented, ErrRefused},
			"invalid": {&commiterr.Error{Class: commiterr.Refused, Local: true, Invalid: true, Err: errors.New("no such column")}, ErrInvalid},
			"429":     {&commiterr.Error{Class: commiterr.Later, Err: errors.New("slow down")}, ErrRefused},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				g := newGround(t)
				other := g.open(nil, nil)
				ingest(t, g.create(other), IngestOptions{}, rows(0, 20))
				before := g.shards(other)
				sent := 0
				refusing := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog {
					return &commitFunc{ice, func(func() error) error { sent++; return c.answer }}
				})
				err := change.do(context.Background(), t, g.load(refusing))
				if !errors.Is(err, c.want) || errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrConflict) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if most := map[string]int{"429": maxSends, "404": maxGone}[name]; sent > max(most, 1) || sent == 0 {
					t.Errorf("sent %d times, want at most %d", sent, max(most, 1))
				}
				g.rowsAre(other, between(0, 20))
				if after := g.shards(other); !slices.Equal(before, after) {
					t.Errorf("what was written stays: %v, before %v", after, before)
				}
			})
		}
	}
}

// TestRefusedButCarriedOut: a gateway refuses what its server has carried out, and the table shows it; or can't be loaded, so nothing is deleted.
func TestRefusedButCarriedOut(t *testing.T) {
	for what, change := range changesOfRows {
		for _, answer := range []error{rest.ErrForbidden, rest.ErrUnauthorized, rest.ErrBadRequest, icecatalog.ErrNoSuchTable, table.ErrCommitFailed} {
			for _, visible := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%v/%v", what, answer, visible), func(t *testing.T) {
					t.Parallel()
					g, tbl, wrapped, other := newAfterCommit(t)
					wrapped.commit = func(table.Metadata, string, error) (table.Metadata, string, error) { return nil, "", answer }
					if !visible {
						wrapped.load = fails(1000, rest.ErrForbidden)
					}
					if err := change.do(context.Background(), t, tbl); (err == nil) != visible {
						t.Errorf("visible %v: %v", visible, err)
					}
					g.rowsAre(other, change.rows)
				})
			}
		}
	}
}

// TestBadRequestForConflict: a catalog reports a conflict as 400; the table decides.
func TestBadRequestForConflict(t *testing.T) {
	g := newGround(t)
	other := g.open(nil, nil)
	ingest(t, g.create(other), IngestOptions{}, rows(0, 20))
	n := 0
	bad := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog {
		return &commitFunc{ice, func(real func() error) error {
			if n++; n > 1 {
				return real()
			}
			ingest(t, g.load(other), IngestOptions{}, rows(20, 5))
			return rest.ErrBadRequest
		}}
	})
	ingest(t, g.load(bad), IngestOptions{}, rows(25, 5))
	g.rowsAre(other, between(0, 30))
}

func fails(times int, err error) func(int, func() (*table.Table, error)) (*table.Table, error) {
	return func(n int, real func() (*table.Table, error)) (*table.Table, error) {
		if n > times {
			return real()
		}
		return nil, fmt.Errorf("load %d: %w", n, err)
	}
}

// lostThen loses the first answer and gives an error for the later ones.
func lostThen(err error) func(table.Metadata, string, error) (table.Metadata, string, error) {
	n := 0
	return func(table.Metadata, string, error) (table.Metadata, string, error) {
		if n++; n == 1 {
			return nil, "", errLost
		}
		return nil, "", err
	}
}

// newAfterCommit gives a table of 20 rows through a faulty catalog, and a sound catalog beside it.
func newAfterCommit(t *testing.T) (*ground, *Table, *afterCommit, *Catalog) {
	t.Helper()
	g := newGround(t)
	other := g.open(nil, nil)
	ingest(t, g.create(other), IngestOptions{}, rows(0, 20))
	wrapped := &afterCommit{}
	faulty := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog { wrapped.Catalog = ice; return wrapped })
	return g, g.load(faulty), wrapped, other
}

// rowsAre verifies the ledger of a table, under whatever name it is, or recovered from the record of its drop.
func (g *ground) rowsAre(c *Catalog, ledger []int64) {
	g.t.Helper()
	ctx := context.Background()
	names, err := c.Tables(ctx, "")
	if err != nil {
		g.t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n Name) bool { return n.Table == "other" })
	if len(names) == 0 {
		var record dropped
		for info, err := range c.client.List(ctx, c.vault+"/") {
			if err != nil {
				g.t.Fatal(err)
			}
			if len(info.URL) > len(droppedName) && info.URL[len(info.URL)-len(droppedName):] == droppedName {
				if err := c.records.Read(ctx, info.URL, &record); err != nil {
					g.t.Fatal(err)
				}
			}
		}
		if _, err := c.Recover(ctx, record.Metadata, RecoverOptions{As: tableName}); err != nil {
			g.t.Fatal(err)
		}
		names = []Name{tableName}
	}
	tbl, err := c.Load(ctx, names[0])
	if err != nil {
		g.t.Fatal(err)
	}
	if ids, _ := scanIDs(g.t, tbl, ScanOptions{}); !slices.Equal(slices.Sorted(slices.Values(ids)), ledger) {
		g.t.Errorf("rows %v, want %v", ids, ledger)
	}
	if v, err := tbl.Verify(ctx, VerifyOptions{}); err != nil || len(v.Errors) != 0 {
		g.t.Errorf("verified: %+v, %v", v, err)
	}
}

// shards lists the objects of the vault, without the records of jobs.
func (g *ground) shards(c *Catalog) (out []string) {
	g.t.Helper()
	for info, err := range c.client.List(context.Background(), c.vault+"/") {
		if err != nil {
			g.t.Fatal(err)
		}
		if len(info.URL) > 5 && info.URL[len(info.URL)-5:] != ".json" {
			out = append(out, info.URL)
		}
	}
	return out
}
