package colstream

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// The blocks of a packed group are super-blocks. Each holds one block of every member, all of the same positions:
//
//	0      members   u32, m
//	4      sizes     u32 each: bytes of each member's block, multiples of 8
//	4+4m   zeros
//	H-4    checksum  u32 of all before it; where the blocks of the group have checksums
//	H      block of member 0, block of member 1, … up to the end; H is a multiple of 8
//
// A member's block is a block as in every other stream. Where the group embeds the presence of its struct, the last member is
// a block whose presence section states it, and whose value section is empty.
const superSizes = 4

// superHeader is the size of the header of a super-block of m members.
func superHeader(m int, checksum bool) int {
	n := superSizes + 4*m
	if checksum {
		n += 4
	}
	return alignUp(n, 8)
}

// AppendSuper appends a super-block, with its checksum, of members whose blocks have these sizes and lie in blocks back to back.
func AppendSuper(dst []byte, sizes []int, blocks []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(sizes)))
	for _, n := range sizes {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	dst = append(dst, make([]byte, start+superHeader(len(sizes), true)-4-len(dst))...)
	dst = binary.LittleEndian.AppendUint32(dst, meta.Checksum(dst[start:]))
	return append(dst, blocks...)
}

// SplitSuper gives the bytes [start, end) of each member's block in a super-block. They fill it to its end.
func SplitSuper(b []byte, checksum bool) ([]Range, error) {
	if len(b) < superHeader(0, checksum) {
		return nil, corrupt.At(0, "super-block of %d bytes is too short for its header", len(b))
	}
	m := uint64(binary.LittleEndian.Uint32(b))
	if m > uint64(len(b))/4 || superHeader(int(m), checksum) > len(b) {
		return nil, corrupt.At(0, "super-block of %d bytes claims %d members", len(b), m)
	}
	at := uint64(superHeader(int(m), checksum))
	if checksum {
		if sum, stored := meta.Checksum(b[:at-4]), binary.LittleEndian.Uint32(b[at-4:]); sum != stored {
			return nil, corrupt.At(int64(at-4), "super-block: checksum of the header is %08x, its bytes give %08x", stored, sum)
		}
	}
	out := make([]Range, m)
	for i := range out {
		size := uint64(binary.LittleEndian.Uint32(b[superSizes+4*i:]))
		if size%8 != 0 || at+size > uint64(len(b)) {
			return nil, corrupt.At(int64(superSizes+4*i), "super-block: member %d has %d bytes at %d of %d", i, size, at, len(b))
		}
		out[i] = Range{Start: at, End: at + size}
		at += size
	}
	if at != uint64(len(b)) {
		return nil, corrupt.At(0, "super-block: its members end at %d of %d bytes", at, len(b))
	}
	return out, nil
}

// Member gives the stream of a packed group's member: its block i lies in super-block i. The group requests the bytes and lets
// go of them, so a member needs nothing of its own.
func (s *Stream) Member(i int) *Stream {
	return &Stream{URL: s.URL, Start: s.Start, MapStart: s.MapStart, End: s.End, Checksums: s.Checksums, group: s, member: i}
}

// LastMember as the index of a member means the last one of each super-block.
const LastMember = -1

// part gives the block of a member in super-block i, and where it starts in the super-block.
func (s *Stream) part(i, member int) ([]byte, int64, error) {
	b, err := s.raw(i)
	if err != nil {
		return nil, 0, err
	}
	if s.split != i+1 {
		if s.parts, err = SplitSuper(b, s.Checksums); err != nil {
			s.split = 0
			return nil, 0, s.Locate(err, i, 0)
		}
		s.split = i + 1
	}
	if member == LastMember {
		member = len(s.parts) - 1
	}
	if member < 0 || member >= len(s.parts) {
		return nil, 0, s.Locate(corrupt.At(0, "super-block of %d members has no member %d", len(s.parts), member), i, 0)
	}
	r := s.parts[member]
	return b[r.Start:r.End], int64(r.Start), nil
}

// partStart is where the block of the member starts in super-block i, 0 where that is unknown.
func (s *Stream) partStart(i, member int) int64 {
	if _, at, err := s.part(i, member); err == nil {
		return at
	}
	return 0
}
