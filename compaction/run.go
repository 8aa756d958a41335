package compaction

import (
	"time"

	"github.com/shardcat/shardcat/manifest"
)

// run is a group in the making.
type run struct {
	policy                            *Policy
	inputs                            []place
	records, deleted, bytes, metadata int64
	stripes, gets, held               int64
	// objects that values lie in, and how many requests a column takes.
	objects, columnGets int64
	// reads is how many requests the values of all columns take, which are so many.
	reads, columns int64
	created        manifest.CreationRange
	spreads        [lossColumns]spread
	// filters are the objects of term filters, which packing moves too.
	filters, filterBytes int64
	// indexes is how many of their columns have term filters, joins how many matrices of these a commit reads.
	indexes, joins int64
	// packs: the objects become one, so that their number is not a limit.
	packs bool
}

// start empties the run; inputs are taken from the class's slice, where adjacent shards follow one another.
func (r *run) start(at []place) {
	*r = run{policy: r.policy, packs: r.packs, columns: r.columns, inputs: at[:0]}
}

func (r *run) add(c *candidate) {
	if len(r.inputs) == 0 {
		r.created = c.created
	}
	r.inputs = r.inputs[:len(r.inputs)+1]
	r.created = r.created.Union(c.created)
	r.records += c.records + c.deleted
	r.deleted += c.deleted
	r.bytes += c.stored
	r.filters += c.filters
	r.filterBytes += c.filterBytes
	indexes := (c.filters + c.stripes - 1) / max(1, c.stripes) // what several stripes have of an index was joined by a commit before
	r.indexes = max(r.indexes, indexes)
	r.joins += indexes
	if r.held += c.stored; c.objects > 1 {
		r.held -= c.root
	}
	r.metadata += c.metadata
	r.stripes += c.stripes
	r.objects += c.data
	r.columnGets += c.columnGets
	if c.columnGets < c.stripes {
		r.reads += packedGets(c.stripes, c.stored, r.columns)
	} else {
		r.reads += dataGets(c.stripes, c.stored)
	}
	for i := range r.spreads {
		r.spreads[i].add(c.ranges[i])
	}
	r.gets++
	if c.root > wholeRoot {
		r.gets++
	}
}

// joinSteps are those of the commit that reads the term filters of all inputs, and writes them as one object for each index.
func (r *run) joinSteps() int64 {
	if r.joins < 2 {
		return 0
	}
	return 1 + rounds(r.joins)
}

// refuses reports why c can't join, "" if it can.
func (r *run) refuses(c *candidate) string {
	if len(r.inputs) == 0 {
		return ""
	}
	p := r.policy
	switch {
	case len(r.inputs) >= p.MaxInputs:
		return "max-inputs"
	case r.over(r.records-r.deleted, c.records, p.TargetRecords):
		return "target-records"
	case r.records+c.records+c.deleted > p.MaxRows:
		return "max-rows"
	case r.over(r.bytes, c.stored, p.TargetSize):
		return "target-size"
	case r.stripes+c.stripes > p.MaxStripes:
		return "max-stripes"
	case r.metadata+c.metadata > p.MaxMetadataBytes:
		return "max-metadata-bytes"
	case !r.packs && r.objects+c.data > p.MaxObjects:
		return "max-objects"
	case p.MaxCreationRange > 0 && span(r.created.Union(c.created)) > p.MaxCreationRange:
		return "max-creation-range"
	}
	return ""
}

// over reports whether the run has a target, or would be too far beyond it with more.
func (r *run) over(has, more, target int64) bool {
	return has >= target || float64(has)+float64(more) > r.policy.MaxSizeRatio*float64(target)
}

// half reports whether the run has less than half of both targets.
func (r *run) half() bool {
	return r.records-r.deleted < r.policy.TargetRecords/2 && r.bytes < r.policy.TargetSize/2
}

// ticksPerSecond: creation times count 100 ns.
const ticksPerSecond = 10_000_000

// span is the length of a creation range; ranges beyond 292 years are cut to that.
func span(c manifest.CreationRange) time.Duration {
	const longest = int64(1<<63-1) / 100
	return time.Duration(min(c.Last-c.First, longest) * 100)
}
