package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/manifest"
)

const (
	// namespacesFolder of the vault has the properties of namespaces.
	namespacesFolder = "_namespaces"
)

// nameNote is the content of _name/<number>.json.
type nameNote struct {
	Version int    `json:"version"`
	Table   string `json:"table"`
}

// namespaceRecord is the content of vault/_namespaces/<catalog id>/<namespace>/<number>.json.
type namespaceRecord struct {
	Version    int               `json:"version"`
	Namespace  string            `json:"namespace"`
	Properties map[string]string `json:"properties"`
}

// recordName records a table's name, from which RecoverAll takes it. The catalog's own change stands without it.
func (c *Catalog) recordName(ctx context.Context, t *Table) {
	c.identityFor(ctx, t.name.Namespace) // of the new namespace: the former one may be dropped
	note := func() (any, error) { return nameNote{records.Version, c.nameNow(ctx, t).String()}, nil }
	if err := c.records.PutVersion(ctx, t.VaultFolder()+gc.NameNotes, note); err != nil {
		c.opts.Log.Warn("the table's name could not be recorded; table recover --all would restore its former name", "table", t.name.String(), "error", err)
	}
}

// nameNow is the name that a table has by now: it may have been renamed once more, and that record been written already.
func (c *Catalog) nameNow(ctx context.Context, t *Table) Name {
	there, err := c.ice.LoadTable(ctx, t.name.identifier())
	if err == nil && there.Metadata().TableUUID().String() == t.UUID() {
		return t.name
	}
	if name, err := c.nameOf(ctx, t.UUID()); err == nil && name != nil {
		return *name
	}
	return t.name
}

// namespaceNotes is where the versions of a namespace's record are.
func (c *Catalog) namespaceNotes(ctx context.Context, namespace string) string {
	id := c.identityFor(ctx, namespace)
	if id == "" {
		id = "none"
	}
	return c.vault + "/" + namespacesFolder + "/" + id + "/" + namespace
}

// recordNamespace records a namespace's properties, from which RecoverAll takes them.
func (c *Catalog) recordNamespace(ctx context.Context, namespace string) {
	ctx = context.WithoutCancel(ctx)
	err := c.records.PutVersion(ctx, c.namespaceNotes(ctx, namespace), func() (any, error) {
		properties, err := c.NamespaceProperties(ctx, namespace)
		return namespaceRecord{records.Version, namespace, properties}, err
	})
	if err != nil {
		c.opts.Log.Warn("the properties of the namespace could not be recorded; table recover --all would not restore them", "namespace", namespace, "error", err)
	}
}

// Outcomes of RecoverAll for one table.
const (
	// RecoveredTable was not in the catalog. CurrentTable was, in its last state, AdvancedTable in an older one. DroppedState: the table was
	// dropped and stays so. FailedTable: see Error.
	RecoveredTable = "recovered"
	CurrentTable   = "current"
	AdvancedTable  = "advanced"
	DroppedState   = "dropped"
	FailedTable    = "failed"
)

// RecoverResult is what RecoverAll did about one table.
type RecoverResult struct {
	Table     string `json:"table"`
	TableUUID string `json:"table_uuid"`
	Metadata  string `json:"metadata,omitempty"`
	Outcome   string `json:"outcome"`
	// Candidates are metadata files of one number that can't be distinguished.
	Candidates []string `json:"candidates,omitempty"`
	Error      string   `json:"error,omitempty"`

	err        error
	registered *recovered
}

// lostTable is a table as its files show it.
type lostTable struct {
	owner Owner
	// unowned: the record of the owner is missing, for a take-over ended before it wrote the new one. named: there is a record of its name.
	unowned, dropped, named bool
	// files are the metadata files of its folders.
	files []metadataState
}

// metadataState is a metadata file; meta is nil before it is read.
type metadataState struct {
	at     string
	number int
	meta   table.Metadata
}

// byNumber orders metadata files, the highest number first.
func byNumber(a, b metadataState) int { return b.number - a.number }

