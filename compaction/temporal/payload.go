package temporal

import "github.com/shardcat/shardcat/compaction/internal/savedplan"

// TableInput is what CompactTable is started with. A caller gives Table; the rest is how far a run has come that continues as new.
type TableInput struct {
	// Table is the table's full name.
	Table string `json:"table"`
	// Queue begins the names of the task queues, DefaultQueue if empty.
	Queue string `json:"queue,omitempty"`
	// Parallel is how many groups are worked on at the same time, 4 if 0; Batch after how many groups the workflow continues as new, 100 if 0.
	Parallel int `json:"parallel,omitempty"`
	Batch    int `json:"batch,omitempty"`
	// Heartbeat is how many seconds after a worker's last sign of life another one gets its step, 60 if 0.
	Heartbeat int `json:"heartbeat,omitempty"`

	Plan   *savedplan.Plan `json:"plan,omitempty"`
	Next   int             `json:"next,omitempty"`
	Round  int             `json:"round,omitempty"`
	Report TableReport     `json:"report"`
}

const (
	defaultParallel  = 4
	defaultHeartbeat = 60
	// defaultBatch: a group takes some 25 events of a history, which Temporal wants below 10,000.
	defaultBatch = 100
	// maxRounds bounds how often a table is planned again because of lost races, or because a plan had no space.
	maxRounds = 20
)

func (in TableInput) filled() TableInput {
	if in.Queue == "" {
		in.Queue = DefaultQueue
	}
	if in.Parallel <= 0 {
		in.Parallel = defaultParallel
	}
	if in.Batch <= 0 {
		in.Batch = defaultBatch
	}
	if in.Heartbeat <= 0 {
		in.Heartbeat = defaultHeartbeat
	}
	return in
}

// TableReport is what became of a table.
type TableReport struct {
	// Groups were compacted of Inputs shards, which moved BytesMoved bytes of data.
	Groups     int   `json:"groups"`
	Inputs     int   `json:"inputs"`
	BytesMoved int64 `json:"bytes_moved"`
	// Conflicts are groups that another writer's commit made void; they were planned again. Failed ones are in quarantine.
	Conflicts int `json:"conflicts,omitempty"`
	Failed    int `json:"failed,omitempty"`
	// Resumed are jobs of processes that had died.
	Resumed int `json:"resumed,omitempty"`
	// Shards are live afterwards.
	Shards int64 `json:"shards"`
	// Busy: the table's workflow was at work already; nothing was done.
	Busy bool `json:"busy,omitempty"`
	// Runs is how many runs the workflow took: it continues as new before its history grows.
	Runs int `json:"runs,omitempty"`
}

// planned is what Plan hands over.
type planned struct {
	savedplan.Plan
	Resumed int `json:"resumed,omitempty"`
}

// groupRef names a group of a saved plan, and once it was written the record of its job.
type groupRef struct {
	Table string         `json:"table"`
	Plan  savedplan.Plan `json:"plan"`
	Group int            `json:"group"`
	Job   string         `json:"job,omitempty"`
}

// failedGroup is a group to be put into quarantine.
type failedGroup struct {
	groupRef
	Reason string `json:"reason"`
	Halts  bool   `json:"halts,omitempty"`
}

// groupDone is what came of a group.
type groupDone struct {
	Inputs     int   `json:"inputs"`
	BytesMoved int64 `json:"bytes_moved"`
}
