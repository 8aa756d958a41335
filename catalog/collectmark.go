package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/check"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/urlresolve"
)

// marking is the set of live objects while it is made.
type marking struct {
	*gc.Live
	// manifests that were read, by location, with what is live in them.
	manifests map[string]check.Counts

	mu sync.Mutex
	// unread takes the roots that are missing or damaged; a collection ends if there are any.
	unread map[string]unreadRoot
}

// reachable finds everything that a ref, a retained snapshot or an open job needs: Iceberg's files, roots, and
// what the roots refer to by any reference. It fails if a root is lost or damaged.
func (t *Table) reachable(ctx context.Context, jobs *openJobs) (*gc.Live, error) {
	unread := map[string]unreadRoot{}
	l, err := t.reachableBy(ctx, jobs, unread)
	if err == nil && len(unread) > 0 {
		err = t.unreadError(ctx, unread)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// unreadRoot is a root that is lost or damaged.
type unreadRoot struct {
	rootToRead
	err error
}

// passes reports whether a root that can't be read is passed over, and notes it.
func (l *marking) passes(url string, from rootToRead, err error) bool {
	if !errors.Is(err, blobio.ErrNotFound) && !errors.Is(err, corrupt.ErrCorrupt) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unread[url] = unreadRoot{from, err}
	return true
}

// unreadError names a root that stops a collection, what needs it, and the way out. A root of the current state goes before one
// that only older snapshots name, which is ErrUnsafe: the table itself is not damaged.
func (t *Table) unreadError(ctx context.Context, unread map[string]unreadRoot) error {
	named := map[string]bool{}
	for _, r := range unread {
		if r.entry != "" {
			named[r.entry] = true
		}
	}
	older, err := t.remains(ctx, named)
	if err != nil {
		return err
	}
	old := map[string]*Remain{}
	for i := range older {
		old[older[i].Shard] = &older[i]
	}
	order := func(url string) int { // the current state, jobs, older snapshots
		switch entry := unread[url].entry; {
		case entry == "":
			return 1
		case old[entry] != nil:
			return 2
		}
		return 0
	}
	urls := slices.SortedFunc(maps.Keys(unread), func(a, b string) int { return cmp.Or(order(a)-order(b), cmp.Compare(a, b)) })
	url := urls[0]
	r, more := unread[url], ""
	if len(urls) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(urls)-1)
	}
	object := url
	if r.entry != "" && metadataio.CanonicalURL(r.entry) != url {
		object = fmt.Sprintf("%s, an index of %s,", url, r.entry)
	}
	switch order(url) {
	case 0:
		return fmt.Errorf("table %s: the current state needs %s which can't be read%s, so nothing is collected: %w; run shardcat repair %s",
			t.name, object, more, r.err, t.name)
	case 1:
		return fmt.Errorf("table %s: %s needs %s which can't be read%s, so nothing is collected: %w; collection abandons the job when it is older than min-age, see shardcat jobs %s",
			t.name, r.why, object, more, r.err, t.name)
	}
	return fmt.Errorf("%w: table %s: %s needs %s which can't be read%s, so nothing is collected: %w; %s",
		ErrUnsafe, t.name, r.namedBy(old[r.entry]), object, more, r.err, t.wayOut(old[r.entry]))
}

// namedBy lists the snapshots that need a root of an older state.
func (r *unreadRoot) namedBy(by *Remain) string {
	if len(by.Snapshots) == 1 {
		return fmt.Sprintf("snapshot %d", by.Snapshots[0])
	}
	return fmt.Sprintf("snapshot %d (and %s)", by.Snapshots[0], plural.Count(len(by.Snapshots)-1, "other"))
}

// wayOut reports how the snapshots that need a lost root are given up.
func (t *Table) wayOut(by *Remain) string {
	keeps := ""
	if len(by.Refs) > 0 {
		keeps = ", after dropping or moving the branches and tags that retain them: " + strings.Join(slices.Compact(slices.Sorted(slices.Values(by.Refs))), ", ")
	}
	return fmt.Sprintf("restore the object, or expire the snapshots that need it: shardcat expire %s --older-than 0s%s", t.name, keeps)
}