// RecoverAll brings the tables of a vault and a warehouse into the catalog, each in its last state, with the names and the properties of namespaces that
// are recorded in the vault. It goes on after a table that fails; the error joins theirs. docs/design/catalog-identity.md.
func (c *Catalog) RecoverAll(ctx context.Context, takeOver bool) ([]RecoverResult, error) {
	if c.registrar == nil {
		return nil, fmt.Errorf("%w: the catalog can't take over metadata files", ErrInvalid)
	}
	if c.warehouse == "" {
		return nil, fmt.Errorf("%w: the warehouse is a name of the REST catalog; set its URL with --warehouse", ErrInvalid)
	}
	lost, err := c.lostTables(ctx)
	if err != nil {
		return nil, err
	}
	there, err := c.registeredNow(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.recoverNamespaces(ctx, lost); err != nil {
		return nil, err
	}
	results := []RecoverResult{}
	var failed error
	for _, uuid := range slices.Sorted(maps.Keys(lost)) {
		if ctx.Err() != nil {
			break
		}
		results = append(results, c.recoverOne(ctx, uuid, lost[uuid], there, takeOver))
	}
	c.withdrawTwins(context.WithoutCancel(ctx), results)
	for i := range results {
		if r := &results[i]; r.err != nil {
			r.Outcome, r.Error = FailedTable, r.err.Error()
			failed = errors.Join(failed, r.err)
		}
	}
	if ctx.Err() != nil {
		failed = ctx.Err()
	}
	slices.SortStableFunc(results, func(a, b RecoverResult) int { return strings.Compare(a.Table, b.Table) })
	return results, failed
}

// withdrawTwins is withdrawTwin for all tables that were registered, with one listing.
func (c *Catalog) withdrawTwins(ctx context.Context, results []RecoverResult) {
	if !slices.ContainsFunc(results, func(r RecoverResult) bool { return r.registered != nil }) {
		return
	}
	all, err := c.registeredNow(ctx)
	for i := range results {
		r := &results[i]
		switch {
		case r.registered == nil:
		case err != nil:
			r.err = errors.Join(r.err, fmt.Errorf("table %s: %w: whether it has another name too: %w", r.Table, ErrUnknownOutcome, err))
		default:
			r.err = errors.Join(r.err, c.withdrawTwin(ctx, r.registered, all))
		}
	}
}

// lostTables finds the tables of the vault and their last metadata files, by UUID.
func (c *Catalog) lostTables(ctx context.Context) (map[string]*lostTable, error) {
	lost, folders := map[string]*lostTable{}, map[string][]metadataState{}
	visit := func(info blobio.Info) error {
		if rest, ok := strings.CutPrefix(info.URL, c.vault+"/"); ok {
			uuid, name, _ := strings.Cut(rest, "/")
			switch name {
			case "_owner.json":
				t := lostTableOf(lost, uuid)
				if err := c.records.Read(ctx, info.URL, &t.owner); err != nil {
					return fmt.Errorf("%s: %w", info.URL, err)
				}
			case droppedName:
				lostTableOf(lost, uuid).dropped = true
			case gc.NameRecord:
				lostTableOf(lost, uuid).named = true
			default:
				if strings.HasPrefix(name, gc.NameNotes+"/") {
					lostTableOf(lost, uuid).named = true
				}
				if lost[uuid] == nil && validUUID(uuid) {
					lostTableOf(lost, uuid)
				}
			}
			return nil
		}
		if number, ok := stateNumber(info.URL); ok {
			folder, _ := path.Split(info.URL)
			folders[folder] = append(folders[folder], metadataState{at: info.URL, number: number})
		}
		return nil
	}
	roots := []string{c.warehouse}
	if !strings.HasPrefix(c.vault+"/", c.warehouse+"/") {
		roots = append(roots, c.vault)
	}
	for _, root := range roots {
		client := c.client
		if root == c.warehouse {
			client = c.metadata
		}
		for info, err := range client.List(ctx, root+"/") {
			if err == nil {
				err = visit(info)
			}
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", root, err)
			}
		}
	}
	for _, files := range folders { // all files of a folder are one table's
		slices.SortFunc(files, byNumber)
		if err := c.readState(ctx, &files[0]); err != nil {
			return nil, err
		}
		if t := lost[files[0].meta.TableUUID().String()]; t != nil {
			t.files = append(t.files, files...)
		}
	}
	for uuid, t := range lost {
		switch {
		case t.owner.TableUUID != "":
		case len(t.files) == 0 || t.files[0].meta.CurrentSnapshot() == nil:
			delete(lost, uuid) // no rows that a catalog committed
		default:
			t.unowned, t.owner.TableUUID = true, uuid
			if name, err := c.nameOfLocation(t.files[0].meta.Location()); err == nil {
				t.owner.Table = name.String()
			}
		}
	}
	return lost, nil
}

