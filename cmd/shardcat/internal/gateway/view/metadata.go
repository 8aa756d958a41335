package view

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Metadata is the table's metadata as JSON and their location in the view. refsOnly leaves out snapshots that no branch and no tag
// names, which a client loads later.
func (t *Table) Metadata(ctx context.Context, refsOnly bool) (text []byte, location string, err error) {
	at := t.t.MetadataLocation()
	if text, err = t.metadata(ctx, at, refsOnly); err != nil {
		return nil, "", err
	}
	return text, t.location() + "/" + t.metadataName(at), nil
}

func (t *Table) metadataName(at string) string {
	return metadataFolder + Layout + "/" + t.names.name(t.metadataFolder(), at)
}

// metadata rewrites a metadata file.
func (t *Table) metadata(ctx context.Context, at string, refsOnly bool) ([]byte, error) {
	b, err := t.readWhole(ctx, at)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err == nil {
			b, err = io.ReadAll(io.LimitReader(z, icebergaccess.MaxFile+1))
		}
		if err == nil && len(b) > icebergaccess.MaxFile {
			err = errors.New("too large")
		}
		if err != nil {
			return nil, corrupt.Locate(corrupt.At(-1, "not a metadata file of Iceberg: %v", err), at, 0)
		}
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, corrupt.Locate(corrupt.At(-1, "not a metadata file of Iceberg: %v", err), at, 0)
	}
	if err := t.rewriteMetadata(m, refsOnly); err != nil {
		return nil, corrupt.Locate(corrupt.At(-1, "not a metadata file of Iceberg: %v", err), at, 0)
	}
	return json.Marshal(m)
}

// storedGzip frames b as gzip without compressing it: the bytes of an object must not depend on the version of a compressor.
func storedGzip(b []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err == nil {
		_, err = z.Write(b)
		err = errors.Join(err, z.Close())
	}
	return out.Bytes(), err
}

func (t *Table) rewriteMetadata(m map[string]json.RawMessage, refsOnly bool) error {
	var uuid string
	if err := json.Unmarshal(m["table-uuid"], &uuid); err != nil || uuid != t.t.UUID() {
		return fmt.Errorf("it is of table %q", uuid)
	}
	set := func(key string, value any) (err error) {
		m[key], err = json.Marshal(value)
		return err
	}
	own, err := stateOfMetadata(m)
	if err != nil {
		return err
	}
	// statistics are files that the read endpoint does not have
	delete(m, "statistics")
	delete(m, "partition-statistics")
	return errors.Join(
		set("location", t.location()),
		t.rewriteSnapshots(m, own.layout, refsOnly, set),
		t.rewriteLog(m, set),
		t.rewriteProperties(m, set),
	)
}

// stateOfMetadata is the state of a table that a metadata file describes.
func stateOfMetadata(m map[string]json.RawMessage) (state, error) {
	schemas := []*iceberg.Schema{}
	text := m["schemas"]
	if text == nil { // format version 1 has them since version 2 exists
		text = slices.Concat([]byte("["), m["schema"], []byte("]"))
	}
	if err := json.Unmarshal(text, &schemas); err != nil {
		return state{}, fmt.Errorf("schemas: %w", err)
	}
	var properties map[string]string
	if err := json.Unmarshal(m["properties"], &properties); m["properties"] != nil && err != nil {
		return state{}, fmt.Errorf("properties: %w", err)
	}
	return stateOf(schemas, properties[catalog.AdoptedProperty] != ""), nil
}

// rewriteSnapshots names the manifest lists of the view.
func (t *Table) rewriteSnapshots(m map[string]json.RawMessage, layout string, refsOnly bool, set func(string, any) error) error {
	if m["snapshots"] == nil {
		return nil
	}
	var snapshots []map[string]json.RawMessage
	if err := json.Unmarshal(m["snapshots"], &snapshots); err != nil {
		return err
	}
	named := map[int64]bool{}
	if refsOnly {
		var refs map[string]struct {
			SnapshotID int64 `json:"snapshot-id"`
		}
		if err := json.Unmarshal(m["refs"], &refs); m["refs"] != nil && err != nil {
			return err
		}
		for _, r := range refs {
			named[r.SnapshotID] = true
		}
	}
	kept := []map[string]json.RawMessage{}
	for _, s := range snapshots {
		var id int64
		if err := json.Unmarshal(s["snapshot-id"], &id); err != nil {
			return err
		}
		if refsOnly && !named[id] {
			continue
		}
		list, err := json.Marshal(fmt.Sprintf("%s/%s%s/%d.avro", t.location(), listFolder, layout, id))
		if err != nil {
			return err
		}
		s["manifest-list"] = list
		kept = append(kept, s)
	}
	return set("snapshots", kept)
}

// rewriteLog names the earlier metadata files of the view.
func (t *Table) rewriteLog(m map[string]json.RawMessage, set func(string, any) error) error {
	if m["metadata-log"] == nil {
		return nil
	}
	var log []map[string]json.RawMessage
	if err := json.Unmarshal(m["metadata-log"], &log); err != nil {
		return err
	}
	for _, line := range log {
		var at string
		if err := json.Unmarshal(line["metadata-file"], &at); err != nil {
			return err
		}
		name, err := json.Marshal(t.location() + "/" + t.metadataName(at))
		if err != nil {
			return err
		}
		line["metadata-file"] = name
	}
	return set("metadata-log", log)
}

// rewriteProperties leaves out what only shardcat reads, and marks files as Parquet that nothing may collect.
func (t *Table) rewriteProperties(m map[string]json.RawMessage, set func(string, any) error) error {
	properties := map[string]string{}
	if m["properties"] != nil {
		if err := json.Unmarshal(m["properties"], &properties); err != nil {
			return err
		}
	}
	for key := range properties {
		if strings.HasPrefix(key, "shardcat.") || key == "comment" {
			delete(properties, key)
		}
	}
	properties["write.format.default"] = "parquet"
	properties["gc.enabled"] = "false"
	properties["comment"] = "read-only view of a table of shards as Parquet files"
	return set("properties", properties)
}
