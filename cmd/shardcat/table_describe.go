package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/progress"
)

func (a *app) tableDescribeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "describe T",
		Short: "Describe a table: columns, properties, where it lies, how much it holds",
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
	a.printf("table       %s\n", d.Name)
	a.printf("records     %d in %d shards, %s of data\n", d.Records, d.Shards, progress.Bytes(d.DataBytes))
	a.printf("snapshots   %d\n", d.Snapshots)
	a.printf("location    %s\nvault       %s\n", d.Location, d.Vault)
	for _, p := range d.Partition {
		a.printf("partition   %s\n", p)
	}
	if d.SortOrder != "" {
		a.printf("order       %s\n", d.SortOrder)
	}
	for _, c := range d.Columns {
		a.printf("column      %-4d %s: %s\n", c.FieldID, c.Name, c.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
		a.printf("property    %s = %s\n", name, propertyText(d.Properties[name]))
	}
	return nil
}

// longProperty is the length from which on a property is data for programs, as the Arrow schema that a table came with is.
const longProperty = 256

// propertyText is a property for people: its size where it is long.
func propertyText(value string) string {
	if len(value) < longProperty {
		return value
	}
	return fmt.Sprintf("%s (--json prints it)", progress.Bytes(int64(len(value))))
}
