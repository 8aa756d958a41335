package compaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
)

// Quarantine are the shards of a table that a failing group consists of: they are left out of plans for a while, so that the other
// groups go on, and are tried again after a delay that grows. It is kept in the table's vault folder, one object
// _compaction/quarantine-<id>.json for each group, so that it outlives the process. Its methods may be called concurrently; those of nil hold nothing.
type Quarantine struct {
	client *blobio.Client
	folder string
	now    func() time.Time

	mu     sync.Mutex
	groups []QuarantinedGroup
	// until is when each of their shards may be tried again.
	until map[string]time.Time
	// retry: hold nothing back, whatever the delays say.
	retry bool
}

// QuarantinedGroup is a group that failed.
type QuarantinedGroup struct {
	Version int `json:"version"`
	// Inputs are the group's shards, Reason why it failed the last time.
	Inputs []string `json:"inputs"`
	Reason string   `json:"reason"`
	// Failures in a row; Until is when it is tried again.
	Failures int       `json:"failures"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"`
	// Halts: going on could do harm; the table waits for somebody to look.
	Halts bool `json:"halts,omitempty"`

	url string
}

const (
	quarantineVersion = 1
	// minQuarantine is the first delay, which doubles with each failure up to maxQuarantine.
	minQuarantine, maxQuarantine = 10 * time.Minute, 24 * time.Hour
	// maxQuarantineRecord bounds what is read of a record: the names of max-inputs shards.
	maxQuarantineRecord = 16 << 20
	// inQuarantine is why a plan leaves such a shard.
	inQuarantine = "in quarantine"
)

// compactionFolder holds what compaction keeps of a table, besides its jobs.
func compactionFolder(t *catalog.Table) string { return t.VaultFolder() + "_compaction/" }

// LoadQuarantine reads a table's quarantine. now is the clock, time.Now if nil.
func LoadQuarantine(ctx context.Context, t *catalog.Table, now func() time.Time) (*Quarantine, error) {
	if now == nil {
		now = time.Now
	}
	q := &Quarantine{client: t.Catalog().Client(), folder: compactionFolder(t), now: now}
	for info, err := range q.client.List(ctx, q.folder+"quarantine-") {
		if err != nil {
			return nil, err
		}
		g := QuarantinedGroup{url: info.URL}
		text, _, err := q.client.ReadAll(ctx, info.URL, maxQuarantineRecord)
		if errors.Is(err, blobio.ErrNotFound) {
			continue // settled meanwhile
		}
		if err == nil {
			err = json.Unmarshal(text, &g)
		}
		if err == nil && g.Version > quarantineVersion {
			err = fmt.Errorf("%w: it is of version %d, this program supports %d", catalog.ErrUnsafe, g.Version, quarantineVersion)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", info.URL, err)
		}
		q.groups = append(q.groups, g)
	}
	q.index()
	return q, nil
}

// Holds reports whether a shard is left alone for now.
func (q *Quarantine) Holds(shard string) bool {
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.retry && q.now().Before(q.until[shard])
}

// index makes until of the groups.
func (q *Quarantine) index() {
	q.until = map[string]time.Time{}
	for _, g := range q.groups {
		for _, input := range g.Inputs {
			q.until[input] = g.Until
		}
	}
}

// Groups are those that failed and have not succeeded since, the one that is tried first first.
func (q *Quarantine) Groups() []QuarantinedGroup {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	out := slices.Clone(q.groups)
	slices.SortFunc(out, func(a, b QuarantinedGroup) int { return a.Until.Compare(b.Until) })
	return out
}

// Retry lets all groups be tried at once.
func (q *Quarantine) Retry() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.retry = true
}

