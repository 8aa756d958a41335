package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/internal/valuetext"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/inspect"
)

// page is what every template gets.
type page struct {
	Title    string
	Error    string
	ReadOnly bool
	Refresh  bool
	Data     any
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

var functions = template.FuncMap{
	"bytes":   progress.Bytes,
	"count":   exact,
	"ago":     ago,
	"root":    func(table, root string) string { return "/tables/" + table + "/shard?root=" + url.QueryEscape(root) },
	"base":    path.Base,
	"count64": func(n int) string { return exact(int64(n)) },
	"add":     func(a, b int) int { return a + b },
	"last":    func(runs []compaction.Run) int { return len(runs) - 1 },
	"percent": func(f float64) string { return strconv.FormatFloat(100*f, 'f', 1, 64) },
}

// exact is a number with its thousands apart.
func exact(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// ago is a time as people say it.
func ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := time.Until(t).Round(time.Second)
	if d > 0 {
		return "in " + d.String()
	}
	return (-d).String() + " ago"
}

func (h *Console) render(w http.ResponseWriter, code int, name string, p page) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, p); err != nil {
		h.o.Log.Error("a page can't be made", "page", name, "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	w.Write(b.Bytes())
}

func (h *Console) tables(w http.ResponseWriter, r *http.Request) {
	h.render(w, http.StatusOK, "tables.html", page{Title: "Tables", ReadOnly: !h.allowed(r), Refresh: true, Data: h.service.Status()})
}

// load finds the table that a request names, with its status.
func (h *Console) load(w http.ResponseWriter, r *http.Request) (*catalog.Table, compaction.TableStatus, bool) {
	var status compaction.TableStatus
	name, err := catalog.ParseName(r.PathValue("name"))
	if err != nil {
		h.fail(w, http.StatusNotFound, err.Error())
		return nil, status, false
	}
	t, err := h.cat.Load(r.Context(), name)
	if err != nil {
		code := http.StatusBadGateway
		if errors.Is(err, catalog.ErrNotFound) {
			code = http.StatusNotFound
		}
		h.fail(w, code, err.Error())
		return nil, status, false
	}
	for _, st := range h.service.Status() {
		if st.Table == name {
			status = st
		}
	}
	slices.Reverse(status.History)
	return t, status, true
}

// tableData is what the page of a table shows.
type tableData struct {
	Name    string
	Status  compaction.TableStatus
	About   catalog.Description
	Picture *picture
	Plan    *compaction.Plan
	Policy  []compaction.SettingValue
	Shards  []shardLine
	Page    int
	Pages   int
	Try     *trial
	Where   string
}

type shardLine struct {
	Path           string
	Records, Bytes int64
	Stripes        int64
	Deleted        int64
	First, Last    string
	created        int64
}

// shardsPerPage bounds a page, whatever the table.
const shardsPerPage = 100

func (h *Console) table(w http.ResponseWriter, r *http.Request) {
	t, status, ok := h.load(w, r)
	if !ok {
		return
	}
	d := tableData{Name: t.Name().String(), Status: status, About: t.Describe(), Where: r.FormValue("where")}
	lines, err := shardLines(r.Context(), t)
	if err == nil {
		d.Picture = newPicture(lines)
		d.Pages = (len(lines) + shardsPerPage - 1) / shardsPerPage
		d.Page = max(1, min(number(r.FormValue("page")), d.Pages))
		from := min(len(lines), (d.Page-1)*shardsPerPage)
		d.Shards = lines[from:min(len(lines), from+shardsPerPage)]
		d.Plan, d.Policy, err = h.plan(r.Context(), t)
	}
	if err == nil && d.Where != "" {
		d.Try = try(r.Context(), t, d.Where)
	}
	p := page{Title: d.Name, ReadOnly: !h.allowed(r), Data: d}
	if err != nil {
		p.Error = err.Error()
	}
	h.render(w, http.StatusOK, "table.html", p)
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// plan is what the next run would do, with the settings that it goes by.
func (h *Console) plan(ctx context.Context, t *catalog.Table) (*compaction.Plan, []compaction.SettingValue, error) {
	in, err := h.service.Effective(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	plan, err := compaction.NewPlan(ctx, t, in.Policy)
	return plan, in.Values, err
}

// shardLines are the live shards, the youngest first.
func shardLines(ctx context.Context, t *catalog.Table) ([]shardLine, error) {
	var lines []shardLine
	for e, err := range t.BriefEntries(ctx, catalog.At{}, nil) {
		if err != nil {
			return nil, err
		}
		line := shardLine{Path: e.Path, Records: e.Records, Bytes: e.StoredBytes, Stripes: e.Stripes, Deleted: e.Deleted}
		if e.Created.Known() {
			line.created, line.First, line.Last = e.Created.First, clock(e.Created.First), clock(e.Created.Last)
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b shardLine) int {
		return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.Path, b.Path))
	})
	return lines, nil
}

// clock is a creation time, in ticks of 100 ns since year 1.
func clock(ticks int64) string { return valuetext.Time(ticks).Format(time.DateTime) }

// trial is what a filter would rule out before anything is opened.
type trial struct {
	Error                        string
	Total, ByPartition, ByBounds int
	Left                         int
	Bytes                        int64
}

func try(ctx context.Context, t *catalog.Table, where string) *trial {
	expr, err := filter.Parse(where)
	if err != nil {
		return &trial{Error: err.Error()}
	}
	plan, err := t.Plan(ctx, catalog.ScanOptions{Where: expr})
	if err != nil {
		return &trial{Error: err.Error()}
	}
	out := &trial{Total: plan.Total, ByPartition: plan.PrunedPartition, ByBounds: plan.PrunedBounds, Left: len(plan.Shards)}
	for _, e := range plan.Shards {
		out.Bytes += e.StoredBytes
	}
	return out
}

// shardData is what the page of a shard shows.
type shardData struct {
	Table  string
	Entry  *manifest.Entry
	Seen   *inspect.Inspection
	Fields []fieldLine
	Rows   *sample
}

type fieldLine struct {
	Name, Type string
	Bytes      int64
	Share      float64
	// Width is Share in thousandths of the widest field's, for the bar.
	Width int
	Kinds string
}

func (h *Console) shard(w http.ResponseWriter, r *http.Request) {
	t, _, ok := h.load(w, r)
	if !ok {
		return
	}
	e, err := liveShard(r.Context(), t, r.FormValue("root"))
	if err != nil {
		h.fail(w, http.StatusNotFound, err.Error())
		return
	}
	d := shardData{Table: t.Name().String(), Entry: e}
	p := page{Title: path.Base(e.Path)}
	d.Seen, err = t.Inspect(r.Context(), e, inspect.Encodings)
	if err == nil {
		d.Fields = fieldLines(d.Seen)
		d.Rows, err = firstRows(r.Context(), t, e)
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

// fieldLines tell where the bytes of a shard are, the largest field first.
func fieldLines(x *inspect.Inspection) []fieldLine {
	var lines []fieldLine
	total := int64(0)
	for name, f := range x.Fields {
		line := fieldLine{Name: name, Type: f.Type}
		kinds := map[string]bool{}
		for _, s := range f.Stripes {
			if s == nil {
				continue
			}
			for _, enc := range s.Encodings {
				for _, b := range enc.Buffers {
					line.Bytes += b.Size
					kinds[b.Kind] = true
				}
			}
		}
		for k := range kinds {
			line.Kinds += k + " "
		}
		total += line.Bytes
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b fieldLine) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	lines = lines[:min(len(lines), maxFields)]
	for i := range lines {
		lines[i].Share = float64(lines[i].Bytes) / float64(max(1, total))
		lines[i].Width = int(1000 * lines[i].Bytes / max(1, lines[0].Bytes))
	}
	return lines
}

// maxFields bounds the page of a wide shard.
const maxFields = 500

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

func firstRows(ctx context.Context, t *catalog.Table, e *manifest.Entry) (*sample, error) {
	plan, err := t.PlanOf([]*manifest.Entry{e}, catalog.ScanOptions{Limit: new(int64(sampleRows)), BatchRows: sampleRows})
	if err != nil {
		return nil, err
	}
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
