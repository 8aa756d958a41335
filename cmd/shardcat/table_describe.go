package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func (a *app) tableDescribeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "describe T",
		Short: "Describe a table: columns, properties, location and size",
		Example: `  shardcat table describe logs
  shardcat table describe logs --json`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.readTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printDescription(t)
		},
	}
}

func (a *app) printDescription(t *catalog.Table) error {
	d := t.Describe()
	if a.json {
		return a.printJSON(d)
	}
	indexes := ""
	if d.IndexBytes != nil {
		indexes = indexesText(*d.IndexBytes)
	}
	a.printf("table       %s\n", d.Name)
	a.printf("records     %d in %s, %s of data%s\n", d.Records, plural.Count(d.Shards, "shard"), progress.Bytes(d.DataBytes), indexes)
	a.printf("snapshots   %d\n", d.Snapshots)
	a.printf("location    %s\nvault       %s\n", d.Location, d.Vault)
	for _, p := range d.Partition {
		a.printf("partition   %s\n", p)
	}
	if d.SortOrder != "" {
		a.printf("order       %s\n", d.SortOrder)
	}
	for _, c := range d.Columns {
		a.printf("column      %-4d %s: %s%s\n", c.FieldID, c.Name, typeText(&c), comment(&c))
		a.printMemberComments(schema.JoinPath(c.Name), c.Children)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
		a.printf("property    %s = %s\n", name, propertyText(name, d.Properties[name]))
	}
	return nil
}

// typeText is the type of a column as the grammar of schemas writes it.
func typeText(c *catalog.ColumnInfo) string {
	text := c.Type
	if len(c.Children) > 0 {
		members := make([]string, len(c.Children))
		for i := range c.Children {
			m := c.Children[i]
			m.Nullable = m.Nullable || c.Type == "Map" && i == 0 // keys are never null
			if members[i] = typeText(&m); c.Type == "Struct" {
				members[i] = schema.JoinPath(m.Name) + ": " + members[i]
			}
		}
		text += "<" + strings.Join(members, ", ") + ">"
	}
	if !c.Nullable {
		text += " not null"
	}
	return text
}

func comment(c *catalog.ColumnInfo) string {
	if c.Doc == "" {
		return ""
	}
	return "  -- " + strings.Join(strings.Fields(c.Doc), " ")
}

// printMemberComments prints the comments of the columns below one, by their paths.
func (a *app) printMemberComments(path string, children []catalog.ColumnInfo) {
	for i := range children {
		c := &children[i]
		at := path + "." + schema.JoinPath(c.Name)
		if c.Doc != "" {
			a.printf("            %-4d %s%s\n", c.FieldID, at, comment(c))
		}
		a.printMemberComments(at, c.Children)
	}
}

// longProperty is the length from which on a property is data for programs.
const longProperty = 256

// propertyText is a property for people: its size where it is long, and that of the Arrow schema, which is base64, in any case.
func propertyText(name, value string) string {
	if len(value) < longProperty && name != catalog.ArrowSchemaProperty {
		return value
	}
	return fmt.Sprintf("%s (--json prints it)", progress.Bytes(int64(len(value))))
}
