package catalog

import (
	"fmt"
	"time"

	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
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

// oldJobs finds the runs that ended longer ago than the table remembers.
func (c *collector) oldJobs() ([]*jobrecord.Run, error) {
	memory, err := c.table.JobMemory()
	if err != nil || memory < 0 {
		return nil, err
	}
	memory = max(memory, c.o.MinAge)
	return c.table.jobFolder().Old(c.listed, func(ended time.Time) bool { return c.ages().Aged(ended, memory) }), nil
}
