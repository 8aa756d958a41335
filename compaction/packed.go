package compaction

import (
	"encoding/binary"
	"encoding/json"
	"iter"
	"math"
	"strings"

	"github.com/shardcat/shardcat/manifest"
)

// candidates keeps candidates as bytes, so that the plan of a table of a million shards fits into memory and the garbage collector has
// nothing to follow in it. A candidate is, one after the other:
//
//	a byte of marks | the length of the name, a varint | the name |
//	flags, root, records, deleted, stored, metadata, stripes, objects, data, column requests, filters, their bytes: varints |
//	the shape, 8 bytes, unless it is that of the first candidate |
//	for each watched column a byte, its rangeState, and for knownRange the lower bound, 8 bytes, and the exclusive or of both bounds' bits, a varint
//
// What its place implies is stored only there.
type candidates struct {
	// vault is the folder that most names lie in.
	vault   string
	columns []watch
	// shape of the first candidate, which most share.
	shape int64
	// chunks of chunkSize bytes; a candidate that has more is alone in a longer one.
	chunks [][]byte
	// one is the bytes of the candidate that is being added.
	one []byte
}

const (
	chunkBits = 16
	chunkSize = 1 << chunkBits
	// rootEnding ends the names of almost all roots.
	rootEnding = ".amudai.shard"
)

// marks of a candidate.
const (
	markInVault = 1 << iota
	markCut
	markShape
	markSorted
)

// add keeps an entry, and returns its place.
func (s *candidates) add(e *manifest.Entry) place {
	if len(s.chunks) == 0 {
		s.shape = e.Shape
	}
	name, inVault := strings.CutPrefix(e.Path, s.vault)
	name, cut := strings.CutSuffix(name, rootEnding)
	marks := byte(0)
	if inVault {
		marks |= markInVault
	}
	if cut {
		marks |= markCut
	}
	if e.SortOrderID != 0 {
		marks |= markSorted
	}
	if e.Shape != s.shape {
		marks |= markShape
	}
	b := append(s.one[:0], marks)
	b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	for _, n := range [...]int64{int64(e.Flags), e.RootBytes, e.Records, e.Deleted, e.StoredBytes, e.MetadataBytes, e.Stripes, e.Objects, dataObjects(e), columnGets(e),
		e.FilterObjects, e.FilterBytes} {
		b = binary.AppendVarint(b, n)
	}
	if marks&markShape != 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(e.Shape))
	}
	for _, w := range s.columns {
		r := rangeOf(w.node, w.id, e)
		if b = append(b, byte(r.state)); r.state == knownRange {
			low, high := math.Float64bits(r.low), math.Float64bits(r.high)
			b = binary.AppendUvarint(binary.LittleEndian.AppendUint64(b, low), low^high)
		}
	}
	s.one = b
	return place{e.Created, e.Sequence, s.put(b)}
}

// put appends bytes to the last chunk, or to a new one if they don't fit.
func (s *candidates) put(b []byte) int64 {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(b) > chunkSize {
		var chunk []byte
		if last++; last > 0 { // the first one grows: most tables are small
			chunk = make([]byte, 0, chunkSize)
		}
		s.chunks = append(s.chunks, chunk)
	}
	at := len(s.chunks[last])
	s.chunks[last] = append(s.chunks[last], b...)
	return int64(last)<<chunkBits | int64(at)
}

func (s *candidates) bytes(p place) []byte { return s.chunks[p.at>>chunkBits][p.at&(chunkSize-1):] }

// name is the name of a candidate, as it is kept.
func (s *candidates) name(p place) []byte {
	b := s.bytes(p)[1:]
	length, n := binary.Uvarint(b)
	return b[n : n+int(length)]
}

// read reads a candidate; its name is valid as long as s is.
func (s *candidates) read(p place, c *candidate) {
	b := s.bytes(p)
	marks := b[0]
	name := s.name(p)
	*c = candidate{place: p, name: name, inVault: marks&markInVault != 0, cut: marks&markCut != 0, sorted: marks&markSorted != 0, shape: s.shape}
	b = b[1:]
	_, n := binary.Uvarint(b)
	b = b[n+len(name):]
	next := func() int64 {
		v, n := binary.Varint(b)
		b = b[n:]
		return v
	}
	c.flags = manifest.Flags(next())
	c.root, c.records, c.deleted, c.stored = next(), next(), next(), next()
	c.metadata, c.stripes, c.objects, c.data, c.columnGets = next(), next(), next(), next(), next()
	c.filters, c.filterBytes = next(), next()
	if marks&markShape != 0 {
		c.shape, b = int64(binary.LittleEndian.Uint64(b)), b[8:]
	}
	for i := range s.columns {
		r := &c.ranges[i]
		if r.state, b = rangeState(b[0]), b[1:]; r.state == knownRange {
			low := binary.LittleEndian.Uint64(b)
			differ, n := binary.Uvarint(b[8:])
			r.low, r.high, b = math.Float64frombits(low), math.Float64frombits(low^differ), b[8+n:]
		}
	}
}

// path of a candidate.
func (s *candidates) path(c *candidate) string {
	var b strings.Builder
	b.Grow(len(s.vault) + len(c.name) + len(rootEnding))
	if c.inVault {
		b.WriteString(s.vault)
	}
	b.Write(c.name)
	if c.cut {
		b.WriteString(rootEnding)
	}
	return b.String()
}

// Inputs are the shards of a group, in the order in which they become one. They stay packed in the memory of their plan, which may have a
// million of them; their paths are made when they are requested.
type Inputs struct {
	kept   *candidates
	places []place
}

// Len is the number of shards.
func (in Inputs) Len() int { return len(in.places) }

// Paths are the URLs of their roots.
func (in Inputs) Paths() []string {
	paths := make([]string, len(in.places))
	for i, c := range in.all() {
		paths[i] = in.kept.path(c)
	}
	return paths
}

// MarshalJSON writes them as the array of their paths.
func (in Inputs) MarshalJSON() ([]byte, error) { return json.Marshal(in.Paths()) }

// all yields them in order, each valid until the next one is requested.
func (in Inputs) all() iter.Seq2[int, *candidate] {
	return func(yield func(int, *candidate) bool) {
		var c candidate
		for i, p := range in.places {
			if in.kept.read(p, &c); !yield(i, &c) {
				return
			}
		}
	}
}
