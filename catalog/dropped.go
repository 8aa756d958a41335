package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/catalog/internal/lease"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// A dropped table has two records: _dropped.json in its vault folder, and vault/_dropped/<uuid>.json, by which dropped tables are
// found without listing all objects of the vault. vault/_dropped/<uuid>.begun.json reports that its collection has begun.

// DroppedTable is a table that was dropped. Undrop brings it back until a collection has begun to delete its files.
type DroppedTable struct {
	Table     string    `json:"table"`
	TableUUID string    `json:"table_uuid"`
	Metadata  string    `json:"metadata"`
	Dropped   time.Time `json:"dropped"`
	// Recorded is when, by the store's clock. Begun: files may be gone.
	Recorded time.Time `json:"recorded"`
	Begun    bool      `json:"begun,omitempty"`
}

func (c *Catalog) droppedFolder() string { return c.vault + "/_dropped/" }

func (c *Catalog) droppedAt(uuid string) string { return c.droppedFolder() + uuid + ".json" }

func (c *Catalog) begunAt(uuid string) string { return c.droppedFolder() + uuid + begunSuffix }

const begunSuffix = ".begun.json"

// Dropped lists the dropped tables whose files are there, the last one first.
func (c *Catalog) Dropped(ctx context.Context) ([]DroppedTable, error) {
	listed, begun := map[string]blobio.Info{}, map[string]bool{}
	for info, err := range c.client.List(ctx, c.droppedFolder()) {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", c.droppedFolder(), err)
		}
		at, is := strings.CutSuffix(info.URL, begunSuffix)
		if is {
			begun[at+".json"] = true
			if _, both := listed[at+".json"]; both {
				continue
			}
			listed[at+".json"] = info // all that a run which died at its end has left, where there is no other
			continue
		}
		listed[info.URL] = info
	}
	var out []DroppedTable
	for at, info := range listed {
		var r dropped
		if err := c.records.Read(ctx, info.URL, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", info.URL, err)
		}
		d := DroppedTable{Table: r.Table, TableUUID: r.TableUUID, Metadata: r.Metadata, Dropped: r.Dropped, Recorded: info.ModTime.UTC(), Begun: begun[at]}
		if c.droppedAt(d.TableUUID) != at {
			return nil, fmt.Errorf("%w: %s is the record of the table %s", ErrUnsafe, info.URL, d.TableUUID)
		}
		if !d.Begun {
			withdrawn, err := isGone(ctx, c.client.Uncached(), c.vaultFolder(d.TableUUID)+droppedName)
			if err != nil {
				return nil, err
			}
			if withdrawn { // the table is back
				continue
			}
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b DroppedTable) int {
		return cmp.Or(b.Dropped.Compare(a.Dropped), cmp.Compare(a.TableUUID, b.TableUUID))
	})
	return out, nil
}

// Undrop brings back the table that was dropped last under a name. After a collection has begun to delete its files it is
// ErrUnsafe.
func (c *Catalog) Undrop(ctx context.Context, name Name) (*Table, error) {
	all, err := c.Dropped(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if d.Table == name.String() {
			return c.Recover(ctx, d.Metadata, RecoverOptions{As: name})
		}
	}
	return nil, fmt.Errorf("table %s: %w among the dropped tables whose files still exist", name, ErrNotFound)
}

// checkBegun refuses to bring back a table whose files a collection has begun to delete.
func (c *Catalog) checkBegun(ctx context.Context, uuid string) error {
	if not, err := isGone(ctx, c.client.Uncached(), c.begunAt(uuid)); not || err != nil {
		return err
	}
	return fmt.Errorf("%w: the files of the table %s are being deleted: %s", ErrUnsafe, uuid, c.begunAt(uuid))
}

// CollectDropped deletes the files of the tables that were dropped longer than DeleteDelay ago, each whole: no second mark is needed,
// for the record of the drop is the first. Objects younger than MinAge, and those of an unknown kind, stay, and with them the records.
// It goes on after a table that fails.
func (c *Catalog) CollectDropped(ctx context.Context, o CollectOptions) ([]*CollectResult, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	all, err := c.Dropped(ctx)
	if err != nil {
		return nil, err
	}
	var out []*CollectResult
	var failed error
	for _, d := range all {
		done, err := c.collectDropped(ctx, &d, o)
		if done != nil {
			out = append(out, done)
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("dropped table %s (%s): %w", d.Table, d.TableUUID, err))
		}
	}
	return out, failed
}

