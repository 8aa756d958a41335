package webui

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
)

// page is what every template gets.
type page struct {
	Title    string
	Error    string
	ReadOnly bool
	// Refresh: the page shows how things go, and is fetched again from time to time.
	Refresh bool
	Data    any
}

// sizeText is a number of bytes.
func sizeText(n int64) string { return progress.Bytes(n) }

var functions = template.FuncMap{
	"bytes":    progress.Bytes,
	"count":    exact,
	"ago":      ago,
	"next":     next,
	"short":    func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	"root":     func(table, root string) string { return "/tables/" + table + "/shard?root=" + url.QueryEscape(root) },
	"base":     path.Base,
	"count64":  func(n int) string { return exact(int64(n)) },
	"average":  average,
	"lease":    lease,
	"plural":   counted,
	"plural64": func(n int64, what string) string { return counted(int(n), what) },
	"add":      func(a, b int) int { return a + b },
	"last":     func(runs []compaction.Run) compaction.Run { return runs[len(runs)-1] },
	"done": func(n, of int64) int64 {
		if of == 0 {
			return 0
		}
		return 100 * n / of
	},
	"rounded":  func(f float64) int64 { return int64(math.Round(f)) },
	"duration": func(seconds float64) string { return (time.Duration(math.Round(seconds)) * time.Second).String() },
	"percent":  func(f float64) string { return strconv.FormatFloat(100*f, 'f', 1, 64) },
}

// exact is a number with its thousands apart.
func exact(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func counted(n int, what string) string {
	return exact(int64(n)) + " " + plural.Noun(n, what)
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

// average is the mean size of a table's shards, and what its policy requires.
func average(st compaction.TableStatus) string {
	if st.Shards == 0 {
		return "none"
	}
	text := sizeText(st.Bytes / st.Shards)
	if st.TargetSize > 0 {
		text += " of " + sizeText(st.TargetSize)
	}
	return text
}

// process names this process as a lease does.
func process() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// lease is who holds the lease of a table, as of its last run. A table at rest needs none.
func lease(st compaction.TableStatus, self string) string {
	if st.State == compaction.Running {
		return "a run of this process, " + self + ", takes it for its changes"
	}
	for _, r := range st.History[:min(1, len(st.History))] {
		switch {
		case r.Holder != "":
			return r.Holder + " held it " + ago(r.Started)
		case r.Lease == compaction.LeaseLost:
			return "another process took it over " + ago(r.Started)
		}
	}
	return "not held by this process"
}

// next is when a table is looked at next.
func next(st compaction.TableStatus) string {
	switch {
	case st.State == compaction.Halted:
		return "when it is resumed"
	case st.State == compaction.Running:
		return "now"
	case st.NextRun.IsZero():
		return "not planned"
	case !st.NextRun.After(time.Now()):
		return "due, waiting for a worker"
	}
	return ago(st.NextRun)
}

func (h *Console) render(w http.ResponseWriter, code int, name string, p page) {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, name, p); err != nil {
		h.o.Log.Error("a page can't be rendered", "page", name, "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	w.Write(b.Bytes())
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
		if status, known := h.service.StatusOf(name); known {
			slices.Reverse(status.History)
			h.unreadable(w, r, status, err)
			return nil, status, false
		}
		code := http.StatusBadGateway
		if errors.Is(err, catalog.ErrNotFound) {
			code = http.StatusNotFound
		}
		h.fail(w, code, err.Error())
		return nil, status, false
	}
	status, _ = h.service.StatusOf(name)
	slices.Reverse(status.History)
	return t, status, true
}

// pager is one page of a long list, counted from 1.
type pager struct{ Page, Pages, Total int }

// pageOf finds the page that a request names among total lines, and where its lines are.
func pageOf(r *http.Request, total, size int) (p pager, from, to int) {
	asked, _ := strconv.Atoi(r.FormValue("page"))
	p = pager{Pages: max(1, (total+size-1)/size), Total: total}
	p.Page = max(1, min(asked, p.Pages))
	from = min(total, (p.Page-1)*size)
	return p, from, min(total, from+size)
}
