package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// writeManPages writes a page of section 1 for each command, the root included, into a folder that is made if it is not there.
//
// The pages are made here because the package of cobra that makes such pages brings a parser of Markdown along, whose tables each start of
// the command would fill.
func writeManPages(root *cobra.Command, folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	root.InitDefaultHelpCmd()
	return writeManPage(root, folder)
}

func writeManPage(c *cobra.Command, folder string) error {
	if err := os.WriteFile(filepath.Join(folder, manName(c)+".1"), manPage(c), 0o666); err != nil {
		return err
	}
	for _, child := range manChildren(c) {
		if err := writeManPage(child, folder); err != nil {
			return err
		}
	}
	return nil
}

// manName is the name of a command's page: shardcat-shard-cat.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manChildren are the commands below c that have a page.
func manChildren(c *cobra.Command) (out []*cobra.Command) {
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			out = append(out, child)
		}
	}
	return out
}

// manPage is the page of a command in the macros of man(7). It has no date, so that equal sources make equal pages.
func manPage(c *cobra.Command) []byte {
	b := new(bytes.Buffer)
	c.InitDefaultHelpFlag()
	fmt.Fprintf(b, ".nh\n.TH %q \"1\" \"\" \"shardcat\" \"shardcat\"\n", strings.ToUpper(manName(c)))
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n", manText(manName(c)), manText(c.Short))
	fmt.Fprintf(b, ".SH SYNOPSIS\n\\fB%s\\fP\n", manText(c.UseLine()))
	text := c.Long
	if text == "" {
		text = c.Short
	}
	b.WriteString(".SH DESCRIPTION\n")
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(manText(paragraph) + "\n")
	}
	manFlags(b, "OPTIONS", c.NonInheritedFlags())
	manFlags(b, "OPTIONS OF EVERY COMMAND", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(b, ".SH EXAMPLE\n.EX\n%s\n.EE\n", manText(dedent(c.Example)))
	}
	var also []string
	if c.HasParent() {
		also = append(also, manName(c.Parent()))
	}
	for _, child := range manChildren(c) {
		also = append(also, manName(child))
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, name := range also {
		end := ","
		if i == len(also)-1 {
			end = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", manText(name), end)
	}
	return b.Bytes()
}

// manFlags writes a section of flags, none if there are none to show.
func manFlags(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		if !saysDefault(f) {
			usage += " (default " + f.DefValue + ")"
		}
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fP, ", f.Shorthand)
		}
		fmt.Fprintf(b, "\\fB\\-\\-%s\\fP", manText(f.Name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fP", manText(strings.ToUpper(value)))
		}
		fmt.Fprintf(b, "\n%s\n", manText(usage))
	})
}

// manEscapes keep text from being taken for roff: backslashes, and hyphens that would be set as dashes.
var manEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// manText is text as it is read, also where a line of it begins as a request does.
func manText(text string) string {
	lines := strings.Split(manEscapes.Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
