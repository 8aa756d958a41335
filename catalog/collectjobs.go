package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/internal/literal"
)

// openJobs are the jobs that may still commit, and those that were given up.
type openJobs struct{ open, given []*JobState }

// Jobs lists the jobs of the table by the time they were begun: those that are open, or all.
func (t *Table) Jobs(ctx context.Context, all bool) ([]*JobState, error) {
	jobs, err := t.jobFolder().States(ctx, "", all)
	slices.SortFunc(jobs, func(a, b *JobState) int { return a.Started.Compare(b.Started) })
	return jobs, err
}

// readJobs reads the jobs that are open.
func (t *Table) readJobs(ctx context.Context) (*openJobs, error) {
	open, err := t.jobFolder().States(ctx, "", false)
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
	end, err := t.jobFolder().EndOf(ctx, j.name)
	switch {
	case errors.Is(err, blobio.ErrNotFound):
		return nil
	case err != nil:
		return err
	case end.Outcome == jobrecord.Abandoned:
		return fmt.Errorf("%w: job %s was open too long and was abandoned by a collection; run it again", ErrConflict, j.record.ID)
	}
	return nil
}

// JobMemoryProperty is the table property that determines how long after its end a job is remembered where its snapshot has expired: an age
// (see ParseAge), or "forever".
const JobMemoryProperty = "shardcat.job-memory"

// defaultJobMemory: a job that is delivered again later than that, and whose snapshot has expired, is committed again. Records that
// nobody removes would be a million in a year of one-minute appends, and each collection would list them.
const defaultJobMemory = 90 * 24 * time.Hour

// JobMemory reads the table's job memory; negative for ever.
func (t *Table) JobMemory() (time.Duration, error) {
	d, err := parseJobMemory(t.Properties()[JobMemoryProperty])
	if err != nil {
		return 0, fmt.Errorf("table %s: %w", t.name, err)
	}
	return d, nil
}

// parseJobMemory reads the value of JobMemoryProperty; negative for ever.
func parseJobMemory(text string) (time.Duration, error) {
	switch text {
	case "":
		return defaultJobMemory, nil
	case "forever":
		return -1, nil
	}
	d, err := literal.ParseAge(text)
	if err != nil {
		return 0, fmt.Errorf("%w: property %s must be a number of days, such as 90d, a duration, such as 36h, or forever, not %q", ErrInvalid, JobMemoryProperty, text)
	}
	return d, nil
}

// oldJobs finds the runs that ended longer ago than the table remembers.
func (c *collector) oldJobs() ([]*jobrecord.Run, error) {
	memory, err := c.table.JobMemory()
	if err != nil || memory < 0 {
		return nil, err
	}
	memory = max(memory, c.o.MinAge)
	return c.table.jobFolder().Old(c.listed, func(ended time.Time) bool { return c.ages().Aged(ended, memory) }), nil
}
