package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
)

// settingFlag adds a flag for a setting that is kept as text, "" without the flag. That of a boolean setting takes true or false.
func settingFlag(cmd *cobra.Command, name, usage string, isBool bool) *string {
	if !isBool {
		return cmd.Flags().String(name, "", usage)
	}
	text := new(string)
	cmd.Flags().Var((*boolText)(text), name, usage)
	return text
}

// boolText is true or false as text, so that a flag that was not given is neither.
type boolText string

func (b *boolText) String() string { return string(*b) }
func (b *boolText) Type() string   { return "true|false" }

func (b *boolText) Set(text string) error {
	if _, err := strconv.ParseBool(text); err != nil {
		return errors.New("must be true or false")
	}
	*b = boolText(text)
	return nil
}
