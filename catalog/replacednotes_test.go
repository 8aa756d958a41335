package catalog

import (
	"context"
	"maps"
	"testing"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// propertyReads calls once after the properties of a namespace were read.
type propertyReads struct {
	icecatalog.Catalog
	once func()
}

func (c *propertyReads) LoadNamespaceProperties(ctx context.Context, ident table.Identifier) (iceberg.Properties, error) {
	p, err := c.Catalog.LoadNamespaceProperties(ctx, ident)
	if f := c.once; f != nil {
		c.once = nil
		f()
	}
	return p, err
}

// TestNamespaceRecordsOfTwoWriters: a second writer changes the namespace between the first one's read of the properties and its record
// of them. The record has both changes.
func TestNamespaceRecordsOfTwoWriters(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	second, reads := g.over(nil, Options{}), &propertyReads{}
	first := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog { reads.Catalog = ice; return reads })
	g.create(second)
	change := func(c *Catalog, key string) {
		t.Helper()
		if err := c.SetNamespaceProperties(ctx, "default", map[string]string{key: "1"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	change(second, "zero")
	reads.once = func() { change(second, "second") }
	change(first, "first")
	want, err := first.NamespaceProperties(ctx, "default")
	if err != nil || len(want) != 3 {
		t.Fatal(want, err)
	}
	var r namespaceRecord
	if err := first.records.ReadLast(ctx, first.namespaceNotes(ctx, "default"), &r); err != nil || !maps.Equal(r.Properties, want) {
		t.Errorf("recorded: %v %v, want %v", r.Properties, err, want)
	}
}

// TestKilledWhileNotesAreReplaced breaks off the writes of the record of a namespace and of the name of a table at each kind of request. A new
// catalog recovers the state before or after.
func TestKilledWhileNotesAreReplaced(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []string{"list", "put", "delete"} {
		for _, notes := range []string{"_namespaces", gc.NameNotes} {
			for _, n := range []string{"1-", "2-"} {
				script := kind + "~/" + notes + "/ " + n + ": fail denied"
				g := newGround(t)
				bucket := blobfake.NewFaulty(t, memblob.Open(g.bucket), "")
				c := g.over(bucket, Options{})
				name := g.create(c).Name()
				for i, state := range []string{"first", "second"} {
					if i == 1 {
						bucket.Play(t, script)
					}
					if err := c.SetNamespaceProperties(ctx, "default", map[string]string{"owner": state}, nil); err != nil {
						t.Fatal(err)
					}
					if _, err := c.Rename(ctx, name, Name{"default", state}); err != nil {
						t.Fatal(err)
					}
					name.Table = state
				}
				bucket.Play(t, "")
				fresh := (&ground{t: t, dir: t.TempDir(), bucket: g.bucket}).over(memblob.Open(g.bucket), Options{})
				if results, err := fresh.RecoverAll(ctx, true); err != nil {
					t.Fatalf("%s: %v %v", script, outcomes(results), err)
				}
				properties, err := fresh.NamespaceProperties(ctx, "default")
				if owner := properties["owner"]; err != nil || owner != "first" && owner != "second" {
					t.Errorf("%s: owner %q, %v", script, owner, err)
				}
				tables, err := fresh.Tables(ctx, "default")
				if err != nil || len(tables) != 1 || tables[0].Table != "first" && tables[0].Table != "second" {
					t.Errorf("%s: tables %v, %v", script, tables, err)
				}
			}
		}
	}
}
