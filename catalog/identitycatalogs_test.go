package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// databases are catalogs of one kind over one warehouse, by the names of their databases.
type databases struct {
	t         *testing.T
	warehouse string
	// uri is where a database is found; alias is the same one by another name.
	uri, alias func(db string) string
	// duplicate makes a database of another one, which nobody has open.
	duplicate func(from, to string)
	// moves: a client can move the pointer of a table.
	moves bool
}

func (d *databases) open(uri string) *Catalog {
	d.t.Helper()
	c, err := Open(d.t.Context(), Options{URI: uri, Warehouse: d.warehouse})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	return c
}

// sqlServed are SQLite files behind servers of Iceberg's REST protocol, a new one for each name.
func sqlServed(t *testing.T) *databases {
	dir := t.TempDir()
	d := &databases{t: t, warehouse: filepath.Join(dir, "warehouse")}
	d.uri = func(db string) string {
		c, err := Open(t.Context(), Options{URI: "sqlite:" + filepath.Join(dir, db), Warehouse: d.warehouse})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer((&restServer{ice: c.ice}).mux())
		t.Cleanup(func() { server.Close(); c.Close() })
		return "rest+" + server.URL
	}
	d.alias = d.uri                       // another port
	d.duplicate = func(from, to string) { // the server has the file open
		db, err := sql.Open("sqlite", filepath.Join(dir, from))
		if err == nil {
			_, err = db.Exec("VACUUM INTO ?", filepath.Join(dir, to))
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// postgresServed are databases of a PostgreSQL server.
func postgresServed(t *testing.T) *databases {
	uri := os.Getenv("SHARDCAT_POSTGRES")
	if uri == "" {
		t.Skip("SHARDCAT_POSTGRES names no database: the identity of catalogs is not tried on PostgreSQL")
	}
	at, err := url.Parse(uri)
	if err != nil {
		t.Fatal("SHARDCAT_POSTGRES is not a URL")
	}
	server, err := sql.Open("pgx", uri)
	if err != nil {
		t.Fatal(err)
	}
	prefix, made := fmt.Sprintf("identity%d_", time.Now().UnixNano()), map[string]bool{}
	create := func(statement, db string) {
		if made[db] {
			return
		}
		made[db] = true
		if _, err := server.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for db := range made {
			if _, err := server.Exec("DROP DATABASE " + prefix + db + " WITH (FORCE)"); err != nil {
				t.Error(err)
			}
		}
		server.Close()
	})
	d := &databases{t: t, warehouse: filepath.Join(t.TempDir(), "warehouse"), moves: true}
	d.uri = func(db string) string {
		create("CREATE DATABASE "+prefix+db, db)
		named := *at
		named.Path = "/" + prefix + db
		return named.String()
	}
	d.alias = func(db string) string { return strings.Replace(d.uri(db), "127.0.0.1", "localhost", 1) }
	d.duplicate = func(from, to string) { create("CREATE DATABASE "+prefix+to+" TEMPLATE "+prefix+from, to) }
	return d
}

// TestIdentityOfServedCatalogs: over REST and PostgreSQL too, a catalog is the same one under another name and as a copy; another catalog recovers its
// tables only where it takes them over, which fences the former one.
func TestIdentityOfServedCatalogs(t *testing.T) {
	for kind, served := range map[string]func(*testing.T) *databases{"rest": sqlServed, "postgres": postgresServed} {
		t.Run(kind, func(t *testing.T) {
			ctx, d := context.Background(), served(t)
			names := []Name{{"default", "people"}, {"web", "visits"}}
			c := d.open(d.uri("a"))
			for i, name := range []Name{names[0], {"web", "hits"}} {
				tbl, err := c.Create(ctx, name, CreateOptions{Schema: people(), CreateNamespace: true})
				if err != nil {
					t.Fatal(err)
				}
				ingest(t, tbl, IngestOptions{}, rows(100*i, 10))
			}
			if err := c.SetNamespaceProperties(ctx, "web", map[string]string{"owner": "ops"}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Rename(ctx, Name{"web", "hits"}, names[1]); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			d.duplicate("a", "backup")

			alias := d.open(d.alias("a"))
			for _, name := range names {
				tbl, err := alias.Load(ctx, name)
				if err != nil {
					t.Fatal(err)
				}
				for i := range 2 {
					ingest(t, tbl, IngestOptions{}, rows(1000+10*i, 10))
				}
				if _, err := tbl.Collect(ctx, CollectOptions{Execute: true}); err != nil {
					t.Errorf("collection of %s under another name: %v", name, err)
				}
			}
			if results, err := alias.RecoverAll(ctx, false); err != nil || !slices.Equal(outcomes(results), []string{"default.people current", "web.visits current"}) {
				t.Errorf("nothing is lost: %v, %v", outcomes(results), err)
			}

			backup := d.open(d.uri("backup"))
			tbl, err := backup.Load(ctx, names[0])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tbl.Collect(ctx, CollectOptions{}); !errors.Is(err, ErrUnsafe) {
				t.Errorf("collection of a catalog that is behind: %v", err)
			}
			results, err := backup.RecoverAll(ctx, false)
			if d.moves && (err != nil || !slices.Equal(outcomes(results), []string{"default.people advanced", "web.visits advanced"}) || liveRows(t, backup, names[0]) != 30) {
				t.Errorf("the restored copy: %v, %v", outcomes(results), err)
			}
			if !d.moves && (!errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "table recover") || liveRows(t, backup, names[0]) != 10) {
				t.Errorf("the restored copy: %v, %v", outcomes(results), err)
			}
			if !d.moves { // what the error states to do
				for _, name := range names {
					last, err := alias.Load(ctx, name)
					if err == nil {
						err = backup.Drop(ctx, name)
					}
					if err == nil {
						_, err = backup.Recover(ctx, last.MetadataLocation(), RecoverOptions{As: name})
					}
					if err != nil || liveRows(t, backup, name) != 30 {
						t.Errorf("%s, recovered by its file: %v", name, err)
					}
				}
			}

			fresh := d.open(d.uri("new"))
			if results, err := fresh.RecoverAll(ctx, false); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "--take-over") {
				t.Errorf("without a take-over: %v, %v", outcomes(results), err)
			}
			last, err := backup.Load(ctx, names[0])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fresh.Recover(ctx, last.MetadataLocation(), RecoverOptions{As: names[0]}); !errors.Is(err, ErrUnsafe) {
				t.Errorf("a file without a take-over: %v", err)
			}
			if tables, err := fresh.Tables(ctx, ""); err != nil || len(tables) != 0 {
				t.Errorf("tables after the refusals: %v, %v", tables, err)
			}
			results, err = fresh.RecoverAll(ctx, true)
			if err != nil || !slices.Equal(outcomes(results), []string{"default.people recovered", "web.visits recovered"}) {
				t.Fatalf("with a take-over: %v, %v", outcomes(results), err)
			}
			properties, err := fresh.NamespaceProperties(ctx, "web")
			if err != nil || properties["owner"] != "ops" {
				t.Errorf("properties of the namespace: %v, %v", properties, err)
			}
			for _, name := range names {
				if err := write(t, fresh, name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				for former, c := range map[string]*Catalog{"former catalog": alias, "copy": backup} {
					if err := write(t, c, name); !errors.Is(err, ErrUnsafe) {
						t.Errorf("the %s wrote to %s: %v", former, name, err)
					}
				}
			}
			tbl, err = alias.Load(ctx, names[0])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tbl.Collect(ctx, CollectOptions{Execute: true}); !errors.Is(err, ErrUnsafe) {
				t.Errorf("the former catalog collected: %v", err)
			}
		})
	}
}
