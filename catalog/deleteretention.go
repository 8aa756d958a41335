package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/manifest"
)

// RetentionProperty is the table property that determines how long rows are kept after their creation: a number of days
// ("30d") or one of Go's durations ("36h").
const RetentionProperty = "shardcat.retention"

// Retention reads the table's retention; 0 if it has none.
func (t *Table) Retention() (time.Duration, error) {
	d, err := parseRetention(t.Properties()[RetentionProperty])
	if err != nil {
		return 0, fmt.Errorf("table %s: %w", t.name, err)
	}
	return d, nil
}

// parseRetention reads the value of RetentionProperty; "" is 0.
func parseRetention(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := literal.ParseAge(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%w: property %s must be a positive number of days, such as 30d, or a positive duration, such as 36h, not %q", ErrInvalid, RetentionProperty, text)
	}
	return d, nil
}

// ApplyRetention takes away the shards all of whose records were created before the table's retention, in one
// snapshot and without opening them. A shard with one younger record stays whole, and so does one that does not
// report when its records were created. A table without the property is ErrInvalid.
func (t *Table) ApplyRetention(ctx context.Context, o DeleteOptions) (*DeleteResult, error) {
	keep, err := t.Retention()
	if err != nil {
		return nil, err
	}
	if keep == 0 {
		return nil, fmt.Errorf("%w: table %s has no retention; set its property %s, to 30d for instance", ErrInvalid, t.name, RetentionProperty)
	}
	return t.DropOlder(ctx, keep, o)
}

// DropOlder is ApplyRetention with another age than the table's property states.
func (t *Table) DropOlder(ctx context.Context, age time.Duration, o DeleteOptions) (*DeleteResult, error) {
	if age <= 0 {
		return nil, fmt.Errorf("%w: an age of %s would drop every row", ErrInvalid, age)
	}
	cutoff := literal.Ticks(t.cat.opts.Now().Add(-age))
	return t.takeWhole(ctx, jobRetention, o, func(e *manifest.Entry) bool { return e.Created.Known() && e.Created.Last < cutoff })
}
