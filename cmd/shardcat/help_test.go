package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestEveryHelpHasExamples: two at least, which name flags that are there.
func TestEveryHelpHasExamples(t *testing.T) {
	a := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	root := a.rootCommand()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			visit(child)
		}
		if c.HasSubCommands() || c.Hidden || c.Name() == "help" || c.HasParent() && c.Parent().Name() == "completion" {
			return
		}
		n := 0
		for _, line := range strings.Split(c.Example, "\n") {
			called := strings.Split(line, "shardcat ")[1:]
			n += min(1, len(called))
			for _, words := range called {
				checkExample(t, root, c.CommandPath(), strings.Fields(words))
			}
		}
		if n < 2 {
			t.Errorf("%s: %d examples", c.CommandPath(), n)
		}
	}
	visit(root)
}

// checkExample holds one command line of an example to the commands and flags there are.
func checkExample(t *testing.T, root *cobra.Command, where string, words []string) {
	t.Helper()
	named, _, err := root.Find(words)
	if err != nil {
		t.Errorf("%s: an example names no command: %v", where, err)
		return
	}
	for _, word := range words {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if strings.HasPrefix(word, "--") && named.Flag(name) == nil {
			t.Errorf("%s: an example names --%s, which is not a flag", where, name)
		}
	}
}

// TestEveryFlagSaysWhatItIs: its help reports what it means, and what holds without it.
func TestEveryFlagSaysWhatItIs(t *testing.T) {
	a := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			visit(child)
		}
		if c.Short == "" {
			t.Errorf("%s says nothing", c.CommandPath())
		}
		help := c.LocalFlags().FlagUsages()
		check := func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || f.Name == "version" {
				return
			}
			_, line, _ := strings.Cut(help, "--"+f.Name+" ")
			line, _, _ = strings.Cut(line, "\n")
			if len(strings.Fields(f.Usage)) < 3 || !strings.Contains(line, "default") && !strings.Contains(line, "(needed)") {
				t.Errorf("%s --%s: %q", c.CommandPath(), f.Name, line)
			}
		}
		c.LocalFlags().VisitAll(check)
	}
	visit(a.rootCommand())
}

// TestManPages: a page for each command, the same every time.
func TestManPages(t *testing.T) {
	pages := func() string {
		dir := filepath.Join(t.TempDir(), "man")
		a := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
		if err := a.execute(t.Context(), []string{"docs", "--man", dir}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "shardcat-table-create.1"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	one := pages()
	if one != pages() {
		t.Error("the page of table create changes from run to run")
	}
	for _, part := range []string{
		".TH \"SHARDCAT-TABLE-CREATE\" \"1\"", "\nshardcat\\-table\\-create \\- ", ".SH DESCRIPTION\n", "\\fB\\-\\-partition\\fP ", "\\fB\\-\\-warehouse\\fP ",
		".EX\nshardcat table create ", ".BR shardcat\\-table (1)\n",
	} {
		if !strings.Contains(one, part) {
			t.Errorf("the page of table create lacks %q:\n%s", part, one)
		}
	}
	if got := manText(".a-b\n'c\\d"); got != "\\&.a\\-b\n\\&'c\\ed" {
		t.Errorf("escaped: %q", got)
	}
}

// TestHelpIsGrouped: the root's help lists every command under a heading and each global flag once; the help of a command names them
// without listing them.
func TestHelpIsGrouped(t *testing.T) {
	_, help := runIn(t, "--help")
	root := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}).rootCommand()
	for _, heading := range []string{"Query:", "Change data:", "Tables:", "Maintenance:", "Service and setup:", "Single files:"} {
		if strings.Count(help, "\n"+heading+"\n") != 1 {
			t.Errorf("heading %q: %s", heading, help)
		}
	}
	for _, c := range root.Commands() {
		if !c.Hidden && c.GroupID == "" || strings.Contains(help, "Additional Commands") {
			t.Errorf("%s belongs to no group", c.Name())
		}
	}
	_, of := runIn(t, "scan", "--help")
	if !strings.Contains(of, "Global flags, such as --catalog, --warehouse, --config and --json: see shardcat --help") {
		t.Errorf("the help of a command does not name the global flags: %s", of)
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if n := strings.Count(help, "\n      --"+f.Name+" "); n != 1 && !f.Hidden {
			t.Errorf("--%s is listed %d times", f.Name, n)
		}
		if strings.Contains(of, "\n      --"+f.Name+" ") {
			t.Errorf("the help of scan lists --%s", f.Name)
		}
	})
}

// TestDefaultsAreStatedOnce: no line of docs/cli.md has two defaults of the same flag.
func TestDefaultsAreStatedOnce(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| `--") {
			continue
		}
		flags++
		if n := strings.Count(line, "(default") + strings.Count(line, "; default"); n > 1 {
			t.Errorf("%d defaults: %s", n, line)
		}
	}
	if flags < 300 {
		t.Errorf("only %d flags were found", flags)
	}
}
