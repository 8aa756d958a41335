package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// When so many manifests of one spec are small, they are merged, or an append takes over the newest: Iceberg's properties of a table and their
// defaults. Small is what has less than half of the target size; so what a merge has filled is left alone by the next one.
const (
	mergeCountProperty = "commit.manifest.min-count-to-merge"
	mergeBytesProperty = "commit.manifest.target-size-bytes"
	mergeCount         = 100
	mergeBytes         = 8 << 20
)

// carryOver takes the parent's manifests into the new snapshot: as they are, or without the entries that go.
func (s *stager) carryOver() error {
	left := pathSet(s.change.Remove)
	if s.parent == nil {
		return missing(left)
	}
	manifests, err := Manifests(s.FS, s.Metadata.Version(), s.parent)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	added := map[string]bool{}
	for _, e := range s.change.Add {
		added[e.Path] = true
	}
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentData {
			return fmt.Errorf("manifest: the table has delete files (%s), which tables of shards do not", m.FilePath())
		}
		if len(left) == 0 && !s.change.CheckDuplicates {
			s.keep(m)
			continue
		}
		if err = s.withoutRemoved(m, left, added); err != nil {
			return err
		}
	}
	if err := s.writeEmptied(); err != nil {
		return err
	}
	return missing(left)
}

func pathSet(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, p := range paths {
		set[p] = true
	}
	return set
}

func missing(paths map[string]bool) error {
	if len(paths) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrInputGone, slices.Min(slices.Collect(maps.Keys(paths))))
}

// keep carries a manifest over unless nothing in it is live.
func (s *stager) keep(m iceberg.ManifestFile) {
	if m.AddedDataFiles() != 0 || m.ExistingDataFiles() != 0 {
		s.manifests = append(s.manifests, m)
	}
}

// withoutRemoved carries a manifest over, rewritten if it holds entries to remove, which leave the set.
func (s *stager) withoutRemoved(m iceberg.ManifestFile, left, added map[string]bool) error {
	hit := false
	for e, err := range LiveEntries(s.FS, m, &Projection{}) {
		switch {
		case err != nil:
			return err
		case added[e.Path]:
			return fmt.Errorf("%w: %s", ErrDuplicate, e.Path)
		}
		hit = hit || left[e.Path]
	}
	if !hit {
		s.keep(m)
		return nil
	}
	entries, err := Entries(s.FS, m)
	if err != nil {
		return err
	}
	gone, stays := make([]bool, len(entries)), false
	for i, e := range entries {
		if e.Status() == iceberg.EntryStatusDELETED {
			continue
		}
		if path := e.DataFile().FilePath(); left[path] {
			delete(left, path)
			gone[i] = true
			s.totals.remove(entryOfFile(e.DataFile()))
		}
		stays = stays || !gone[i]
	}
	if stays {
		return s.rewriteManifest(m, entries, gone)
	}
	for i, e := range entries {
		if gone[i] {
			spec := int(m.PartitionSpecID())
			s.emptied[spec] = append(s.emptied[spec], e)
		}
	}
	return nil
}

