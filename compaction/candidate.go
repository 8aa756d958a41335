package compaction

import (
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

// candidate is an entry as the planner keeps it: some 170 bytes and the name, so that a million of them take less than
// 256 MiB.
type candidate struct {
	// name is the path, without the vault folder if it lies there.
	name     string
	inVault  bool
	stripes  int32
	objects  int32
	root     int64
	records  int64 // live
	deleted  int64
	stored   int64
	metadata int64
	sequence int64
	shape    int64
	created  manifest.CreationRange
	flags    manifest.Flags
	// ranges of the watched columns.
	ranges [lossColumns]valueRange
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

// candidates makes candidates, many at a time: a slice of them that grows would for a moment take twice its memory, and a name
// of its own for each would leave gaps.
type candidates struct {
	free  []candidate
	names strings.Builder
}

const (
	// candidatesAtOnce and namesAtOnce are how much is taken at a time: some hundred kilobytes.
	candidatesAtOnce = 1 << 10
	namesAtOnce      = 64 << 10
)

func (s *candidates) add(e *manifest.Entry, vault string, columns []watch) *candidate {
	if len(s.free) == 0 {
		s.free = make([]candidate, candidatesAtOnce)
	}
	c := &s.free[0]
	s.free = s.free[1:]
	name, inVault := strings.CutPrefix(e.Path, vault)
	*c = candidate{
		name: s.name(name), inVault: inVault,
		stripes: int32(e.Stripes), objects: int32(e.Objects), root: e.RootBytes, records: e.Records,
		deleted: e.Deleted, stored: e.StoredBytes, metadata: e.MetadataBytes, sequence: e.Sequence,
		shape: e.Shape, created: e.Created, flags: e.Flags,
	}
	for i, w := range columns {
		c.ranges[i] = rangeOf(w.node, e.Columns[w.id], w.id, e)
	}
	return c
}

func rangeOf(n *schema.Node, c manifest.Column, id int, e *manifest.Entry) valueRange {
	if _, ok := e.Columns[id]; !ok {
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

// neighbours orders by the time of the records, then by the order of the commits. Shards of unknown time come
// last.
func neighbours(a, b *candidate) int {
	if a.created.Known() != b.created.Known() {
		if a.created.Known() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.created.First, b.created.First), cmp.Compare(a.created.Last, b.created.Last),
		cmp.Compare(a.sequence, b.sequence), strings.Compare(a.name, b.name))
}

// name keeps a name among others.
func (s *candidates) name(name string) string {
	if s.names.Len()+len(name) > s.names.Cap() {
		s.names = strings.Builder{}
		s.names.Grow(max(namesAtOnce, len(name)))
	}
	from := s.names.Len()
	s.names.WriteString(name)
	return s.names.String()[from:]
}

// class is a set of candidates that may be merged with each other.
type class struct {
	specID     int
	partition  map[int]any
	text       string
	deleted    bool
	need       need
	candidates []*candidate
}

// classKey names what must be equal among the inputs of a group.
func classKey(e *manifest.Entry, need need) string {
	key := strconv.Itoa(e.SpecID) + "/" + partitionText(e.Partition)
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
