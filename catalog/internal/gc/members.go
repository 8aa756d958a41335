package gc

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// UUIDIn finds the member table-uuid of the JSON object that a text begins with, "" if it is not there.
func UUIDIn(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	for {
		key, err := d.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return ""
		}
		if key == "table-uuid" {
			var uuid string
			if json.Unmarshal(value, &uuid) != nil {
				return ""
			}
			return strings.ToLower(uuid)
		}
	}
}

// members of a metadata file and of its snapshots that Iceberg's specification knows, up to version 3.
var (
	metadataMembers = setOf("format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms", "last-column-id",
		"schema", "schemas", "current-schema-id", "partition-spec", "partition-specs", "default-spec-id", "last-partition-id",
		"properties", "current-snapshot-id", "snapshots", "snapshot-log", "metadata-log", "sort-orders", "default-sort-order-id",
		"refs", "statistics", "partition-statistics", "next-row-id", "row-lineage", "encryption-keys")
	snapshotMembers = setOf("snapshot-id", "parent-snapshot-id", "sequence-number", "timestamp-ms", "manifest-list", "manifests",
		"summary", "schema-id", "first-row-id", "added-rows", "key-id")
)

func setOf(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// UnknownMember names a member of a metadata file, or of its snapshots, that the specification does not have, "" for none.
func UnknownMember(text []byte) (string, error) {
	var members map[string]json.RawMessage
	var snapshots []map[string]json.RawMessage
	err := json.Unmarshal(text, &members)
	if err == nil && members["snapshots"] != nil {
		err = json.Unmarshal(members["snapshots"], &snapshots)
	}
	if err != nil {
		return "", err
	}
	odd := firstUnknown(members, metadataMembers)
	for _, s := range snapshots {
		if odd == "" {
			odd = firstUnknown(s, snapshotMembers)
		}
	}
	return odd, nil
}

func firstUnknown(members map[string]json.RawMessage, known map[string]bool) string {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !known[name] {
			return name
		}
	}
	return ""
}
