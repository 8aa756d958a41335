package catalog

import (
	"context"
	"errors"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
)

// A process that is killed leaves the record of its run open, and everything it names live. When the job is delivered again and commits, or turns out to be
// committed, the earlier runs end too: their commit is the one that was found, or can no longer succeed, for the branch has moved on and has the job.

// closeEarlierRuns ends, as is stated, the open runs of a job whose commit is known, but for one. What can't be closed stays open, as before.
func (t *Table) closeEarlierRuns(ctx context.Context, as JobEnd, except string) {
	if err := t.closeRuns(context.WithoutCancel(ctx), as, except); err != nil {
		t.cat.opts.Log.Warn("an earlier run of the job could not be closed", "job", as.ID, "error", err)
	}
}

func (t *Table) closeRuns(ctx context.Context, as JobEnd, except string) error {
	folder := t.jobFolder()
	open := map[string]bool{}
	for r, err := range folder.List(ctx, as.ID+".") {
		if err != nil {
			return err
		}
		switch r.Kind {
		case jobrecord.ClosedSuffix:
			open[r.Run] = false
		case "":
			if _, known := open[r.Run]; !known && r.Run != except {
				open[r.Run] = true
			}
		}
	}
	for run, is := range open {
		if !is {
			continue
		}
		var began JobRecord
		err := t.cat.records.Read(ctx, folder.URL+run+jobrecord.BegunSuffix, &began)
		if errors.Is(err, blobio.ErrNotFound) {
			continue // forgotten meanwhile
		}
		if err != nil {
			return err
		}
		switch began.Kind {
		case JobCompact, jobWrite, jobFiles: // whose runs are taken up by others, and ended by them
			continue
		}
		if began.ID != as.ID || began.Ref != as.Ref {
			continue
		}
		earlier := &Job{table: t, record: began, name: run, branch: as.Ref}
		if err := earlier.end(ctx, as.Outcome, as.Snapshot); err != nil {
			return err
		}
	}
	return nil
}
