package compaction

import "time"

// Progress is how far a run is.
type Progress struct {
	// Step of the job that has just come further, and its id.
	Step  Step   `json:"step"`
	JobID string `json:"job_id"`
	// GroupsDone of Groups are committed.
	Groups     int `json:"groups"`
	GroupsDone int `json:"groups_done"`
	// RecordsDone of Records are written or committed.
	Records     int64 `json:"records"`
	RecordsDone int64 `json:"records_done"`
}

// Pace is a run's progress over time.
type Pace struct {
	Progress
	Started time.Time `json:"started"`
	// RecordsPerSecond since the start, and at that rate SecondsLeft; 0 while nothing is done.
	RecordsPerSecond float64 `json:"records_per_second"`
	SecondsLeft      float64 `json:"seconds_left"`
}

// paceOf is how fast a run went from its start to now.
func paceOf(p Progress, started, now time.Time) *Pace {
	pace := &Pace{Progress: p, Started: started}
	if seconds := now.Sub(started).Seconds(); seconds > 0 && p.RecordsDone > 0 {
		pace.RecordsPerSecond = float64(p.RecordsDone) / seconds
		pace.SecondsLeft = float64(p.Records-p.RecordsDone) / pace.RecordsPerSecond
	}
	return pace
}
