// Package compaction keeps a table's shards few and large: a Policy determines when shards should be merged, a Plan
// lists them and their cost, Execute does it.
//
// A merge by concatenation writes one new root that lists the stripes of its inputs in order. No byte of data is
// read or written; the inputs' data objects stay where they are and belong to the new root from then on.
//
// A pack also copies the bytes of small objects into one, a column of all stripes side by side, where scans would have many requests else. A rebuild
// writes rows again, by the table's schema, where neither can help.
//
// # Which shards are merged with each other
//
// Only shards of one partition (and one partition spec), all with or all without deleted records, and only
// adjacent in time: candidates are ordered by the time of their records, and a group is a run of them. Ranges of far
// shards would add up to one that no filter can prune, so a run ends where the creation range would
// exceed the policy's; what pruning a group costs all the same is printed with it.
//
// Shards with standard properties (drop-by and ingest-by tags) and adopted shards stay as they are unless requested
// for. A merged root has at most MaxStripes stripes, MaxMetadataBytes of metadata and MaxObjects objects.
//
// # Safety
//
// The plan is only a proposal. Each group is one job and one snapshot of operation replace; its commit succeeds
// only if every input is still live then. Of two compactors on the same shards one gets catalog.ErrConflict, and
// no row is lost or doubled.
package compaction