// writeEmptied reports what went of manifests that nothing is left of, all in one manifest of each spec: a compaction takes
// the entries of many small ones, and the next snapshot needs none of what it writes here.
func (s *stager) writeEmptied() error {
	for _, spec := range slices.Sorted(maps.Keys(s.emptied)) {
		err := s.writeManifest(spec, func(w *iceberg.ManifestWriter) error {
			for _, e := range s.emptied[spec] {
				if err := w.Delete(e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stager) rewriteManifest(m iceberg.ManifestFile, entries []iceberg.ManifestEntry, gone []bool) error {
	return s.writeManifest(int(m.PartitionSpecID()), func(w *iceberg.ManifestWriter) error {
		for i, e := range entries {
			var err error
			switch {
			case gone[i]:
				err = w.Delete(e)
			case e.Status() != iceberg.EntryStatusDELETED:
				err = w.Existing(e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// writeManifest writes one new manifest and adds it to the snapshot.
func (s *stager) writeManifest(specID int, fill func(*iceberg.ManifestWriter) error) error {
	spec := s.Metadata.PartitionSpecByID(specID)
	if spec == nil {
		return fmt.Errorf("manifest: the table has no partition spec %d", specID)
	}
	path := s.locations.NewMetadataLocation(fmt.Sprintf("%s-m%d.avro", s.writeID, len(s.files)))
	var file bytes.Buffer
	w, err := iceberg.NewManifestWriter(FormatVersion, &file, icebergaccess.AvroSpec(*spec), s.Metadata.CurrentSchema(), s.snapshot.SnapshotID)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if err := fill(w); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	raw, err := withDecimalScale(file.Bytes())
	if err != nil {
		return err
	}
	err = s.write(path, func(out io.FileWriter) error {
		_, err := out.Write(raw)
		return err
	})
	if err != nil {
		return err
	}
	m, err := w.ToManifestFile(path, int64(len(raw)))
	if err != nil {
		return fmt.Errorf("manifest: %s: %w", path, err)
	}
	s.manifests = append(s.manifests, mendSummaries(m))
	return nil
}

// addEntries writes the added entries, one manifest per partition spec.
func (s *stager) addEntries() error {
	for _, id := range specIDs(s.change.Add) {
		earlier, err := s.takeNewest(id)
		if err != nil {
			return err
		}
		err = s.writeManifest(id, func(w *iceberg.ManifestWriter) error {
			for _, e := range earlier {
				if e.Status() == iceberg.EntryStatusDELETED {
					continue
				}
				if err := w.Existing(e); err != nil {
					return err
				}
			}
			for _, e := range s.change.Add {
				if e.SpecID != id {
					continue
				}
				f, err := e.DataFile(*s.Metadata.PartitionSpecByID(id), s.Metadata.CurrentSchema())
				if err != nil {
					return err
				}
				added := iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &s.snapshot.SnapshotID, nil, nil, f)
				if err := w.Add(added); err != nil {
					return fmt.Errorf("entry of %s: %w", e.Path, err)
				}
				s.totals.add(e)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// smallManifests are the manifests of earlier snapshots that have less than half of the target size, by partition spec.
func (s *stager) smallManifests() map[int32][]iceberg.ManifestFile {
	small := map[int32][]iceberg.ManifestFile{}
	for _, m := range s.manifests {
		if m.SnapshotID() != s.snapshot.SnapshotID && m.Length() < s.targetBytes()/2 {
			small[m.PartitionSpecID()] = append(small[m.PartitionSpecID()], m)
		}
	}
	return small
}

func (s *stager) targetBytes() int64 {
	return int64(max(1, s.Metadata.Properties().GetInt(mergeBytesProperty, mergeBytes)))
}

// mergeFrom is the number of small manifests of one spec from which on they are merged.
func (s *stager) mergeFrom() int {
	return max(2, s.Metadata.Properties().GetInt(mergeCountProperty, mergeCount))
}

// takesNewest reports whether the change takes over the newest small manifest of a partition spec instead of merging all of them: an append
// of fewer entries than the manifests that a merge would read.
func (s *stager) takesNewest(specID int, group []iceberg.ManifestFile) bool {
	added := 0
	for _, e := range s.change.Add {
		if e.SpecID == specID {
			added++
		}
	}
	return s.change.Operation == table.OpAppend && !s.change.CheckDuplicates && added < len(group)
}

// takeNewest removes the newest small manifest of a partition spec from the snapshot and returns its entries, for the manifest of the append.
// From half as many small manifests as are merged on, the newest one grows in this way until it has as many entries as there are small manifests,
// so that n appends leave manifests of the order of the square root of n, and each append reads at most one.
func (s *stager) takeNewest(specID int) ([]iceberg.ManifestEntry, error) {
	group := s.smallManifests()[int32(specID)]
	if 2*len(group) < s.mergeFrom() || !s.takesNewest(specID, group) {
		return nil, nil
	}
	newest := group[len(group)-1]
	if int(newest.AddedDataFiles())+int(newest.ExistingDataFiles()) >= len(group) {
		return nil, nil
	}
	entries, err := Entries(s.FS, newest)
	if err != nil {
		return nil, err
	}
	s.drop(newest)
	return entries, nil
}

// drop leaves manifests out of the snapshot.
func (s *stager) drop(group ...iceberg.ManifestFile) {
	s.manifests = slices.DeleteFunc(s.manifests, func(m iceberg.ManifestFile) bool {
		return slices.ContainsFunc(group, func(g iceberg.ManifestFile) bool { return g.FilePath() == m.FilePath() })
	})
}

// compactManifests merges the small manifests of earlier snapshots when there are too many of them.
func (s *stager) compactManifests() error {
	for spec, group := range s.smallManifests() {
		if len(group) < s.mergeFrom() || s.takesNewest(int(spec), group) {
			continue
		}
		s.drop(group...)
		if err := s.mergeManifests(int(spec), group, s.targetBytes()); err != nil {
			return err
		}
	}
	return nil
}

// mergeManifests writes the live entries of a group in the order in which their records were created, to as many manifests
// as they fill: each then covers a time of its own, and a plan that looks for some time skips the others.
func (s *stager) mergeManifests(specID int, group []iceberg.ManifestFile, target int64) error {
	entries, stored, err := s.entriesByTime(group)
	if err != nil {
		return err
	}
	for n := max(1, int(stored/target)); n > 0; n-- {
		part := entries[:len(entries)/n]
		entries = entries[len(part):]
		if len(part) == 0 {
			continue
		}
		err := s.writeManifest(specID, func(w *iceberg.ManifestWriter) error {
			for _, e := range part {
				if err := w.Existing(e.ManifestEntry); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// timedEntry is an entry with the time of its records.
type timedEntry struct {
	iceberg.ManifestEntry
	created CreationRange
}

// entriesByTime reads the live entries of manifests, and how many bytes they are stored in. Those of unknown time come last.
func (s *stager) entriesByTime(group []iceberg.ManifestFile) (out []timedEntry, stored int64, err error) {
	fs, done := ReadAhead(s.FS, group)
	defer done()
	for _, m := range group {
		entries, err := Entries(fs, m)
		if err != nil {
			return nil, 0, err
		}
		stored += m.Length()
		for _, e := range entries {
			if e.Status() != iceberg.EntryStatusDELETED {
				f := e.DataFile()
				out = append(out, timedEntry{e, privateOf(f.LowerBoundValues(), f.UpperBoundValues()).Created})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b timedEntry) int {
		if a.created.Known() != b.created.Known() {
			if a.created.Known() {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.created.First, b.created.First), cmp.Compare(a.created.Last, b.created.Last))
	})
	return out, stored, nil
}
