package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/shardcat/shardcat/internal/sanitize"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// output is standard output. It keeps the first error, so that a command whose words got lost does not end as if
// they had been read; and where it is a terminal, names and values can't steer it.
type output struct {
	to   io.Writer
	text io.Writer // to, cleaned for a terminal
	err  error
}

func newOutput(to io.Writer) *output {
	o := &output{to: to, text: to}
	if isTerminal(to) {
		o.text = &sanitize.Writer{To: to}
	}
	return o
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	_, o.err = o.text.Write(p)
	if o.err != nil {
		return 0, o.err
	}
	return len(p), nil
}

// isTerminal reports whether a person is looking.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (a *app) stdoutIsTerminal() bool { return isTerminal(a.stdout.to) }

// terminalSize is the size of stdout in characters, zeros if it is not a terminal.
func (a *app) terminalSize() (width, height int) {
	f, ok := a.stdout.to.(*os.File)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// printJSON writes one JSON document to stdout.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	if a.stdoutIsTerminal() {
		e.SetIndent("", "  ")
	}
	return e.Encode(v)
}

// printf writes text for a person. What names and values hold besides text does not pass.
func (a *app) printf(format string, args ...any) {
	io.WriteString(a.stdout, sanitize.Lines(fmt.Sprintf(format, args...)))
}

// warn prints on stderr what could not be done as requested, or was done in passing.
func (a *app) warn(message string) {
	fmt.Fprintln(a.stderr, "shardcat: note: "+sanitize.Line(message))
}

// failure is the JSON form of the error that a command ended with.
type failure struct {
	Error failureDetail `json:"error"`
}

type failureDetail struct {
	Code    int    `json:"code"` // the exit code
	Class   string `json:"class"`
	Message string `json:"message"`
	// See is a command line whose output helps.
	See string `json:"see,omitempty"`
}

// printError writes the error that a command ends with to stderr: one line, or one JSON document.
func (a *app) printError(err error, code int) {
	see := ""
	if code == exitUsage {
		see = a.command + " --help"
	}
	if a.json {
		line, _ := json.Marshal(failure{failureDetail{code, className(code), oneLine(err), see}})
		fmt.Fprintln(a.stderr, string(line))
		return
	}
	fmt.Fprintln(a.stderr, "shardcat: "+oneLine(err))
	if at := filter.Caret(a.where, err); at != "" {
		fmt.Fprintln(a.stderr, "  "+strings.ReplaceAll(at, "\n", "\n  "))
	}
	if see != "" {
		fmt.Fprintln(a.stderr, "see: "+see)
	}
}

// oneLine is an error's text without line breaks.
func oneLine(err error) string {
	text := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
	return sanitize.Line(text)
}
