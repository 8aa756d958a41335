package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// tombstoneRecord is the content of _gc/<run>.json: what a run has marked for deletion.
type tombstoneRecord struct {
	Version int       `json:"version"`
	Run     string    `json:"run"`
	Table   string    `json:"table"`
	Created time.Time `json:"created"`
	Objects []Garbage `json:"objects"`
}

// tombstoneFile is a record that lies in the vault folder.
type tombstoneFile struct {
	info   blobio.Info
	record tombstoneRecord
}

// tombstonePrefix begins the names of the records, which other records of _gc do not have.
const tombstonePrefix = "marked-"

func (t *Table) gcFolder() string { return t.VaultFolder() + "_gc/" }

// readTombstones reads what earlier runs have marked.
func (c *collector) readTombstones(ctx context.Context) (err error) {
	c.files, c.marked, err = c.table.readTombstones(ctx)
	return err
}

func (t *Table) readTombstones(ctx context.Context) ([]*tombstoneFile, map[string]*gc.Mark, error) {
	var files []*tombstoneFile
	marked := map[string]*gc.Mark{}
	for info, err := range t.cat.client.List(ctx, t.gcFolder()+tombstonePrefix) {
		if err != nil {
			return nil, nil, err
		}
		f := &tombstoneFile{info: info}
		if err := t.cat.records.Read(ctx, info.URL, &f.record); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", info.URL, err)
		}
		files = append(files, f)
		for _, g := range f.record.Objects {
			if old := marked[g.URL]; old == nil || old.Since.Before(info.ModTime) {
				marked[g.URL] = &gc.Mark{Size: g.Size, ETag: g.ETag, Modified: g.Modified, Run: f.record.Run, Since: info.ModTime}
			}
		}
	}
	return files, marked, nil
}

// execute deletes what is due, then marks what is new, then drops the records that have nothing left to say. A run
// that ends in between leaves records of objects that are gone, which the next run drops.
func (c *collector) execute(ctx context.Context) error {
	t := c.table
	changed := 0
	for i := range c.plan.Delete {
		g := &c.plan.Delete[i]
		err := t.clientOf(g.URL).Delete(ctx, g.URL, g.ETag)
		switch {
		case errors.Is(err, blobio.ErrNotFound):
		case errors.Is(err, blobio.ErrChanged), errors.Is(err, blobio.ErrConflict):
			g.Reason = "not deleted: it was changed concurrently"
			changed++
		case err != nil:
			return fmt.Errorf("collect table %s: %w", t.name, err)
		default:
			c.plan.Deleted++
		}
	}
	for _, j := range c.jobs.given {
		end := &JobEnd{ID: j.ID, Attempt: j.Attempt, Outcome: jobrecord.Abandoned, Closed: t.cat.opts.Now().UTC()}
		if err := t.jobFolder().PutEnd(ctx, j.Name(), end); err != nil {
			return err
		}
	}
	if len(c.plan.Mark) > 0 {
		record := tombstoneRecord{Version: records.Version, Run: c.run, Table: t.name.String(), Created: c.now.UTC(), Objects: c.plan.Mark}
		if err := t.cat.records.Put(ctx, t.gcFolder()+tombstonePrefix+c.run+".json", record); err != nil {
			return fmt.Errorf("collect table %s: %w", t.name, err)
		}
	}
	if err := c.dropRecords(ctx); err != nil {
		return err
	}
	if err := t.jobFolder().Forget(ctx, c.old); err != nil {
		return fmt.Errorf("collect table %s: %w", t.name, err)
	}
	if changed > 0 && changed == len(c.plan.Delete) {
		return fmt.Errorf("%w: nothing of table %s was deleted, because the store reports all %d due objects as changed since they were listed; "+
			"run shardcat doctor: objects are immutable, so the store's ETags or If-Match checks are wrong", ErrUnsafe, t.name, changed)
	}
	return nil
}

// clientOf is the client that reads and writes an object: the vault's, or the metadata's.
func (t *Table) clientOf(url string) *blobio.Client {
	if strings.HasPrefix(url, t.VaultFolder()) {
		return t.cat.client
	}
	return t.cat.metadata
}

// dropRecords deletes the records none of whose objects waits any more.
func (c *collector) dropRecords(ctx context.Context) error {
	waiting := map[string]bool{}
	for i := range c.listed {
		info := &c.listed[i]
		if m := c.marked[info.URL]; m != nil && m.Same(info) && !c.live.Has(info.URL) && !c.ages().Aged(m.Since, c.o.DeleteDelay) {
			waiting[info.URL] = true
		}
	}
	for _, f := range c.files {
		needed := false
		for _, g := range f.record.Objects {
			needed = needed || waiting[g.URL]
		}
		if needed {
			continue
		}
		if err := c.table.cat.client.Delete(ctx, f.info.URL, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			return err
		}
	}
	return nil
}
