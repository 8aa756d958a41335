package schemawire

import (
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
)

// A lookup table finds a child by its name. Names are hashed (XXH3-64) into a power of two of buckets:
//
//	buckets   u32 × (B+1)   running totals, first 0, last the number of children
//	entries   u32 × n       indexes of the children, bucket after bucket, ascending in each
//
// The tables are written for the fields of the schema, and for a Struct or Union of ten named children or
// more. All children are in them, those without a name as "".
//
// A lookup without a table finds nothing.
type lookup struct {
	table            *schemafb.HashLookup
	buckets, entries int
}

// lookupChildren is from how many named children on a Struct or Union gets a table.
const lookupChildren = 10

// openLookup opens the table over the fields. One that is absent or broken finds nothing.
func openLookup(root *schemafb.Schema) lookup {
	if check(root.Table(), schemaLookupSlot) != nil {
		return lookup{}
	}
	table := root.FieldLookup(nil)
	if table == nil || check(table.Table(), lookupSlots) != nil {
		return lookup{}
	}
	l := lookup{table: table, buckets: table.BucketsLength() - 1, entries: table.EntriesLength()}
	if l.buckets < 1 || bits.OnesCount(uint(l.buckets)) != 1 {
		return lookup{}
	}
	return l
}

// find looks name up among the fields of v. Whatever is wrong with the table, the answer is "not found":
// the caller then looks at the fields themselves.
func (l lookup) find(name string, v *View) (int, bool) {
	if l.table == nil {
		return 0, false
	}
	bucket := int(xxh3.HashString(name) & uint64(l.buckets-1))
	from, to := int(l.table.Buckets(bucket)), int(l.table.Buckets(bucket+1))
	if from > to || to > l.entries {
		return 0, false
	}
	for k := from; k < to; k++ {
		i := int(l.table.Entries(k))
		if i >= v.fields {
			return 0, false
		}
		if ok, err := v.isNamed(i, name); ok || err != nil {
			return i, ok
		}
	}
	return 0, false
}

// buildLookup makes the two runs of a table over names.
func buildLookup(names []string) (buckets, entries []uint32) {
	b := 1 << bits.Len(uint(max(len(names), 4)/2-1))
	at := make([]int, len(names))
	buckets = make([]uint32, b+1)
	for i, name := range names {
		at[i] = int(xxh3.HashString(name) & uint64(b-1))
		buckets[at[i]+1]++
	}
	for i := range b {
		buckets[i+1] += buckets[i]
	}
	next := append([]uint32(nil), buckets...)
	entries = make([]uint32, len(names))
	for i := range names {
		entries[next[at[i]]] = uint32(i)
		next[at[i]]++
	}
	return buckets, entries
}
