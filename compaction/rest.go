package compaction

import (
	"context"
	"maps"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/internal/schedule"
)

// A table at rest, for which a run found nothing to do, is not read again before something may have changed: its state in the catalog,
// the settings around it, or the time by which something becomes due. Looking whether that is so costs one small question to the catalog.

// rest is what a run that did nothing has found, and for how long that holds.
type rest struct {
	look measurement
	// version of the table, and the settings of the levels above it.
	version string
	above   []Level
	until   time.Time
}

const (
	// longestRest is the time after which a table is read in any case.
	longestRest = time.Hour
	// restShare of an age, of snapshots or rows, is how much later than due they may be dropped for that.
	restShare = 100
)

// restOf is how long a table needs nothing that a run has found in order; nil if it has work, or none is known to be due.
func (v *maintenanceRun) restOf(look measurement, above []Level, now time.Time) *rest {
	u := v.in.upkeep
	if !v.run.idle() || look.groups > 0 || look.quarantined > 0 || u.collect != nil && *u.collect == (schedule.Schedule{}) {
		return nil
	}
	r := &rest{look: look, version: v.table.Version(), above: above, until: now.Add(longestRest)}
	sooner := func(t time.Time) {
		if t.Before(r.until) {
			r.until = t
		}
	}
	if u.expire >= 0 {
		sooner(now.Add(u.expire / restShare))
	}
	age, err := v.table.Retention()
	if err != nil {
		return nil
	}
	for _, age := range []time.Duration{age, u.retention} {
		if age > 0 {
			sooner(now.Add(age / restShare))
		}
	}
	for _, s := range []*schedule.Schedule{u.retain, u.expiry, u.collect} {
		if s != nil && *s != (schedule.Schedule{}) {
			sooner(s.Next(now))
		}
	}
	return r
}

// atRest is what an earlier run has found of a table, if that holds still.
func (s *Service) atRest(ctx context.Context, name catalog.Name, above []Level) *rest {
	s.mu.Lock()
	var r *rest
	if t := s.tables[name]; t != nil && !t.retry {
		r = t.rest
	}
	s.mu.Unlock()
	now := s.o.Now()
	if r == nil || !now.Before(r.until) || r.until.Sub(now) > longestRest || !equalLevels(r.above, above) {
		return nil
	}
	if version, err := s.cat.Version(ctx, name); err != nil || version != r.version {
		return nil
	}
	return r
}

func equalLevels(a, b []Level) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Source != b[i].Source || !maps.Equal(a[i].Settings, b[i].Settings) {
			return false
		}
	}
	return true
}

// levelsAbove are those of a namespace, requested once in the time after which new tables are looked for.
func (s *Service) levelsAbove(ctx context.Context, namespace string) ([]Level, error) {
	s.mu.Lock()
	now, known := s.o.Now(), s.namespaces[namespace]
	overrides := s.o.Overrides
	s.mu.Unlock()
	if age := now.Sub(known.at); known.levels != nil && age >= 0 && age < s.o.Discover {
		return known.levels, nil
	}
	levels, err := namespaceLevels(ctx, s.cat, namespace, overrides)
	if err != nil {
		return nil, err
	}
	if levels == nil {
		levels = []Level{}
	}
	s.mu.Lock()
	s.namespaces[namespace] = namespaceSettings{levels, now}
	s.mu.Unlock()
	return levels, nil
}

// namespaceSettings are the levels of a namespace and those around it, as they were at a time.
type namespaceSettings struct {
	levels []Level
	at     time.Time
}

// idle reports whether a run found nothing to do.
func (r *Run) idle() bool {
	return r.Error == "" && r.Lease == "" && len(r.Results)+len(r.Failed)+r.Conflicts+r.Resumed+r.SnapshotsExpired+r.ObjectsMarked+r.ObjectsDeleted+r.IndexesBuilt == 0 &&
		r.RowsExpired == 0 && r.BytesMoved == 0
}
