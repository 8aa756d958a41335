package foreign

import (
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// tableSink prints records for people, in columns. The width of a column is that of its widest value among
// the first records, as far as the terminal has room; longer values are cut and end in an ellipsis.
type tableSink struct {
	w      io.Writer
	width  int
	render renderer
	names  []string
	right  []bool // numbers stand at the right
	// rows are those held back until the widths are known; nil from then on.
	rows   [][]string
	widths []int
	buf    []byte
}

// tableSample is how many records are looked at before the first is printed.
const tableSample = 200

// Widths of a column in characters: no name or value needs less room than the first, and without a
// terminal none gets more than the second.
const (
	minColumn = 4
	maxColumn = 120
	columnGap = 2
)

func newTableSink(w io.Writer, s *schema.Schema, o SinkOptions) *tableSink {
	t := &tableSink{w: w, width: o.Width, render: renderer{guidOrder: o.GuidOrder, warn: o.Warn}, rows: [][]string{}}
	for _, f := range s.Fields {
		t.names = append(t.names, printable(f.Name))
		t.right = append(t.right, f.Basic >= schema.Int8 && f.Basic <= schema.Float64 && !f.IsTimeSpan() || f.IsDecimal())
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
			if !isNull(batch.Column(i), row) {
				text = plain[i](text[:0], row)
				cells[i] = printable(string(text))
			}
		}
		if t.rows == nil {
			t.line(cells, ' ')
			continue
		}
		if t.rows = append(t.rows, cells); len(t.rows) == tableSample {
			t.begin()
		}
	}
	return t.flush()
}

// begin fixes the widths and prints what was held back.
func (t *tableSink) begin() {
	t.widths = make([]int, len(t.names))
	for _, cells := range append([][]string{t.names}, t.rows...) {
		for i, cell := range cells {
			t.widths[i] = max(t.widths[i], min(utf8.RuneCountInString(cell), maxColumn))
		}
	}
	t.squeeze()
	t.line(t.names, ' ')
	t.line(make([]string, len(t.names)), '─')
	for _, cells := range t.rows {
		t.line(cells, ' ')
	}
	t.rows = nil
}

// squeeze takes room from the widest columns until the table fits the terminal, or no column can give more.
func (t *tableSink) squeeze() {
	if t.width <= 0 {
		return
	}
	total := -columnGap
	for _, w := range t.widths {
		total += w + columnGap
	}
	for ; total > t.width; total-- {
		widest := 0
		for i, w := range t.widths {
			if w > t.widths[widest] {
				widest = i
			}
		}
		if t.widths[widest] <= minColumn {
			return
		}
		t.widths[widest]--
	}
}

// line appends one line of cells; what a cell leaves free is filled.
func (t *tableSink) line(cells []string, filler rune) {
	for i, cell := range cells {
		if i > 0 {
			t.buf = append(t.buf, "  "...)
		}
		cell = cut(cell, t.widths[i])
		free := t.widths[i] - utf8.RuneCountInString(cell)
		if !t.right[i] {
			t.buf = append(t.buf, cell...)
		}
		if t.right[i] || filler != ' ' || i < len(cells)-1 {
			for range free {
				t.buf = utf8.AppendRune(t.buf, filler)
			}
		}
		if t.right[i] {
			t.buf = append(t.buf, cell...)
		}
	}
	t.buf = append(t.buf, '\n')
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n--; n == 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// printable replaces what would move the cursor of a terminal, or worse.
func printable(s string) string {
	clean := true
	for _, r := range s {
		clean = clean && unicode.IsPrint(r)
	}
	if clean {
		return s
	}
	out := make([]rune, 0, len(s))
	for _, r := range s {
		switch {
		case r == '\n':
			r = '⏎'
		case !unicode.IsPrint(r):
			r = '·'
		}
		out = append(out, r)
	}
	return string(out)
}

func (t *tableSink) flush() error {
	_, err := t.w.Write(t.buf)
	t.buf = t.buf[:0]
	return err
}

// Close implements Sink.
func (t *tableSink) Close() error {
	if t.rows != nil {
		t.begin()
	}
	return t.flush()
}
