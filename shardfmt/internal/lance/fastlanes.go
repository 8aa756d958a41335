package lance

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// packedValues is how many values are packed together: FastLanes packs 1,024 at a time, whatever their width.
const packedValues = simd.ChunkLen

// appendUnpacked appends the first n of 1,024 values of width bits, as words of bits bits.
func appendUnpacked(out, packed []byte, width, bits, n int, room *simd.Room) []byte {
	if width == 0 {
		return append(out, make([]byte, n*bits/8)...)
	}
	packed = packed[:simd.ChunkBytes(width)]
	switch bits {
	case 8:
		return simd.Append(out, simd.UnpackChunk[uint8](packed, width, 0, room)[:n])
	case 16:
		return simd.Append(out, simd.UnpackChunk[uint16](packed, width, 0, room)[:n])
	case 32:
		return simd.Append(out, simd.UnpackChunk[uint32](packed, width, 0, room)[:n])
	}
	return simd.Append(out, simd.UnpackChunk[uint64](packed, width, 0, room)[:n])
}

func readWord(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func writeWord(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// unpackInline unpacks n values of a buffer that states the width of each 1,024 values in front of them.
func unpackInline(b []byte, bits uint64, n int) ([]byte, error) {
	size := int(bits / 8)
	out := make([]byte, 0, min(n, len(b)/size*int(bits))*size)
	room := new(simd.Room)
	for done := 0; done < n; done += packedValues {
		if len(b) < size {
			return nil, corrupt.At(-1, "InlineBitpacking: buffer ends at value %d of %d", done, n)
		}
		width := readWord(b, size)
		if width > bits || uint64(len(b)-size) < width*packedValues/8 {
			return nil, corrupt.At(-1, "InlineBitpacking: width %d of values of %d bits, %d bytes remain", width, bits, len(b)-size)
		}
		b = b[size:]
		out = appendUnpacked(out, b, int(width), int(bits), min(n-done, packedValues), room)
		b = b[width*packedValues/8:]
	}
	return out, nil
}

// unpackOutOfLine unpacks n values of a buffer of one width. What is beyond the last 1,024 values is packed as if there
// were as many, or stored as it is if that is shorter; the size of the buffer shows which.
func unpackOutOfLine(b []byte, bits, width uint64, n int) ([]byte, error) {
	size, packed := int(bits/8), int(width*packedValues/8)
	whole, rest := n/packedValues, n%packedValues
	due := uint64(whole)*uint64(packed) + uint64(rest*size)
	padded := uint64(whole)*uint64(packed) + uint64(packed)
	raw := rest == 0 || uint64(len(b)) == due
	if raw && uint64(len(b)) < due || !raw && uint64(len(b)) < padded {
		return nil, corrupt.At(-1, "OutOfLineBitpacking: %d values of %d bits in %d bytes", n, width, len(b))
	}
	out := make([]byte, 0, n*size)
	room := new(simd.Room)
	for range whole {
		out, b = appendUnpacked(out, b, int(width), int(bits), packedValues, room), b[packed:]
	}
	if raw {
		return append(out, b[:rest*size]...), nil
	}
	return appendUnpacked(out, b, int(width), int(bits), rest, room), nil
}
