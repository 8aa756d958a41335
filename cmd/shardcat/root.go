package main

import (
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// rootCommand builds the tree of commands.
func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "shardcat",
		Short: "A catalog of Amudai shards on object storage",
		Long: `shardcat writes columnar shards to a folder, S3, Azure Blob or GCS, registers them in Iceberg tables,
finds rows in them with few ranged reads, and merges small shards without moving data.

Exit codes: 0 done, 1 failed, 2 usage, 3 corrupt or unsupported data, 4 not found, 5 conflict,
6 refused as unsafe, 130 interrupted.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Version:           version(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Lookup("pprof") == nil {
				runtime.MemProfileRate = 0 // of a command without profiling
			}
			if err := checkTexts(cmd); err != nil {
				return err
			}
			if err := a.loadConfig(cmd.Root()); err != nil {
				return err
			}
			a.limitHeap(1)
			return nil
		},
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	a.addGlobalFlags(root)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return plainFlagError(err) })
	root.SetVersionTemplate("shardcat {{.Version}}\n")
	addGroup(root, "query", "Query:", a.scanCommand(), a.exportCommand(), a.statsCommand(), a.changesCommand(), a.planScanCommand())
	addGroup(root, "data", "Change data:", a.ingestCommand(), a.registerCommand(), a.deleteCommand(), a.overwriteCommand(), a.truncateCommand(),
		a.jobCommand(), a.jobsCommand())
	addGroup(root, "tables", "Tables:", a.tableCommand(), a.namespaceCommand(), a.filesCommand(), a.undropCommand())
	addGroup(root, "maintenance", "Maintenance:", a.compactCommand(), a.planCommand(), a.policyCommand(), a.expireCommand(), a.retainCommand(),
		a.gcCommand(), a.whyCommand(), a.verifyCommand(), a.repairCommand())
	addGroup(root, "service", "Service and setup:", a.serveCommand(), a.doctorCommand(), a.demoCommand())
	addGroup(root, "files", "Single files:", a.shardCommand(), a.convertCommand(), a.indexCommand(), a.conformanceCommand())
	addGroup(root, "help", "Help:", a.docsCommand())
	root.SetHelpCommandGroupID("help")
	root.SetCompletionCommandGroupID("help")
	root.SetUsageTemplate(usageTemplate(root))
	a.addCompletion(root)
	stateDefaults(root)
	refuseRepeats(root)
	return root
}

// addGroup adds commands under a heading of the root's help.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// usageTemplate is cobra's own, but that the global flags are explained by the root's help alone, which the others name.
func usageTemplate(root *cobra.Command) string {
	const full = "Global Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}"
	return strings.Replace(root.UsageTemplate(), full,
		"Global flags, such as --catalog, --warehouse, --config and --json: see shardcat --help", 1)
}

// noArgs refuses words where a command was expected.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return nil
}

// group is a command that only holds others.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	g.AddCommand(children...)
	return g
}
