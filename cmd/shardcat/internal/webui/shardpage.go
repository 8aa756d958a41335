package webui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/inspect"
)

// shardData is what the page of a shard shows.
type shardData struct {
	Table  string
	Entry  *manifest.Entry
	Layout *layout
	// Whole: the data was read, so that the encodings of blocks are known.
	Whole bool
	Rows  *sample
}

// readWhole bounds the shards whose data is read for a page, which has the encoding of every block.
const readWhole = 16 << 20

func (h *Console) shard(w http.ResponseWriter, r *http.Request, memory int64) {
	t, _, ok := h.load(w, r)
	if !ok {
		return
	}
	e, err := liveShard(r.Context(), t, r.FormValue("root"))
	if err != nil {
		h.fail(w, http.StatusNotFound, err.Error())
		return
	}
	d := shardData{Table: t.Name().String(), Entry: e, Whole: e.StoredBytes <= readWhole}
	p := page{Title: path.Base(e.Path), ReadOnly: !h.allowed(r)}
	detail := inspect.Encodings
	if d.Whole {
		detail = inspect.Blocks
	}
	seen, err := t.Inspect(r.Context(), e, detail, memory/2)
	if err == nil {
		d.Layout = newLayout(seen)
		d.Rows, err = firstRows(r.Context(), t, e, memory/2)
	}
	if err != nil {
		p.Error = err.Error()
	}
	p.Data = d
	h.render(w, http.StatusOK, "shard.html", p)
}

// liveShard finds a root among the table's own: a request can't make the server open anything else.
func liveShard(ctx context.Context, t *catalog.Table, root string) (*manifest.Entry, error) {
	for e, err := range t.BriefEntries(ctx, catalog.At{}, nil) {
		if err != nil {
			return nil, err
		}
		if e.Path == root {
			return e, nil
		}
	}
	return nil, fmt.Errorf("table %s has no live shard %q", t.Name(), root)
}

// layout reports where the bytes of a shard are.
type layout struct {
	Fields  []fieldLine
	Stripes []stripeLine
	// More counts stripes that are not listed, Bytes are those of all fields.
	More  int
	Bytes int64
}

// fieldLine is a field, with its bytes in all stripes.
type fieldLine struct {
	Name, Type string
	Bytes      int64
	Share      float64
	// Buffers are their kinds, Encodings those of their blocks, the most frequent first.
	Buffers, Encodings string
	// Class is the colour in the pictures of stripes; fields beyond the largest share one.
	Class string
}

// stripeLine is a stripe, drawn as a bar of the widest one's length.
type stripeLine struct {
	Number            int
	Position, Records uint64
	Deleted           uint64
	Bytes             int64
	Parts             []part
}

// part is a field's share of a stripe, in thousandths of the largest stripe.
type part struct {
	X, Width int
	Class    string
	Label    string
}

const (
	// maxFields and maxStripes bound the page of a wide or long shard.
	maxFields, maxStripes = 500, 100
	// colours is how many fields have one of their own.
	colours = 8
)

// newLayout sums up what an inspection found.
func newLayout(x *inspect.Inspection) *layout {
	l := &layout{}
	perStripe := map[string][]int64{}
	for name, f := range x.Fields {
		line, sizes := fieldOf(name, f)
		perStripe[name] = sizes
		l.Bytes += line.Bytes
		l.Fields = append(l.Fields, line)
	}
	slices.SortFunc(l.Fields, func(a, b fieldLine) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	for i := range l.Fields {
		l.Fields[i].Share = float64(l.Fields[i].Bytes) / float64(max(1, l.Bytes))
		l.Fields[i].Class = fmt.Sprint("f", min(i, colours))
	}
	l.stripes(x, perStripe)
	l.Fields = l.Fields[:min(len(l.Fields), maxFields)]
	return l
}

func fieldOf(name string, f *inspect.Field) (fieldLine, []int64) {
	line, sizes := fieldLine{Name: name, Type: f.Type}, make([]int64, len(f.Stripes))
	kinds, plans := map[string]int{}, map[string]int{}
	for i, s := range f.Stripes {
		if s == nil {
			continue
		}
		for _, enc := range s.Encodings {
			for _, b := range enc.Buffers {
				sizes[i] += b.Size
				kinds[b.Kind]++
				for plan, n := range b.Plans {
					plans[plan] += n
				}
			}
		}
		line.Bytes += sizes[i]
	}
	line.Buffers, line.Encodings = frequent(kinds), frequent(plans)
	return line, sizes
}

// frequent names the most frequent of what was counted.
func frequent(counts map[string]int) string {
	const shown = 4
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	if n := len(names) - shown; n > 0 {
		names = append(names[:shown], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// stripes draws the first stripes by the fields in the order of their sizes.
func (l *layout) stripes(x *inspect.Inspection, sizes map[string][]int64) {
	largest := int64(1)
	for i, s := range x.Stripes[:min(len(x.Stripes), maxStripes)] {
		line := stripeLine{Number: i, Position: s.Position, Records: s.Records, Deleted: s.DeletedRecords}
		for _, f := range l.Fields {
			line.Bytes += sizeAt(sizes[f.Name], i)
		}
		largest = max(largest, line.Bytes)
		l.Stripes = append(l.Stripes, line)
	}
	l.More = len(x.Stripes) - len(l.Stripes)
	for i := range l.Stripes {
		l.Stripes[i].draw(l.Fields, sizes, largest)
	}
}

func sizeAt(sizes []int64, stripe int) int64 {
	if stripe < len(sizes) {
		return sizes[stripe]
	}
	return 0
}

// draw cuts the bar of a stripe into fields; those without a colour of their own are one part.
func (s *stripeLine) draw(fields []fieldLine, sizes map[string][]int64, largest int64) {
	before, rest := int64(0), int64(0)
	add := func(n int64, class, name string) {
		x := int(1000 * before / largest)
		before += n
		if width := int(1000*before/largest) - x; width > 0 {
			s.Parts = append(s.Parts, part{X: x, Width: width, Class: class, Label: fmt.Sprintf("%s: %s bytes", name, exact(n))})
		}
	}
	for i, f := range fields {
		if n := sizeAt(sizes[f.Name], s.Number); i < colours {
			add(n, f.Class, f.Name)
		} else {
			rest += n
		}
	}
	add(rest, fmt.Sprint("f", colours), "other fields")
}

// sample are the first rows of a shard, as text.
type sample struct {
	Columns []string
	Rows    [][]string
}

const (
	sampleRows    = 20
	sampleColumns = 50
	sampleText    = 80
)

func firstRows(ctx context.Context, t *catalog.Table, e *manifest.Entry, memory int64) (*sample, error) {
	plan, err := t.PlanOf([]*manifest.Entry{e}, catalog.ScanOptions{Limit: sampleRows, BatchRows: sampleRows})
	if err != nil {
		return nil, err
	}
	plan.LimitMemory(memory)
	s := &sample{}
	for _, f := range plan.Fields() {
		if len(s.Columns) < sampleColumns {
			s.Columns = append(s.Columns, f.Name)
		}
	}
	for b, err := range plan.Run(ctx, nil) {
		if err != nil {
			return nil, err
		}
		for i := range int(b.NumRows()) {
			row := make([]string, len(s.Columns))
			for c := range row {
				row[c] = short(b.Column(c).ValueStr(i))
			}
			s.Rows = append(s.Rows, row)
		}
	}
	return s, nil
}

func short(text string) string {
	if r := []rune(text); len(r) > sampleText {
		return string(r[:sampleText]) + "…"
	}
	return text
}
