package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/lease"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
)

// CollectOptions of Collect. The zero value plans with the defaults and deletes nothing.
type CollectOptions struct {
	// Execute carries the plan out; without it nothing is written or deleted.
	Execute bool
	// MinAge is how old an object must be, by the store's clock, before it is marked for deletion:
	// 7 days if 0. Below SafeMinAge only with UnsafeMinAge, since a writer that is still at work would
	// lose what it wrote.
	MinAge       time.Duration
	UnsafeMinAge bool
	// DeleteDelay is how long after it was marked an object is deleted: 48 hours if 0, none if
	// negative. A reader that holds a snapshot may finish for so long.
	DeleteDelay time.Duration
	// MaxDeleteRatio is the largest part of the table's objects that may be marked or deleted in one run,
	// DefaultMaxDeleteRatio if 0. A plan above it is refused.
	MaxDeleteRatio float64
}

// The defaults of a collection.
const (
	defaultMinAge         = 7 * 24 * time.Hour
	SafeMinAge            = 24 * time.Hour
	defaultDeleteDelay    = 48 * time.Hour
	DefaultMaxDeleteRatio = 0.5
	// fewObjects: below so many, a ratio states nothing.
	fewObjects = 20
)

func (o *CollectOptions) fill() error {
	if o.MinAge == 0 {
		o.MinAge = defaultMinAge
	}
	if o.DeleteDelay == 0 {
		o.DeleteDelay = defaultDeleteDelay
	}
	if o.MaxDeleteRatio == 0 {
		o.MaxDeleteRatio = DefaultMaxDeleteRatio
	}
	switch {
	case o.MinAge < 0 || o.MaxDeleteRatio < 0 || o.MaxDeleteRatio > 1:
		return fmt.Errorf("%w: min-age %s, max-delete-ratio %g: expected a positive age and a ratio between 0 and 1", ErrInvalid, o.MinAge, o.MaxDeleteRatio)
	case o.MinAge < SafeMinAge && !o.UnsafeMinAge:
		return fmt.Errorf("%w: objects younger than %s may belong to a running writer; use --unsafe-min-age if nothing writes to the table",
			ErrUnsafe, SafeMinAge)
	}
	o.DeleteDelay = max(0, o.DeleteDelay)
	return nil
}

// CollectResult is what a collection did, or would do.
type CollectResult struct {
	Table  string `json:"table"`
	Vault  string `json:"vault"`
	DryRun bool   `json:"dry_run"`
	// Dropped: the table was dropped, and all its files go.
	Dropped bool `json:"dropped,omitempty"`
	// Objects of the table's vault folder and of its Iceberg metadata; Live of them are reached.
	Objects   int   `json:"objects"`
	Bytes     int64 `json:"bytes"`
	Live      int   `json:"live"`
	LiveBytes int64 `json:"live_bytes"`
	// Mark are objects to be marked for deletion now, Delete those that were marked long enough ago and are
	// still unreached and unchanged.
	Mark        []Garbage `json:"mark"`
	MarkBytes   int64     `json:"mark_bytes"`
	Delete      []Garbage `json:"delete"`
	DeleteBytes int64     `json:"delete_bytes"`
	// Kept counts the objects that are not reached and stay, by the reason why.
	Kept map[string]Kept `json:"kept"`
	// Unknown are objects of a kind that this program does not know; they are never deleted.
	Unknown []string `json:"unknown,omitempty"`
	// ClosedJobs were open for longer than MinAge and are given up.
	ClosedJobs []string `json:"closed_jobs,omitempty"`
	// ForgottenJobs counts the runs of jobs whose records go: they ended longer ago than the table remembers, see JobMemory.
	ForgottenJobs int `json:"forgotten_jobs,omitempty"`
	// DeleteResult counts the objects that were really deleted.
	Deleted int `json:"deleted"`
}

// Garbage is an object that nothing reaches.
type Garbage struct {
	URL    string `json:"url"`
	Size   int64  `json:"size"`
	Reason string `json:"reason"`
	ETag   string `json:"etag,omitempty"`
	// Modified is when the object was created, by the store's clock.
	Modified time.Time `json:"modified"`
}

// Kept counts objects that stay.
type Kept struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Collect deletes what no state of the table needs any more, in two phases that lie in different runs: objects
// that nothing reaches and that are older than MinAge are marked by a record in the vault folder; what is still
// unreached and unchanged DeleteDelay later is deleted. Only the table's own vault folder and the files of its own
// Iceberg metadata are looked at; adopted folders are read and never swept.
//
// Anything that can't be read ends the run before anything is deleted: unreadable is not unreferenced.
func (t *Table) Collect(ctx context.Context, o CollectOptions) (*CollectResult, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	if err := t.checkOwner(ctx); err != nil {
		return nil, err
	}
	c := &collector{table: t, o: o, now: t.cat.opts.Now()}
	if o.Execute {
		l, err := t.leases().Take(ctx, lease.Collect)
		if err != nil {
			return nil, err
		}
		defer l.Release(ctx)
		c.now, c.run = l.Taken, l.Token
	}
	return c.collect(ctx)
}

// checkOwner makes sure that the vault folder is this table's. Unlike claimVault it writes nothing.
func (t *Table) checkOwner(ctx context.Context) error {
	var there Owner
	err := t.cat.records.Read(ctx, t.VaultFolder()+"_owner.json", &there)
	if errors.Is(err, blobio.ErrNotFound) {
		return fmt.Errorf("%w: the vault folder %s has no record of its owner; write to the table once, then collect", ErrUnsafe, t.VaultFolder())
	}
	if err != nil {
		return fmt.Errorf("vault of table %s: %w", t.name, err)
	}
	return t.claimVault(ctx)
}