func (c *Catalog) collectDropped(ctx context.Context, d *DroppedTable, o CollectOptions) (*CollectResult, error) {
	name, err := ParseName(d.Table)
	if err != nil {
		return nil, err
	}
	ice, err := table.NewFromLocation(ctx, name.identifier(), d.Metadata, c.fs, nil)
	if d.Begun && errors.Is(err, blobio.ErrNotFound) { // an earlier run deleted all but records
		return nil, c.forgetDropped(ctx, d, o.Execute)
	}
	if err != nil {
		return nil, err
	}
	t := &Table{cat: c, name: name}
	if err := t.set(ctx, ice); err != nil {
		return nil, err
	}
	if t.UUID() != d.TableUUID {
		return nil, fmt.Errorf("%w: its metadata file %s is that of table %s", ErrUnsafe, d.Metadata, t.UUID())
	}
	var owner Owner
	err = c.records.Read(ctx, t.VaultFolder()+"_owner.json", &owner)
	if err == nil {
		err = c.checkOwned(ctx, &owner, d.TableUUID)
	}
	if err != nil {
		return nil, err
	}
	x := &collector{table: t, o: o, now: c.opts.Now()}
	x.plan = &CollectResult{Table: d.Table, Dropped: true, Vault: t.VaultFolder(), DryRun: !o.Execute, Kept: map[string]Kept{}, Mark: []Garbage{}, Delete: []Garbage{}}
	if o.Execute {
		l, leaseErr := t.leases().Take(ctx, lease.Collect)
		if leaseErr != nil {
			return x.plan, leaseErr
		}
		x.now = l.Taken
		err = x.runDropped(ctx, d)
		l.Release(ctx) // before its own records go
	} else {
		err = x.planDropped(ctx, d)
	}
	if err != nil || !o.Execute || len(x.plan.Kept) > 0 {
		return x.plan, err
	}
	return x.plan, c.forgetDropped(ctx, d, true)
}

func (c *collector) runDropped(ctx context.Context, d *DroppedTable) error {
	if err := c.planDropped(ctx, d); err != nil || len(c.plan.Delete) == 0 {
		return err
	}
	return c.deleteDropped(ctx, d)
}

// planDropped lists what goes. Another table with a part in the folders, one that was brought back among them, ends it.
func (c *collector) planDropped(ctx context.Context, d *DroppedTable) error {
	if err := c.checkDropped(ctx, c.table.cat.registered); err != nil {
		return err
	}
	c.sortDropped(d)
	return nil
}

// checkDropped lists the folders of a dropped table, and refuses to delete them if another table, by a listing of all, has a part in them.
func (c *collector) checkDropped(ctx context.Context, all func(context.Context) ([]gc.Registered, error)) error {
	c.listed = nil
	if err := c.list(ctx); err != nil {
		return err
	}
	if err := c.table.sharesFilesWith(ctx, "", all); err != nil {
		return err
	}
	return c.checkMetadataFiles(ctx)
}

// sortDropped sorts the listed objects that no earlier list had.
func (c *collector) sortDropped(d *DroppedTable) {
	if c.sorted == nil {
		c.sorted = map[string]bool{}
	}
	p := c.plan
	for i := range c.listed {
		info := &c.listed[i]
		kind := c.table.swept().KindOf(info.URL)
		if kind == gc.Control || c.sorted[info.URL] {
			continue
		}
		c.sorted[info.URL] = true
		p.Objects++
		p.Bytes += info.Size
		why := ""
		switch {
		case kind == gc.Unknown:
			why = "unknown kind of object"
			p.Unknown = append(p.Unknown, info.URL)
		case !d.Begun && !c.ages().Aged(d.Recorded, c.o.DeleteDelay):
			why = "belongs to a dropped table, waiting for delete-delay"
		case !blobio.KnownTime(info.ModTime):
			why = gc.UnknownAge
		case !c.ages().Aged(info.ModTime, c.o.MinAge):
			why = gc.YoungAge
		default:
			p.Delete, p.DeleteBytes = append(p.Delete, garbage(info, "its table was dropped at "+d.Dropped.UTC().Format(time.RFC3339))), p.DeleteBytes+info.Size
			continue
		}
		k := p.Kept[why]
		k.Objects++
		k.Bytes += info.Size
		p.Kept[why] = k
	}
}

