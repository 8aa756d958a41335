package manifest

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/shardcat/shardcat/internal/parallel"
)

// JobIDKey is the snapshot property that names the job a snapshot was made by. A job is committed at most once.
const JobIDKey = "shardcat.job-id"

// moreJobIDsKey is the snapshot property that names the further jobs of a snapshot that several appends share, separated by commas.
const moreJobIDsKey = "shardcat.more-job-ids"

// JobsOf yields the jobs that made a snapshot with these properties: one, or several that share it.
func JobsOf(properties map[string]string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if id := properties[JobIDKey]; id != "" && !yield(id) {
			return
		}
		for more := properties[moreJobIDsKey]; more != ""; {
			var id string
			if id, more, _ = strings.Cut(more, ","); !yield(id) {
				return
			}
		}
	}
}

// Errors of Stage.
var (
	// ErrInputGone: an entry to be replaced is not (or no longer) live.
	ErrInputGone = errors.New("an input is no longer part of the table")
	// ErrDuplicate: a path to be added is already live. No path is ever used twice.
	ErrDuplicate = errors.New("already part of the table")
	// errRowsChanged: a replace would change the number of rows.
	errRowsChanged = errors.New("a replace must keep the number of rows")
)

// Change is one write to a table.
type Change struct {
	// Operation is append, replace or overwrite.
	Operation table.Operation
	// Add are new entries; their paths must be new to the table.
	Add []*Entry
	// Remove are the paths of live entries that go.
	Remove []string
	// JobID goes into the snapshot's summary, as do Properties.
	JobID string
	// MoreJobIDs are the ids of the other jobs of an append that is shared.
	MoreJobIDs []string
	Properties map[string]string
	// CheckDuplicates reads all manifests to make sure that no added path is live. Paths that carry fresh random
	// names need no such check.
	CheckDuplicates bool
}

// Base is what a change is made on top of.
type Base struct {
	Metadata table.Metadata
	// Branch is the branch to move, "main" by default.
	Branch string
	FS     io.WriteFileIO
	// Now is the snapshot's time.
	Now time.Time
}

// Staged is a change written to manifests, ready to be committed. Committing it twice is harmless: the second
// time the head is no longer the base.
type Staged struct {
	Snapshot     *table.Snapshot
	Requirements []table.Requirement
	Updates      []table.Update
	// Files are the objects that Stage wrote. After an authoritative rejection they may be deleted.
	Files []string
}

// Stage writes the manifests of a change on top of the base's head. Files written before an error are listed
// in the result, which is never nil.
func Stage(base Base, c Change) (*Staged, error) {
	s, err := newStager(base, c)
	if err != nil {
		return &Staged{}, err
	}
	err = s.stage()
	if writeErr := s.written(); err == nil {
		err = writeErr
	}
	if err != nil {
		return &Staged{Files: s.files}, err
	}
	return &Staged{
		Snapshot: s.snapshot, Requirements: s.requirements(), Updates: s.updates(), Files: s.files,
	}, nil
}

// stager carries one change through its steps.
type stager struct {
	Base
	change    Change
	parent    *table.Snapshot
	snapshot  *table.Snapshot
	locations table.LocationProvider
	// writeID makes this attempt's file names unique.
	writeID string
	files   []string
	// writes are those under way: files of one snapshot don't wait for one another, since nothing names them before the commit.
	writes *errgroup.Group
	totals totals
	// manifests of the new snapshot.
	manifests []iceberg.ManifestFile
	// emptied are the entries removed from manifests that hold no others, by partition spec.
	emptied map[int][]iceberg.ManifestEntry
}

func newStager(base Base, c Change) (*stager, error) {
	if base.Branch == "" {
		base.Branch = table.MainBranch
	}
	if v := base.Metadata.Version(); v != FormatVersion {
		return nil, fmt.Errorf("manifest: the table has Iceberg format version %d, shards need %d", v, FormatVersion)
	}
	locations, err := table.LoadLocationProvider(base.Metadata.Location(), base.Metadata.Properties())
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	s := &stager{
		Base: base, change: c, locations: locations, writeID: uuid.NewString(),
		parent: base.Metadata.SnapshotByName(base.Branch), emptied: map[int][]iceberg.ManifestEntry{},
	}
	schemaID := base.Metadata.CurrentSchema().ID
	s.snapshot = &table.Snapshot{
		SnapshotID: s.newSnapshotID(), SequenceNumber: base.Metadata.LastSequenceNumber() + 1,
		TimestampMs: s.timestamp(), SchemaID: &schemaID,
	}
	if s.parent != nil {
		s.snapshot.ParentSnapshotID = &s.parent.SnapshotID
	}
	return s, nil
}

