package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// stateDefaults completes the help of every flag by what holds without it, where the text does not report it itself. Values
// that are not zero are printed by the library.
func stateDefaults(c *cobra.Command) {
	for _, child := range c.Commands() {
		stateDefaults(child)
	}
	state := func(f *pflag.Flag) {
		if saysDefault(f) || f.Name == "help" || f.Name == "version" {
			return
		}
		switch f.DefValue {
		case "false":
			f.Usage += " (default: no)"
		case "", "[]", "0":
			f.Usage += " (default: none)"
		}
	}
	c.PersistentFlags().VisitAll(state)
	c.Flags().VisitAll(state)
}

// saysDefault reports whether the text of a flag has its default, or that the flag is required.
func saysDefault(f *pflag.Flag) bool {
	return strings.Contains(f.Usage, "default") || strings.Contains(f.Usage, "(needed)")
}
