package webui

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardcat/shardcat/compaction"
)

// tablesData is what the first page shows.
type tablesData struct {
	pager
	Tables []compaction.TableStatus
	// Find are letters of the names that are shown, Troubled counts tables that fail or are halted, All are all.
	Find          string
	Troubled, All int
	Only          bool
	// Namespace is the one whose tables are shown, empty for all.
	Namespace string
	// Sort is the column by which tables are sorted, see orders; empty is problems first.
	Sort    string
	Columns []column
	// Running are the first of the Started tables with a run under way, Failures the last runs that failed, of all tables.
	Running  []compaction.TableStatus
	Started  int
	Failures []compaction.Run
	// Namespaces are the largest of Spaces.
	Namespaces []namespaceTotal
	Spaces     int
	// Self is this process, as leases name it.
	Self string
	// Version of the program, and since when it has run.
	Version string
	Since   time.Time
	Health  []health
	// Elsewhere are tables that another process works on, as of the last look.
	Elsewhere []compaction.TableStatus
	Charts    []chart
	// SampleEvery is the time between two samples of the charts.
	SampleEvery time.Duration
	// ReadOnly: no buttons.
	ReadOnly bool
}

// Link leads to the same tables in another order, or to another page of them.
func (d tablesData) Link(sort string, page int) string {
	q := url.Values{}
	for name, value := range map[string]string{"find": d.Find, "sort": sort, "namespace": d.Namespace} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if d.Only {
		q.Set("only", "problems")
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	return "?" + q.Encode()
}

// column is a heading of the tables by which they can be sorted.
type column struct {
	Name, Label string
	Number      bool
	// Largest: the largest or latest value comes first.
	Largest bool
}

var columns = []column{
	{"name", "Table", false, false}, {"state", "State", false, false}, {"shards", "Shards", true, true}, {"rows", "Rows", true, true}, {"bytes", "Stored", true, true},
	{"average", "Average shard", true, false}, {"backlog", "Backlog", true, true}, {"last", "Last run", false, true}, {"next", "Next run", false, false},
}

// orders compare tables by a column: the largest numbers and the latest runs first.
var orders = map[string]func(a, b *compaction.TableStatus) int{
	"name":    func(a, b *compaction.TableStatus) int { return 0 },
	"state":   func(a, b *compaction.TableStatus) int { return cmp.Compare(a.State, b.State) },
	"shards":  func(a, b *compaction.TableStatus) int { return cmp.Compare(b.Shards, a.Shards) },
	"rows":    func(a, b *compaction.TableStatus) int { return cmp.Compare(b.Records, a.Records) },
	"bytes":   func(a, b *compaction.TableStatus) int { return cmp.Compare(b.Bytes, a.Bytes) },
	"average": func(a, b *compaction.TableStatus) int { return cmp.Compare(ofTarget(a), ofTarget(b)) },
	"backlog": func(a, b *compaction.TableStatus) int { return cmp.Compare(b.BacklogBytes, a.BacklogBytes) },
	"last":    func(a, b *compaction.TableStatus) int { return lastRun(b).Compare(lastRun(a)) },
	"next":    func(a, b *compaction.TableStatus) int { return a.NextRun.Compare(b.NextRun) },
	"":        func(a, b *compaction.TableStatus) int { return cmp.Compare(rank(a), rank(b)) },
}

// rank puts tables that need somebody first: halted, failing, with another problem, running, all others.
func rank(st *compaction.TableStatus) int {
	switch {
	case st.State == compaction.Halted:
		return 0
	case st.State == compaction.Failing:
		return 1
	case st.Problem != "":
		return 2
	case st.State == compaction.Running:
		return 3
	}
	return 4
}

// ofTarget is the share of the size that the policy requires which the mean shard has. Tables without shards or without such a size come last.
func ofTarget(st *compaction.TableStatus) float64 {
	if st.Shards == 0 || st.TargetSize == 0 {
		return math.Inf(1)
	}
	return float64(st.Bytes) / float64(st.Shards) / float64(st.TargetSize)
}

func lastRun(st *compaction.TableStatus) time.Time {
	if len(st.History) == 0 {
		return time.Time{}
	}
	return st.History[len(st.History)-1].Started
}

// namespaceTotal sums up the tables of a namespace.
type namespaceTotal struct {
	Name                                 string
	Tables, Troubled                     int
	Shards, Records, Bytes, BacklogBytes int64
}

// tablesPerPage bounds a page, whatever the catalog; shownFailures, shownRunning and shownNamespaces its other lists.
const (
	tablesPerPage                                = 100
	shownFailures, shownRunning, shownNamespaces = 20, 50, 50
)

func (h *Console) tables(w http.ResponseWriter, r *http.Request) {
	all := h.service.Status()
	d := newTables(all, tablesQuery{r.FormValue("find"), r.FormValue("namespace"), r.FormValue("sort"), r.FormValue("only") == "problems"})
	var from, to int
	d.pager, from, to = pageOf(r, len(d.Tables), tablesPerPage)
	d.Tables = d.Tables[from:to]
	d.Version, d.Since, d.Health = h.o.Version, h.started, h.health.of(r.Context(), h.cat)
	d.Self, d.SampleEvery = process(), sampleEvery
	d.Charts, d.ReadOnly = h.history.chartsOf(""), !h.allowed(r)
	h.render(w, http.StatusOK, "tables.html", page{Title: "Tables", ReadOnly: !h.allowed(r), Refresh: true, Data: d})
}

// tablesQuery is the query of a request to the first page.
type tablesQuery struct {
	find, namespace, sort string
	only                  bool
}

// newTables selects and sorts what the first page shows of all tables.
func newTables(all []compaction.TableStatus, q tablesQuery) tablesData {
	d := tablesData{Find: strings.TrimSpace(q.find), Namespace: q.namespace, Only: q.only, Sort: q.sort, Columns: columns, All: len(all)}
	order, known := orders[q.sort]
	if !known {
		d.Sort, order = "", orders[""]
	}
	totals := map[string]*namespaceTotal{}
	for _, st := range all {
		name := st.Table.Namespace
		n := totals[name]
		if n == nil {
			n = &namespaceTotal{Name: name}
			totals[name] = n
		}
		n.Tables++
		n.Shards, n.Records, n.Bytes, n.BacklogBytes = n.Shards+st.Shards, n.Records+st.Records, n.Bytes+st.Bytes, n.BacklogBytes+st.BacklogBytes
		if st.Problem != "" {
			d.Troubled++
			n.Troubled++
		}
		if st.State == compaction.Running {
			d.Running = append(d.Running, st)
			d.Started++
		}
		if n := len(st.History); n > 0 && st.History[n-1].Holder != "" && st.State != compaction.Running && len(d.Elsewhere) < shownRunning {
			d.Elsewhere = append(d.Elsewhere, st)
		}
		for _, run := range st.History {
			if run.Error != "" || len(run.Failed) > 0 {
				run.Table = st.Table
				d.Failures = append(d.Failures, run)
			}
		}
		if strings.Contains(st.Table.String(), d.Find) && (!d.Only || st.Problem != "") && (d.Namespace == "" || d.Namespace == name) {
			d.Tables = append(d.Tables, st)
		}
	}
	slices.SortStableFunc(d.Tables, func(a, b compaction.TableStatus) int {
		return cmp.Or(order(&a, &b), cmp.Compare(a.Table.String(), b.Table.String()))
	})
	slices.SortStableFunc(d.Failures, func(a, b compaction.Run) int { return b.Started.Compare(a.Started) })
	d.Failures = d.Failures[:min(len(d.Failures), shownFailures)]
	d.Running = d.Running[:min(len(d.Running), shownRunning)]
	for _, n := range totals {
		d.Namespaces = append(d.Namespaces, *n)
	}
	slices.SortFunc(d.Namespaces, func(a, b namespaceTotal) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	d.Spaces = len(d.Namespaces)
	d.Namespaces = d.Namespaces[:min(len(d.Namespaces), shownNamespaces)]
	return d
}
