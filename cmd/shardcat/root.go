package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/startup/gcpause"
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
			gcpause.End() // what only tells of the command, or of a mistake in its use, ends before it would collect garbage
			if cmd.Flags().Lookup("pprof") == nil {
				runtime.MemProfileRate = 0 // of a command that nobody can ask for a profile
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
	root.SetVersionTemplate("shardcat {{.Version}}\n")
	root.AddCommand(
		a.demoCommand(), a.shardCommand(), a.conformanceCommand(), a.convertCommand(), a.tableCommand(), a.namespaceCommand(), a.ingestCommand(), a.registerCommand(),
		a.indexCommand(), a.scanCommand(), a.changesCommand(), a.filesCommand(), a.statsCommand(), a.planScanCommand(), a.planCommand(), a.compactCommand(), a.policyCommand(), a.serveCommand(), a.doctorCommand(), a.docsCommand(),
		a.deleteCommand(), a.overwriteCommand(), a.truncateCommand(), a.retainCommand(),
		a.expireCommand(), a.gcCommand(), a.whyCommand(), a.undropCommand(), a.jobsCommand(), a.jobCommand(),
		a.verifyCommand(), a.repairCommand(), a.exportCommand(),
	)
	a.addCompletion(root)
	stateDefaults(root)
	return root
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
