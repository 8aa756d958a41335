// Package jobrecord has the records of a table's jobs, which lie in _jobs/ of its vault folder: that a run of a job has begun, how it ended, and what may
// become of the objects that it wrote.
package jobrecord

import (
	"strings"
	"time"
)

// Outcomes of jobs.
const (
	Committed = "committed"
	Duplicate = "duplicate" // the job was committed before; this run's objects are nobody's
	Failed    = "failed"    // nothing was committed
	Abandoned = "abandoned" // open for longer than any job takes; it can't commit any more
)

// Suffixes of the names of records: that of a run itself, how it ended, what may become of its objects, what it wrote.
const (
	BegunSuffix   = ".json"
	ClosedSuffix  = ".closed.json"
	ClaimSuffix   = ".claim.json"
	WrittenSuffix = ".written.json"
)

// Record is the content of _jobs/<id>.json. As long as no record reports that the job ended, everything it
// names is live.
type Record struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	// Attempt is random: it distinguishes a job's own record from that of another run of the same job.
	Attempt string `json:"attempt"`
	Kind    string `json:"kind"`
	// Inputs are the roots that the job replaces.
	Inputs []string `json:"inputs,omitempty"`
	// Outputs are objects, and with a trailing "*" all objects with a prefix, that the job writes or adopts.
	Outputs []string `json:"outputs"`
	// Base is the snapshot the job began on, 0 for none.
	Base int64 `json:"base_snapshot,omitempty"`
	// Ref is the branch that the job writes to, main if empty.
	Ref     string    `json:"ref,omitempty"`
	Started time.Time `json:"started"`
	// Unnamed: the id was made up by this program and given to nobody before the commit, so no delivery repeats it.
	Unnamed bool `json:"unnamed,omitempty"`
	// Files are those of a job that loads files, PartFiles how many of them one commit has.
	Files     []InputFile `json:"files,omitempty"`
	PartFiles int         `json:"part_files,omitempty"`
}

// InputFile is a file to be landed. Its URL distinguishes it from others.
type InputFile struct {
	URL  string `json:"url"`
	Size int64  `json:"size"`
}

// Covers reports whether an object is named by a record.
func Covers(r *Record, url string) bool {
	for _, o := range r.Outputs {
		if prefix, many := strings.CutSuffix(o, "*"); o == url || many && strings.HasPrefix(url, prefix) {
			return true
		}
	}
	return false
}

// End is the content of _jobs/<id>.closed.json.
type End struct {
	Version  int       `json:"version"`
	ID       string    `json:"id"`
	Attempt  string    `json:"attempt"`
	Outcome  string    `json:"outcome"`
	Snapshot int64     `json:"snapshot,omitempty"`
	Ref      string    `json:"ref,omitempty"`
	Closed   time.Time `json:"closed"`
}

// JobRecord is Record under the name that State has it by.
type JobRecord = Record

// State is what the records of a job state about it.
type State struct {
	JobRecord
	// End is how the job ended, nil while it is open.
	End *End `json:"end,omitempty"`
	// Recorded is when the record was written, by the store's clock.
	Recorded time.Time `json:"recorded"`

	run string
}

// Name of the run's record, for ResumeJob.
func (j *State) Name() string { return j.run }

// Purposes of claims.
const (
	ToCommit = "commit"
	ToDelete = "delete"
)

// claim is the content of a claim. Claims of one purpose are equal, so that any number of processes may take up a run.
type claim struct {
	Version int    `json:"version"`
	Purpose string `json:"purpose"`
	// Attempt of the run.
	Attempt string `json:"attempt"`
}
