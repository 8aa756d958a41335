package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// The fragments of the record (page/) and of the page for users (summary/), in the order of their names. One that begins with
//
//	recorded: 2026-11-23
//	command: what made its figures
//
// and an empty line is taken as it is, and its date and command are shown below its first heading: its figures cost too much
// to take them again each time. Any other is a template whose functions make tables and figures from results.
//
//go:embed page/*.md summary/*.md
var fragments embed.FS

// rendered is what the command writes: the page for users, the record behind it, and the plots beside the page by name.
type rendered struct {
	page, record string
	plots        map[string]string
}

// render makes the pages and their plots.
func render(r *Results) (out rendered, err error) {
	v := &view{r: r, plots: map[string]string{}}
	if out.page, err = v.join("summary"); err == nil {
		out.record, err = v.join("page")
	}
	out.plots = v.plots
	return out, err
}

// join renders the fragments of a folder one after the other.
func (v *view) join(folder string) (string, error) {
	names, err := fs.Glob(fragments, folder+"/*.md")
	if err != nil {
		return "", err
	}
	var parts []string
	for _, name := range names {
		b, err := fragments.ReadFile(name)
		if err != nil {
			return "", err
		}
		text, err := v.fragment(path.Base(name), string(b))
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text+"\n")
		}
	}
	return strings.Join(parts, "\n"), nil
}

// view makes what templates request.
type view struct {
	r     *Results
	plots map[string]string
}

// fragment renders one fragment.
func (v *view) fragment(name, text string) (string, error) {
	if strings.HasPrefix(text, "recorded:") {
		return recorded(text)
	}
	t, err := template.New(name).Option("missingkey=error").Funcs(v.functions()).Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, nil)
	return out.String(), err
}

// recorded puts the date and the command of a recorded fragment below its heading.
func recorded(text string) (string, error) {
	head, body, ok := strings.Cut(text, "\n\n")
	date, command, ok2 := strings.Cut(strings.TrimPrefix(head, "recorded:"), "\ncommand:")
	if !ok || !ok2 {
		return "", fmt.Errorf("no lines recorded: and command: before the first empty one")
	}
	day, err := time.Parse(time.DateOnly, strings.TrimSpace(date))
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(command) == "" {
		return "", fmt.Errorf("no command")
	}
	title, rest, ok := strings.Cut(strings.TrimSpace(body), "\n")
	if !ok || !strings.HasPrefix(title, "#") {
		return "", fmt.Errorf("no heading")
	}
	return fmt.Sprintf("%s\n\n*Recorded on %s, not with the rest of the page:* %s\n%s", title, day.Format(time.DateOnly),
		strings.TrimSpace(command), rest), nil
}

// write writes the page with its plots beside it, and the record.
func (out rendered) write(page, record string) error {
	for plot, svg := range out.plots {
		if err := os.WriteFile(filepath.Join(filepath.Dir(page), plot), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(record, []byte(out.record), 0o644); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(out.page), 0o644)
}