func validUUID(text string) bool { return uuid.Validate(text) == nil }

func lostTableOf(lost map[string]*lostTable, uuid string) *lostTable {
	if lost[uuid] == nil {
		lost[uuid] = &lostTable{}
	}
	return lost[uuid]
}

func (c *Catalog) recoverOne(ctx context.Context, uuid string, t *lostTable, there []gc.Registered, takeOver bool) RecoverResult {
	r := RecoverResult{TableUUID: uuid, Table: t.owner.Table}
	name, err := c.lastName(ctx, uuid, t)
	i := slices.IndexFunc(there, func(r gc.Registered) bool { return r.UUID == uuid })
	here := i >= 0
	if here {
		name, err = ParseName(there[i].Name)
	}
	if err != nil {
		r.err = err
		return r
	}
	if r.Table = name.String(); t.dropped && !here {
		r.Outcome = DroppedState
		return r
	}
	err = c.listAgain(ctx, t)
	var last metadataState
	if err == nil {
		last, err = c.lastState(ctx, uuid, t.files)
	}
	if err != nil {
		r.err = fmt.Errorf("table %s: %w", name, err)
		if several, ok := errors.AsType[*statesError](err); ok {
			for _, f := range several.files {
				r.Candidates = append(r.Candidates, f.at)
			}
		}
		return r
	}
	r.Metadata = last.at
	if !here {
		if t.unowned && !takeOver {
			r.err = fmt.Errorf("%w: table %s: the vault folder %s has no record of its owner: another catalog may be taking it over; if none is: shardcat table recover --all --take-over",
				ErrUnsafe, name, c.vaultFolder(uuid))
			return r
		}
		r.Outcome = RecoveredTable
		_, r.registered, r.err = c.recover(ctx, last.at, RecoverOptions{As: name, TakeOver: takeOver}, there)
		return r
	}
	switch {
	case takeOver:
		r.err = c.takeOwnership(ctx, t.owner, name)
	case !t.unowned: // the next writer claims a folder without an owner
		r.err = c.checkOwned(ctx, &t.owner, uuid)
	}
	if r.err != nil {
		return r
	}
	r.Outcome, r.err = c.advance(ctx, name, there[i].Metadata, last)
	return r
}

// listAgain adds the metadata files of a table's folders that the first list has left out: a table that comes back in an older state has lost the commits
// since then for its readers.
func (c *Catalog) listAgain(ctx context.Context, t *lostTable) error {
	known, folders := map[string]bool{}, map[string]bool{}
	for _, f := range t.files {
		folder, _ := path.Split(f.at)
		known[f.at], folders[folder] = true, true
	}
	for folder := range folders {
		for info, err := range c.metadata.List(ctx, folder) {
			if err != nil {
				return fmt.Errorf("list %s: %w", folder, err)
			}
			if number, ok := stateNumber(info.URL); ok && !known[info.URL] && info.URL == folder+path.Base(info.URL) {
				t.files = append(t.files, metadataState{at: info.URL, number: number})
			}
		}
	}
	return nil
}

// stateNumber is the number in the name of a metadata file of a catalog; ok is false for any other object.
func stateNumber(url string) (number int, ok bool) {
	if _, checksum := gc.Checksummed(url); checksum || !strings.Contains(path.Base(url), ".metadata.json") {
		return 0, false
	}
	number, err := metadataio.Version(url)
	return number, err == nil
}

