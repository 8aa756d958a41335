// Package indexshard reads and writes the shards that an index consists of.
//
// An artifact is a shard of its own, in one object or more, whose records are pages or buckets. It is read record by
// record, by number, and often from far away; so the end of its object is kept, and all of it where it is small, and
// what lies there costs no further request.
package indexshard
