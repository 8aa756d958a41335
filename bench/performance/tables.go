package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// functions are what templates of fragments call.
func (v *view) functions() template.FuncMap {
	return template.FuncMap{
		"measured": v.measured, "kernels": v.kernels, "memcpy": v.memcpy, "scans": v.scans, "numbers": v.numbers, "texts": v.texts,
		"encoding": v.encoding, "kernel": v.kernel, "goals": v.goals, "files": v.files, "summary": v.summary, "remote": v.remote,
		"sizes": v.sizes, "sizeTotals": v.sizeTotals, "plot": v.plot, "speed": v.speed, "scanOf": v.scanOf, "landings": v.landings, "glance": v.glance, "figureOf": v.figureOf, "exports": v.exports,
	}
}

// table is a table in Markdown. Columns whose title begins with > hold figures.
type table struct{ lines []string }

func newTable(titles ...string) *table {
	rule := make([]string, len(titles))
	for i, title := range titles {
		rule[i] = "---"
		if cut, ok := strings.CutPrefix(title, ">"); ok {
			titles[i], rule[i] = cut, "---:"
		}
	}
	t := &table{}
	t.add(titles...)
	t.add(rule...)
	return t
}

func (t *table) add(cells ...string) { t.lines = append(t.lines, "| "+strings.Join(cells, " | ")+" |") }

func (t *table) String() string { return strings.Join(t.lines, "\n") }

// measured reports when, where and how the parts were measured.
func (v *view) measured() (string, error) {
	t := newTable("part", "measured", "on", "with", ">load before, after", ">took, s", "by `cd bench &&`")
	for _, p := range parts {
		m, ok := v.r.Parts[p.name]
		if !ok {
			return "", fmt.Errorf("part %s was never measured", p.name)
		}
		t.add(p.name, m.At.Format("2006-01-02 15:04"), m.Machine, with(m), fmt.Sprintf("%.1f, %.1f", m.Load[0], m.Load[1]),
			fmt.Sprintf("%.0f", m.Seconds), "`"+m.Command+"`")
	}
	return t.String(), nil
}

// with lists the versions that a part was measured with.
func with(m Measured) string {
	list := []string{m.Go}
	for name, version := range m.Versions {
		list = append(list, name+" "+version)
	}
	slices.Sort(list[1:])
	return strings.Join(list, ", ")
}

// kernels is the table of inner loops.
func (v *view) kernels() string {
	copies := map[float64]float64{} // bytes a second of memcpy, by bytes per value
	t := newTable("kernel", ">G values/s", ">GB/s", ">of memcpy")
	for _, row := range v.r.of("kernels") {
		size, speed := row.V["bytes"]/row.V["values"], row.V["bytes"]/row.V["seconds"]
		if strings.HasPrefix(row.Subject, "memcpy") {
			copies[size] = speed
		}
		of := "–"
		if c := copies[size]; c > 0 {
			of = fmt.Sprintf("%.2f", speed/c)
		}
		t.add(row.Subject, fmt.Sprintf("%.2f", row.V["values"]/row.V["seconds"]/1e9), fmt.Sprintf("%.1f", speed/1e9), of)
	}
	return t.String()
}

// kernel is the speed of one kernel in 10⁹ values a second.
func (v *view) kernel(name string) (string, error) {
	row, ok := v.r.find("kernels", name, "", "")
	if !ok {
		return "", fmt.Errorf("no kernel %q", name)
	}
	return fmt.Sprintf("%.1f", row.V["values"]/row.V["seconds"]/1e9), nil
}

// memcpy is the table of P1.
func (v *view) memcpy() string {
	rows := v.r.of("memcpy")
	workers := 0.0
	if len(rows) > 0 {
		workers = rows[0].V["workers"]
	}
	t := newTable("column", "encoding", ">GB/s", ">of memcpy", ">fresh: of memcpy", fmt.Sprintf(">%.0f workers: of memcpy", workers))
	for _, row := range rows {
		t.add(row.Subject, row.Note, fmt.Sprintf("%.1f", row.V["bytes/s"]/1e9), two(row.V["reused"]), two(row.V["fresh"]), two(row.V["together"]))
	}
	return t.String()
}

func two(x float64) string { return fmt.Sprintf("%.2f", x) }