// Add books a failure, with a longer delay if some of the shards were there before; it sets f.Times.
func (q *Quarantine) Add(ctx context.Context, f *Failure) error {
	now := q.now().UTC()
	g := QuarantinedGroup{Version: quarantineVersion, Inputs: f.Inputs, Reason: f.Error, Since: now, Halts: f.Halts}
	q.mu.Lock()
	before := q.overlapping(f.Inputs)
	q.mu.Unlock()
	for _, b := range before {
		g.Failures = max(g.Failures, b.Failures)
		if b.Since.Before(g.Since) {
			g.Since = b.Since
		}
	}
	g.Failures++
	f.Times = g.Failures
	g.Until = now.Add(min(minQuarantine<<min(g.Failures-1, 10), maxQuarantine))
	g.url = q.folder + "quarantine-" + uuid.NewString() + ".json"
	text, err := json.MarshalIndent(g, "", "  ")
	if err == nil {
		err = q.client.Put(ctx, g.url, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	q.mu.Lock()
	q.groups = append(q.groups, g)
	q.index()
	q.mu.Unlock()
	return q.drop(ctx, before)
}

// Plan is NewPlan without the shards that are held. ErrHalted, if a group has halted the table and nobody has looked since.
func (q *Quarantine) Plan(ctx context.Context, t *catalog.Table, policy Policy) (*Plan, error) {
	if err := q.halted(); err != nil {
		return nil, err
	}
	return newPlan(ctx, t, policy, q)
}

// Settle forgets the groups that had some of these shards: they are compacted.
func (q *Quarantine) Settle(ctx context.Context, inputs []string) error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	settled := q.overlapping(inputs)
	q.mu.Unlock()
	return q.drop(ctx, settled)
}

// forget drops the groups none of whose shards is live any more.
func (q *Quarantine) forget(ctx context.Context, t *catalog.Table) error {
	if q == nil || len(q.Groups()) == 0 {
		return nil
	}
	live := map[string]bool{}
	for e, err := range t.BriefEntries(ctx, catalog.At{}, nil) {
		if err != nil {
			return err
		}
		live[e.Path] = true
	}
	q.mu.Lock()
	gone := slices.DeleteFunc(slices.Clone(q.groups), func(g QuarantinedGroup) bool {
		return slices.ContainsFunc(g.Inputs, func(input string) bool { return live[input] })
	})
	q.mu.Unlock()
	return q.drop(ctx, gone)
}

func (q *Quarantine) overlapping(inputs []string) (out []QuarantinedGroup) {
	for _, g := range q.groups {
		if slices.ContainsFunc(g.Inputs, func(input string) bool { return slices.Contains(inputs, input) }) {
			out = append(out, g)
		}
	}
	return out
}

// drop deletes groups. The lock is not held meanwhile: plans and pages don't wait for the store.
func (q *Quarantine) drop(ctx context.Context, groups []QuarantinedGroup) error {
	for _, g := range groups {
		if err := q.client.Delete(ctx, g.url, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			return fmt.Errorf("quarantine: %w", err)
		}
		q.mu.Lock()
		q.groups = slices.DeleteFunc(q.groups, func(other QuarantinedGroup) bool { return other.url == g.url })
		q.index()
		q.mu.Unlock()
	}
	return nil
}

// halted is the error of the groups because of which the table waits for somebody to look; nil if there are none.
func (q *Quarantine) halted() error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	retry := q.retry
	q.mu.Unlock()
	if retry {
		return nil
	}
	for _, g := range q.Groups() {
		if g.Halts {
			return fmt.Errorf("%w since %s: %s", ErrHalted, g.Since.Format(time.RFC3339), g.Reason)
		}
	}
	return nil
}

// ErrHalted: a group failed in a way that makes going on harmful, and nobody has looked yet.
var ErrHalted = errors.New("compaction is halted")

// problem states in one line what is held back.
func (q *Quarantine) problem() string {
	groups := q.Groups()
	if len(groups) == 0 {
		return ""
	}
	shards := 0
	for _, g := range groups {
		shards += len(g.Inputs)
	}
	first, _, _ := strings.Cut(groups[0].Reason, "\n")
	return fmt.Sprintf("in quarantine: %s of %s, the next until %s, because: %s",
		plural.Count(len(groups), "group"), plural.Count(shards, "shard"), groups[0].Until.Format(time.RFC3339), first)
}