// deleteDropped deletes what was planned and what a further list has besides, the table's metadata file last: without it nothing shows to which
// table the other objects belong, and one that a list has left out, or that the store reported as missing, would stay for ever, with the records. That its deletion has begun is recorded before the catalog
// is checked once more for the table; who brings it back registers it before looking for that record. So one of the two
// sees the other. With that check the folders are listed and looked at again: no mark of an earlier run stands between a wrong response and a deletion.
func (c *collector) deleteDropped(ctx context.Context, d *DroppedTable) error {
	t := c.table
	err := t.cat.records.Put(ctx, t.cat.begunAt(d.TableUUID), dropped{Version: records.Version, Table: d.Table, TableUUID: d.TableUUID, Metadata: d.Metadata, Dropped: d.Dropped})
	begun := err == nil
	if err != nil && !errors.Is(err, blobio.ErrExists) {
		return err
	}
	if err := c.checkDropped(ctx, t.cat.registeredNow); err != nil {
		if begun {
			err = errors.Join(err, t.cat.client.Delete(ctx, t.cat.begunAt(d.TableUUID), ""))
		}
		return err
	}
	last := metadataio.CanonicalURL(d.Metadata)
	for n, clear := 1, 0; ; n++ {
		listed := make(map[string]bool, len(c.listed))
		for i := range c.listed {
			listed[c.listed[i].URL] = true
		}
		left := slices.DeleteFunc(slices.Clone(c.plan.Delete), func(g Garbage) bool { return g.URL == last || n > 1 && !listed[g.URL] })
		if clear++; len(left) > 0 {
			clear = 0
		}
		if clear == 2 { // lists in a row, of which one may leave an object out
			break
		}
		if n > dropLists && len(left) > 0 {
			c.plan.Kept["reported as missing when it was deleted, and listed"] = Kept{Objects: len(left)}
			break
		}
		slices.SortFunc(left, func(a, b Garbage) int { return cmp.Compare(a.URL, b.URL) })
		for i := range left {
			if err := c.deletePlanned(ctx, &left[i]); err != nil {
				return err
			}
		}
		c.listed = nil
		if err := c.list(ctx); err != nil {
			return err
		}
		c.sortDropped(d)
	}
	for i := range c.plan.Delete {
		g := &c.plan.Delete[i]
		if g.URL != last {
			continue
		}
		if len(c.plan.Kept) > 0 {
			g.Reason = "the metadata file is deleted last"
			continue
		}
		if err := c.deletePlanned(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// dropLists is how often objects of a dropped table that are still listed are deleted: a store may report one as missing that exists.
const dropLists = 4

// deletePlanned deletes an object as it was listed, and counts it unless it is gone.
func (c *collector) deletePlanned(ctx context.Context, g *Garbage) error {
	switch err := c.table.clientOf(g.URL).Delete(ctx, g.URL, g.ETag); {
	case errors.Is(err, blobio.ErrNotFound):
	case err != nil:
		return err
	default:
		c.plan.Deleted++
	}
	return nil
}

// onlyRecords lists the records in a vault folder. An object of any other kind is ErrUnsafe.
func (c *Catalog) onlyRecords(ctx context.Context, folder string) (urls []string, err error) {
	for info, err := range c.client.List(ctx, folder) {
		if err != nil {
			return nil, err
		}
		if gc.VaultKind(strings.TrimPrefix(info.URL, folder)) != gc.Control {
			return nil, fmt.Errorf("%w: %s still exists", ErrUnsafe, info.URL)
		}
		urls = append(urls, info.URL)
	}
	return urls, nil
}

// forgetDropped deletes the records of a table whose other files are gone, those by which it is found last. It deletes none where it refuses.
func (c *Catalog) forgetDropped(ctx context.Context, d *DroppedTable, execute bool) error {
	if !execute {
		return nil
	}
	at := icebergaccess.Canonical(d.Metadata)
	if gone, err := isGone(ctx, c.metadata.Uncached(), at); err != nil {
		return err
	} else if !gone {
		return fmt.Errorf("%w: %s still exists", ErrUnsafe, at)
	}
	urls, err := c.onlyRecords(ctx, c.vaultFolder(d.TableUUID))
	if err != nil {
		return err
	}
	remove := func(urls ...string) error {
		for _, at := range urls {
			if err := c.client.Delete(ctx, at, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
				return err
			}
		}
		return nil
	}
	for n, clear := 1, 0; ; n++ {
		if clear++; len(urls) > 0 {
			clear = 0
		}
		if clear == 2 {
			break
		}
		if n > dropLists && len(urls) > 0 {
			return fmt.Errorf("%w: %s still exists", ErrUnsafe, urls[0])
		}
		if err := remove(urls...); err != nil {
			return err
		}
		if urls, err = c.onlyRecords(ctx, c.vaultFolder(d.TableUUID)); err != nil {
			return err
		}
	}
	return remove(c.droppedAt(d.TableUUID), c.begunAt(d.TableUUID))
}
