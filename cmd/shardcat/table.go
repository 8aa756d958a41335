package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) tableCommand() *cobra.Command {
	return group("table", "Create, list, describe and drop tables, and show their history",
		a.tableCreateCommand(), a.tableListCommand(), a.tableDescribeCommand(), a.tableHistoryCommand(), a.tableDropCommand())
}

// loadTable opens a table by its name on the command line: [namespace.]name.
func (a *app) loadTable(ctx context.Context, name string) (*catalog.Table, error) {
	n, err := catalog.ParseName(name)
	if err != nil {
		return nil, usageError{err}
	}
	tables, err := a.openTables(ctx)
	if err != nil {
		return nil, err
	}
	return tables.Load(ctx, n)
}
