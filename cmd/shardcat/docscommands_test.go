package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// inlineCommand is a command in a line of prose, lineCommand one that a line of code begins with.
	inlineCommand = regexp.MustCompile("`(shardcat [^`]+)`")
	lineCommand   = regexp.MustCompile(`^(?:\s*\$ |\s*)(?:[A-Z_]+=\S+ )*(shardcat [a-z-].*)$`)
	commandName   = regexp.MustCompile(`^[a-z]+$`)
	longFlag      = regexp.MustCompile(`^--([a-z][a-z0-9-]*)`)
)

// TestDocsNameCommandsThatExist: every command line in the pages names a command, and flags that it has.
func TestDocsNameCommandsThatExist(t *testing.T) {
	root := newApp(strings.NewReader(""), io.Discard, io.Discard).rootCommand()
	pages := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandsIn(string(text)) {
			lines++
			if why := unknownIn(root, line); why != "" {
				t.Errorf("%s: %s: %s", page, line, why)
			}
		}
	}
	for _, line := range []string{"shardcat scam t", "shardcat scan t --wehre 'a = 1'", "shardcat table altr t"} {
		if unknownIn(root, line) == "" {
			t.Errorf("%s passes", line)
		}
	}
	if lines < 200 {
		t.Errorf("%d command lines were found", lines)
	}
}

// commandsIn are the command lines of a page.
func commandsIn(text string) (found []string) {
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code || strings.HasPrefix(line, "    ") {
			if m := lineCommand.FindStringSubmatch(line); m != nil {
				found = append(found, m[1])
			}
			continue
		}
		for _, m := range inlineCommand.FindAllStringSubmatch(line, -1) {
			found = append(found, m[1])
		}
	}
	return found
}

// unknownIn reports what of a command line does not exist, "" if all does.
func unknownIn(root *cobra.Command, line string) string {
	words := strings.Fields(line)[1:]
	for i, w := range words { // what follows is another program's, or a remark
		if strings.ContainsAny(w, "|#>;&…") && !strings.HasPrefix(w, "'") || w == `\` {
			words = words[:i]
			break
		}
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.ToUpper(words[0]) == words[0] {
		return ""
	}
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root || cmd.HasSubCommands() && len(rest) > 0 && commandName.MatchString(rest[0]) {
		return "there is no such command"
	}
	for _, w := range words {
		if m := longFlag.FindStringSubmatch(w); m != nil && cmd.Flag(m[1]) == nil && m[1] != "help" {
			return "it has no flag --" + m[1]
		}
	}
	return ""
}
