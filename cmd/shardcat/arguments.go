package main

import (
	"errors"
	"slices"
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

// mayBeEmpty are the text flags whose empty value means something: no such character, text or folder.
var mayBeEmpty = []string{"cache-dir", "comment", "config", "escape", "null", "quote", "thousands"}

// checkTexts refuses flags that were given without a text, as by an empty variable of a script.
func checkTexts(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err == nil && f.Changed && isBlank(f.Value) && !slices.Contains(mayBeEmpty, f.Name) {
			err = usagef("empty value for --%s; omit the flag to use its default", f.Name)
		}
	})
	return err
}

// isBlank reports whether the value of a flag is text without a character, or a list of such.
func isBlank(v pflag.Value) bool {
	texts := []string{v.String()}
	if list, ok := v.(pflag.SliceValue); ok {
		texts = list.GetSlice()
	} else if v.Type() != "string" {
		return false
	}
	return !slices.ContainsFunc(texts, func(s string) bool { return strings.TrimSpace(s) != "" })
}

// onceOnly are flags that choose rows, columns or the place of a change: of two values the first would be ignored.
var onceOnly = []string{"as-of", "job-id", "order", "order-by", "ref", "schema", "select", "snapshot", "where"}

var errRepeated = errors.New("given twice")

// onceFlag is a flag's value that can be set once.
type onceFlag struct {
	pflag.Value
	given bool
}

func (f *onceFlag) Set(s string) error {
	if f.given {
		return errRepeated
	}
	f.given = true
	return f.Value.Set(s)
}

// refuseRepeats makes the flags of onceOnly, of a command and those below it, fail if they are given again.
func refuseRepeats(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, list := f.Value.(pflag.SliceValue); !list && slices.Contains(onceOnly, f.Name) {
			f.Value = &onceFlag{Value: f.Value}
		}
	})
	for _, below := range cmd.Commands() {
		refuseRepeats(below)
	}
}

// plainFlagError replaces pflag's error for an invalid value by one that names the accepted values.
func plainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	must := ""
	switch kind := invalid.GetFlag().Value.Type(); {
	case errors.Is(err, errRepeated):
		name := invalid.GetFlag().Name
		if name == "where" {
			return usagef("--where is given twice; combine filters with AND")
		}
		return usagef("--%s is given twice", name)
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
