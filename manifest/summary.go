package manifest

import "github.com/apache/iceberg-go"

// mendSummaries gives empty partition values back the bounds that they lose on the way: iceberg-go encodes the
// empty string and the empty binary as a nil slice, which a manifest list would store as "no bound". Engines that
// prune by summaries then skip the manifest, and rows are missing from their results.
func mendSummaries(m iceberg.ManifestFile) iceberg.ManifestFile {
	summaries := m.Partitions()
	mended := false
	for i := range summaries {
		for _, bound := range []**[]byte{&summaries[i].LowerBound, &summaries[i].UpperBound} {
			if *bound != nil && **bound == nil {
				*bound, mended = &[]byte{}, true
			}
		}
	}
	if !mended {
		return m
	}
	return iceberg.NewManifestFile(FormatVersion, m.FilePath(), m.Length(), m.PartitionSpecID(), m.SnapshotID()).
		SequenceNum(m.SequenceNum(), m.MinSequenceNum()).Content(m.ManifestContent()).
		AddedFiles(m.AddedDataFiles()).ExistingFiles(m.ExistingDataFiles()).DeletedFiles(m.DeletedDataFiles()).
		AddedRows(m.AddedRows()).ExistingRows(m.ExistingRows()).DeletedRows(m.DeletedRows()).
		Partitions(summaries).Build()
}
