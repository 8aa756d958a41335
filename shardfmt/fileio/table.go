package fileio

import (
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/mattn/go-runewidth"

	"github.com/shardcat/shardcat/internal/sanitize"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// tableSink prints records for people, in columns, page by page. Each page is measured before it is printed, so
// that a value that has one form only (a number, a time, an identifier) is always printed whole; text is cut and
// ends in an ellipsis where the terminal has no space. Columns that a terminal has no space for at all are left out
// and named at the end.
type tableSink struct {
	w       io.Writer
	options SinkOptions
	render  *renderer
	names   []string
	right   []bool // numbers stand at the right
	whole   []bool // never cut
	// rows of the page that is being filled, as text.
	rows   [][]string
	widths []int
	// printed: a page was. shown is how many columns it had.
	printed bool
	shown   int
	buf     []byte
}

// tablePage is how many records are measured together where no terminal reports how high a page is.
const tablePage = 200

// Widths in characters: no column of text is squeezed to less than minText, and without a terminal none gets more
// than maxText.
const (
	minText   = 8
	maxText   = 120
	columnGap = 2
)

// terminal measures text as terminals show it: wide characters take two columns, accents none.
var terminal = &runewidth.Condition{StrictEmojiNeutral: true}

// more stands in the place of the columns that have no space.
const more = "…"

func newTableSink(w io.Writer, s *schema.Schema, o SinkOptions) *tableSink {
	t := &tableSink{w: w, options: o, render: newRenderer(o)}
	for _, f := range s.Fields {
		t.names = append(t.names, sanitize.Line(f.Name))
		number := f.Basic >= schema.Int8 && f.Basic <= schema.Float64 && !f.IsTimeSpan() || f.IsDecimal()
		t.right = append(t.right, number)
		t.whole = append(t.whole, number || f.IsTimeSpan() || f.Basic == schema.DateTime || f.Basic == schema.Guid || f.Basic == schema.Boolean)
	}
	t.widths = make([]int, len(t.names))
	if t.options.PageRows <= 0 {
		t.options.PageRows = tablePage
	}
	return t
}

// Write implements Sink.
func (t *tableSink) Write(batch arrow.RecordBatch) error {
	plain := make([]render, batch.NumCols())
	for i := range plain {
		plain[i] = t.render.plain(batch.Column(i))
	}
	var text []byte
	for row := range int(batch.NumRows()) {
		cells := make([]string, len(plain))
		for i := range plain {
			cells[i] = "null"
			if !arrowtype.IsNull(batch.Column(i), row) {
				text = plain[i](text[:0], row)
				cells[i] = sanitize.Line(string(text))
			}
		}
		if t.rows = append(t.rows, cells); len(t.rows) == t.options.PageRows {
			if err := t.page(); err != nil {
				return err
			}
		}
	}
	return nil
}

// page prints the rows gathered so far, below the names of their columns where these are out of sight or have
// moved.
func (t *tableSink) page() error {
	before := t.widths
	t.measure()
	t.squeeze()
	moved := !slices.Equal(before, t.widths)
	if !t.printed || moved || t.options.Width > 0 {
		t.line(t.names, ' ')
		t.line(make([]string, len(t.names)), '─')
	}
	for _, cells := range t.rows {
		t.line(cells, ' ')
	}
	t.printed, t.rows = true, t.rows[:0]
	_, err := t.w.Write(t.buf)
	t.buf = t.buf[:0]
	return err
}

// measure gives each column the space that its name, this page and those before it need.
func (t *tableSink) measure() {
	t.widths = slices.Clone(t.widths)
	for i, name := range t.names {
		t.widths[i] = max(t.widths[i], t.room(i, name))
	}
	for _, cells := range t.rows {
		for i, cell := range cells {
			t.widths[i] = max(t.widths[i], t.room(i, cell))
		}
	}
}

// room is what a cell of column i may take.
func (t *tableSink) room(i int, cell string) int {
	n := terminal.StringWidth(cell)
	if t.whole[i] || t.options.Whole {
		return n
	}
	return min(n, maxText)
}

// squeeze takes space from the widest columns of text until the table fits the terminal or they can give no more,
// and then leaves out the last columns.
func (t *tableSink) squeeze() {
	t.shown = len(t.widths)
	if t.options.Width <= 0 || t.options.Whole {
		return
	}
	total := -columnGap
	for _, w := range t.widths {
		total += w + columnGap
	}
	for ; total > t.options.Width; total-- {
		widest := -1
		for i, w := range t.widths {
			if !t.whole[i] && w > minText && (widest < 0 || w > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			t.leaveOut()
			return
		}
		t.widths[widest]--
	}
}

// leaveOut keeps the first columns, with space for the mark behind them.
func (t *tableSink) leaveOut() {
	room := t.options.Width - columnGap - terminal.StringWidth(more)
	t.shown = 0
	for _, w := range t.widths {
		if room -= w; room < 0 && t.shown > 0 {
			return
		}
		room -= columnGap
		t.shown++
	}
}

// line appends one line of cells; what a cell leaves free is filled.
func (t *tableSink) line(cells []string, filler rune) {
	for i, cell := range cells[:t.shown] {
		if i > 0 {
			t.buf = append(t.buf, "  "...)
		}
		cell = terminal.Truncate(cell, t.widths[i], more)
		free := t.widths[i] - terminal.StringWidth(cell)
		if !t.right[i] {
			t.buf = append(t.buf, cell...)
		}
		if t.right[i] || filler != ' ' || i < t.shown-1 {
			for range free {
				t.buf = append(t.buf, string(filler)...)
			}
		}
		if t.right[i] {
			t.buf = append(t.buf, cell...)
		}
	}
	if t.shown < len(cells) {
		t.buf = append(append(t.buf, "  "...), more...)
	}
	t.buf = append(t.buf, '\n')
}

// Close implements Sink.
func (t *tableSink) Close() error {
	if len(t.rows) > 0 || !t.printed {
		if err := t.page(); err != nil {
			return err
		}
	}
	if t.shown < len(t.names) {
		t.options.Warn(fmt.Sprintf("%d of %d columns fit; --select chooses others, --all prints all", t.shown, len(t.names)))
	}
	return nil
}
