package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) tableCommand() *cobra.Command {
	return group("table", "Create, list, describe, alter and drop tables, and show their history",
		a.tableCreateCommand(), a.tableListCommand(), a.tableDescribeCommand(), a.tableHistoryCommand(), a.tableDropCommand(),
		a.tableAlterCommand(), a.tableRenameCommand(), a.tableRecoverCommand(), a.tableRefsCommand(), a.tableTagCommand(), a.tableBranchCommand(),
		a.tableRollbackCommand(), a.tableFastForwardCommand(), a.tableCherryPickCommand(), a.tableDropRefCommand(), a.tableIndexCommand())
}

// loadTable opens a table by its name on the command line, [namespace.]name, to change it.
func (a *app) loadTable(ctx context.Context, name string) (*catalog.Table, error) {
	return a.openTable(ctx, name, catalog.Existing)
}

// readTable opens a table to read: the catalog may lie where nothing can be written.
func (a *app) readTable(ctx context.Context, name string) (*catalog.Table, error) {
	return a.openTable(ctx, name, catalog.ReadOnly)
}

func (a *app) openTable(ctx context.Context, name string, access catalog.Access) (*catalog.Table, error) {
	n, err := catalog.ParseName(name)
	if err != nil {
		return nil, usageError{err}
	}
	tables, err := a.openCatalog(ctx, access)
	if err != nil {
		return nil, err
	}
	return tables.Load(ctx, n)
}
