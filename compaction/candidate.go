package compaction

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// lossColumns is how many columns a plan watches the bounds of: the first times and numbers of the schema.
const lossColumns = 2

// candidate is what a plan needs of an entry.
type candidate struct {
	place
	// name is the path, without the vault's folder if inVault, and without rootEnding if cut.
	name         []byte
	inVault, cut bool
	// sorted: the shard has a sort order.
	sorted bool

	root     int64
	records  int64 // live
	deleted  int64
	stored   int64
	metadata int64
	stripes  int64
	// objects that the root reaches, itself included; data are those that values lie in, columnGets how many requests a column takes.
	objects, data, columnGets int64
	// filters are the objects of its term filters.
	filters, filterBytes int64
	shape                int64
	flags                manifest.Flags
	// ranges of the watched columns.
	ranges [lossColumns]valueRange
}

// place is where candidates keeps one, and what they are ordered by, so that to sort a million of them is to move numbers.
type place struct {
	created  manifest.CreationRange
	sequence int64
	at       int64
}

// valueRange places a column's bounds on a line.
type valueRange struct {
	low, high float64
	state     rangeState
}

type rangeState uint8

const (
	unknownRange rangeState = iota
	noValues
	knownRange
)

// watch is a column whose bounds the planner follows.
type watch struct {
	node *schema.Node
	id   int
}

// watched are the first times and numbers among the table's columns, times first: data is mostly clustered by
// one.
func watched(t *catalog.Table) []watch {
	ids := t.FieldIDs()
	var out []watch
	pick := func(fits func(n *schema.Node) bool) {
		for _, n := range t.Schema().Fields {
			if len(out) < lossColumns && fits(n) {
				out = append(out, watch{n, ids[n.ID]})
			}
		}
	}
	pick(func(n *schema.Node) bool { return n.Basic == schema.DateTime })
	pick(func(n *schema.Node) bool {
		return n.Basic.IsInteger() || n.Basic == schema.Float32 || n.Basic == schema.Float64
	})
	return out
}

func watchedIDs(columns []watch) []int {
	ids := make([]int, len(columns))
	for i, w := range columns {
		ids[i] = w.id
	}
	return ids
}

func rangeOf(n *schema.Node, id int, e *manifest.Entry) valueRange {
	c, ok := e.Columns[id]
	if !ok {
		return valueRange{}
	}
	if c.Nulls != manifest.Unknown && c.Nulls == c.Values {
		return valueRange{state: noValues}
	}
	low, okLow := position(n, c.Lower)
	high, okHigh := position(n, c.Upper)
	if !okLow || !okHigh {
		return valueRange{}
	}
	return valueRange{low, high, knownRange}
}

// onLine reports whether values of a type have places on a line.
func onLine(n *schema.Node) bool {
	return n.Basic == schema.DateTime || n.Basic.IsInteger() || n.Basic == schema.Float32 || n.Basic == schema.Float64
}

// position places a bound on a line.
func position(n *schema.Node, bound []byte) (float64, bool) {
	v, ok := manifest.Bound(n, bound)
	switch {
	case !ok:
		return 0, false
	case n.Basic == schema.Float32 || n.Basic == schema.Float64:
		return v.Float, true
	case n.Basic == schema.DateTime || n.Basic.IsInteger() && n.Signed:
		return float64(v.Int), true
	case n.Basic.IsInteger():
		return float64(v.Uint), true
	}
	return 0, false
}

// neighbours orders by the time of the records, then by the order of the commits, then by name. Shards of unknown time come last.
func (s *candidates) neighbours(a, b place) int {
	if a.created.Known() != b.created.Known() {
		if a.created.Known() {
			return -1
		}
		return 1
	}
	if c := cmp.Or(cmp.Compare(a.created.First, b.created.First), cmp.Compare(a.created.Last, b.created.Last), cmp.Compare(a.sequence, b.sequence)); c != 0 {
		return c
	}
	return bytes.Compare(s.name(a), s.name(b))
}

// class is a set of candidates that may be merged with each other.
type class struct {
	specID     int
	partition  map[int]any
	text       string
	deleted    bool
	need       need
	candidates []place
}

// classKey names what must be equal among the inputs of a group.
func classKey(e *manifest.Entry, need need) string {
	key := strconv.Itoa(e.SpecID) + "/" + partitionText(e.Partition)
	if e.Tags != 0 {
		key += fmt.Sprintf("/tags %x", uint64(e.Tags))
	}
	if need.rebuilds() {
		return fmt.Sprintf("%s/rebuild/%d", key, need)
	}
	if need.packs() {
		key += "/pack"
	}
	if e.Deleted > 0 {
		key += "/deleted"
	}
	return key
}

// plainKey is classKey for entries without a partition, which have few classes and may be a million.
type plainKey struct {
	spec          int
	need          need
	deleted, late bool
	tags          int64
}

func partitionText(tuple map[int]any) string {
	if len(tuple) == 0 {
		return ""
	}
	ids := make([]int, 0, len(tuple))
	for id := range tuple {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = fmt.Sprint(tuple[id])
	}
	return strings.Join(parts, ", ")
}