// lastName is the name that a table had last.
func (c *Catalog) lastName(ctx context.Context, uuid string, t *lostTable) (Name, error) {
	var renamed nameNote
	err := c.records.ReadLast(ctx, c.vaultFolder(uuid)+gc.NameNotes, &renamed)
	switch {
	case errors.Is(err, blobio.ErrNotFound) && !t.named:
		return ParseName(t.owner.Table)
	case err != nil:
		return Name{}, err
	}
	return ParseName(renamed.Table)
}

// readState reads a metadata file unless it was read.
func (c *Catalog) readState(ctx context.Context, f *metadataState) (err error) {
	if f.meta == nil {
		f.meta, err = c.readMetadata(ctx, f.at)
	}
	if err != nil {
		return fmt.Errorf("%w; if it is damaged, move it elsewhere, and the previous metadata file is used", err)
	}
	return nil
}

// lastState returns the metadata file of the highest number, without those whose commit is recorded as failed. Of several the one whose commit
// is proven counts.
func (c *Catalog) lastState(ctx context.Context, uuid string, files []metadataState) (metadataState, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, byNumber)
	for len(files) > 0 {
		n := 1
		for n < len(files) && files[n].number == files[0].number {
			n++
		}
		last, err := c.committedState(ctx, uuid, files[:n])
		if last != nil || err != nil {
			return *cmp.Or(last, &metadataState{}), err
		}
		files = files[n:]
	}
	return metadataState{}, fmt.Errorf("%w: no metadata file of the UUID %s exists in the warehouse %s; recover it by name: shardcat table recover METADATA.json", ErrNotFound, uuid, c.warehouse)
}

// committedState returns the one of several metadata files of one number that a catalog had, nil if none of them was committed.
func (c *Catalog) committedState(ctx context.Context, uuid string, files []metadataState) (*metadataState, error) {
	for i := range files {
		if err := c.readState(ctx, &files[i]); err != nil {
			return nil, err
		}
		if id := files[i].meta.TableUUID().String(); id != uuid {
			return nil, fmt.Errorf("%w: %s has the UUID %s beside files of %s", ErrUnsafe, files[i].at, id, uuid)
		}
	}
	var possible, proven []*metadataState
	for i := range files {
		f := &files[i]
		// The commit of a snapshot that another file has too is an earlier one, and proves nothing of this number.
		snapshot := currentSnapshot(f.meta)
		shared := slices.ContainsFunc(files, func(o metadataState) bool { return o.at != f.at && o.meta.SnapshotByID(snapshot) != nil })
		outcome := unknownCommit
		if !shared {
			var err error
			if outcome, err = c.commitOf(ctx, uuid, f.meta); err != nil {
				return nil, err
			}
		}
		switch outcome {
		case failedCommit:
			continue
		case provenCommit:
			proven = append(proven, f)
		}
		possible = append(possible, f)
	}
	switch {
	case len(proven) == 1:
		return proven[0], nil
	case len(possible) == 1:
		return possible[0], nil
	case len(possible) == 0:
		return nil, nil
	}
	same := !slices.ContainsFunc(possible, func(f *metadataState) bool { return currentSnapshot(f.meta) != currentSnapshot(possible[0].meta) })
	if same { // they differ in properties, columns or refs at most
		return slices.MaxFunc(possible, func(a, b *metadataState) int {
			return cmp.Compare(a.meta.LastUpdatedMillis(), b.meta.LastUpdatedMillis())
		}), nil
	}
	return nil, &statesError{possible}
}

// statesError is an ErrConflict: metadata files of one number, of which more than one may be the table's last state.
type statesError struct{ files []*metadataState }

func (e *statesError) Error() string {
	return fmt.Sprintf("%v: %d metadata files have the number %d, and the last state is ambiguous; recover the right one by its name: %s",
		ErrConflict, len(e.files), e.files[0].number, describeStates(e.files))
}

func (e *statesError) Unwrap() error { return ErrConflict }

