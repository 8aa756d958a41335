package compaction

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// State is what a service does about a table.
type State string

// The states.
const (
	// Waiting for the next run.
	Waiting State = "waiting"
	Running State = "running"
	// Failing: the last run failed; it is tried again after a delay that grows.
	Failing State = "failing"
	Paused  State = "paused"
	// Halted: going on could do harm. A person must look, and resume.
	Halted State = "halted"
)

// TableStatus is what a service knows of a table.
type TableStatus struct {
	Table   catalog.Name `json:"-"`
	State   State        `json:"state"`
	Shards  int64        `json:"shards"`
	Records int64        `json:"records"`
	Bytes   int64        `json:"bytes"`
	// Groups, BacklogShards and BacklogBytes are what a plan would still compact.
	Groups        int       `json:"groups"`
	BacklogShards int64     `json:"backlog_shards"`
	BacklogBytes  int64     `json:"backlog_bytes"`
	Schedule      string    `json:"schedule"`
	NextRun       time.Time `json:"next_run"`
	// Measured: the sizes and the backlog were measured, by the last run or one before it.
	Measured bool `json:"measured"`
	// TargetSize is the size of a shard that the policy requires, 0 before the table was measured.
	TargetSize int64 `json:"target_size,omitempty"`
	// Rounds counts runs since the service began. LastSuccess is when the last one that succeeded ended, or when the service found the table:
	// Succeeded reports which.
	Rounds      int64     `json:"rounds"`
	LastSuccess time.Time `json:"last_success"`
	Succeeded   bool      `json:"succeeded"`
	// FailingSince is when the first of the failed runs since then ended, zero if there is none. It stays while the next one is under way.
	FailingSince time.Time `json:"failing_since,omitzero"`
	// Interval is the time between two runs by the schedule.
	Interval time.Duration `json:"-"`
	// Quarantined are groups that failed and are left alone for a while, QuarantinedShards what they consist of.
	Quarantined       int `json:"quarantined,omitempty"`
	QuarantinedShards int `json:"quarantined_shards,omitempty"`
	// Progress of the run that is under way, nil if there is none.
	Progress *Pace `json:"progress,omitempty"`
	// Problem is why the last run failed, or why groups are in quarantine, Remedy the command that helps; both empty if all is well.
	Problem string `json:"problem,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	// History are the last runs, the latest last.
	History []Run `json:"history"`
}

// keptRuns is how many runs of a table are remembered.
const keptRuns = 50

// Run is one run over a table.
type Run struct {
	Table      catalog.Name `json:"-"`
	Started    time.Time    `json:"started"`
	Seconds    float64      `json:"seconds"`
	Results    []Result     `json:"results"`
	BytesMoved int64        `json:"bytes_moved"`
	// Conflicts counts plans that another writer's commit made void.
	Conflicts int `json:"conflicts,omitempty"`
	// Resumed counts jobs of processes that had died, which this run finished; Failed groups that went into quarantine.
	Resumed          int       `json:"resumed,omitempty"`
	Failed           []Failure `json:"failed,omitempty"`
	RowsExpired      int64     `json:"rows_expired,omitempty"`
	SnapshotsExpired int       `json:"snapshots_expired,omitempty"`
	// ObjectsMarked will be deleted after a delay, ObjectsDeleted were marked in earlier runs.
	ObjectsMarked  int `json:"objects_marked,omitempty"`
	ObjectsDeleted int `json:"objects_deleted,omitempty"`
	// Lease is what became of the table's lease, empty if there was nothing to do.
	Lease LeaseState `json:"lease,omitempty"`
	// Holder is the process that held the lease, as HOST/PID, if it was busy.
	Holder string `json:"holder,omitempty"`
	// IndexesBuilt counts indexes of stripes that the table's property required.
	IndexesBuilt int    `json:"indexes_built,omitempty"`
	Error        string `json:"error,omitempty"`
}

// LeaseState is what became of a lease in a run.
type LeaseState string

// The states.
const (
	LeaseHeld LeaseState = "held"
	// LeaseBusy: another process held it and does the work.
	LeaseBusy LeaseState = "busy"
	// LeaseLost: another process took it over in the middle of the run; nothing was committed after that.
	LeaseLost LeaseState = "lost"
)

// Status of all tables, by name.
func (s *Service) Status() []TableStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]TableStatus, 0, len(s.tables))
	for _, t := range s.tables {
		out = append(out, t.statusAt(s.o.Now()))
	}
	slices.SortFunc(out, func(a, b TableStatus) int { return cmp.Compare(a.Table.String(), b.Table.String()) })
	return out
}

// StatusOf is the status of one table; false if the service does not know it.
func (s *Service) StatusOf(name catalog.Name) (TableStatus, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[name]
	if t == nil {
		return TableStatus{}, false
	}
	return t.statusAt(s.o.Now()), true
}

// statusAt is a copy of the status, with how fast a run under way is.
func (t *tableState) statusAt(now time.Time) TableStatus {
	st := t.status
	st.History = slices.Clone(st.History)
	if st.State == Running && t.progress != nil {
		st.Progress = paceOf(*t.progress, t.began, now)
	}
	return st
}

// Halted reports whether any table is halted.
func (s *Service) Halted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		if t.status.State == Halted {
			return true
		}
	}
	return false
}

// Ready reports whether the tables of the catalog have been listed once.
func (s *Service) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.discovered.IsZero()
}

// CatalogUp reports whether the last request for the list of tables succeeded.
func (s *Service) CatalogUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.catalogAway && !s.discovered.IsZero()
}

// Halts reports whether an error means that going on could do harm: rows that a merge changed, a vault that is another
// table's, an input that can't be read.
func Halts(err error) bool {
	return errors.Is(err, ErrHalted) || errors.Is(err, ErrContent) || errors.Is(err, catalog.ErrUnsafe) || errors.Is(err, corrupt.ErrCorrupt)
}

// remedyOf is the command that helps against an error.
func remedyOf(name catalog.Name, err error) string {
	switch {
	case errors.Is(err, ErrPolicy):
		return "shardcat policy show " + name.String()
	case Halts(err):
		return "shardcat verify " + name.String()
	}
	return "shardcat compact " + name.String() + " --dry-run"
}
