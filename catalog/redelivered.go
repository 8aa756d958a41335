package catalog

import (
	"context"
	"errors"
	"strings"

	"github.com/shardcat/shardcat/blobio"
)

// A process that is killed leaves the record of its run open, and everything it names live. When the job is delivered again and commits, or turns out to be
// committed, the earlier runs end too: their commit is the one that was found, or can no longer succeed, for the branch has moved on and has the job.

// closeEarlierRuns ends the open runs of a job whose commit is known. What can't be closed stays open, as before.
func (t *Table) closeEarlierRuns(ctx context.Context, branch, id, outcome string, snapshot int64, except string) {
	if err := t.closeRuns(context.WithoutCancel(ctx), branch, id, outcome, snapshot, except); err != nil {
		t.cat.opts.Log.Warn("an earlier run of the job could not be closed", "job", id, "error", err)
	}
}

func (t *Table) closeRuns(ctx context.Context, branch, id, outcome string, snapshot int64, except string) error {
	folder := t.VaultFolder() + "_jobs/"
	open := map[string]bool{}
	for info, err := range t.cat.client.List(ctx, folder+id+".") {
		if err != nil {
			return err
		}
		switch run, kind := runOfRecord(strings.TrimPrefix(info.URL, folder)); kind {
		case closedSuffix:
			open[run] = false
		case "":
			if _, known := open[run]; !known && run != except {
				open[run] = true
			}
		}
	}
	for run, is := range open {
		if !is {
			continue
		}
		var began JobRecord
		err := t.cat.readRecord(ctx, folder+run+".json", &began)
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
		if began.ID != id || began.Ref != branch {
			continue
		}
		earlier := &Job{table: t, record: began, name: run, branch: branch}
		if err := earlier.end(ctx, outcome, snapshot); err != nil {
			return err
		}
	}
	return nil
}
