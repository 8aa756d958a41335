package meta

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// FrameOverhead is what a frame adds to its payload: a length and a checksum.
const FrameOverhead = 8

// maxPayload is the longest payload a frame is written with, the reference's limit.
const maxPayload = math.MaxUint32 - 1

// Checksum of a message's payload: XXH3-64 with seed 0, high half folded onto the low one.
func Checksum(b []byte) uint32 {
	h := xxh3.Hash(b)
	return uint32(h) ^ uint32(h>>32)
}

// AppendFrame appends payload in its frame. The payload must not be longer than MaxPayload.
func AppendFrame(dst, payload []byte) []byte {
	if uint64(len(payload)) > maxPayload {
		panic("meta: payload too long for a frame")
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = append(dst, payload...)
	return binary.LittleEndian.AppendUint32(dst, Checksum(payload))
}

// Unframe checks the frame at the start of b and returns its payload, a part of b. Bytes behind the frame
// are let pass, as the format does.
func Unframe(b []byte) ([]byte, error) {
	if len(b) < FrameOverhead {
		return nil, corrupt.At(0, "message of %d bytes is shorter than its frame", len(b))
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if n+FrameOverhead > uint64(len(b)) {
		return nil, corrupt.At(0, "message of %d bytes in a range of %d bytes", n, len(b)-FrameOverhead)
	}
	payload := b[4 : 4+n : 4+n]
	if want, got := binary.LittleEndian.Uint32(b[4+n:]), Checksum(payload); want != got {
		return nil, corrupt.At(0, "message checksum is %08x, stored is %08x", got, want)
	}
	return payload, nil
}
