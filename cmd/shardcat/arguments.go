package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// plainFlagError replaces pflag's error for an invalid value by one that names the accepted values.
func plainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	must := ""
	switch kind := invalid.GetFlag().Value.Type(); {
	case errors.Is(err, errSize):
		must = errSize.Error()
	case errors.Is(err, strconv.ErrRange):
		must = "the number is too large"
	case kind == "bool", kind == "true|false":
		must = "must be true or false"
	case kind == "duration":
		must = "must be a duration with units, such as 30s or 12h"
	case strings.HasPrefix(kind, "float"):
		must = "must be a number"
	case strings.HasPrefix(kind, "uint"):
		must = "must be a whole number of 0 or more, without a unit"
	case strings.HasPrefix(kind, "int"), kind == "count":
		must = "must be a whole number, without a unit"
	default:
		return err
	}
	return usagef("invalid argument %q for --%s: %s", invalid.GetValue(), invalid.GetFlag().Name, must)
}