// reachableBy is reachable that passes over roots that are lost or damaged and notes them in unread.
func (t *Table) reachableBy(ctx context.Context, jobs *openJobs, unread map[string]unreadRoot) (*gc.Live, error) {
	l := &marking{Live: gc.NewLive(), manifests: map[string]check.Counts{}, unread: unread}
	roots := map[string]rootToRead{}
	t.reachMetadata(l.Live)
	if err := t.reachKeyIndexes(ctx, l.Live); err != nil {
		return nil, err
	}
	if err := t.reachSnapshots(ctx, l, roots); err != nil {
		return nil, err
	}
	if err := t.reachJobs(ctx, jobs, l.Live, roots); err != nil {
		return nil, err
	}
	return l.Live, t.reachRoots(ctx, l, roots)
}

// rootToRead is a live root; optional ones may be gone.
type rootToRead struct {
	size     int64
	why      string
	optional bool
	// entry is the path of the table entry that names it, or the shard whose index it is a part of; empty if a job names it.
	entry string
}

// reachMetadata notes the files that the table's metadata names: itself, its log, and statistics.
func (t *Table) reachMetadata(l *gc.Live) {
	md := t.ice.Metadata()
	l.Add(t.MetadataLocation(), "the table's current metadata file")
	for e := range md.PreviousFiles() {
		l.Add(e.MetadataFile, "in the table's metadata log")
	}
	for s := range md.Statistics() {
		l.Add(s.StatisticsPath, "statistics of a snapshot")
	}
	for s := range md.PartitionStatistics() {
		l.Add(s.StatisticsPath, "statistics of a snapshot")
	}
}

// reachSnapshots notes the manifest lists, manifests and live entries of every retained snapshot. A manifest that
// several snapshots share is read once.
func (t *Table) reachSnapshots(ctx context.Context, l *marking, roots map[string]rootToRead) error {
	t = t.within(ctx)
	for _, s := range t.ice.Metadata().Snapshots() {
		if err := ctx.Err(); err != nil {
			return err
		}
		why := fmt.Sprintf("snapshot %d", s.SnapshotID)
		l.Add(s.ManifestList, why)
		if err := t.reachSnapshot(&s, why, l, roots); err != nil {
			return fmt.Errorf("table %s: snapshot %d: %w", t.name, s.SnapshotID, err)
		}
	}
	return nil
}

// reachSnapshot compares what it reaches with the totals of the snapshot's own summary: a list or manifest that lost
// entries, or names others, must not make their shards garbage.
func (t *Table) reachSnapshot(s *table.Snapshot, why string, l *marking, roots map[string]rootToRead) error {
	manifests, err := t.manifests(s)
	if err != nil {
		return err
	}
	allow, err := t.Allowed()
	if err != nil {
		return err
	}
	var live check.Counts
	for _, m := range manifests {
		l.Add(m.FilePath(), why)
		c, known := l.manifests[m.FilePath()]
		if !known {
			if c, err = t.reachManifest(m, why, l, roots, allow); err != nil {
				return err
			}
			l.manifests[m.FilePath()] = c
		}
		live = live.Plus(c)
	}
	if faults := check.SummaryFaults(s, live); len(faults) > 0 {
		return corrupt.Locate(corrupt.At(-1, "%s; nothing is collected until they agree: see shardcat verify", faults[0]), t.MetadataLocation(), 0)
	}
	return nil
}

// reachManifest notes the live entries of a manifest and counts them.
func (t *Table) reachManifest(m iceberg.ManifestFile, why string, l *marking, roots map[string]rootToRead, allow []urlresolve.Prefix) (live check.Counts, err error) {
	entries, err := manifest.Entries(t.fs, m)
	if err != nil {
		return live, err
	}
	for _, e := range entries {
		if e.Status() == iceberg.EntryStatusDELETED {
			continue
		}
		f := e.DataFile()
		url := metadataio.CanonicalURL(f.FilePath())
		live.Add(&manifest.Entry{Records: f.Count(), RootBytes: f.FileSizeBytes()})
		if err := check.Place(url, allow); err != nil {
			return live, err
		}
		for _, object := range manifest.TermObjects(f, urlresolve.Policy{Allow: allow}) {
			l.Add(object, why+", by the term filters of "+url)
		}
		if l.Add(url, why) && strings.EqualFold(string(f.FileFormat()), manifest.Format) {
			roots[url] = rootToRead{size: f.FileSizeBytes(), why: why, entry: f.FilePath()}
		}
	}
	return live, nil
}

