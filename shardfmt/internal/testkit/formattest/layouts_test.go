package formattest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

var update = flag.Bool("update", false, "write the examples of the pages of the format anew")

// A layout on a page is a table of what stands where, behind a mark with its name; the example behind the table has the bytes of one
// such piece. Both are between these.
const (
	layoutMark   = "<!-- layout: "
	exampleMark  = "<!-- example: by go test ./shardfmt/internal/testkit/formattest -update -->\n"
	exampleEnd   = "<!-- /example -->\n"
	layoutHeader = "| offset | width | name | |\n|---|---|---|---|\n"
	exampleBytes = 64 // of a row, that an example shows
)

// example is a piece that a layout describes.
type example struct {
	about string
	b     []byte
	// n values of w bytes; fixed means that they are byte strings of one size.
	n, w  int
	fixed bool
}

// examples are the pieces of every layout.
func examples(t *testing.T) map[string][]example {
	t.Helper()
	number := func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	u32 := []uint32{100, 102, 105}
	i32 := []int32{-1, 2, -3}
	runs := []int32{7, 7, 7, 7, 9, 9}
	rare := []int32{0, 0, 0, 0, 5, 0, 0, -6}
	prices := []float64{1.25, 2.5, 1e300, 3}
	near := make([]float64, 12)
	for i := range near { // more left parts than a dictionary has entries
		near[i] = math.Ldexp(1, max(0, i-2))
	}
	text, offsets := []byte("redgreenred"), []int64{0, 3, 8, 11}
	long := []byte(strings.Repeat("GET /index.html ", 4))
	longOffsets := []int64{0, 16, 32, 48, 64}
	fixed := []byte("abcdabcdefgh")
	vectors := map[string][]byte{}
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, v := range f.Vectors {
			b, err := v.Data()
			if err != nil {
				t.Fatal(err)
			}
			vectors[v.Name] = b
		}
	}
	vector := func(name string) []byte {
		t.Helper()
		b := vectors[name]
		if b == nil {
			t.Fatalf("no vector %q", name)
		}
		return b
	}
	numbers := func(about string, n int, b []byte, err error) example {
		return example{about: about, b: number(b, err), n: n, w: 4}
	}
	plainOf := func(tree string) []byte { return number(encode.NumbersAs(nil, u32, nil, tree)) }
	var m colstream.MapBuilder
	m.Add(100, 200)
	m.Add(150, 248)
	m.Add(200, 304)
	valid := []byte{0b101}
	frame := meta.AppendFrame(nil, []byte{10, 1, 0})
	tail := append(meta.AppendFrame(nil, []byte{10, 1, 0}), 3, 0, 0, 0)
	dict := vector("strings, with an empty one")
	first, end := binary.LittleEndian.Uint64(dict[14:]), binary.LittleEndian.Uint64(dict[22:])
	as := func(tree string, vals []int32) example {
		b, err := encode.NumbersAs(nil, vals, nil, tree)
		return numbers(fmt.Sprintf("%s of the Int32 %s", tree, strings.Trim(fmt.Sprint(vals), "[]")), len(vals), b, err)
	}
	asFloats := func(tree string, vals []float64) example {
		b, err := encode.NumbersAs(nil, vals, nil, tree)
		return example{about: fmt.Sprintf("%s of the Float64 %s", tree, strings.Trim(fmt.Sprint(vals), "[]")), b: number(b, err), n: len(vals), w: 8}
	}
	asTexts := func(tree string, text []byte, offsets []int64) example {
		b, err := encode.BytesAs(nil, encode.Bytes{Data: text, Offsets: offsets}, tree)
		var all []string
		for i := range offsets[1:] {
			all = append(all, strconv.Quote(string(text[offsets[i]:offsets[i+1]])))
		}
		return example{about: tree + " of the strings " + strings.Join(all, " "), b: number(b, err), n: len(offsets) - 1}
	}
	asFixed := func(tree string) example {
		b, err := encode.BytesAs(nil, encode.Bytes{Data: fixed, Fixed: 4}, tree)
		return example{about: tree + ` of "abcd" "abcd" "efgh", of a fixed size of 4`, b: number(b, err), n: 3, fixed: true}
	}
	unsigned := func(tree string) example {
		b, err := encode.NumbersAs(nil, u32, nil, tree)
		return numbers(tree+" of the UInt32 100 102 105", 3, b, err)
	}
	nulls := []byte{3, 1, 0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 1, 0, 3, 0}
	present := make([]byte, 1)
	if n, err := block.DecodePresence(present, nulls, 5); err != nil || n != 2 || present[0] != 0b10101 {
		t.Fatalf("%d nulls, %b, %v", n, present, err)
	}
	return map[string][]example{
		"frame": {{about: "a message of three bytes", b: frame}},
		"tail":  {{about: "the end of a root whose directory has three bytes", b: append(tail, meta.Magic[:]...)}},
		"block": {
			{about: "two Int32, 7 and 9, without nulls", b: block.AppendFrame(nil, nil, number(encode.NumbersAs(nil, []int32{7, 9}, nil, "Plain")), true)},
			{about: "7, null, 9", b: block.AppendFrame(nil, encode.Presence(nil, valid, 3, true), number(encode.NumbersAs(nil, []int32{7, 7, 9}, nil, "Plain")), true)},
		},
		"presence-bitmap":  {{about: "the positions 1 and 3 are null", b: nulls}},
		"plain":            {unsigned("Plain")},
		"plain-bytes":      {asTexts("Plain", text, offsets), asFixed("Plain")},
		"single":           {as("SingleValue", []int32{7, 7, 7})},
		"packed":           {unsigned("FLBitPack")},
		"for":              {unsigned("FrameOfReference[Plain]")},
		"fused":            {unsigned("FusedFrameOfReference")},
		"delta":            {unsigned("Delta[Plain]")},
		"runs":             {as("RunLength[raw, raw]", runs)},
		"truncate":         {as("TruncateU8[raw]", i32), as("ZigZag[Plain]", i32)},
		"alp":              {asFloats("Alp[Plain]", prices)},
		"alprd":            {asFloats("AlpRd[Plain, Plain]", near)},
		"dictionary":       {as("BlockDictionary[Plain, raw]", runs)},
		"dictionary-bytes": {asTexts("BlockDictionary[Plain, raw]", text, offsets)},
		"fsst":             {asTexts("Fsst[raw]", long, longOffsets)},
		"compressed":       {as("Lz4", runs)},
		"compressed-bytes": {asTexts("Lz4[raw]", text, offsets), asFixed("Zstd")},
		"sparse":           {as("Sparse[raw, raw]", rare)},
		"named":            {{about: "Plain codes 0 1 2 of the dictionary 7", b: append([]byte{0, 1, 0, 0, 7, 0, 0, 0}, plainOf("Plain")...)}},
		"map":              {{about: "three blocks of 100, 150 and 200 values in 200, 248 and 304 bytes", b: m.Append(nil)}},
		"values":           {{about: `a dictionary of "red", "green" and ""`, b: dict}},
		"section":          {{about: "the values of the same dictionary", b: dict[first:end]}},
		"range-index":      {{about: "300 positions of Int32, none null", b: vector("300 positions, none null")}},
		"super-block":      {{about: "one member, five positions, no struct null", b: vector("one member, no struct null")}},
	}
}

