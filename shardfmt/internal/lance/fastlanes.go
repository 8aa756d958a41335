package lance

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// packedValues is how many values are packed together: FastLanes packs 1,024 at a time, whatever their width.
const packedValues = 1024

// laneOrder is the order in which FastLanes visits groups of eight rows.
var laneOrder = [8]int{0, 4, 2, 6, 1, 5, 3, 7}

// unpackLanes unpacks 1,024 values of width bits into out, little-endian words of bits bits. The packed words lie lane by
// lane: word w of lane l is at w*lanes+l, with lanes = 1024/bits.
func unpackLanes(packed []byte, width, bits int, out []byte) {
	if width == 0 {
		clear(out[:packedValues*bits/8])
		return
	}
	size, lanes := bits/8, packedValues/bits
	mask := ^uint64(0) >> (64 - width)
	for row := range bits {
		word, shift := row*width/bits, row*width%bits
		spills := shift+width > bits
		first := laneOrder[row/8]*16 + row%8*128
		for lane := range lanes {
			v := readWord(packed[(word*lanes+lane)*size:], size) >> shift
			if spills {
				v |= readWord(packed[((word+1)*lanes+lane)*size:], size) << (bits - shift)
			}
			writeWord(out[(first+lane)*size:], size, v&mask)
		}
	}
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
	var block [packedValues * 8]byte
	for done := 0; done < n; done += packedValues {
		if len(b) < size {
			return nil, corrupt.At(-1, "InlineBitpacking: buffer ends at value %d of %d", done, n)
		}
		width := readWord(b, size)
		if width > bits || uint64(len(b)-size) < width*packedValues/8 {
			return nil, corrupt.At(-1, "InlineBitpacking: width %d of values of %d bits, %d bytes left", width, bits, len(b)-size)
		}
		b = b[size:]
		unpackLanes(b, int(width), int(bits), block[:])
		b = b[width*packedValues/8:]
		out = append(out, block[:min(n-done, packedValues)*size]...)
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
	var block [packedValues * 8]byte
	for range whole {
		unpackLanes(b, int(width), int(bits), block[:])
		out, b = append(out, block[:packedValues*size]...), b[packed:]
	}
	if raw {
		return append(out, b[:rest*size]...), nil
	}
	unpackLanes(b, int(width), int(bits), block[:])
	return append(out, block[:rest*size]...), nil
}
