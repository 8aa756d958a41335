package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// addCompletion lets a shell complete names of tables, where a command takes one first, and columns of that table.
func (a *app) addCompletion(c *cobra.Command) {
	for _, child := range c.Commands() {
		a.addCompletion(child)
	}
	if !takesTable(c) {
		return
	}
	c.ValidArgsFunction = a.completeTables
	for _, name := range []string{"select", "where", "order-by", "partition-by"} {
		if c.Flags().Lookup(name) != nil {
			if err := c.RegisterFlagCompletionFunc(name, a.completeColumns); err != nil {
				panic(err) // it was registered twice
			}
		}
	}
}

// takesTable reports whether the first argument of a command is a table that is there.
func takesTable(c *cobra.Command) bool {
	words := strings.Fields(c.Use)
	return len(words) > 1 && (words[1] == "T" || words[1] == "T|--all") && c.Name() != "create"
}

// completeTables gives the tables whose names begin with what was typed; behind the table come files.
func (a *app) completeTables(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if a.loadConfig(cmd.Root()) != nil { // the flags of the command were not read before
		return nil, cobra.ShellCompDirectiveError
	}
	tables, err := a.openCatalog(cmd.Context(), catalog.ReadOnly)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	found, err := tables.Tables(cmd.Context(), "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, n := range found {
		name := n.String()
		if short, ok := strings.CutPrefix(name, catalog.DefaultNamespace+"."); ok && !strings.HasPrefix(typed, catalog.DefaultNamespace+".") {
			name = short
		}
		if strings.HasPrefix(name, typed) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeColumns gives the columns of the command's table that the last name in a list or expression may become.
func (a *app) completeColumns(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 || a.loadConfig(cmd.Root()) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	t, err := a.readTable(cmd.Context(), args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	at := strings.LastIndexAny(typed, ", (") + 1
	var out []string
	for _, path := range columnPaths(t) {
		if strings.HasPrefix(path, typed[at:]) {
			out = append(out, typed[:at]+path)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// columnPaths are the columns of a table, nested ones dotted, in their order.
func columnPaths(t *catalog.Table) (paths []string) {
	t.Schema().Walk(func(path string, _ *schema.Node) bool {
		paths = append(paths, path)
		return true
	})
	return paths
}