// row is one row of a layout.
type row struct{ offset, width, name, text string }

// walker reads a piece by the rows of a layout.
type walker struct {
	example
	at   int
	vars map[string]int
	out  bytes.Buffer
}

var (
	padded  = regexp.MustCompile(`^\*pad\*(?: to a multiple of (\d+)(?: less (\d+))?)?$`)
	symbol  = regexp.MustCompile(`, \*([a-z])\*$`)
	product = regexp.MustCompile(`^(\d*)([a-z]?)(.*)$`)
)

// value is what an expression of a page stands for: sums and products of numbers, variables, 8(n+1), k·p/8 and ⌈n/1024⌉.
func (w *walker) value(expr string) (int, error) {
	expr = strings.NewReplacer(" ", "", "⌈n/1024⌉", "c", "(n+1)", "o", "(s+1)", "z").Replace(expr)
	total := 0
	for _, term := range strings.Split(expr, "+") {
		part := 1
		term, divisor, divided := strings.Cut(term, "/")
		for _, factor := range strings.Split(term, "·") {
			m := product.FindStringSubmatch(factor)
			if m[3] != "" || m[1]+m[2] == "" {
				return 0, fmt.Errorf("%q is not a width", expr)
			}
			if m[1] != "" {
				k, err := strconv.Atoi(m[1])
				if err != nil {
					return 0, err
				}
				part *= k
			}
			if m[2] != "" {
				v, known := w.vars[m[2]]
				if !known {
					return 0, fmt.Errorf("%q has no value yet", m[2])
				}
				part *= v
			}
		}
		if divided {
			k, err := strconv.Atoi(divisor)
			if err != nil {
				return 0, err
			}
			part /= k
		}
		total += part
	}
	return total, nil
}

