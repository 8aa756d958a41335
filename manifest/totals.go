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
)

// volume sums up entries.
type volume struct{ files, records, size, stored int64 }

func (v *volume) add(e *Entry) {
	v.files++
	v.records += e.Records
	v.size += e.RootBytes
	v.stored += e.StoredBytes
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
	total("total-delete-files", 0, 0)
	total("total-position-deletes", 0, 0)
	total("total-equality-deletes", 0, 0)
	return p
}
