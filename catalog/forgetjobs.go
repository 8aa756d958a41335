package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/literal"
)

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

// jobRecords are the records of a run of a job that lie in the vault folder.
type jobRecords struct {
	// begun is nil if the job's own record is gone already, closed if it is open.
	begun, closed *blobio.Info
	notes         []*blobio.Info
}

// runOfRecord splits the name of a job's record: the run that it is of, and the suffix of its kind, "" for the record of the run itself.
func runOfRecord(name string) (run, kind string) {
	for _, s := range []string{closedSuffix, claimSuffix, writtenSuffix} {
		if run, ok := strings.CutSuffix(name, s); ok {
			return run, s
		}
	}
	return strings.TrimSuffix(name, ".json"), ""
}

// recordsOfJobs sorts the listed records by the runs that they are of.
func (c *collector) recordsOfJobs() map[string]*jobRecords {
	folder := c.table.VaultFolder() + "_jobs/"
	runs := map[string]*jobRecords{}
	for i := range c.listed {
		info := &c.listed[i]
		if !strings.HasPrefix(info.URL, folder) || !strings.HasSuffix(info.URL, ".json") {
			continue
		}
		at, kind := runOfRecord(info.URL)
		r := runs[at]
		if r == nil {
			r = &jobRecords{}
			runs[at] = r
		}
		switch kind {
		case "":
			r.begun = info
		case closedSuffix:
			r.closed = info
		default:
			r.notes = append(r.notes, info)
		}
	}
	return runs
}

// oldJobs finds the runs that ended longer ago than the table remembers.
func (c *collector) oldJobs() ([]*jobRecords, error) {
	memory, err := c.table.JobMemory()
	if err != nil || memory < 0 {
		return nil, err
	}
	memory = max(memory, c.o.MinAge)
	var old []*jobRecords
	runs := c.recordsOfJobs()
	for _, at := range slices.Sorted(maps.Keys(runs)) {
		last := runs[at].closed
		if last == nil && runs[at].begun == nil { // a claim of a job whose record went with its commit
			last = slices.MaxFunc(runs[at].notes, func(a, b *blobio.Info) int { return a.ModTime.Compare(b.ModTime) })
		}
		if last != nil && c.ages().Aged(last.ModTime, memory) {
			old = append(old, runs[at])
		}
	}
	return old, nil
}

// forgetJobs deletes the records of old jobs: the one that reports that the job was begun first, for without its end it would be open, and
// only if it is the one that was listed, for the job may have begun again.
func (c *collector) forgetJobs(ctx context.Context) error {
	client := c.table.cat.client
	return client.Each(ctx, len(c.old), func(ctx context.Context, branch *blobio.Client, i int) error {
		r := c.old[i]
		for _, info := range append(append([]*blobio.Info{r.begun}, r.notes...), r.closed) {
			if info == nil {
				continue
			}
			err := branch.Delete(ctx, info.URL, info.ETag)
			if errors.Is(err, blobio.ErrChanged) || errors.Is(err, blobio.ErrConflict) {
				return nil
			}
			if err != nil && !errors.Is(err, blobio.ErrNotFound) {
				return fmt.Errorf("collect table %s: %w", c.table.name, err)
			}
		}
		return nil
	})
}
