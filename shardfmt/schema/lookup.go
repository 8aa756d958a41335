package schema

import (
	"math/bits"

	"github.com/zeebo/xxh3"
)

// A lookup table finds a child by its name. Names are hashed (XXH3-64) into a power of two of buckets:
//
//	buckets   u32 × (B+1)   running totals, first 0, last the number of children
//	entries   u32 × n       indexes of the children, bucket after bucket, ascending in each
//
// The tables are written for the fields of the schema, and for a Struct or Union of ten named children or
// more. All children are in them, those without a name as "".
type lookup struct{ buckets, entries vector }

// lookupChildren is from how many named children on a Struct or Union gets a table.
const lookupChildren = 10

// openLookup opens the table in a slot. One that is absent or broken is empty, and finds nothing.
func openLookup(t table, slot int) lookup {
	pos, err := t.ref(slot)
	if err != nil || pos == 0 {
		return lookup{}
	}
	tab, err := t.b.table(pos)
	if err != nil {
		return lookup{}
	}
	buckets, err := tab.vectorAt(slotLookupBuckets, 4)
	if err != nil || buckets.n < 2 || bits.OnesCount(uint(buckets.n-1)) != 1 {
		return lookup{}
	}
	entries, err := tab.vectorAt(slotLookupEntries, 4)
	if err != nil {
		return lookup{}
	}
	return lookup{buckets, entries}
}

// find looks name up among the elements of v. Whatever is wrong with the table, the answer is "not found":
// the caller then looks at the elements themselves.
func (l lookup) find(name string, v vector, at open) (int, bool) {
	if l.buckets.n == 0 {
		return 0, false
	}
	bucket := int(xxh3.HashString(name) & uint64(l.buckets.n-2))
	from, to := int(l.buckets.uint32(bucket)), int(l.buckets.uint32(bucket+1))
	if from > to || to > l.entries.n {
		return 0, false
	}
	for k := from; k < to; k++ {
		i := int(l.entries.uint32(k))
		if i >= v.n {
			return 0, false
		}
		t, err := at(v, i)
		if err != nil {
			return 0, false
		}
		if ok, err := isNamed(t, name); ok || err != nil {
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
