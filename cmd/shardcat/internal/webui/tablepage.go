package webui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/literal"
)

// tableData is what the page of a table shows.
type tableData struct {
	pager
	Name    string
	Status  compaction.TableStatus
	About   catalog.Description
	Picture *picture
	Plan    *compaction.Plan
	Policy  []compaction.SettingValue
	// Jobs are those of all processes that are not closed.
	Jobs []*catalog.JobState
	// Changes are the last snapshots, the youngest first, by whomever.
	Changes []catalog.Snapshot
	Shards  []shardLine
	Try     *trial
	Where   string
	// Unreadable: the table could not be loaded, and this is what the service saw of it last.
	Unreadable bool
	// Repeated: the error of loading the table is that of the last run.
	Repeated bool
	Charts   []chart
	// Self is this process, as leases name it.
	Self string
	// Average and Target are the bytes of a shard, as they are and as the policy wants them.
	Average, Target int64
}

type shardLine struct {
	Path           string
	Records, Bytes int64
	Stripes        int64
	Deleted        int64
	First, Last    string
	created        int64
}

const (
	// shardsPerPage bounds a page, whatever the table.
	shardsPerPage = 100
	// shownJobs and shownChanges are how many of the last of them a page has.
	shownJobs, shownChanges = 20, 20
)

func (h *Console) table(w http.ResponseWriter, r *http.Request, _ int64) {
	t, status, ok := h.load(w, r)
	if !ok {
		return
	}
	d := tableData{Name: t.Name().String(), Status: status, About: t.Describe(), Where: r.FormValue("where"), Changes: lastChanges(t)}
	d.Charts, d.Self = h.history.chartsOf(d.Name), process()
	p := page{Title: d.Name, ReadOnly: !h.allowed(r), Refresh: d.Where == ""}
	if err := h.fill(r, t, &d); err != nil {
		p.Error = err.Error()
	}
	p.Data = d
	h.render(w, http.StatusOK, "table.html", p)
}

// unreadable is the page of a table that can't be loaded: what the service knows of it, and the actions.
func (h *Console) unreadable(w http.ResponseWriter, r *http.Request, status compaction.TableStatus, err error) {
	d := tableData{Name: status.Table.String(), Status: status, Unreadable: true, Charts: h.history.chartsOf(status.Table.String())}
	d.About.Records, d.About.DataBytes = status.Records, status.Bytes
	d.Total, d.Repeated, d.Self = int(status.Shards), status.Problem == err.Error(), process()
	h.render(w, http.StatusBadGateway, "table.html", page{Title: d.Name, ReadOnly: !h.allowed(r), Refresh: true, Error: err.Error(), Data: d})
}

// fill reads what a table's page needs of the table. What was found before an error is shown with it.
func (h *Console) fill(r *http.Request, t *catalog.Table, d *tableData) error {
	ctx := r.Context()
	in, err := h.service.Effective(ctx, t)
	if err != nil {
		return err
	}
	v, err := h.overviews.of(ctx, t, in)
	if err != nil {
		return err
	}
	var from, to int
	d.pager, from, to = pageOf(r, len(v.lines), shardsPerPage)
	d.Shards, d.Picture, d.Plan, d.Policy = v.lines[from:to], v.picture, v.plan, v.policy
	d.Average, d.Target = d.About.DataBytes/max(1, int64(len(v.lines))), d.Status.TargetSize
	if d.Where != "" {
		d.Try = try(ctx, t, d.Where)
	}
	jobs, err := t.Jobs(ctx, false)
	d.Jobs = jobs[max(0, len(jobs)-shownJobs):]
	return errors.Join(v.problem, err)
}

// lastChanges are the youngest snapshots that the table has kept.
func lastChanges(t *catalog.Table) []catalog.Snapshot {
	all := t.History()
	last := slices.Clone(all[max(0, len(all)-shownChanges):])
	slices.Reverse(last)
	return last
}

// shardLines are the live shards, the youngest first.
func shardLines(ctx context.Context, t *catalog.Table) ([]shardLine, error) {
	lines := make([]shardLine, 0, t.Describe().Shards)
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
func clock(ticks int64) string { return literal.Time(ticks).Format(time.DateTime) }

// dryRun shows in full what a run would do now, and does nothing.
func (h *Console) dryRun(w http.ResponseWriter, r *http.Request, _ int64) {
	t, _, ok := h.load(w, r)
	if !ok {
		return
	}
	var plan *compaction.Plan
	in, err := h.service.Effective(r.Context(), t)
	if err == nil {
		plan, err = compaction.NewPlan(r.Context(), t, in.Policy)
	}
	if err != nil {
		h.fail(w, http.StatusConflict, err.Error())
		return
	}
	d := dryRunData{Name: t.Name().String(), Plan: plan}
	for i := range plan.Groups {
		g := &plan.Groups[i]
		d.Inputs += g.Inputs.Len()
		d.BytesMoved += g.BytesMoved
		d.Gets += g.Gets
		d.Puts += g.Puts
	}
	h.render(w, http.StatusOK, "dryrun.html", page{Title: "Dry run of " + d.Name, Data: d})
}

// dryRunData is a plan with its sums.
type dryRunData struct {
	Name       string
	Plan       *compaction.Plan
	Inputs     int
	BytesMoved int64
	Gets, Puts int64
}
