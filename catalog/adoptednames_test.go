package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestAdoptedShardsKeepTheirColumns: a shard of another program, whose fields are found by name, keeps its columns whatever these are called
// later, and a column that gets the name has none of its values.
func TestAdoptedShardsKeepTheirColumns(t *testing.T) {
	ctx := context.Background()
	const columns = "id: Int64, a: Int64, b: Int64, s: Struct<x: Int64, y: Int64>, l: List<Struct<x: Int64>>"
	number := func(name string) *schema.Node {
		return &schema.Node{Name: name, Basic: schema.Int64, Signed: true, Nullable: true}
	}
	row := `[{"id":1,"a":2,"b":3,"s":{"x":4,"y":5},"l":[{"x":6}],"z":7}]`
	for name, c := range map[string]struct {
		do       func(tbl *Table) error
		conflict bool
		want     string
	}{
		"rename": {func(tbl *Table) error { return tbl.RenameColumn(ctx, "a", "c") }, false,
			`{"b":3,"c":2,"id":1,"l":[{"x":6}],"s":{"x":4,"y":5}}`},
		"rename there and back": {func(tbl *Table) error {
			return errors.Join(tbl.RenameColumn(ctx, "a", "c"), tbl.RenameColumn(ctx, "c", "a"))
		}, false, `{"a":2,"b":3,"id":1,"l":[{"x":6}],"s":{"x":4,"y":5}}`},
		"swap": {func(tbl *Table) error {
			return errors.Join(tbl.RenameColumn(ctx, "a", "c"), tbl.RenameColumn(ctx, "b", "a"), tbl.RenameColumn(ctx, "c", "b"))
		}, true, `{"a":3,"b":2,"id":1,"l":[{"x":6}],"s":{"x":4,"y":5}}`},
		"drop and add": {func(tbl *Table) error {
			return errors.Join(tbl.DropColumn(ctx, "a"), tbl.AddColumn(ctx, "a", number("a")))
		}, true, `{"a":null,"b":3,"id":1,"l":[{"x":6}],"s":{"x":4,"y":5}}`},
		"add what the table lacked": {func(tbl *Table) error { return tbl.AddColumn(ctx, "z", number("z")) }, true,
			`{"a":2,"b":3,"id":1,"l":[{"x":6}],"s":{"x":4,"y":5},"z":null}`},
		"members": {func(tbl *Table) error {
			return errors.Join(tbl.RenameColumn(ctx, "s.x", "w"), tbl.RenameColumn(ctx, "s", "r"), tbl.DropColumn(ctx, "r.y"), tbl.AddColumn(ctx, "r.y", number("y")),
				tbl.RenameColumn(ctx, "l.item.x", "w"))
		}, true, `{"a":2,"b":3,"id":1,"l":[{"w":6}],"r":{"w":4,"y":null}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			c1 := g.open(nil, nil)
			s, err := schema.Parse(columns)
			if err != nil {
				t.Fatal(err)
			}
			tbl, err := c1.Create(ctx, Name{"default", "adopting"}, CreateOptions{Schema: s, CreateNamespace: true})
			if err != nil {
				t.Fatal(err)
			}
			wide, err := schema.Parse(columns + ", z: Int64")
			if err != nil {
				t.Fatal(err)
			}
			url := func(n int) string { return fmt.Sprintf("mem://%s/elsewhere/%d.amudai.shard", g.bucket, n) }
			for n := range 2 {
				writeShard(t, c1, url(n), wide, shardfmt.WriterOptions{}, row)
			}
			if _, err := tbl.Register(ctx, []string{url(0)}, RegisterOptions{}); err != nil {
				t.Fatal(err)
			}
			before := tbl.Head()
			const was = `{"a":2,"b":3,"id":1,"l":[{"x":6}],"s":{"x":4,"y":5}}`
			if err := c.do(tbl); err != nil {
				t.Fatal(err)
			}
			tbl, err = g.open(nil, nil).Load(ctx, tbl.Name())
			if err != nil {
				t.Fatal(err)
			}
			if got := rowTexts(t, tbl, ScanOptions{}); !slices.Equal(got, []string{c.want}) {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got := rowTexts(t, tbl, ScanOptions{At: At{SnapshotID: before}}); !slices.Equal(got, []string{was}) {
				t.Errorf("before: %s, want %s", got, was)
			}
			v, err := tbl.Verify(ctx, VerifyOptions{})
			if err != nil || !v.OK {
				t.Errorf("verify: %+v, %v", v, err)
			}
			// A second shard has to mean the same by its names, or comes in as a copy, which has ids of its own.
			_, err = tbl.Register(ctx, []string{url(1)}, RegisterOptions{})
			if c.conflict != errors.Is(err, ErrInvalid) || !c.conflict && err != nil {
				t.Errorf("a second shard: %v", err)
			}
			if _, err := tbl.Register(ctx, []string{url(1)}, RegisterOptions{Copy: true}); err != nil {
				t.Errorf("a copy: %v", err)
			}
		})
	}
}

// TestRegisterListsUnreadColumns: a registration lists the columns of the shards that the table lacks, once each, in place and of copies.
func TestRegisterListsUnreadColumns(t *testing.T) {
	ctx := context.Background()
	for _, copied := range []bool{false, true} {
		g := newGround(t)
		c := g.open(nil, nil)
		parse := func(text string) *schema.Schema {
			s, err := schema.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		narrow := parse("id: Int64, s: Struct<x: Int64>, l: List<Struct<x: Int64>>, m: Map<String, Int64>, u: Union<Int64, String>, d: Dynamic")
		wide := parse("id: Int64, s: Struct<x: Int64, y: Int64>, l: List<Struct<x: Int64, y: Int64>>, m: Map<String, Int64>, u: Union<Int64, String>, d: Dynamic, \"z.z\": Struct<a: Int64>")
		tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: narrow, CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		url := func(name string) string { return fmt.Sprintf("mem://%s/elsewhere/%s.amudai.shard", g.bucket, name) }
		writeShard(t, c, url("same"), narrow, shardfmt.WriterOptions{}, `[{"id":1}]`)
		for _, name := range []string{"wide", "wide2"} {
			writeShard(t, c, url(name), wide, shardfmt.WriterOptions{}, `[{"id":2,"s":{"y":1}}]`)
		}
		for _, x := range []struct{ shards, want []string }{{[]string{"same"}, nil}, {[]string{"wide", "wide2"}, []string{"s.y", "l.item.y", `z\.z`}}} {
			var urls []string
			for _, name := range x.shards {
				urls = append(urls, url(name))
			}
			r, err := tbl.Register(ctx, urls, RegisterOptions{Copy: copied})
			if err != nil || !slices.Equal(r.Unread, x.want) || len(r.Shards) != len(urls) || r.Records != int64(len(urls)) {
				t.Errorf("copied: %v: %+v, %v, want %q", copied, r, err, x.want)
			}
		}
	}
}

// rowTexts are the rows of a scan as JSON.
func rowTexts(t *testing.T, tbl *Table, o ScanOptions) (out []string) {
	t.Helper()
	for b, err := range tbl.Scan(context.Background(), o, nil) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := b.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Split(strings.TrimSuffix(strings.TrimPrefix(string(text), "["), "\n]"), "\n,")...)
	}
	return out
}