// scans is the table of scans against the bare loop.
func (v *view) scans() string {
	t := newTable("column", "encoding", ">bare, ns a value", ">with read", ">with read, fresh", ">`Scan`, kept", ">`Scan`, released", ">kept, of fresh")
	for _, row := range v.r.of("scans") {
		bare := row.V["bare"]
		cells := []string{row.Subject, row.Note, two(1e9 * bare / row.V["rows"])}
		for _, task := range scanTasks[1:] {
			cells = append(cells, fmt.Sprintf("%.2f ×", row.V[task]/bare))
		}
		t.add(append(cells, fmt.Sprintf("%.2f ×", row.V["scan"]/row.V["fresh"]))...)
	}
	return t.String()
}

// numbers and texts are the tables of P3.
func (v *view) numbers() string { return v.columns(func(row Row) bool { return !isText(row) }) }
func (v *view) texts() string   { return v.columns(isText) }

// isText reports whether a column is one of bench.TextColumns.
func isText(row Row) bool {
	return strings.HasPrefix(row.Subject, "levels") || strings.HasPrefix(row.Subject, "request lines")
}

func (v *view) columns(choose func(Row) bool) string {
	t := newTable("column", "reader", ">stored bytes", ">ms", ">GB/s", "times as fast as")
	all, last := v.r.of("columns"), ""
	for _, row := range all {
		if !choose(row) {
			continue
		}
		name := ""
		if row.Subject != last {
			name, last = row.Subject, row.Subject
		}
		t.add(name, row.Who, fmt.Sprintf("%.0f", row.V["stored"]), fmt.Sprintf("%.3f", 1e3*row.V["seconds"]), two(row.V["bytes"]/row.V["seconds"]/1e9), ratios(row, all))
	}
	return t.String()
}

// ratios compares one of ours with the fastest and with the smallest file of each peer.
func ratios(ours Row, all []Row) string {
	if !strings.HasPrefix(ours.Who, "shardcat") {
		return ""
	}
	var parts []string
	for _, peer := range []string{"parquet-go", "arrow-go"} {
		fast, small := best(all, ours.Subject, peer, "seconds"), best(all, ours.Subject, peer, "stored")
		if fast != nil && small != nil {
			parts = append(parts, fmt.Sprintf("%s: %.1f × its fastest, %.1f × its smallest", peer,
				fast.V["seconds"]/ours.V["seconds"], small.V["seconds"]/ours.V["seconds"]))
		}
	}
	return strings.Join(parts, "; ")
}

// best is the row of a subject with the least of a figure, among those whose name begins with who; nil if there are none.
func best(rows []Row, subject, who, figure string) *Row {
	var found *Row
	for i, row := range rows {
		if row.Subject == subject && strings.HasPrefix(row.Who, who) && (found == nil || row.V[figure] < found.V[figure]) {
			found = &rows[i]
		}
	}
	return found
}

// encoding is the table of the encoders' speed.
func (v *view) encoding() string {
	titles := []string{"column"}
	for _, p := range profiles {
		titles = append(titles, ">"+p.String())
	}
	t := newTable(append(titles, ">choosing, of the rest")...)
	rows := v.r.of("encoding")
	for i := 0; i+len(profiles) <= len(rows); i += len(profiles) {
		cells := []string{rows[i].Subject}
		for _, row := range rows[i : i+len(profiles)] {
			cells = append(cells, fmt.Sprintf("%.0f", row.V["bytes/s"]/1e6))
		}
		t.add(append(cells, v.choosing(rows[i].Subject))...)
	}
	return t.String()
}

// choosing is what the choice of encodings costs in balanced, as a share of what encoding costs when they are known.
func (v *view) choosing(column string) string {
	row, _ := v.r.find("encoding", column, "", encode.Balanced.String())
	share, ok := row.V["choosing"]
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", max(0, 100*share))
}

// speed is the range of our speeds over columns of numbers, in GB/s of values.
func (v *view) speed() string {
	low, high := math.Inf(1), 0.0
	for _, row := range v.r.of("columns") {
		if row.Who == contestants[0] && !isText(row) {
			s := row.V["bytes"] / row.V["seconds"] / 1e9
			low, high = min(low, s), max(high, s)
		}
	}
	return fmt.Sprintf("%.0f to %.0f", low, high)
}

// scanOf is a scan of a column as a multiple of the bare loop.
func (v *view) scanOf(column, task string) (string, error) {
	row, ok := v.r.find("scans", column, "", "")
	if !ok {
		return "", fmt.Errorf("no scan of %q", column)
	}
	return fmt.Sprintf("%.1f ×", row.V[task]/row.V["bare"]), nil
}
