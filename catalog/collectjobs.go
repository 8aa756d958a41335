package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// outcomeAbandoned closes a job that was open for longer than any job takes. The job can't commit any more.
const outcomeAbandoned = "abandoned"

// JobState is a job of a table as its records tell.
type JobState struct {
	JobRecord
	// End is how the job ended, nil while it is open.
	End *JobEnd `json:"end,omitempty"`
	// Recorded is when the record was written, by the store's clock.
	Recorded time.Time `json:"recorded"`

	// at is the URL of the record without its suffix.
	at string
}

// closedSuffix ends the name of the record of how a run ended.
const closedSuffix = ".closed.json"

// openJobs are the jobs that may still commit, and those that were given up.
type openJobs struct{ open, given []*JobState }

// Jobs lists the jobs of the table by the time they were begun: those that are open, or all.
func (t *Table) Jobs(ctx context.Context, all bool) ([]*JobState, error) {
	jobs, err := t.jobStates(ctx, all)
	slices.SortFunc(jobs, func(a, b *JobState) int { return a.Started.Compare(b.Started) })
	return jobs, err
}

// jobStates reads the records of the open jobs, and if asked those of the closed ones.
func (t *Table) jobStates(ctx context.Context, all bool) ([]*JobState, error) {
	return t.jobStatesAt(ctx, "", all)
}

// jobStatesAt is jobStates of the records whose names begin so.
func (t *Table) jobStatesAt(ctx context.Context, prefix string, all bool) ([]*JobState, error) {
	folder := t.VaultFolder() + "_jobs/" + prefix
	begun, closed := []blobio.Info{}, map[string]bool{}
	for info, err := range t.cat.client.List(ctx, folder) {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", folder, err)
		}
		switch at, kind := runOfRecord(info.URL); kind {
		case closedSuffix:
			closed[at] = true
		case "": // the others report what may become of the objects of a run, see ResumeJob and WriteShards
			if strings.HasSuffix(info.URL, ".json") {
				begun = append(begun, info)
			}
		}
	}
	if !all {
		begun = slices.DeleteFunc(begun, func(info blobio.Info) bool { return closed[strings.TrimSuffix(info.URL, ".json")] })
	}
	out := make([]*JobState, len(begun))
	err := t.cat.client.Each(ctx, len(begun), func(ctx context.Context, _ *blobio.Client, i int) error {
		j := &JobState{at: strings.TrimSuffix(begun[i].URL, ".json"), Recorded: begun[i].ModTime.UTC()}
		err := t.cat.records.Read(ctx, begun[i].URL, &j.JobRecord)
		if errors.Is(err, blobio.ErrNotFound) {
			return nil // it ended since the list, or the list is a stale one; see Job.end
		}
		if err != nil {
			return fmt.Errorf("%s: %w", begun[i].URL, err)
		}
		out[i] = j
		if !closed[j.at] {
			return nil
		}
		j.End = new(JobEnd)
		return t.cat.records.Read(ctx, j.at+closedSuffix, j.End)
	})
	if err != nil {
		return nil, err // out has holes
	}
	return slices.DeleteFunc(out, func(j *JobState) bool { return j == nil }), nil
}

func (t *Table) readJobs(ctx context.Context) (*openJobs, error) {
	open, err := t.jobStates(ctx, false)
	return &openJobs{open: open}, err
}

// giveUp takes the jobs that were begun before a time for dead; one whose record has no time is not.
func (o *openJobs) giveUp(before time.Time) {
	o.open = slices.DeleteFunc(o.open, func(j *JobState) bool {
		if blobio.KnownTime(j.Recorded) && j.Recorded.Before(before) {
			o.given = append(o.given, j)
			return true
		}
		return false
	})
}

// close ends an abandoned job, unless it ended meanwhile.
func (j *JobState) close(ctx context.Context, t *Table) error {
	err := t.cat.records.PutNote(ctx, j.at+".closed.json", JobEnd{
		Version: records.Version, ID: j.ID, Attempt: j.Attempt, Outcome: outcomeAbandoned, Closed: t.cat.opts.Now().UTC(),
	})
	if err != nil && !errors.Is(err, blobio.ErrExists) {
		return fmt.Errorf("job %s: %w", j.ID, err)
	}
	return nil
}

// longJob is how old a job is when it looks, before it commits, whether a collection has given it up.
const longJob = time.Hour

// checkAbandoned refuses to commit a job that a collection has given up: its objects may be marked already. What
// it marked is deleted only after a delay and another look at the table, so a commit that was sent just before
// keeps its objects.
func (j *Job) checkAbandoned(ctx context.Context) error {
	t := j.table
	if t.cat.opts.Now().Sub(j.record.Started) < longJob {
		return nil
	}
	var end JobEnd
	err := t.cat.records.Read(ctx, j.at(".closed.json"), &end)
	switch {
	case errors.Is(err, blobio.ErrNotFound):
		return nil
	case err != nil:
		return err
	case end.Outcome == outcomeAbandoned:
		return fmt.Errorf("%w: job %s was open too long and was abandoned by a collection; run it again", ErrConflict, j.record.ID)
	}
	return nil
}
