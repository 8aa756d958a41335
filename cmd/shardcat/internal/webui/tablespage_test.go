package webui

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// manyTables are n tables of three namespaces, of which every seventh fails, every eleventh is halted and every fifth runs.
func manyTables(n int) []compaction.TableStatus {
	now := time.Now()
	var out []compaction.TableStatus
	for i := range n {
		st := compaction.TableStatus{
			Table: catalog.Name{Namespace: fmt.Sprint("ns", i%3), Table: fmt.Sprintf("table_%04d", i)}, State: compaction.Waiting,
			Shards: int64(i), TargetSize: 1 << 20, Measured: true, Records: int64(1000 * (n - i)), Bytes: int64(i%10) << 20, BacklogBytes: int64(i), Groups: i % 2, NextRun: now.Add(time.Duration(i) * time.Minute),
			History: []compaction.Run{{Started: now.Add(-time.Duration(i) * time.Minute)}},
		}
		switch {
		case i%11 == 10:
			st.State, st.Problem, st.Remedy = compaction.Halted, "rows would change", "shardcat verify"
		case i%7 == 6:
			st.State, st.Problem, st.Remedy = compaction.Failing, "the store does not answer: dial tcp 10.0.0.1:443: connect: connection refused", "shardcat doctor"
			st.History[0].Error = st.Problem
		case i%5 == 4:
			st.State, st.Progress = compaction.Running, &compaction.Pace{Progress: compaction.Progress{Step: "write", Groups: 4, Records: 100, RecordsDone: 50}}
		}
		out = append(out, st)
	}
	return out
}

func TestFirstPageSortsAndSumsUp(t *testing.T) {
	all := manyTables(100)
	for sort, less := range map[string]func(a, b compaction.TableStatus) bool{
		"":        func(a, b compaction.TableStatus) bool { return a.Problem != "" || b.Problem == "" },
		"unknown": func(a, b compaction.TableStatus) bool { return a.Problem != "" || b.Problem == "" },
		"name":    func(a, b compaction.TableStatus) bool { return a.Table.String() < b.Table.String() },
		"shards":  func(a, b compaction.TableStatus) bool { return a.Shards >= b.Shards },
		"rows":    func(a, b compaction.TableStatus) bool { return a.Records >= b.Records },
		"bytes":   func(a, b compaction.TableStatus) bool { return a.Bytes >= b.Bytes },
		"average": func(a, b compaction.TableStatus) bool {
			return b.Shards == 0 || a.Shards > 0 && a.Bytes*b.Shards <= b.Bytes*a.Shards
		},
		"backlog": func(a, b compaction.TableStatus) bool { return a.BacklogBytes >= b.BacklogBytes },
		"state":   func(a, b compaction.TableStatus) bool { return a.State <= b.State },
		"last":    func(a, b compaction.TableStatus) bool { return !lastRun(&a).Before(lastRun(&b)) },
		"next":    func(a, b compaction.TableStatus) bool { return !b.NextRun.Before(a.NextRun) },
	} {
		d := newTables(all, tablesQuery{sort: sort})
		for i := 1; i < len(d.Tables); i++ {
			if !less(d.Tables[i-1], d.Tables[i]) {
				t.Errorf("sorted by %q: %v before %v", sort, d.Tables[i-1].Table, d.Tables[i].Table)
			}
		}
		if len(d.Tables) != 100 {
			t.Errorf("sorted by %q: %d tables", sort, len(d.Tables))
		}
	}
	if d := newTables(append(all, compaction.TableStatus{Table: catalog.Name{Namespace: "ns10", Table: "t"}}), tablesQuery{namespace: "ns1"}); len(d.Tables) != 33 || d.Spaces != 4 {
		t.Errorf("%d tables of ns1 among %d namespaces", len(d.Tables), d.Spaces)
	}
	d := newTables(all, tablesQuery{namespace: "ns1", only: true})
	var tables, shards, bytes int64
	for _, n := range d.Namespaces {
		tables, shards, bytes = tables+int64(n.Tables), shards+n.Shards, bytes+n.Bytes
	}
	if len(d.Namespaces) != 3 || tables != 100 || shards != 99*50 || bytes != 450<<20 {
		t.Errorf("namespaces %+v", d.Namespaces)
	}
	for _, st := range d.Tables {
		if st.Problem == "" || st.Table.Namespace != "ns1" {
			t.Errorf("%v is shown", st.Table)
		}
	}
	if len(d.Failures) == 0 || !slices.IsSortedFunc(d.Failures, func(a, b compaction.Run) int { return b.Started.Compare(a.Started) }) || len(d.Running) == 0 {
		t.Errorf("%d failures, %d running", len(d.Failures), len(d.Running))
	}
}