// width is how many bytes a row has; behind are the rows that follow.
func (w *walker) width(r row, behind []row) (int, error) {
	if m := padded.FindStringSubmatch(r.name); m != nil {
		multiple, less := 8, 0
		if m[1] != "" {
			multiple, _ = strconv.Atoi(m[1])
		}
		if m[2] != "" {
			less, _ = strconv.Atoi(m[2])
		}
		pad := (multiple - (w.at+less)%multiple) % multiple
		if r.width != "" && r.width != strconv.Itoa(pad) {
			return 0, fmt.Errorf("%s bytes of padding, %d are due", r.width, pad)
		}
		return pad, nil
	}
	if r.width != "rest" {
		return w.value(r.width)
	}
	rest := len(w.b) - w.at
	for _, b := range behind {
		n, err := w.value(b.width)
		if err != nil {
			return 0, err
		}
		rest -= n
	}
	return rest, nil
}

// read takes the rows of a layout for what the piece has, all of it.
func (w *walker) read(rows []row) error {
	w.vars = map[string]int{"n": w.n, "w": w.w, "c": (w.n + 1023) / 1024, "o": w.n + 1}
	for i, r := range rows {
		if w.fixed && strings.Contains(r.text, "none for a fixed size") {
			continue
		}
		if r.offset != "" && r.offset[0] != 'H' {
			if at, err := w.value(r.offset); err != nil || at != w.at {
				return fmt.Errorf("row %q: at %d, not %s (%v)", r.name, w.at, r.offset, err)
			}
		}
		n, err := w.width(r, rows[i+1:])
		if err == nil && (n < 0 || w.at+n > len(w.b)) {
			err = fmt.Errorf("%d bytes at %d of %d", n, w.at, len(w.b))
		}
		if err != nil {
			return fmt.Errorf("row %q: %w", r.name, err)
		}
		w.note(r, w.b[w.at:w.at+n])
		if m := symbol.FindStringSubmatch(r.name); m != nil {
			w.vars[m[1]] = int(number(w.b[w.at : w.at+n]))
		}
		pads := strings.HasPrefix(r.name, "*pad*") || r.name == "zeros"
		if pads && len(bytes.Trim(w.b[w.at:w.at+n], "\x00")) > 0 {
			return fmt.Errorf("row %q: %x", r.name, w.b[w.at:w.at+n])
		}
		w.at += n
	}
	if w.at != len(w.b) {
		return fmt.Errorf("the rows have %d bytes of %d", w.at, len(w.b))
	}
	return nil
}

