package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt"
)

func (a *app) tableIndexCommand() *cobra.Command {
	var o catalog.IndexOptions
	var scope string
	cmd := &cobra.Command{
		Use:   "index T add SPEC | drop NAME | build | list",
		Short: "Add, drop and list indexes of a table",
		Long: `Add, drop and list indexes of a table. New shards get the table's indexes as they are written; add also builds them for existing
shards, whose data is not moved: each gets a new root, 64 per snapshot.

    add text:COL[:TOKENIZER]  for HAS, HASPREFIX, = and IN; unicode-word (default), unicode-log, ipv4 or trivial
    add hash:COL              for = and IN on any type but floats and decimals
    add keys:COL[,COL]        one index over all shards, of the columns' values together: for ingest --upsert-by and --unique by these columns
    add layer:COL             for =, IN, <, <=, >, >= and BETWEEN on any type but decimals; one column
    add … --index-scope shard one for all stripes of a shard (also: text@shard:COL, hash@shard:COL)
    drop NAME                 text:COL, hash:COL, layer:COL or keys:COL
    build                     only what is missing: after --no-build, or for shards of other writers
    list                      the table's indexes, and how many stripes have each

COL may be a member of a struct (a.b) or a list; COL,COL are columns that share one text or hash index. A name with a space, comma, colon or
quote in it stands in double quotes: hash:"user id".`,
		Example: `  shardcat table index logs add text:message:unicode-log
  shardcat table index logs drop text:message`,
		Args: atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, rest := args[1], args[2:]
			want := map[string]int{"add": 1, "drop": 1, "build": 0, "list": 0}
			if n, ok := want[verb]; !ok {
				return usagef("unknown action %q: add, drop, build or list", verb)
			} else if len(rest) != n {
				return usagef("table index T %s: invalid arguments; see table index --help", verb)
			}
			if verb == "list" {
				return a.listIndexes(cmd.Context(), args[0])
			}
			c := indexChange{verb: verb, scope: scope, options: o}
			if len(rest) > 0 {
				c.index = rest[0]
			}
			return a.changeIndexes(cmd.Context(), args[0], c)
		},
	}
	addIndexScope(cmd.Flags(), &scope)
	cmd.Flags().BoolVar(&o.NewShardsOnly, "no-build", false, "do not change existing shards (default: change them too)")
	return cmd
}

// indexChange adds an index, drops one by its name, or builds those that are missing.
type indexChange struct {
	verb string // add, drop or build
	// index is the specification of what is added, or the name of what is dropped.
	index, scope string
	options      catalog.IndexOptions
}

// changeIndexes applies a change and prints what became of the shards.
func (a *app) changeIndexes(ctx context.Context, name string, c indexChange) error {
	t, err := a.loadTable(ctx, name)
	if err != nil {
		return err
	}
	bar, before := a.bar("index", "shards", t.Describe().Shards), 0
	c.options.Progress = func(shards int) {
		bar.Add(int64(shards - before))
		before = shards
	}
	done, err := c.apply(ctx, t)
	if err != nil {
		return err
	}
	bar.Finish()
	if a.json {
		return a.printJSON(done)
	}
	if k := done.Keys; k != nil {
		a.printf("%s: %s written; %s added, %s read, %s merged; %s written\n",
			t.Name(), plural.Count(k.Indexes, "key index"), plural.Count(k.Shards, "shard"), plural.Count(k.StripesRead, "stripe"), plural.Count(k.LevelsMerged, "level"), plural.Count(k.BytesWritten, "byte"))
	}
	a.printf("%s: %s built, %d dropped, in %s; %s written\n", t.Name(), plural.Count(done.Built, "index"), done.Dropped, plural.Count(done.Shards, "shard"), plural.Count(done.BytesWritten, "byte"))
	return nil
}

func (c *indexChange) apply(ctx context.Context, t *catalog.Table) (*catalog.IndexResult, error) {
	switch c.verb {
	case "drop":
		return t.DropIndex(ctx, c.index, c.options)
	case "build":
		return t.BuildIndexes(ctx, c.options)
	}
	if catalog.IsKeyIndex(c.index) {
		if c.scope != "stripe" {
			return nil, usagef("%s covers the whole table: --index-scope does not apply", c.index)
		}
		keys, err := t.AddKeyIndex(ctx, c.index, c.options)
		return &catalog.IndexResult{Keys: keys}, err
	}
	var s shardfmt.IndexSpec
	err := s.Set(c.index)
	if err == nil {
		s, err = scoped(s, c.scope)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return t.AddIndex(ctx, s, c.options)
}

func (a *app) listIndexes(ctx context.Context, name string) error {
	t, err := a.readTable(ctx, name)
	if err != nil {
		return err
	}
	states, err := t.IndexStates(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(states)
	}
	for _, s := range states {
		kind := "some shards"
		if s.Default {
			kind = "default"
		}
		a.printf("%-40s %-11s %d of %s, %s\n", s.Spec, kind, s.Stripes, plural.Count(s.StripesTotal, "stripe"), plural.Count(s.Bytes, "byte"))
		if s.Problem != "" {
			a.printf("    not used, or partially: %s\n", s.Problem)
		}
	}
	return nil
}
