package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// contestants in the order of the tables.
var contestants = []string{"shardcat balanced", "shardcat high-compression", "arrow-go on Parquet, zstd", "DuckDB on Parquet, zstd", "pyarrow on Parquet, zstd", "Lance", "Vortex"}

// files is the table of one data set: every contestant's size, times and memory.
func (v *view) files(name string) (string, error) {
	g, ok := v.r.find("files", name, "given", "")
	if !ok {
		return "", fmt.Errorf("no table %q", name)
	}
	titles, tasks := []string{"file", ">MB", ">write"}, []string{"open"}
	for _, t := range taskNames {
		if _, ok := v.r.find("files", name, t, contestants[0]); ok {
			tasks = append(tasks, t)
		}
	}
	for _, t := range tasks {
		titles = append(titles, ">"+t)
	}
	t := newTable(append(titles, ">memory of a scan, MB", ">allocations of a scan")...)
	for _, who := range contestants {
		w, _ := v.r.find("files", name, "write", who)
		cells := []string{who, figure(w, "stored", 1e6, 2), figure(w, "seconds", 1e-3, 0)}
		for _, task := range tasks {
			row, _ := v.r.find("files", name, task, who)
			cells = append(cells, figure(row, "seconds", 1e-3, 1))
		}
		memory, _ := v.r.find("files", name, "memory", who)
		scan, _ := v.r.find("files", name, "scan", who)
		t.add(append(cells, figure(memory, "bytes", 1e6, 0), figure(scan, "allocations", 1, 0))...)
	}
	return fmt.Sprintf("%.0f rows, %.1f MB in Arrow; milliseconds.%s\n\n%s", g.V["rows"], g.V["bytes"]/1e6, v.cannot(name), t), nil
}

// figure is a cell: one of a row's figures in a unit, or a dash.
func figure(row Row, name string, unit float64, digits int) string {
	x, ok := row.V[name]
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.*f", digits, x/unit)
}

// cannot reports what failed, in the words of who failed.
func (v *view) cannot(name string) string {
	var out strings.Builder
	for _, row := range v.r.of("files") {
		if row.Subject == name && row.Note != "" && (slices.Contains(taskNames, row.Task) || row.Task == "write") && row.Note != noFilter.Error() {
			fmt.Fprintf(&out, " %s, %s: %s.", row.Who, row.Task, strings.TrimSuffix(row.Note, "."))
		}
	}
	return out.String()
}

// ratio is a figure of one of ours against the least of the peers, and who that is.
func (v *view) ratio(subject, task, ours, name string) (x float64, peer string) {
	mine, ok := v.r.find("files", subject, task, ours)
	least := math.Inf(1)
	for _, who := range contestants[2:] {
		row, there := v.r.find("files", subject, task, who)
		if y, has := row.V[name]; there && has && y < least {
			least, peer = y, who
		}
	}
	if !ok || peer == "" {
		return math.NaN(), ""
	}
	return mine.V[name] / least, peer
}

// summary is the table of ratios: ours of the best peer's, by data and task.
func (v *view) summary() string {
	titles := []string{"data", ">size, high-compression", ">write"}
	for _, t := range taskNames {
		titles = append(titles, ">"+t)
	}
	t := newTable(titles...)
	for _, data := range tables {
		cells := []string{data.name, v.against(data.name, "write", contestants[1], "stored"), v.against(data.name, "write", contestants[0], "seconds")}
		for _, task := range taskNames {
			cells = append(cells, v.against(data.name, task, contestants[0], "seconds"))
		}
		t.add(cells...)
	}
	return t.String()
}

// glance is the table of one subject with a column for each contestant.
func (v *view) glance(subject string) string {
	titles := []string{""}
	for _, who := range contestants {
		titles = append(titles, ">"+who)
	}
	t := newTable(titles...)
	line := func(title, task, name string, unit float64, digits int) {
		cells := []string{title}
		for _, who := range contestants {
			row, _ := v.r.find("files", subject, task, who)
			cells = append(cells, figure(row, name, unit, digits))
		}
		t.add(cells...)
	}
	line("stored, MB", "write", "stored", 1e6, 0)
	line("write, s", "write", "seconds", 1, 1)
	line("read all columns, ms", "scan", "seconds", 1e-3, 0)
	line("read two columns, ms", "two columns", "seconds", 1e-3, 0)
	line("rows of a filter, 1 %, ms", "filter 1 %", "seconds", 1e-3, 0)
	line("rows of one key, ms", "lookup", "seconds", 1e-3, 1)
	line("memory of reading, MB", "memory", "bytes", 1e6, 0)
	return t.String()
}

func (v *view) against(subject, task, ours, name string) string {
	x, peer := v.ratio(subject, task, ours, name)
	if peer == "" {
		return "–"
	}
	short, _, _ := strings.Cut(peer, " ")
	return fmt.Sprintf("%.2f × %s", x, short)
}

// remote is the table of the store of 30 ms.
func (v *view) remote() string {
	t := newTable("what", "who", ">GETs", ">MB", ">one after the other", ">seconds on the wall")
	for _, row := range v.r.of("files") {
		if name, ok := strings.CutPrefix(row.Task, "remote "); ok {
			t.add(name, row.Who, figure(row, "gets", 1, 0), figure(row, "bytes", 1e6, 2), figure(row, "depth", 1, 0), figure(row, "seconds", 1, 2))
		}
	}
	return t.String()
}

// sizes is the table of columns against the best encoding of Parquet.
func (v *view) sizes() string {
	t := newTable("data", "column", "best of Parquet", ">its bytes", ">balanced", ">high-compression")
	for _, row := range v.r.of("sizes") {
		if row.Task == "given" {
			continue
		}
		p := row.V["parquet"]
		t.add(row.Subject, row.Task, row.Note, fmt.Sprintf("%.0f", p), ofParquet(row.V["balanced"], p), ofParquet(row.V["high-compression"], p))
	}
	return t.String()
}

func ofParquet(x, parquet float64) string { return fmt.Sprintf("%.0f (%.2f ×)", x, x/parquet) }

// sizeTotals is the same for whole tables, with the number of columns that are larger.
func (v *view) sizeTotals() string {
	t := newTable("data", ">columns", ">best of Parquet, MB", ">balanced", ">high-compression", ">columns larger in high-compression")
	for _, data := range tables {
		var n, larger int
		var parquet, balanced, high float64
		for _, row := range v.r.of("sizes") {
			if row.Subject != data.name || row.Task == "given" {
				continue
			}
			n++
			parquet, balanced, high = parquet+row.V["parquet"], balanced+row.V["balanced"], high+row.V["high-compression"]
			if row.V["high-compression"] > row.V["parquet"] {
				larger++
			}
		}
		if n > 0 {
			t.add(data.name, fmt.Sprint(n), fmt.Sprintf("%.2f", parquet/1e6), two(balanced/parquet)+" ×", two(high/parquet)+" ×", fmt.Sprint(larger))
		}
	}
	return t.String()
}
