package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/shardcat/shardcat/catalog"
	shardsql "github.com/shardcat/shardcat/clients/sql"
)

const commands = `SQL statements end with a semicolon. Ctrl-C cancels the running query or the current line, Ctrl-D exits.
  .tables         names of the tables
  .schema TABLE   columns and their types
  .format FORMAT  table, ndjson or csv
  .explain        toggle printing what was read after each query
  .help           print this help
  .quit           exit
`

// The second stands before the further lines of a statement.
const prompt, promptMore = "shardcat> ", "     ...> "

// screen joins the two directions of a terminal.
type screen struct {
	io.Reader
	io.Writer
}

// keys are those of a person, of whom Ctrl-C takes back the line: to the terminal it would be the end.
type keys struct{ io.Reader }

// Read implements io.Reader.
func (k keys) Read(p []byte) (int, error) {
	const ctrlC, ctrlU = 3, 21
	n, err := k.Reader.Read(p)
	for i := range p[:n] {
		if p[i] == ctrlC {
			p[i] = ctrlU
		}
	}
	return n, err
}

// prompt asks a person, whose lines can be edited and called back, until the input ends.
func (s *session) prompt(ctx context.Context, in io.Reader) error {
	keyboard := int(in.(*os.File).Fd())
	lines := term.NewTerminal(screen{keys{in}, s.out}, prompt)
	fmt.Fprintln(s.out, "shardcat-sql; type .help for help")
	for pending := ""; ; {
		if pending == "" {
			lines.SetPrompt(prompt)
		} else {
			lines.SetPrompt(promptMore)
		}
		line, err := s.line(keyboard, lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if pending == "" && strings.HasPrefix(strings.TrimSpace(line), ".") {
			if s.command(ctx, strings.Fields(line)) {
				return nil
			}
			continue
		}
		statements, rest := shardsql.Statements(pending + line + "\n")
		for _, statement := range statements {
			s.tell(s.interruptible(ctx, statement))
		}
		pending = rest
		if pending != "" {
			pending += "\n"
		}
	}
}

// line reads a line. The terminal is only then under its control, so that Ctrl-C ends what runs meanwhile.
func (s *session) line(keyboard int, lines *term.Terminal) (string, error) {
	before, err := term.MakeRaw(keyboard)
	if err != nil {
		return "", err
	}
	defer term.Restore(keyboard, before)
	if w, h, err := term.GetSize(keyboard); err == nil {
		lines.SetSize(w, h)
	}
	return lines.ReadLine()
}

func (s *session) tell(err error) {
	if err != nil {
		fmt.Fprintln(s.log, "error:", err)
	}
}

// command does what a line with a dot asks; end means that it is to end.
func (s *session) command(ctx context.Context, words []string) (end bool) {
	argument := strings.Join(words[1:], " ")
	switch words[0] {
	case ".quit", ".exit":
		return true
	case ".tables":
		s.tell(s.tables(ctx))
	case ".schema":
		s.tell(s.interruptible(ctx, "DESCRIBE SELECT * FROM "+shardsql.Function+"('"+strings.ReplaceAll(argument, "'", "''")+"')"))
	case ".format":
		if argument != "table" && argument != "ndjson" && argument != "csv" {
			s.tell(fmt.Errorf("%w: .format must be table, ndjson or csv", errUsage))
			break
		}
		s.format = argument
	case ".explain":
		s.explain = !s.explain
		fmt.Fprintln(s.out, "explain:", s.explain)
	case ".help":
		fmt.Fprint(s.out, commands)
	default:
		s.tell(fmt.Errorf("%w: unknown command %s; type .help for help", errUsage, words[0]))
	}
	return false
}

// tables prints the names of all tables.
func (s *session) tables(ctx context.Context) error {
	names, err := s.catalog.Tables(ctx, "")
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.Namespace == catalog.DefaultNamespace {
			fmt.Fprintln(s.out, n.Table)
		} else {
			fmt.Fprintln(s.out, n)
		}
	}
	return nil
}
