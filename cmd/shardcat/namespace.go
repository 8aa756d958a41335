package main

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/compaction"
)

func (a *app) namespaceCommand() *cobra.Command {
	return group("namespace", "Create, list and drop namespaces, and change their properties",
		a.namespaceCreateCommand(), a.namespaceListCommand(), a.namespaceDropCommand(), a.namespacePropertyCommand())
}

func (a *app) namespaceCreateCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "create NS",
		Short:   "Create a namespace if it does not exist",
		Example: "  shardcat namespace create prod\n  shardcat namespace create prod.eu",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tables, err := a.openTables(cmd.Context())
			if err != nil {
				return err
			}
			if err := tables.CreateNamespace(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.printNamespace("created", args[0])
		},
	}
}

func (a *app) printNamespace(verb, name string) error {
	if a.json {
		return a.printJSON(map[string]string{verb: name})
	}
	a.printf("%s %s\n", verb, name)
	return nil
}

func (a *app) namespaceListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List namespaces",
		Example: "  shardcat namespace list\n  shardcat namespace list --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tables, err := a.openTables(cmd.Context())
			if err != nil {
				return err
			}
			names, err := tables.Namespaces(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(append([]string{}, names...))
			}
			for _, n := range names {
				a.printf("%s\n", n)
			}
			return nil
		},
	}
}

func (a *app) namespaceDropCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "drop NS",
		Short:   "Drop an empty namespace",
		Example: "  shardcat namespace drop staging\n  shardcat namespace drop prod.eu",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tables, err := a.openTables(cmd.Context())
			if err != nil {
				return err
			}
			if err := tables.DropNamespace(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.printNamespace("dropped", args[0])
		},
	}
}

func (a *app) namespacePropertyCommand() *cobra.Command {
	var remove []string
	cmd := &cobra.Command{
		Use:     "property NS [K=V...]",
		Short:   "Set, remove and show properties of a namespace",
		Example: "  shardcat namespace property prod owner=data-team\n  shardcat namespace property prod --remove owner",
		Args:    atLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := pairs(args[1:])
			if err != nil {
				return err
			}
			tables, err := a.openTables(cmd.Context())
			if err != nil {
				return err
			}
			if len(set)+len(remove) > 0 {
				if err := compaction.SetNamespaceProperties(cmd.Context(), tables, args[0], set, remove); err != nil {
					return err
				}
			}
			properties, err := tables.NamespaceProperties(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(properties)
			}
			for _, k := range slices.Sorted(maps.Keys(properties)) {
				a.printf("%s = %s\n", k, properties[k])
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&remove, "remove", nil, "property to remove (repeatable)")
	return cmd
}
