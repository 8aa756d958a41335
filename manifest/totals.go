package manifest

import (
	"fmt"
	"strconv"
)

const (
	// OperationKey is the snapshot property that names what was done in shardcat's terms: Iceberg has one word
	// for a deletion, a replacement of rows and a truncation.
	OperationKey = "shardcat.operation"
	// totalDataBytesKey: stored bytes of all live shards, roots included. An object that two roots reach counts
	// twice.
	totalDataBytesKey = "shardcat.total-data-bytes"
	// totalIndexBytesKey: bytes of the objects of indexes of all live shards; absent if one of their entries does not have them.
	totalIndexBytesKey = "shardcat.total-index-bytes"
)

// volume sums up entries.
type volume struct {
	files, records, size, stored, indexes int64
	// unknown is how many entries lack the bytes of their indexes.
	unknown int64
}

func (v *volume) add(e *Entry) {
	v.files++
	v.records += e.Records
	v.size += e.RootBytes
	v.stored += e.StoredBytes
	if e.IsShard() && !e.IndexesKnown {
		v.unknown++
	}
	v.indexes += e.IndexBytes
}

// totals are the numbers of one snapshot's summary.
type totals struct {
	added, removed volume
	partitions     map[string]bool
}

func (t *totals) add(e *Entry)    { t.added.add(e); t.touch(e) }
func (t *totals) remove(e *Entry) { t.removed.add(e); t.touch(e) }

func (t *totals) touch(e *Entry) {
	if t.partitions == nil {
		t.partitions = map[string]bool{}
	}
	t.partitions[fmt.Sprint(e.SpecID, e.Partition)] = true
}

// properties are Iceberg's: the changes where there are any, and all six totals, always.
func (t *totals) properties(previous map[string]string) map[string]string {
	p := map[string]string{"changed-partition-count": strconv.Itoa(len(t.partitions))}
	set := func(key string, n int64) {
		if n > 0 {
			p[key] = strconv.FormatInt(n, 10)
		}
	}
	set("added-data-files", t.added.files)
	set("added-records", t.added.records)
	set("added-files-size", t.added.size)
	set("deleted-data-files", t.removed.files)
	set("deleted-records", t.removed.records)
	set("removed-files-size", t.removed.size)
	total := func(key string, added, removed int64) {
		before, err := strconv.ParseInt(previous[key], 10, 64)
		if err != nil {
			before = 0
		}
		p[key] = strconv.FormatInt(max(0, before+added-removed), 10)
	}
	total("total-data-files", t.added.files, t.removed.files)
	total("total-records", t.added.records, t.removed.records)
	total("total-files-size", t.added.size, t.removed.size)
	total(totalDataBytesKey, t.added.stored, t.removed.stored)
	if _, known := previous[totalIndexBytesKey]; t.added.unknown == 0 && known {
		total(totalIndexBytesKey, t.added.indexes, t.removed.indexes)
	} else if t.added.unknown == 0 && t.replacesAll(previous) {
		p[totalIndexBytesKey] = strconv.FormatInt(t.added.indexes, 10)
	}
	total("total-delete-files", 0, 0)
	total("total-position-deletes", 0, 0)
	total("total-equality-deletes", 0, 0)
	return p
}

// replacesAll reports whether no entry of the snapshot before is left.
func (t *totals) replacesAll(previous map[string]string) bool {
	files, err := strconv.ParseInt(previous["total-data-files"], 10, 64)
	return err != nil || files <= t.removed.files
}
