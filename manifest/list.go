package manifest

import (
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Manifests reads the manifest list of a snapshot of a table of an Iceberg format version. The list is required
// from version 2 on: a snapshot that names none is corrupt, not empty, since readers that took it for empty would
// return no rows and collection would delete them.
func Manifests(fs io.IO, version int, s *table.Snapshot) ([]iceberg.ManifestFile, error) {
	if s.ManifestList == "" && (version > 1 || s.ManifestLocations == nil) {
		return nil, corrupt.At(-1, "snapshot %d has no manifest list, which Iceberg requires of every snapshot", s.SnapshotID)
	}
	files, err := s.Manifests(fs)
	if err != nil {
		return nil, fmt.Errorf("manifest list of snapshot %d: %w", s.SnapshotID, err)
	}
	return files, nil
}
