package faultwalk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/testkit/catalogfault"
)

// postgresStore is a store in memory with faults in front of a catalog in a database of its own.
func postgresStore(t *testing.T) *store {
	uri := os.Getenv("SHARDCAT_POSTGRES")
	if uri == "" {
		t.Skip("SHARDCAT_POSTGRES names no database: no faults of a catalog on PostgreSQL (.ci/postgres starts one)")
	}
	at, err := url.Parse(uri)
	if err != nil {
		t.Fatal("SHARDCAT_POSTGRES is not a URL")
	}
	name := fmt.Sprintf("faultwalk%d", time.Now().UnixNano())
	server := database(t, uri)
	execute(t, server, "CREATE DATABASE "+name)
	at.Path = "/" + name
	db := database(t, at.String())
	t.Cleanup(func() {
		db.Close()
		execute(t, server, "DROP DATABASE "+name+" WITH (FORCE)")
	})
	s := catalogStore(t)
	s.name, s.uri = "postgres", at.String()
	s.keep = func(t *testing.T) {
		execute(t, db, "CREATE SCHEMA kept")
		for _, relation := range relations(t, db, "public") {
			execute(t, db, "CREATE TABLE kept."+relation+" AS TABLE public."+relation)
		}
	}
	s.restore = func(t *testing.T) {
		for _, relation := range relations(t, db, "public") {
			execute(t, db, "DELETE FROM public."+relation)
		}
		for _, relation := range relations(t, db, "kept") {
			execute(t, db, "INSERT INTO public."+relation+" TABLE kept."+relation)
		}
	}
	return s
}

func database(t *testing.T, uri string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// relations are the tables of a database's schema.
func relations(t *testing.T, db *sql.DB, schema string) (names []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = $1", schema)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, `"`+name+`"`)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// restStore is a folder, and faults in the requests to a server of Iceberg's REST protocol. The server writes the metadata itself.
func restStore(t *testing.T) *store {
	uri := os.Getenv("SHARDCAT_REST")
	if uri == "" {
		t.Skip("SHARDCAT_REST names no server: no faults of a REST catalog (.ci/rest starts one)")
	}
	proxy, err := catalogfault.NewProxy(t.Context(), strings.TrimPrefix(uri, "rest+"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	namespace := table.Identifier{flights.Namespace}
	s := fileStore(t)
	s.name, s.faults, s.uri, s.warehouse, s.vault = "rest", catalogFaults, "rest+"+proxy.URL(), os.Getenv("SHARDCAT_REST_WAREHOUSE"), s.root+"/vault"
	s.remote = false // a copy in memory would lack what the server writes in a next run
	s.folders = append(s.folders, s.warehouse+"/"+flights.Namespace+"/")
	extraNamespace := table.Identifier{extra}
	empty := func(t *testing.T) {
		if err := proxy.Straight.DropNamespace(t.Context(), extraNamespace); err != nil && !errors.Is(err, icecatalog.ErrNoSuchNamespace) {
			t.Fatal(err)
		}
		for ident, err := range proxy.Straight.ListTables(t.Context(), namespace) {
			if errors.Is(err, icecatalog.ErrNoSuchNamespace) {
				return
			}
			if err == nil {
				err = proxy.Straight.DropTable(t.Context(), ident)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	empty(t)
	var at string
	s.keep = func(t *testing.T) {
		there, err := proxy.Straight.LoadTable(t.Context(), table.Identifier{flights.Namespace, flights.Table})
		if err != nil {
			t.Fatal(err)
		}
		at = there.MetadataLocation()
	}
	s.restore = func(t *testing.T) {
		empty(t)
		_, err := proxy.Straight.(*rest.Catalog).RegisterTable(t.Context(), table.Identifier{flights.Namespace, flights.Table}, at)
		if err == nil {
			_, err = proxy.Straight.UpdateNamespaceProperties(t.Context(), namespace, []string{"owner"}, iceberg.Properties{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.broken = func(t *testing.T, script string) (func(*blobio.Client), func(string) int, func()) {
		play := &catalogfault.Play{}
		if err := play.Set(script); err != nil {
			t.Fatal(err)
		}
		proxy.Play(play)
		return func(client *blobio.Client) { s.straight(t, client) }, play.Calls, func() { proxy.Play(nil) }
	}
	return s
}