// Names of tables and errors may be long, and what they say is due must be true.
func TestFirstPageSays(t *testing.T) {
	for _, c := range []struct {
		status compaction.TableStatus
		want   string
	}{
		{compaction.TableStatus{State: compaction.Halted, NextRun: time.Now()}, "when it is resumed"},
		{compaction.TableStatus{State: compaction.Running, NextRun: time.Now().Add(-time.Hour)}, "now"},
		{compaction.TableStatus{State: compaction.Waiting, NextRun: time.Now().Add(-time.Hour)}, "due, waiting for a worker"},
		{compaction.TableStatus{State: compaction.Waiting}, "not planned"},
		{compaction.TableStatus{State: compaction.Failing, NextRun: time.Now().Add(time.Hour)}, "in 1h0m0s"},
	} {
		if got := next(c.status); got != c.want {
			t.Errorf("%+v: %q, want %q", c.status, got, c.want)
		}
	}
	d := newTables(manyTables(2000), tablesQuery{find: "table&", sort: "bytes", namespace: "ns1", only: true})
	if got := d.Link("name", 3); got != "?find=table%26&namespace=ns1&only=problems&page=3&sort=name" {
		t.Errorf("a link to the third page by name: %s", got)
	}
	d = newTables(manyTables(2000), tablesQuery{sort: "bytes"})
	d.Self, d.SampleEvery = "host/7", 30*time.Minute
	d.Version, d.Health = "1.2.3", []health{{What: "catalog", Error: "no such host"}, {What: "store", Took: 3 * time.Millisecond}}
	d.Tables, d.Pages = d.Tables[:tablesPerPage], 10
	var b strings.Builder
	if err := pages().ExecuteTemplate(&b, "tables.html", page{Title: "Tables", Data: d}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`role="alert">The catalog does not answer: no such host`, "does not answer: no such host", "under way by this process, host/7", "a sample is taken every 30m0s", "1.0 MiB of 1.0 MiB", "answers in 3ms", "shardcat 1.2.3", `aria-sort="descending"`, "sort=backlog", "Last failed runs", " under way by this process, ", `href="?namespace=ns1"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the first page lacks %q", want)
		}
	}
	if dir := os.Getenv("SHARDCAT_PAGES"); dir != "" { // to look at
		for _, n := range []int{1, 50, 2000} {
			var b strings.Builder
			d := newTables(manyTables(n), tablesQuery{})
			d.Total, d.Pages, d.Version, d.Since = n, 1, "1.2.3", time.Now()
			d.Tables = d.Tables[:min(n, tablesPerPage)]
			if err := errors.Join(pages().ExecuteTemplate(&b, "tables.html", page{Title: "Tables", Data: d}), os.WriteFile(filepath.Join(dir, fmt.Sprint(n, ".html")), []byte(b.String()), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The first page has a bounded number of bytes for each line, and no more lines with 2,000 tables than with a hundred.
func TestFirstPageIsBounded(t *testing.T) {
	// A row of 100 letters of names and of 100 letters of a problem, and what is around the rows.
	const perTable, around = 1500, 24 << 10
	for _, n := range []int{1, 50, 2000} {
		d := newTables(manyTables(n), tablesQuery{})
		d.Tables = d.Tables[:min(n, tablesPerPage)]
		var b strings.Builder
		if err := pages().ExecuteTemplate(&b, "tables.html", page{Title: "Tables", Data: d}); err != nil {
			t.Fatal(err)
		}
		if rows := strings.Count(b.String(), `<tr>
<th scope="row"`); rows != min(n, 100) {
			t.Errorf("%d tables: %d rows", n, rows)
		}
		if b.Len() > around+perTable*min(n, tablesPerPage) {
			t.Errorf("%d tables: %d bytes", n, b.Len())
		}
	}
}

// In a narrow window the cells of a table stand below each other, so each has its label: that of the heading of its column.
func TestCellsHaveLabels(t *testing.T) {
	files, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, f := range files {
		text, err := assets.ReadFile("assets/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "<table")[1:] {
			part, _, _ = strings.Cut(part, "</table>")
			if strings.Contains(part, "range .Columns}}<th scope=\"col\">{{.}}") {
				continue // the rows of a shard, whose columns are the table's
			}
			tables++
			if !strings.Contains(part[:strings.Index(part, ">")], "cards") {
				t.Errorf("%s: a table of class %q", f.Name(), part[:20])
			}
			for _, cell := range strings.Split(part, `<td class="n"`)[1:] {
				if cell = cell[:strings.Index(cell, ">")]; !strings.Contains(cell, "data-th=") && !strings.Contains(cell, "colspan") {
					t.Errorf("%s: a number without a label: <td class=\"n\"%s>", f.Name(), cell)
				}
			}
		}
	}
	if tables < 9 {
		t.Errorf("%d tables were looked at", tables)
	}
}

// The lease and the sizes of a table on its page.
func TestSizesAndLeases(t *testing.T) {
	ago := time.Now().Add(-time.Minute)
	for _, c := range []struct {
		status        compaction.TableStatus
		average, held string
	}{
		{compaction.TableStatus{}, "none", "not held by this process"},
		{compaction.TableStatus{Shards: 2, Bytes: 3 << 20, TargetSize: 1 << 30, History: []compaction.Run{{Lease: compaction.LeaseBusy, Holder: "other/9", Started: ago}}}, "1.5 MiB of 1.0 GiB", "other/9 held it 1m0s ago"},
		{compaction.TableStatus{Shards: 2, Bytes: 3 << 20, History: []compaction.Run{{Lease: compaction.LeaseLost, Started: ago}, {Holder: "older/9"}}}, "1.5 MiB", "another process took it over 1m0s ago"},
		{compaction.TableStatus{State: compaction.Running}, "none", "a run of this process, host/7, takes it for its changes"},
	} {
		if got := average(c.status); got != c.average {
			t.Errorf("%+v: an average of %q, want %q", c.status, got, c.average)
		}
		if got := lease(c.status, "host/7"); got != c.held {
			t.Errorf("%+v: %q, want %q", c.status, got, c.held)
		}
	}
}

// A table that the catalog can't load has a page all the same: what the service knows, its runs, and the actions.
func TestPageOfAnUnreadableTable(t *testing.T) {
	g := newGround(t, Options{Token: token})
	h := &Console{o: Options{Token: token}}
	h.tokens.Write = token
	status := g.service.Status()[0]
	status.State, status.Problem, status.Remedy, status.Quarantined, status.QuarantinedShards = compaction.Failing, "no such host", "shardcat doctor", 1, 3
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/tables/default.t", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	h.unreadable(w, r, status, errors.New("the catalog does not answer"))
	for _, want := range []string{"the catalog does not answer", "no such host", "shardcat doctor", "/tables/default.t/run", "Past runs", "1 group of 3 shards failed", "when it was read last"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, w.Body.String())
		}
	}
	if strings.Contains(w.Body.String(), "Try a filter") || w.Code != 502 {
		t.Errorf("%d: a filter of a table that can't be read", w.Code)
	}
	// One that was never read has no sizes and no success, and an error stands there once.
	status.Measured, status.Succeeded, status.Rounds = false, false, 1
	w = httptest.NewRecorder()
	h.unreadable(w, r, status, errors.New(status.Problem))
	for _, want := range []string{"has not been able to measure this table", "none since the service began", "not measured yet", "failed with the same error"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, w.Body.String())
		}
	}
	if n := strings.Count(w.Body.String(), "no such host"); n != 1 {
		t.Errorf("the error stands there %d times", n)
	}
}
