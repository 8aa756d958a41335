package formattest

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
)

// note reports what the bytes [start, end) of an object are.
type note struct {
	start, end int
	text       string
}

// noteBytes is how many bytes stand in a line of a note.
const noteBytes = 16

// print writes the lines of a note.
func (n note) print(w io.Writer, b []byte) {
	b = b[n.start:n.end]
	if len(b) > noteBytes && len(bytes.Trim(b, "\x00")) == 0 {
		fmt.Fprintf(w, "%06x  %-32s  %s\n", n.start, fmt.Sprintf("00 × %d", len(b)), n.text)
		return
	}
	for at := 0; at < len(b); at += noteBytes {
		line := fmt.Sprintf("%06x  %s", n.start+at, hex.EncodeToString(b[at:min(at+noteBytes, len(b))]))
		if at == 0 {
			line = fmt.Sprintf("%-40s  %s", line, n.text)
		}
		fmt.Fprintln(w, line)
	}
}

// annotator collects notes on an object.
type annotator struct {
	b     []byte
	notes []note
	err   error
}

// add reports what n bytes at an offset are. A second note on the same bytes is left out: FlatBuffers share parts.
func (a *annotator) add(at, n int, format string, args ...any) {
	if at < 0 || n < 0 || at+n > len(a.b) {
		a.fail("a note on bytes %d to %d of %d", at, at+n, len(a.b))
		return
	}
	if !slices.ContainsFunc(a.notes, func(o note) bool { return o.start == at && o.end == at+n }) && n > 0 {
		a.notes = append(a.notes, note{at, at + n, fmt.Sprintf(format, args...)})
	}
}

func (a *annotator) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// finish gives the notes in order, with padding between them; every byte has exactly one, and padding is zero.
func (a *annotator) finish() ([]note, error) {
	if a.err != nil {
		return nil, a.err
	}
	slices.SortFunc(a.notes, func(x, y note) int { return cmp.Compare(x.start, y.start) })
	var out []note
	at := 0
	for _, n := range append(a.notes, note{start: len(a.b), end: len(a.b)}) {
		if n.start < at {
			return nil, fmt.Errorf("two notes on byte %d: %s", n.start, n.text)
		}
		if gap := a.b[at:n.start]; len(gap) > 0 {
			if len(bytes.Trim(gap, "\x00")) > 0 {
				return nil, fmt.Errorf("no note on bytes %d to %d: %x", at, n.start, gap)
			}
			out = append(out, note{at, n.start, "padding"})
		}
		if n.end > n.start {
			out = append(out, n)
		}
		at = n.end
	}
	return out, nil
}
