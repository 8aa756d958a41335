package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// exactly and atLeast are cobra's argument checks with usage errors of our own.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

func atLeast(n int) cobra.PositionalArgs { return between(n, 1<<30) }

func between(low, high int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		return usagef("%s: got %d arguments, usage: %s", cmd.CommandPath(), len(args), cmd.UseLine())
	}
}

// checkCounts refuses negative values of flags that count something and were given.
func checkCounts(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f.Changed && strings.HasPrefix(f.Value.String(), "-") {
			return usagef("invalid argument %s for --%s: must be 0 or more", f.Value, name)
		}
	}
	return nil
}

// checkTexts refuses flags that were given without a text, as by an empty variable of a script.
func checkTexts(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return usagef("empty value for --%s; omit the flag to use its default", name)
		}
	}
	return nil
}