// collector is one collection at work.
type collector struct {
	table *Table
	o     CollectOptions
	// now is the store's clock.
	now time.Time
	// run names the record of what this run marks.
	run string

	listed []blobio.Info
	// sorted are the objects of a dropped table that lists have had so far, by URL.
	sorted map[string]bool
	live   *gc.Live
	jobs   *openJobs
	old    []*jobrecord.Run
	// marked are the objects that earlier runs have marked, by URL.
	marked map[string]*gc.Mark
	files  []*tombstoneFile
	plan   *CollectResult
}

// collect lists first and marks then, so that whatever is listed and not reached was not reached when it was
// listed either; what was written since is not in the list.
func (c *collector) collect(ctx context.Context) (*CollectResult, error) {
	t := c.table
	c.plan = &CollectResult{Table: t.name.String(), Vault: t.VaultFolder(), DryRun: !c.o.Execute, Kept: map[string]Kept{},
		Mark: []Garbage{}, Delete: []Garbage{}}
	if err := c.list(ctx); err != nil {
		return nil, err
	}
	if err := c.readTombstones(ctx); err != nil {
		return nil, err
	}
	if err := c.mark(ctx); err != nil {
		return nil, err
	}
	c.sortListed()
	var err error
	if c.old, err = c.oldJobs(); err != nil {
		return nil, err
	}
	c.plan.ForgottenJobs = len(c.old)
	if err := c.checkRatio(); err != nil {
		return c.plan, err
	}
	if !c.o.Execute {
		return c.plan, nil
	}
	// A table that was registered meanwhile under a second name may need what nothing reached from the first one.
	if err := t.sharesFiles(ctx); err != nil {
		return c.plan, err
	}
	return c.plan, c.execute(ctx)
}

// mark finds what is live. The jobs are read before the table's state: one that ends in between has its commit in
// the state.
func (c *collector) mark(ctx context.Context) (err error) {
	t := c.table
	if c.jobs, err = t.readJobs(ctx); err != nil {
		return err
	}
	c.jobs.giveUp(c.now.Add(-c.o.MinAge))
	if err := t.Refresh(ctx); err != nil {
		return err
	}
	if err := t.checkMembers(ctx); err != nil {
		return err
	}
	if err := t.sharesFiles(ctx); err != nil {
		return err
	}
	if err := c.checkMetadataFiles(ctx); err != nil {
		return err
	}
	c.live, err = t.reachable(ctx, c.jobs)
	return err
}

// list lists the vault folder and the table's metadata folder.
func (c *collector) list(ctx context.Context) error {
	t := c.table
	for info, err := range t.cat.client.List(ctx, t.VaultFolder()) {
		if err != nil {
			return fmt.Errorf("list %s: %w", t.VaultFolder(), err)
		}
		c.listed = append(c.listed, info)
	}
	for info, err := range t.cat.metadata.List(ctx, t.metadataFolder()) {
		if err != nil {
			return fmt.Errorf("list %s: %w", t.metadataFolder(), err)
		}
		c.listed = append(c.listed, info)
	}
	return nil
}

// metadataFolder holds the files of the table's Iceberg metadata.
func (t *Table) metadataFolder() string {
	return metadataio.CanonicalURL(strings.TrimSuffix(t.Location(), "/")+"/metadata") + "/"
}

// swept are the folders in which a collection of the table deletes.
func (t *Table) swept() gc.Folders {
	return gc.Folders{Vault: t.VaultFolder(), Metadata: t.metadataFolder()}
}

// ages are those of the collection.
func (c *collector) ages() gc.Ages {
	return gc.Ages{Now: c.now, MinAge: c.o.MinAge, DeleteDelay: c.o.DeleteDelay}
}

// sortListed sorts the listed objects.
func (c *collector) sortListed() {
	p := c.plan
	for i := range c.listed {
		info := &c.listed[i]
		kind := c.table.swept().KindOf(info.URL)
		if kind == gc.Control {
			continue
		}
		p.Objects++
		p.Bytes += info.Size
		if c.live.Has(info.URL) {
			p.Live++
			p.LiveBytes += info.Size
			continue
		}
		switch verdict, why := c.ages().Judge(info, kind, c.marked[info.URL]); verdict {
		case gc.Keep:
			k := p.Kept[why]
			k.Objects++
			k.Bytes += info.Size
			p.Kept[why] = k
			if kind == gc.Unknown {
				p.Unknown = append(p.Unknown, info.URL)
			}
		case gc.MarkNow:
			p.Mark, p.MarkBytes = append(p.Mark, garbage(info, why)), p.MarkBytes+info.Size
		case gc.DeleteNow:
			p.Delete, p.DeleteBytes = append(p.Delete, garbage(info, why)), p.DeleteBytes+info.Size
		}
	}
	for _, j := range c.jobs.given {
		p.ClosedJobs = append(p.ClosedJobs, j.ID)
	}
	byURL := func(a, b Garbage) int { return cmp.Compare(a.URL, b.URL) }
	slices.SortFunc(p.Mark, byURL)
	slices.SortFunc(p.Delete, byURL)
}

func garbage(info *blobio.Info, why string) Garbage {
	return Garbage{URL: info.URL, Size: info.Size, Reason: why, ETag: info.ETag, Modified: info.ModTime.UTC()}
}

// checkRatio refuses a plan that takes too much: something may be wrong with what was read.
func (c *collector) checkRatio() error {
	p := c.plan
	doomed := max(len(p.Mark), len(p.Delete))
	if p.Objects < fewObjects || float64(doomed) <= c.o.MaxDeleteRatio*float64(p.Objects) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d objects of table %s would be deleted, more than max-delete-ratio %g; check the plan, then raise the ratio if it is correct",
		ErrUnsafe, doomed, p.Objects, c.table.name, c.o.MaxDeleteRatio)
}
