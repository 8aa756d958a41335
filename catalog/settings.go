package catalog

import (
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/manifest"
)

// vaultProperty is the table property that records the vault in which the table's shards lie.
const vaultProperty = "shardcat.vault"

// comment reports people at other engines what they look at.
const comment = "A table of Amudai shards. Iceberg engines read its metadata only; read rows with shardcat " +
	"(shardcat scan NAME). Do not write, rewrite or clean up with other engines."

// formatProperty reports which format writers of a table use; on tables of shards it makes other engines' fail early.
const formatProperty = "write.format.default"

// settings every table of shards has: other engines' clean-up must not touch it, other engines' writers fail
// early, and shards are looked for in one place only.
func (c *Catalog) settings() map[string]string {
	return map[string]string{
		"format-version":             fmt.Sprint(manifest.FormatVersion),
		"gc.enabled":                 "false",
		formatProperty:               manifest.Format,
		table.MetadataCompressionKey: c.metadataCodec(),
		vaultProperty:                c.vault,
		"comment":                    comment,
	}
}

// metadataCodec is how the metadata files of a table are compressed unless its property states otherwise (docs/design/commit.md, "The metadata
// file"). A REST server writes them itself: not every one takes a codec.
func (c *Catalog) metadataCodec() string {
	if caturi.IsREST(c.opts.URI) {
		return table.MetadataCompressionCodecNone
	}
	return table.MetadataCompressionCodecGzip
}

// metadataCodecs are those that every engine of docs/guides/iceberg.md reads. zstd is not: pyiceberg and DuckDB do not read it.
var metadataCodecs = []string{table.MetadataCompressionCodecNone, table.MetadataCompressionCodecGzip}

// checkCodec refuses a codec of metadata files that some engine does not read.
func checkCodec(properties map[string]string) error {
	if codec, ok := properties[table.MetadataCompressionKey]; ok && !slices.Contains(metadataCodecs, codec) {
		return fmt.Errorf("%w: property %s must be none or gzip, not %q", ErrInvalid, table.MetadataCompressionKey, codec)
	}
	return nil
}

// protectedSettings can't be requested otherwise.
var protectedSettings = []string{"format-version", "gc.enabled", formatProperty, vaultProperty}

// isOfShards reports whether the table was made, or taken over, for shards.
func (t *Table) isOfShards() bool {
	return t.Properties()[formatProperty] == manifest.Format || t.Properties()[vaultProperty] != ""
}

// missingSettings are the settings that a commit has to add: all of an empty table that another engine made, the
// newer ones of a table of an earlier version.
func (t *Table) missingSettings() iceberg.Properties {
	missing, own := iceberg.Properties{}, t.isOfShards()
	for key, want := range t.cat.settings() {
		is, set := t.Properties()[key]
		if key == table.MetadataCompressionKey && slices.Contains(metadataCodecs, is) {
			continue // another engine's choice
		}
		if key != "format-version" && (!set || is != want && !own) { // Iceberg keeps the version elsewhere
			missing[key] = want
		}
	}
	return missing
}

// checkVault refuses to read or write shards of a table in another vault than the one that the table records:
// neither half of its shards could be read together with the other.
func (t *Table) checkVault() error {
	if at := t.Properties()[vaultProperty]; at != "" && at != t.cat.vault {
		return fmt.Errorf("%w: the shards of table %s are in the vault %s, not in %s; set it with --vault", ErrUnsafe,
			t.name, at, t.cat.vault)
	}
	return nil
}

// checkWritable refuses tables that shards can't be added to: data files of other engines, an Iceberg format
// version that entries are not written for, a required column that no shard can have.
func (t *Table) checkWritable() error {
	if err := t.checkVault(); err != nil {
		return err
	}
	if v := t.ice.Metadata().Version(); v != manifest.FormatVersion {
		return fmt.Errorf("%w: table %s has Iceberg format version %d, only version %d is supported", ErrUnsafe,
			t.name, v, manifest.FormatVersion)
	}
	if u := t.schema.UnsupportedRequired(); u != nil {
		return fmt.Errorf("%w: table %s: the required column %q has Iceberg type %s, which shards do not support", ErrUnsafe,
			t.name, u.Name, u.Type)
	}
	if t.isOfShards() {
		return nil
	}
	for _, s := range t.ice.Metadata().Snapshots() {
		files, err := t.manifests(&s)
		if err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		for _, m := range files {
			if m.AddedDataFiles()+m.ExistingDataFiles() > 0 {
				return fmt.Errorf("%w: table %s holds data files of another engine; shards in the same table would make it unreadable for both. Create a separate table (table create)",
					ErrUnsafe, t.name)
			}
		}
	}
	return nil
}