// newSnapshotID is random, positive and new to the table.
func (s *stager) newSnapshotID() int64 {
	for {
		u := uuid.New()
		var id int64
		for i := range 8 {
			id = id<<8 | int64(u[i]^u[i+8])
		}
		if id &= 1<<63 - 1; id != 0 && s.Metadata.SnapshotByID(id) == nil {
			return id
		}
	}
}

// timestamp never runs backwards along the branch, whatever the clock does.
func (s *stager) timestamp() int64 {
	now := max(s.Now.UnixMilli(), s.Metadata.LastUpdatedMillis())
	if s.parent != nil {
		now = max(now, s.parent.TimestampMs)
	}
	return now
}

func (s *stager) stage() error {
	if err := s.carryOver(); err != nil {
		return err
	}
	if err := s.addEntries(); err != nil {
		return err
	}
	if err := s.checkRows(); err != nil {
		return err
	}
	if err := s.compactManifests(); err != nil {
		return err
	}
	s.snapshot.Summary = s.summary()
	return s.writeList()
}

// checkRows holds a replace to its promise.
func (s *stager) checkRows() error {
	if t := s.totals; s.change.Operation == table.OpReplace && t.added.records != t.removed.records {
		return fmt.Errorf("%w: %d rows removed, %d added", errRowsChanged, t.removed.records, t.added.records)
	}
	return nil
}

func (s *stager) writeList() error {
	s.snapshot.ManifestList = s.locations.NewMetadataLocation(
		fmt.Sprintf("snap-%d-0-%s.avro", s.snapshot.SnapshotID, s.writeID))
	return s.write(s.snapshot.ManifestList, func(out io.FileWriter) error {
		return iceberg.WriteManifestList(FormatVersion, out, s.snapshot.SnapshotID, s.snapshot.ParentSnapshotID,
			&s.snapshot.SequenceNumber, 0, s.manifests)
	})
}

// write creates one file and lists it.
func (s *stager) write(path string, fill func(io.FileWriter) error) error {
	out, err := s.FS.Create(path)
	if err != nil {
		return fmt.Errorf("manifest: create %s: %w", path, err)
	}
	s.files = append(s.files, path)
	if err := fill(out); err != nil {
		return fmt.Errorf("manifest: write %s: %w", path, errors.Join(err, out.Close()))
	}
	end := func() error {
		if err := out.Close(); err != nil {
			return fmt.Errorf("manifest: write %s: %w", path, err)
		}
		return nil
	}
	if _, ok := s.FS.(aheadIO); !ok { // not known to take several files at a time
		return end()
	}
	if s.writes == nil {
		s.writes = new(errgroup.Group)
		s.writes.SetLimit(writesAtOnce)
	}
	s.writes.Go(func() error { return parallel.Guarded(end) })
	return nil
}

// writesAtOnce is how many files of a snapshot are written at the same time.
const writesAtOnce = 16

// written waits for all files.
func (s *stager) written() error {
	if s.writes == nil {
		return nil
	}
	return s.writes.Wait()
}

func (s *stager) requirements() []table.Requirement {
	var head *int64
	if s.parent != nil {
		head = &s.parent.SnapshotID
	}
	return []table.Requirement{
		table.AssertTableUUID(s.Metadata.TableUUID()),
		table.AssertRefSnapshotID(s.Branch, head),
		// Entries were mapped by this schema and this spec.
		table.AssertCurrentSchemaID(s.Metadata.CurrentSchema().ID),
		table.AssertDefaultSpecID(s.Metadata.DefaultPartitionSpec()),
	}
}

func (s *stager) updates() []table.Update {
	return []table.Update{
		table.NewAddSnapshotUpdate(s.snapshot),
		table.NewSetSnapshotRefUpdate(s.Branch, s.snapshot.SnapshotID, table.BranchRef, 0, 0, 0),
	}
}

func (s *stager) summary() *table.Summary {
	var previous map[string]string
	if s.parent != nil && s.parent.Summary != nil {
		previous = s.parent.Summary.Properties
	}
	properties := s.totals.properties(previous)
	properties[OperationKey] = string(s.change.Operation)
	maps.Copy(properties, s.change.Properties)
	if s.change.JobID != "" {
		properties[JobIDKey] = s.change.JobID
	}
	if len(s.change.MoreJobIDs) > 0 {
		properties[moreJobIDsKey] = strings.Join(s.change.MoreJobIDs, ",")
	}
	return &table.Summary{Operation: s.change.Operation, Properties: properties}
}

// specIDs of the added entries, in order.
func specIDs(entries []*Entry) []int {
	var ids []int
	for _, e := range entries {
		if !slices.Contains(ids, e.SpecID) {
			ids = append(ids, e.SpecID)
		}
	}
	slices.Sort(ids)
	return ids
}
