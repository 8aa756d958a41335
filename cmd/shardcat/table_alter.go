package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// alterVerbs are the words after `table alter T`: how many arguments each takes at least and at most (-1: any number),
// and what it does.
var alterVerbs = map[string]struct {
	least, most int
	run         func(ctx context.Context, t *catalog.Table, args []string) error
}{
	"add": {2, 2, func(ctx context.Context, t *catalog.Table, args []string) error {
		n, err := columnType(args[1])
		if err != nil {
			return err
		}
		return t.AddColumn(ctx, args[0], n)
	}},
	"drop": {1, 1, func(ctx context.Context, t *catalog.Table, args []string) error { return t.DropColumn(ctx, args[0]) }},
	"rename": {2, 2, func(ctx context.Context, t *catalog.Table, args []string) error {
		return t.RenameColumn(ctx, args[0], args[1])
	}},
	"widen": {2, 2, func(ctx context.Context, t *catalog.Table, args []string) error {
		n, err := columnType(args[1])
		if err != nil {
			return err
		}
		return t.WidenColumn(ctx, args[0], n)
	}},
	"move": {2, 3, func(ctx context.Context, t *catalog.Table, args []string) error {
		switch {
		case len(args) == 2 && args[1] == "first":
			return t.MoveColumn(ctx, args[0], "")
		case len(args) == 3 && args[1] == "after":
			return t.MoveColumn(ctx, args[0], args[2])
		}
		return usagef("move COL first, or move COL after OTHER")
	}},
	"comment": {2, 2, func(ctx context.Context, t *catalog.Table, args []string) error {
		return t.CommentColumn(ctx, args[0], args[1])
	}},
	"require": {1, 1, func(ctx context.Context, t *catalog.Table, args []string) error { return t.RequireColumn(ctx, args[0]) }},
	"optional": {1, 1, func(ctx context.Context, t *catalog.Table, args []string) error {
		return t.OptionalColumn(ctx, args[0])
	}},
	"property": {1, -1, func(ctx context.Context, t *catalog.Table, args []string) error {
		set, err := pairs(args)
		if err != nil {
			return err
		}
		return compaction.SetProperties(ctx, t, set, nil)
	}},
	"partition": {0, -1, func(ctx context.Context, t *catalog.Table, args []string) error { return t.Repartition(ctx, args) }},
	"order": {1, 1, func(ctx context.Context, t *catalog.Table, args []string) error {
		keys, err := sortOrder(args[0])
		if err != nil {
			return err
		}
		return t.SortBy(ctx, keys)
	}},
}

func (a *app) tableAlterCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "alter T add|drop|rename|widen|move|comment|require|optional|property|partition|order ...",
		Short: "Change columns, properties, partitioning or sort order of a table without rewriting shards",
		Long: `Change a table's columns, properties, partitions and order. Shards are not touched: columns are identified by field ID, so that scans of
older shards return the current columns, and scan --snapshot those of the snapshot. Members of structs are named by dotted
paths, list elements by "item", map values by "value"; a dot in a name is written \.

    add COL TYPE               a new nullable column, at the end
    drop COL                   its values are no longer visible
    rename COL NEW             NEW is the new last part of the path
    widen COL TYPE             a type with all values of the old one: wider integers, Float64 for Float32
    move COL first|after OTHER
    comment COL TEXT           description of the column
    require COL | optional COL forbid or allow nulls; require refuses while a row of a branch has one
    property K=V...            properties of the table
    partition FIELD...         partition fields from now on; none: no partitions. Older shards keep theirs
    order 'COL desc, …'|none   the order of rows in shards from now on; older shards when they are rebuilt`,
		Example: `  shardcat table alter flights add origin.runway String
  shardcat table alter flights widen delay Int64
  shardcat table alter flights partition 'month(time_hour)' origin
  shardcat table alter flights order 'time_hour desc, origin'`,
		Args: atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, ok := alterVerbs[args[1]]
			rest := args[2:]
			switch {
			case !ok:
				return usagef("unknown change %q: add, drop, rename, widen, move, comment, require, optional, property, partition or order", args[1])
			case len(rest) < verb.least || verb.most >= 0 && len(rest) > verb.most:
				return usagef("table alter T %s: invalid arguments; see table alter --help", args[1])
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := verb.run(cmd.Context(), t, rest); err != nil {
				return err
			}
			return a.printDescription(t)
		},
	}
}

// sortOrder reads the order of a table's rows; "none" is no order.
func sortOrder(text string) ([]catalog.OrderKey, error) {
	if text == "none" || text == "" {
		return nil, nil
	}
	keys, err := catalog.ParseOrder(text)
	if err != nil {
		return nil, usageError{err}
	}
	return keys, nil
}

// columnType reads the type of a column, as schemas are written.
func columnType(text string) (*schema.Node, error) {
	s, err := schema.Parse("c: " + text)
	if err != nil {
		return nil, usageError{err}
	}
	if len(s.Fields) != 1 {
		return nil, usagef("%q is not a type", text)
	}
	return s.Fields[0], nil
}