// describeStates lists metadata files with what distinguishes them.
func describeStates(files []*metadataState) string {
	var texts []string
	for _, f := range files {
		rows, at := "0", int64(0)
		if s := f.meta.CurrentSnapshot(); s != nil && s.Summary != nil {
			rows, at = s.Summary.Properties["total-records"], s.TimestampMs
		}
		texts = append(texts, fmt.Sprintf("%s (%s rows, snapshot of %s)", path.Base(f.at), rows, time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z")))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func currentSnapshot(meta table.Metadata) int64 {
	if s := meta.CurrentSnapshot(); s != nil {
		return s.SnapshotID
	}
	return 0
}

// What the records of a job show of the commit of a snapshot.
const (
	unknownCommit = iota
	provenCommit
	failedCommit
)

// commitOf returns what the records of the current snapshot's job show of its commit. A job without a record was committed under an id that
// shardcat made up (see Job.end): a record stands before each commit.
func (c *Catalog) commitOf(ctx context.Context, uuid string, meta table.Metadata) (int, error) {
	s := meta.CurrentSnapshot()
	if s == nil || s.Summary == nil {
		return unknownCommit, nil
	}
	all := failedCommit
	for job := range manifest.JobsOf(s.Summary.Properties) { // more than one where appends share a snapshot
		shown, err := c.commitOfJob(ctx, uuid, job, s)
		if err != nil || shown == provenCommit {
			return shown, err
		}
		if shown == unknownCommit {
			all = unknownCommit
		}
	}
	if s.Summary.Properties[manifest.JobIDKey] == "" {
		all = unknownCommit
	}
	return all, nil
}

// commitOfJob is commitOf for one job of the snapshot.
func (c *Catalog) commitOfJob(ctx context.Context, uuid, job string, s *table.Snapshot) (int, error) {
	if !validPart(job) || len(job) > maxJobID {
		return unknownCommit, nil
	}
	begun, ended, others := map[string]bool{}, map[string]bool{}, 0
	known, folder := map[string]bool{}, c.jobFolder(uuid)
	for range 2 { // lists: a record that one leaves out would prove the opposite
		for r, err := range folder.List(ctx, job+".") {
			if err != nil {
				return unknownCommit, err
			}
			if known[r.URL] {
				continue
			}
			known[r.URL] = true
			switch r.Kind {
			case jobrecord.ClosedSuffix:
				end, err := folder.EndOf(ctx, r.Run)
				if err != nil {
					return unknownCommit, err
				}
				if end.Outcome == jobrecord.Committed && end.Snapshot == s.SnapshotID {
					return provenCommit, nil
				}
				ended[r.Run] = true
			case "":
				begun[r.Run] = true
			default:
				others++
			}
		}
	}
	if len(begun)+len(ended) == 0 {
		return provenCommit, nil
	}
	if maps.DeleteFunc(begun, func(run string, _ bool) bool { return ended[run] }); len(begun)+others == 0 {
		return failedCommit, nil
	}
	return unknownCommit, nil
}

// advance moves a table of the catalog on to a later state of it.
func (c *Catalog) advance(ctx context.Context, name Name, from string, last metadataState) (string, error) {
	if metadataio.CanonicalURL(from) == metadataio.CanonicalURL(last.at) {
		return CurrentTable, nil
	}
	now, err := c.readMetadata(ctx, icebergaccess.Canonical(from))
	if err != nil && !errors.Is(err, blobio.ErrNotFound) {
		return "", err
	}
	if number, err := metadataio.Version(from); err == nil && number > last.number {
		return CurrentTable, nil // it was written since the files were listed
	}
	if !descends(last.meta, from, now) {
		return "", fmt.Errorf("table %s: %w: its state %s and the last one of its folder, %s, have diverged; drop the name and recover the right one",
			name, ErrConflict, path.Base(from), path.Base(last.at))
	}
	if c.sql == nil {
		return "", fmt.Errorf("table %s: %w: the catalog has an older state (%s); drop the name, then: shardcat table recover %s", name, ErrConflict, path.Base(from), last.at)
	}
	if _, err := c.sql.Point(ctx, name.identifier(), from, last.at); err != nil {
		return "", fmt.Errorf("table %s: %w", name, translate(err))
	}
	return AdvancedTable, nil
}

// descends reports whether a state came from another one: its log names the file, or its snapshots descend from the other's.
func descends(last table.Metadata, from string, of table.Metadata) bool {
	for entry := range last.PreviousFiles() {
		if metadataio.CanonicalURL(entry.MetadataFile) == metadataio.CanonicalURL(from) {
			return true
		}
	}
	if of == nil || of.CurrentSnapshot() == nil {
		return false
	}
	seen := 0
	for s := last.CurrentSnapshot(); s != nil && seen <= len(last.Snapshots()); seen++ {
		if s.SnapshotID == of.CurrentSnapshot().SnapshotID {
			return true
		}
		if s.ParentSnapshotID == nil {
			return false
		}
		s = last.SnapshotByID(*s.ParentSnapshotID)
	}
	return false
}

// recoverNamespaces makes the recorded namespaces of the catalogs that owned the tables. Properties that a namespace has stay.
func (c *Catalog) recoverNamespaces(ctx context.Context, lost map[string]*lostTable) error {
	owners := map[string]bool{}
	for _, t := range lost {
		owners[t.owner.CatalogID] = true
	}
	folder := c.vault + "/" + namespacesFolder + "/"
	last, numbers := map[string]namespaceRecord{}, map[string]int{} // by the URL that namespaceNotes gives
	for info, err := range c.client.List(ctx, folder) {
		if err != nil {
			return fmt.Errorf("list %s: %w", folder, err)
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(info.URL, folder), "/")
		if mine, err := c.hasIdentity(ctx, id); err != nil {
			return err
		} else if !mine && !owners[id] && id != "none" {
			continue
		}
		var r namespaceRecord
		if err := c.records.Read(ctx, info.URL, &r); err != nil {
			return fmt.Errorf("%s: %w", info.URL, err)
		}
		notes := folder + id + "/" + r.Namespace
		n, _ := records.VersionNumber(info.URL) // 0 for that of an earlier build
		if was, ok := numbers[notes]; !ok || n > was {
			last[notes], numbers[notes] = r, n
		}
	}
	for _, notes := range slices.Sorted(maps.Keys(last)) {
		if err := c.recoverNamespace(ctx, last[notes]); err != nil {
			return err
		}
	}
	return nil
}

// recoverNamespace creates a namespace if it does not exist, and sets the recorded properties that it does not have.
func (c *Catalog) recoverNamespace(ctx context.Context, r namespaceRecord) error {
	if err := c.CreateNamespace(ctx, r.Namespace); err != nil {
		return err
	}
	is, err := c.NamespaceProperties(ctx, r.Namespace)
	if err != nil {
		return err
	}
	maps.DeleteFunc(r.Properties, func(key, _ string) bool { _, ok := is[key]; return ok || isIdentity(key) })
	if len(r.Properties) == 0 {
		return nil
	}
	return c.SetNamespaceProperties(ctx, r.Namespace, r.Properties, nil)
}

// aheadOf finds a metadata file of the folder that descends from the table's state and is at least two versions ahead, "" if there is none: the catalog
// shows an old state, as a copy of a database does. One version ahead may be what a killed writer left.
func (c *collector) aheadOf(ctx context.Context, files []blobio.Info) (string, error) {
	t := c.table
	now, err := metadataio.Version(t.MetadataLocation())
	if err != nil {
		return "", nil
	}
	var ahead []metadataState
	for _, f := range files {
		if n, err := metadataio.Version(f.URL); err == nil && n > now+1 {
			ahead = append(ahead, metadataState{at: f.URL, number: n})
		}
	}
	slices.SortStableFunc(ahead, byNumber)
	for _, f := range ahead {
		meta, err := t.cat.readMetadata(ctx, f.at)
		if errors.Is(err, blobio.ErrNotFound) {
			if gone, goneErr := isGone(ctx, t.cat.metadata.Uncached(), f.at); gone { // since it was listed
				continue
			} else if goneErr != nil {
				return "", goneErr
			}
		}
		if err != nil || !descends(meta, t.MetadataLocation(), nil) {
			return "", err
		}
		return f.at, nil
	}
	return "", nil
}
