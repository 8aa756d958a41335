package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/readertest"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/conformance"
)

func (a *app) conformanceCommand() *cobra.Command {
	var run, lookup string
	var levels []string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "conformance DIR",
		Short: "Write the conformance suite of the format, or run a reader against it",
		Long: `Write shards with their records to a new folder: plain values (l1), every encoding (l2), nested types and unions (l3), indexes and deleted records (l4), forms of the format's book (l5), and damaged shards that a reader must refuse (refuse). The expected results are in docs/format/conformance.md.

With --run, test a reader on the shards in DIR: a command that prints every record of the shard {} as a line of JSON. It refuses a shard with exit code 3 and a last line on standard error that begins with corrupt, unsupported or missing, or with exit code 6 and unsafe. --json prints the score of each level and every outcome. The exit code is 1 if a case of the selected levels fails, unless a reader may refuse its form.`,
		Example: `  shardcat conformance kit
  shardcat conformance kit --run 'python3 -m amudai cat {}' --levels l1,l2,l3,l4
  shardcat conformance kit --run 'my-reader {}' --lookup 'my-reader lookup {index} {keys}' --levels l4`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("run") {
				return a.runReader(cmd, args[0], run, readertest.RunOptions{Levels: levels, Lookup: lookup, Timeout: timeout})
			}
			if cmd.Flags().Changed("levels") || cmd.Flags().Changed("timeout") || lookup != "" {
				return usagef("--levels, --lookup and --timeout need --run")
			}
			return a.writeKit(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "test a reader: run this `command` for each shard in DIR; {} is replaced by the path")
	cmd.Flags().StringVar(&lookup, "lookup", "", "with --run, also test index lookups with this `command`: {index} is the path of an IndexDescriptor, {keys} that of a file of keys; one JSON line per key, as index lookup prints (default: no index test)")
	cmd.Flags().StringSliceVar(&levels, "levels", nil, "comma-separated `LEVELS` to test: "+strings.Join(conformance.Levels, ", ")+" (default: all)")
	cmd.Flags().DurationVar(&timeout, "timeout", readertest.DefaultTimeout, "timeout per shard")
	return cmd
}

// writeKit writes the kit.
func (a *app) writeKit(cmd *cobra.Command, dir string) error {
	url, err := a.mount(cmd.Context(), dir)
	if err != nil {
		return err
	}
	kit, err := conformance.Write(cmd.Context(), a.client, strings.TrimSuffix(url, "/")+"/")
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(kit)
	}
	for _, level := range conformance.Levels {
		n := 0
		for _, c := range kit.Cases {
			if c.Level == level {
				n++
			}
		}
		a.printf("%-6s  %s\n", level, plural.Count(n, "shard"))
	}
	return nil
}

// runReader tests a reader and prints what became of every case.
func (a *app) runReader(cmd *cobra.Command, dir, command string, o readertest.RunOptions) error {
	for _, level := range o.Levels {
		if !slices.Contains(conformance.Levels, level) {
			return usagef("unknown level %q: %s", level, strings.Join(conformance.Levels, ", "))
		}
	}
	if !strings.Contains(command, readertest.Placeholder) {
		return usagef("--run lacks %s, the placeholder for the path of a shard", readertest.Placeholder)
	}
	if o.Lookup != "" && (!strings.Contains(o.Lookup, readertest.IndexPlaceholder) || !strings.Contains(o.Lookup, readertest.KeysPlaceholder)) {
		return usagef("--lookup lacks %s or %s, the placeholders for the paths of an index and of a file of keys", readertest.IndexPlaceholder, readertest.KeysPlaceholder)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	outcomes, err := readertest.Run(cmd.Context(), dir, command, o)
	if err != nil {
		return err
	}
	scores := readertest.Scores(outcomes)
	if a.json {
		err = a.printJSON(conformanceResult{Version: conformance.Version, Levels: scores, Outcomes: outcomes})
	} else {
		a.printOutcomes(outcomes, scores)
	}
	if err == nil && slices.ContainsFunc(scores, func(s readertest.Score) bool { return !s.Conforms() }) {
		err = silently(exitFailed)
	}
	return err
}

// conformanceResult is what a reader made of the kit, as JSON.
type conformanceResult struct {
	Version  int                  `json:"version"`
	Levels   []readertest.Score   `json:"levels"`
	Outcomes []readertest.Outcome `json:"outcomes"`
}

// printOutcomes prints a line for every case, and the sums by level.
func (a *app) printOutcomes(outcomes []readertest.Outcome, scores []readertest.Score) {
	for _, r := range outcomes {
		line := fmt.Sprintf("%-6s  %-22s  %-8s  %s", r.Level, r.Name, r.Outcome, r.Detail)
		a.printf("%s\n", strings.TrimRight(line, " "))
	}
	for _, s := range scores {
		a.printf("%s: %d of %d passed", s.Level, s.Passed, s.Cases)
		if s.Refused > 0 {
			a.printf(", %d optional forms refused", s.Refused)
		}
		a.printf("\n")
	}
}