// number is a little-endian number of up to eight bytes.
func number(b []byte) (v uint64) {
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// note writes the line of a row that has bytes.
func (w *walker) note(r row, b []byte) {
	if len(b) == 0 {
		return
	}
	name := strings.ReplaceAll(symbol.ReplaceAllString(r.name, ", $1"), "*", "")
	if m := padded.FindStringSubmatch(r.name); m != nil {
		name = "padding"
	}
	if len(b) <= 8 && !slices.Contains([]string{"padding", "zeros", "code", "magic", "value", "values", "minimum", "first value"}, name) && w.single(r) && !strings.HasPrefix(name, "checksum ") && name != "checksum" {
		name += fmt.Sprintf(": %d", number(b))
	}
	at, shown := w.at, b[:min(len(b), exampleBytes)]
	if len(bytes.Trim(b, "\x00")) == 0 && len(b) > noteBytes {
		fmt.Fprintf(&w.out, "%3d  %-32s  %s\n", at, fmt.Sprintf("00 × %d", len(b)), name)
		return
	}
	for line := range slices.Chunk(shown, noteBytes) {
		fmt.Fprintln(&w.out, strings.TrimRight(fmt.Sprintf("%3d  %-32s  %s", at, hex.EncodeToString(line), name), " "))
		at, name = at+len(line), ""
	}
	if len(b) > len(shown) {
		fmt.Fprintf(&w.out, "%3d  … %d more bytes\n", at, len(b)-len(shown))
	}
}

// single reports whether a row is one number: a width that is not a variable.
func (w *walker) single(r row) bool {
	_, err := strconv.Atoi(r.width)
	return err == nil
}

// layoutRows are the rows of the table at the start of a text, and how long it is.
func layoutRows(text string) (rows []row, size int) {
	for line := range strings.Lines(text[len(layoutHeader):]) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		size += len(line)
		c := strings.Split(strings.TrimSpace(line), "|")
		rows = append(rows, row{strings.TrimSpace(c[1]), strings.TrimSpace(c[2]), strings.TrimSpace(c[3]), strings.TrimSpace(c[4])})
	}
	return rows, size + len(layoutHeader)
}

// exampleOf is the text of the examples of a layout.
func exampleOf(rows []row, all []example) (string, error) {
	var out strings.Builder
	out.WriteString("\n" + exampleMark + "```text\n")
	for i, e := range all {
		if i > 0 {
			out.WriteByte('\n')
		}
		w := walker{example: e}
		if err := w.read(rows); err != nil {
			return "", fmt.Errorf("%s: %w", e.about, err)
		}
		fmt.Fprintf(&out, "%s\n%s", e.about, w.out.String())
	}
	out.WriteString("```\n" + exampleEnd)
	return out.String(), nil
}

// pageWithExamples returns a page with its examples recreated, and the layouts that it has.
func pageWithExamples(t *testing.T, text string, all map[string][]example) (out string, names []string) {
	t.Helper()
	var b strings.Builder
	for {
		at := strings.Index(text, layoutHeader)
		if at < 0 {
			return b.String() + text, names
		}
		name := ""
		if mark := strings.LastIndex(text[:at], layoutMark); mark >= 0 && strings.Count(text[mark:at], "\n") == 1 {
			name, _, _ = strings.Cut(text[mark+len(layoutMark):], " -->")
		}
		rows, size := layoutRows(text[at:])
		b.WriteString(text[:at+size])
		if text = text[at+size:]; name == "" {
			t.Errorf("a table of offsets without a mark, of %q", rows[0].name)
			continue
		}
		names = append(names, name)
		if rest, found := strings.CutPrefix(text, "\n"+exampleMark); found {
			_, text, _ = strings.Cut(rest, exampleEnd)
		}
		made, err := exampleOf(rows, all[name])
		if err != nil || len(all[name]) == 0 {
			t.Errorf("layout %s: %v, %d examples", name, err, len(all[name]))
			continue
		}
		b.WriteString(made)
	}
}

// Every table of offsets on the pages reads a piece that is written, to its last byte, and its example is that piece.
func TestLayoutsOfPages(t *testing.T) {
	pages, err := filepath.Glob("../../../../docs/format/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all, seen := examples(t), map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		want, names := pageWithExamples(t, string(text), all)
		for _, name := range names {
			seen[name] = true
		}
		switch {
		case want == string(text) || t.Failed():
		case *update:
			if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("an example in %s is not what is written: go test ./shardfmt/internal/testkit/formattest -update", filepath.Base(page))
		}
	}
	for name := range all {
		if !seen[name] {
			t.Errorf("no page has the layout %s", name)
		}
	}
}
