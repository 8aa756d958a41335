package catalog

import (
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/catalog/internal/commitqueue"
)

// queued begins a change. Its Leave must be called when the change has ended.
func (t *Table) queued(yields bool) *commitqueue.Writer {
	return &commitqueue.Writer{Queue: t.cat.queue, Table: queuedTable{t}, Yields: yields, Now: t.cat.opts.Now, Log: t.cat.opts.Log}
}

// queuedTable is a table as its queue of writers sees it.
type queuedTable struct{ *Table }

func (t queuedTable) UUID() uuid.UUID { return t.ice.Metadata().TableUUID() }
func (t queuedTable) Name() string    { return t.name.String() }
func (t queuedTable) Exists() bool    { return t.creation == nil }

func (t queuedTable) LastCommit() time.Time {
	head := t.ice.CurrentSnapshot()
	if head == nil {
		return time.Time{}
	}
	return time.UnixMilli(head.TimestampMs)
}
