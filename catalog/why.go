package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/gc"
)

// ObjectStatus is why an object is live, kept, or due to be deleted.
type ObjectStatus struct {
	URL   string `json:"url"`
	Table string `json:"table,omitempty"`
	// State is live, control, young, marked, unreached, kept, unknown (of a kind that is never deleted), gone, or
	// foreign (outside the table's folders, where collection never looks).
	State  string `json:"state"`
	Reason string `json:"reason"`
	Size   int64  `json:"size,omitempty"`
	// Modified is when the object was created, by the store's clock.
	Modified *time.Time `json:"modified,omitempty"`
	// Due is the earliest time at which collection would take its next step with the object.
	Due *time.Time `json:"due,omitempty"`
}

// The states of a Standing.
const (
	stateLive      = "live"
	stateControl   = "control"
	stateYoung     = "young"
	stateMarked    = "marked"
	stateUnreached = "unreached"
	stateUnknown   = "unknown"
	stateGone      = "gone"
	stateForeign   = "foreign"
	// stateKept: a lost or damaged root may refer to the object.
	stateKept = "kept"
)

// TableOf finds the table whose vault folder or metadata folder an object lies in; ErrNotFound if there is none
// in this catalog.
func (c *Catalog) TableOf(ctx context.Context, url string) (*Table, error) {
	rest, inVault := strings.CutPrefix(url, c.vault+"/")
	id, _, _ := strings.Cut(rest, "/")
	names, err := c.Tables(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		t, err := c.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		if inVault && t.UUID() == id || strings.HasPrefix(url, strings.TrimSuffix(t.Location(), "/")+"/") {
			return t, nil
		}
	}
	if !inVault {
		return nil, fmt.Errorf("%s: %w: it is in no table's vault or metadata folder", url, ErrNotFound)
	}
	var owner Owner
	if err := c.records.Read(ctx, c.vaultFolder(id)+"_owner.json", &owner); err != nil {
		return nil, fmt.Errorf("%s: %w: no table of this catalog owns it", url, ErrNotFound)
	}
	return nil, fmt.Errorf("%s: %w in this catalog; it belongs to table %s of catalog %s", url, ErrNotFound, owner.Table, owner.Catalog)
}

// Why reports what keeps an object, or when it is due to be deleted, with the ages that o gives. It reads what a
// collection reads.
func (t *Table) Why(ctx context.Context, url string, o CollectOptions) (*ObjectStatus, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	w := &ObjectStatus{URL: url, Table: t.name.String()}
	kind := t.swept().KindOf(url)
	info, err := t.clientOf(url).Stat(ctx, url)
	switch {
	case errors.Is(err, blobio.ErrNotFound):
		w.State, w.Reason = stateGone, "the object does not exist"
	case err != nil:
		return nil, err
	default:
		modified := info.ModTime.UTC()
		w.Size, w.Modified = info.Size, &modified
	}
	if kind == gc.Control && w.State == "" {
		w.State, w.Reason = stateControl, "a record of the table's owner, jobs or collections"
		return w, nil
	}
	jobs, err := t.readJobs(ctx)
	if err != nil {
		return nil, err
	}
	unread := map[string]unreadRoot{}
	live, err := t.reachableBy(ctx, jobs, unread)
	if err != nil {
		return nil, err
	}
	if why := live.Reason(url); why != "" {
		if w.State == stateGone {
			w.Reason = "the object is missing, but needed: " + why
			return w, nil
		}
		w.State, w.Reason = stateLive, why
		return w, nil
	}
	if w.State == stateGone {
		return w, nil
	}
	if len(unread) > 0 { // a collection would end there
		roots := slices.Sorted(maps.Keys(unread))
		w.State, w.Reason = stateKept, fmt.Sprintf("it is unreachable from all readable roots, but nothing is collected while %d live roots can't be read: %s; run shardcat verify %s", len(roots), roots[0], t.name)
		return w, nil
	}
	return w, t.standing(ctx, w, kind, &info, &o)
}

// standing fills in what becomes of an object that nothing reaches.
func (t *Table) standing(ctx context.Context, w *ObjectStatus, kind gc.Kind, info *blobio.Info, o *CollectOptions) error {
	_, marked, err := t.readTombstones(ctx)
	if err != nil {
		return err
	}
	mark := marked[info.URL]
	due := info.ModTime.Add(o.MinAge).UTC()
	switch {
	case !strings.HasPrefix(w.URL, t.VaultFolder()) && !strings.HasPrefix(w.URL, t.metadataFolder()):
		w.State, w.Reason = stateForeign, "outside the table's folders, which gc never scans"
		return nil
	case kind == gc.Unknown:
		w.State, w.Reason = stateUnknown, "unknown kind of object; it is never deleted"
		return nil
	case mark != nil && mark.Same(info):
		due = mark.Since.Add(o.DeleteDelay).UTC()
		w.State, w.Reason = stateMarked, "marked for deletion by "+mark.Run+"; unreachable"
	case !blobio.KnownTime(info.ModTime):
		w.State, w.Reason = stateYoung, "unreachable, but its age is unknown: the store returns no modification time"
		return nil
	case due.After(t.cat.opts.Now()):
		w.State, w.Reason = stateYoung, "unreachable, but younger than min-age"
	default:
		w.State, w.Reason = stateUnreached, "unreachable; the next collection marks it"
	}
	w.Due = &due
	return nil
}