// reachJobs notes what open jobs name, and the roots among it.
func (t *Table) reachJobs(ctx context.Context, jobs *openJobs, l *gc.Live, roots map[string]rootToRead) error {
	for _, j := range jobs.open {
		why := "open job " + j.ID
		for _, url := range slices.Concat(j.Inputs, j.Outputs) {
			prefix, many := strings.CutSuffix(url, "*")
			if many {
				l.AddPrefix(prefix, why)
			} else if l.Add(url, why) {
				addRoot(roots, url, why)
			}
			if !many || !strings.HasPrefix(prefix, t.VaultFolder()) {
				continue
			}
			for info, err := range t.cat.client.List(ctx, prefix) {
				if err != nil {
					return err
				}
				if l.Add(info.URL, why) {
					addRoot(roots, info.URL, why)
				}
			}
		}
	}
	return nil
}

// addRoot plans to read what a job names, if it is a root. It may never have been written, or be gone.
func addRoot(roots map[string]rootToRead, url, why string) {
	if _, known := roots[url]; !known && strings.HasSuffix(url, ".amudai.shard") {
		roots[url] = rootToRead{why: why, optional: true}
	}
}

// reachRoots follows every reference of the roots, and of the shards that their indexes consist of.
func (t *Table) reachRoots(ctx context.Context, l *marking, roots map[string]rootToRead) error {
	allow, err := t.Allowed()
	if err != nil {
		return err
	}
	for len(roots) > 0 {
		urls := make([]string, 0, len(roots))
		for url := range roots {
			urls = append(urls, url)
		}
		slices.Sort(urls)
		var mu sync.Mutex
		next := map[string]rootToRead{}
		err := t.cat.client.Each(ctx, len(urls), func(ctx context.Context, branch *blobio.Client, i int) error {
			from := roots[urls[i]]
			objects, artifacts, err := t.reach(ctx, branch, urls[i], from.size, allow)
			if from.optional && errors.Is(err, blobio.ErrNotFound) {
				return nil
			}
			if err != nil && l.passes(urls[i], from, err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("table %s: the objects referenced by %s can't be read, so nothing is collected: %w", t.name, urls[i], err)
			}
			why := from.why + ", by " + urls[i]
			for _, o := range objects {
				l.Add(o, why)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, a := range artifacts {
				next[a] = rootToRead{why: why, entry: from.entry}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for a := range next {
			if !l.Add(a+"\x00followed", "followed") { // two indexes that name each other
				delete(next, a)
			}
		}
		roots = next
	}
	return nil
}

// reach lists what one root refers to.
func (t *Table) reach(ctx context.Context, client *blobio.Client, url string, size int64, allow []urlresolve.Prefix) (objects, artifacts []string, err error) {
	return shardfmt.References(ctx, client, url, shardfmt.OpenOptions{Size: size, Allow: allow})
}

// reachKeyIndexes notes what the table's key indexes consist of. One that can't be read has nothing that is not made again.
func (t *Table) reachKeyIndexes(ctx context.Context, l *gc.Live) error {
	for _, def := range t.keyIndexDefs() {
		if def.Object == "" {
			continue
		}
		why := "the table's index " + t.keyIndexName(&def)
		l.Add(t.VaultFolder()+def.Object, why)
		state, err := t.keyIndexFolder(t.cat.client).ReadState(ctx, def)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, blobio.ErrNotFound) || errors.Is(err, corrupt.ErrCorrupt) {
			continue
		}
		if err != nil {
			return fmt.Errorf("table %s: the objects of %s can't be read, so nothing is collected: %w", t.name, def.Object, err)
		}
		for _, level := range state.Levels {
			l.Add(t.VaultFolder()+level.Object, why)
		}
	}
	return nil
}
