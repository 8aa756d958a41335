package colstream

import (
	"cmp"
	"slices"
	"sort"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// Range is a run [Start, End) of logical positions, or of bytes.
type Range = ranges.Range

// Request requests the bytes [Start, End) of an object. Whoever reads them calls Fill with exactly these
// bytes, which the receiver keeps.
type Request struct {
	URL        string
	Start, End uint64
	Fill       func([]byte) error
	// Stays: the receiver keeps the bytes for good, not only until the positions are released that they are requested.
	Stays bool
	// Let, where the receiver reports when it lets go of the bytes, is where to put what it calls then; else nil.
	Let *func()
}

// wholeLimit is the length, in bytes, up to which a stream is fetched whole even for a few positions: one
// request instead of a dependent second one.
const wholeLimit = 64 << 10

// maxBlockValues bounds what a block may claim to hold: a block of one repeated value is a few bytes long,
// whatever its count. Writers known to us stop at 65,536.
const maxBlockValues = 1 << 22

// Stream reads the blocks of one block stream. It requests bytes by requests, which the caller makes all at
// once for many streams, and then hands out blocks. Not for concurrent use.
type Stream struct {
	// URL of the object, and the bytes [Start, End) of the buffer in it; the block map starts at MapStart.
	URL                  string
	Start, MapStart, End uint64
	// Checksums means that every block ends with its checksum.
	Checksums bool
	// NoPresence means that no block has nulls inside.
	NoPresence bool
	// Named means that every block reports which of several value dictionaries its codes are of, see NameOf.
	Named bool
	// Blocks is the number of blocks by the descriptor, negative if it does not state.
	Blocks int64
	// Values is the number of values that the block map must have, negative if that is not known.
	Values int64

	m    *Map
	held []*span
	// What Need gives and makes, to be used again: windows follow one another.
	asked []Request
	gaps  []Range
	spare []*span
	// Of a member of a packed group: the group, and which member.
	group  *Stream
	member int
	// Of a packed group: where the members lie in super-block split-1.
	parts []Range
	split int
}

// span is a run of whole blocks in memory, or one that was requested.
type span struct {
	Range // bytes of the buffer
	b     []byte
	let   func() // see Request.Let; may be nil
	fill  func([]byte) error
}

// NewStream is a stream of the bytes [start, end) of an object whose block map is known already.
func NewStream(url string, start, end uint64, m *Map) *Stream {
	return &Stream{URL: url, Start: start, MapStart: end, End: end, Blocks: -1, Values: -1, m: m}
}

// Fill takes all bytes of a stream whose map is known.
func (s *Stream) Fill(b []byte) error {
	if uint64(len(b)) != s.m.Bytes() {
		return corrupt.At(0, "%d bytes of blocks, but %d are present", s.m.Bytes(), len(b))
	}
	s.hold(&span{Range: Range{Start: 0, End: s.m.Bytes()}, b: b})
	return nil
}

// Bytes gives the bytes of the blocks from first to before end, which must have been fetched.
func (s *Stream) Bytes(first, end int) ([]byte, error) {
	var out []byte
	for i := first; i < end; i++ {
		from, to := s.m.Range(i)
		h := s.find(from)
		if h == nil || to > h.End {
			return nil, corrupt.Locate(corrupt.At(int64(from), "block %d was not fetched", i), s.URL, int64(s.Start))
		}
		if _, last := s.m.Range(end - 1); i == first && last <= h.End {
			return h.b[from-h.Start : last-h.Start], nil // all in one piece
		}
		out = append(out, h.b[from-h.Start:to-h.Start]...)
	}
	return out, nil
}

// Map is the block map, nil before it was fetched.
func (s *Stream) Map() *Map {
	if s.group != nil {
		return s.group.m
	}
	return s.m
}

// Alone reports whether the stream is none of a packed group: then its blocks may be taken apart at the same time, as long as
// nothing is fetched or released.
func (s *Stream) Alone() bool { return s.group == nil }

// Size of the buffer in bytes, 0 for a member of a packed group.
func (s *Stream) Size() uint64 {
	if s.group != nil {
		return 0
	}
	return s.End - s.Start
}

// Need gives the requests that are still to be made before the blocks of the positions in ranges (ascending,
// disjoint) can be read; none means that they can. whole means that ranges are all positions there are. The list is the caller's until
// it retries.
func (s *Stream) Need(ranges []Range, whole bool) ([]Request, error) {
	if s.group != nil {
		return nil, nil
	}
	if s.m == nil {
		if whole || s.Size() <= wholeLimit {
			return []Request{{URL: s.URL, Start: s.Start, End: s.End, Fill: s.fillWhole, Stays: !whole}}, nil
		}
		return []Request{{URL: s.URL, Start: s.MapStart, End: s.End, Fill: s.setMap, Stays: true}}, nil
	}
	clear(s.asked)
	s.asked = s.asked[:0]
	s.gaps = s.missing(s.gaps[:0], ranges)
	for _, r := range s.gaps {
		h := s.run(r)
		s.asked = append(s.asked, Request{URL: s.URL, Start: s.Start + r.Start, End: s.Start + r.End, Let: &h.let, Fill: h.fill})
	}
	return s.asked, nil
}

// run gives a run that is in memory once it is filled: one that was let go of, if there is one.
func (s *Stream) run(r Range) (h *span) {
	if n := len(s.spare); n > 0 {
		h, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		h = &span{}
		h.fill = func(b []byte) error {
			h.b = b
			s.hold(h)
			return nil
		}
	}
	h.Range = r
	return h
}

// missing adds the bytes of the blocks of ranges that are not in memory to out, neighbours joined.
func (s *Stream) missing(out, ranges []Range) []Range {
	done := 0 // blocks before this one are dealt with
	for _, r := range ranges {
		if r.Len() == 0 {
			continue
		}
		for i := max(done, s.m.Find(r.Start)); i < s.m.Blocks() && s.m.position[i] < r.End; i++ {
			done = i + 1
			start, end := s.m.Range(i)
			if s.find(start) != nil {
				continue
			}
			if n := len(out); n > 0 && out[n-1].End == start {
				out[n-1].End = end
			} else {
				out = append(out, Range{Start: start, End: end})
			}
		}
	}
	return out
}

func (s *Stream) fillWhole(b []byte) error {
	if err := s.setMap(b[s.MapStart-s.Start:]); err != nil {
		return err
	}
	s.hold(&span{Range: Range{Start: 0, End: s.m.Bytes()}, b: b[:s.m.Bytes()]})
	return nil
}

// setMap reads the block map and checks it against the descriptor.
func (s *Stream) setMap(b []byte) error {
	m, err := ParseMap(b)
	if err != nil {
		return corrupt.Locate(err, s.URL, int64(s.MapStart))
	}
	if err := s.agree(m); err != nil {
		return corrupt.Locate(err, s.URL, int64(s.MapStart))
	}
	s.m = m
	return nil
}

func (s *Stream) agree(m *Map) error {
	switch {
	case m.Bytes() > s.MapStart-s.Start:
		return corrupt.At(0, "block map: %d bytes of blocks in a buffer of %d", m.Bytes(), s.MapStart-s.Start)
	case s.Blocks >= 0 && int64(m.Blocks()) != s.Blocks:
		return corrupt.At(0, "block map of %d blocks, the descriptor says %d", m.Blocks(), s.Blocks)
	case s.Values >= 0 && m.Values() != uint64(s.Values):
		return corrupt.At(0, "block map of %d values, %d expected", m.Values(), s.Values)
	}
	for i := range m.Blocks() {
		if first, end := m.Span(i); end-first > maxBlockValues {
			return corrupt.Unsupported(0, "block of %d values", end-first)
		}
	}
	return nil
}

func (s *Stream) hold(h *span) {
	i, _ := slices.BinarySearchFunc(s.held, h.Start, func(h *span, at uint64) int { return cmp.Compare(h.Start, at) })
	s.held = slices.Insert(s.held, i, h)
}

// find gives the run in memory that holds the byte at of the buffer, or nil.
func (s *Stream) find(at uint64) *span {
	i := len(s.held) - 1
	if i > 0 { // seldom, where windows follow one another
		i = sort.Search(len(s.held), func(i int) bool { return s.held[i].Start > at }) - 1
	}
	if i < 0 || at < s.held[i].Start || at >= s.held[i].End {
		return nil
	}
	return s.held[i]
}

// Release lets go of blocks that end at or before a position.
func (s *Stream) Release(pos uint64) {
	if s.m == nil {
		return
	}
	at := s.m.Bytes()
	if pos < s.m.Values() {
		at, _ = s.m.Range(s.m.Find(pos))
	}
	n := 0
	for n < len(s.held) && s.held[n].End <= at {
		h := s.held[n]
		if h.let != nil {
			h.let()
		}
		if h.b, h.let = nil, nil; h.fill != nil {
			s.spare = append(s.spare, h)
		}
		n++
	}
	s.held = slices.Delete(s.held, 0, n)
}

// Block gives block i, which must have been fetched, as its frame; of a named one that of its codes.
func (s *Stream) Block(i int) (block.Frame, error) {
	f, err := s.frame(i)
	if err == nil && s.Named {
		_, f, err = f.Named()
		err = s.Locate(err, i, 0)
	}
	return f, err
}

// NameOf gives the id of the value dictionary that block i, which must have been fetched, states its codes are of.
func (s *Stream) NameOf(i int) (uint32, error) {
	f, err := s.frame(i)
	if err != nil {
		return 0, err
	}
	id, _, err := f.Named()
	return id, s.Locate(err, i, 0)
}

// frame takes block i apart.
func (s *Stream) frame(i int) (block.Frame, error) {
	b, err := s.bytes(i)
	if err != nil {
		return block.Frame{}, err
	}
	f, err := block.ParseFrame(b, s.Checksums)
	if err == nil && s.NoPresence && len(f.Presence) > 0 {
		err = corrupt.At(0, "nulls in a block of a buffer declared without nulls")
	}
	return f, s.Locate(err, i, 0)
}

// bytes gives the bytes of block i.
func (s *Stream) bytes(i int) ([]byte, error) {
	if s.group == nil {
		return s.raw(i)
	}
	b, _, err := s.group.part(i, s.member)
	return b, err
}

// raw gives the bytes of block i of a stream that is not a member.
func (s *Stream) raw(i int) ([]byte, error) {
	start, end := s.m.Range(i)
	h := s.find(start)
	if h == nil || end > h.End {
		return nil, corrupt.Locate(corrupt.At(int64(start), "block %d was not fetched", i), s.URL, int64(s.Start))
	}
	return h.b[start-h.Start : end-h.Start], nil
}

// Locate adds to an error of block i where that block lies; at is the offset inside the block.
func (s *Stream) Locate(err error, i int, at int64) error {
	if err == nil {
		return nil
	}
	start, _ := s.Map().Range(i)
	if s.group != nil {
		at += s.group.partStart(i, s.member)
	}
	return corrupt.Locate(err, s.URL, int64(s.Start+start)+at)
}
