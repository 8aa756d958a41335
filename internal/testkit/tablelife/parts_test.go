package tablelife

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/merge"
)

// checkPolicy: the policy follows the columns that it names, whatever they are called now.
func (l *life) checkPolicy() {
	own, err := compaction.Overrides{}.Effective(ctx, l.tbl)
	l.must(err)
	if c := l.order; slices.Contains(l.columns, c) && own.Policy.Order != c.name+" desc" {
		l.fail("the policy orders by %q, want %s desc", own.Policy.Order, c.name)
	}
	if c := l.where; slices.Contains(l.columns, c) {
		got, err := filter.Parse(own.Policy.Where)
		l.must(err)
		want, err := filter.Parse(c.name + " IS NOT NULL")
		l.must(err)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			l.fail("the policy selects %s, want %s", got, want)
		}
	}
}

// compactPartly does one group of a plan, or a part of its work, which another process takes up or gives up.
func (l *life) compactPartly() {
	policy := compaction.Policy{TargetRecords: int64(8 + l.r.IntN(40))}
	plan, err := compaction.NewPlan(ctx, l.tbl, policy)
	l.must(err)
	if len(plan.Groups) == 0 {
		return
	}
	g := &plan.Groups[l.r.IntN(len(plan.Groups))]
	end := pick(l.r, []string{"commit", "resume", "resume twice", "discard"})
	l.step("compact one group of %d by %s, and %s", len(plan.Groups), g.Mode, end)

	job := fmt.Sprintf("part-%d", len(l.steps))
	j, err := compaction.Begin(ctx, l.tbl, g, policy, compaction.Options{JobID: job})
	if err == nil {
		err = j.Write(ctx)
	}
	if errors.Is(err, compaction.ErrNeedsRebuild) || errors.Is(err, merge.ErrNothingToPack) {
		return
	}
	l.must(err)
	switch end {
	case "commit":
		l.must(j.ReadBack(ctx))
		_, err := j.Commit(ctx)
		l.must(err)
	case "discard":
		open, err := l.tbl.Jobs(ctx, false)
		l.must(err)
		for _, state := range open {
			if state.ID == job {
				l.must(l.other().DiscardJob(ctx, state.Name()))
			}
		}
	default:
		for i := range len(strings.Fields(end)) {
			done, err := compaction.ResumeAll(ctx, l.other(), policy, compaction.Options{Check: true})
			l.must(err)
			if i == 0 && len(done) == 0 {
				if _, err := compaction.Resume(ctx, l.other(), job, policy, compaction.Options{}); errors.Is(err, manifest.ErrPartition) {
					l.tbl = l.other() // rows of an older partition spec were rewritten, and bounds do not prove their new partitions: the next run does it again
					return
				}
			}
			if len(done) != 1-i {
				l.fail("%d jobs were resumed the %d. time", len(done), i+1)
			}
		}
	}
	l.tbl = l.other()
	l.committed(mainBranch, l.branches[mainBranch].rows)
}

// export writes rows as a file, and reads it.
func (l *life) export() {
	rows := l.branches[mainBranch].rows
	format := pick(l.r, []fileio.Format{fileio.Parquet, fileio.Parquet, fileio.Arrow, fileio.ArrowStream, fileio.NDJSON})
	o, columns := catalog.ExportOptions{Format: format}, []*column{}
	o.Select = []string{"serial"}
	for _, c := range l.columns {
		if c.kind == kTime && format != fileio.NDJSON { // which has ticks of 100 ns; others round
			continue
		}
		free := *c
		free.required = false
		columns, o.Select = append(columns, &free), append(o.Select, c.name)
	}
	if l.r.IntN(2) == 0 {
		c, e := l.condition()
		o.Where = e
		rows, _ = matching(rows, c)
	}
	if len(rows) == 0 {
		return
	}
	out := fmt.Sprintf("mem://%s/out/%d.%s", l.bucket, len(l.steps), map[fileio.Format]string{
		fileio.Parquet: "parquet", fileio.Arrow: "arrow", fileio.ArrowStream: "arrows", fileio.NDJSON: "ndjson"}[format])
	l.step("export %d rows of %v to %s", len(rows), o.Select, out)
	done, err := l.tbl.Export(ctx, out, o)
	l.must(err)
	if done.Rows != int64(len(rows)) {
		l.fail("%d rows were exported, want %d", done.Rows, len(rows))
	}
	src, err := fileio.OpenSource(ctx, l.c.Client(), done.Files, fileio.SourceOptions{InProcess: true, Schema: schemaOf(columns)})
	l.must(err)
	defer src.Close()
	var got []string
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		l.must(err)
		got = append(got, texts(b)...)
	}
	want := texts(batchOf(columns, rows))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		l.fail("the %s file holds\n%s\nwant\n%s", format, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	l.must(l.c.Client().Delete(ctx, out, ""))
}
