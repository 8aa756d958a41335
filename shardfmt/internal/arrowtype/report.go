package arrowtype

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/internal/plural"
)

// Report is what a mapping between Arrow and a shard changes, field by field. Values are kept unless a
// note states otherwise.
type Report struct {
	Notes []Note `json:"notes"`
}

// Note is one change.
type Note struct {
	// Field is the dotted path of the field.
	Field string `json:"field"`
	// What changes, in a few words.
	What string `json:"what"`
	// Count of the values concerned, 0 where it is the type that changes.
	Count int64 `json:"values,omitempty"`
}

// Restorable reports whether the original Arrow schema, which a shard carries, gives back what the note is about.
func (n Note) Restorable() bool { return n.Count == 0 && n.What != NullsBecomeString }

// NullsBecomeString is the note of a column without values, of which not even the original Arrow schema gives the type back.
const NullsBecomeString = "a column with only nulls becomes String"

// Add notes a change of values, and counts on where the same was noted before.
func (r *Report) Add(field, what string, count int64) {
	i := slices.IndexFunc(r.Notes, func(n Note) bool { return n.Field == field && n.What == what })
	if i < 0 {
		r.Notes = append(r.Notes, Note{Field: field, What: what})
		i = len(r.Notes) - 1
	}
	r.Notes[i].Count += count
}

// Merge adds the notes of another report.
func (r *Report) Merge(other *Report) {
	for _, n := range other.Notes {
		r.Add(n.Field, n.What, n.Count)
	}
}

// String is one line a note.
func (r *Report) String() string {
	var b strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "field %q: %s", n.Field, n.What)
		if n.Count > 0 {
			fmt.Fprintf(&b, " (%s)", plural.Count(n.Count, "value"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// RowError is a value that the other side can't hold.
type RowError struct {
	// Field is the dotted path of the field.
	Field string
	// Row of the batch, from 0.
	Row int64
	// Err is what is wrong with the value.
	Err error
}

// Error implements error; rows are counted from 1 for people.
func (e *RowError) Error() string {
	return fmt.Sprintf("row %d: field %q: %v", e.Row+1, e.Field, e.Err)
}

// Unwrap gives the cause.
func (e *RowError) Unwrap() error { return e.Err }
