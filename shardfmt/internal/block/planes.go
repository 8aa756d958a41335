package block

import (
	"encoding/binary"
	"math/bits"

	"github.com/klauspost/compress/huff0"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Planes (shardfmt/internal/encode/planes.go) are runs of which the first ones have no length: these hold byte k of all words, and in a frame of Zstd the
// others, the words themselves, copy it from there. A general decoder writes all words twice, by one sequence each, and drops half of them; here
// both planes are decoded as the literals that they are, and put together. What has another form is left to the general decoders.

// planesLengths is the size of the lengths of planes: a RunLength of two raw runs.
const planesLengths = pairHeader + 8 + 8

// isPlanes reports whether the RunLength sub has n runs of length 1 behind n + 1 of length 0.
func isPlanes(sub []byte, n int) bool {
	if len(sub) < pairHeader+planesLengths || u32(sub, 6) != 2*n+1 || sub[10] != 1 || sub[11] != 1 {
		return false
	}
	at := pairHeader + align8(u32(sub, 2))
	if at != len(sub)-planesLengths {
		return false
	}
	l := sub[at:]
	return Code(u16(l, 0)) == RunLength && u32(l, 2) == 8 && u32(l, 6) == 2 && l[10] == 0 && l[11] == 0 &&
		u32(l, 16) == 0 && u32(l, 20) == 1 && u32(l, 24) == n+1 && u32(l, 28) == n
}

// decodePlanes fills dst from planes; false, with dst in any state, if the frame has another form.
func decodePlanes[U simd.Unsigned](dst []U, sub []byte, s *Scratch) bool {
	n, size := len(dst), simd.SizeOf[U]()
	values := sub[pairHeader : pairHeader+u32(sub, 2)]
	if n < 2 || size < 4 || len(values) < compressedHeader || Code(u16(values, 0)) != Zstd {
		return false
	}
	f := planesFrame{s: s}
	k, ok := f.open(values[compressedHeader:], n, size)
	if !ok {
		return false
	}
	m := s.mark()
	defer s.release(m)
	upper, lower := take[uint8](s, n), take[uint8](s, n*k)
	upper[0] = f.first
	if !f.plane(upper[1:], 1, size, size-1, size) || !f.zeros(size-k) || !f.plane(lower, k, size, size-k, (n+1)*size) || !f.ended {
		return false
	}
	join(dst, upper, lower, k)
	return true
}

// join puts the planes together.
func join[U simd.Unsigned](dst []U, upper, lower []uint8, k int) {
	upper = upper[:len(dst)]
	if k == 1 {
		lower = lower[:len(dst)]
		for i := range dst {
			dst[i] = U(lower[i]) | U(uint64(upper[i])<<8)
		}
		return
	}
	for i := range dst {
		l := lower[2*i : 2*i+2]
		dst[i] = U(uint64(l[0]) | uint64(l[1])<<8 | uint64(upper[i])<<16)
	}
}

// planesFrame reads the blocks of a frame one after the other.
type planesFrame struct {
	zstdBlocks
	first byte
	s     *Scratch
}

// open reads the header and the first word, and gives the number of lower bytes.
func (f *planesFrame) open(src []byte, n, size int) (k int, ok bool) {
	if f.zstdBlocks, ok = openFrame(src, uint64(2*n+1)*uint64(size)); !ok {
		return 0, false
	}
	b, raw, ok := f.next()
	if k = len(b) - size; !ok || !raw || k < 1 || k > 2 {
		return 0, false
	}
	f.first = b[k]
	return k, allZero(b[:k]) && allZero(b[k+1:])
}

// zeros reads a raw block of n zeros.
func (f *planesFrame) zeros(n int) bool {
	b, raw, ok := f.next()
	return ok && raw && len(b) == n && allZero(b)
}

func allZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// plane fills dst, literals of words of size bytes, each of which has so many and a match of so many bytes from the distance: the first one in a
// block that reports it, the others in blocks that repeat it.
func (f *planesFrame) plane(dst []byte, each, size, match, distance int) bool {
	stored := uint32(distance + 3)
	symbol := bits.Len32(stored) - 1
	marked := uint32(1)<<symbol | (stored - 1<<symbol) // the stream of one sequence, with the bit that ends it
	var stream [4]byte
	binary.LittleEndian.PutUint32(stream[:], marked)
	n, ok := f.alike(dst, each, size, match, symbol, stream[:symbol/8+1])
	if !ok || n != each {
		return false
	}
	for dst = dst[n:]; len(dst) > 0; dst = dst[n:] {
		if n, ok = f.alike(dst, each, size, match, 0, []byte{1}); !ok || n == 0 {
			return false
		}
	}
	return true
}

// alike reads the literals of a block into dst, and gives their number. Its sequences must be as told, and all of the literals theirs.
func (f *planesFrame) alike(dst []byte, each, size, match, symbol int, stream []byte) (n int, ok bool) {
	b, raw, ok := f.next()
	if !ok || raw {
		return 0, false
	}
	n, b, ok = f.literals(dst, b)
	if !ok || len(b) == 0 {
		return 0, false
	}
	count, b, ok := sequences(b)
	if !ok || count*each != n || count*size > zstdBlock || len(b) != 4+len(stream) || b[0] != oneSymbolTables ||
		int(b[1]) != each || int(b[2]) != symbol || int(b[3]) != match-3 || string(b[4:]) != string(stream) {
		return 0, false
	}
	return n, true
}

// literals reads the literals section at the start of b into dst, and gives their number and the rest of b.
func (f *planesFrame) literals(dst, b []byte) (n int, rest []byte, ok bool) {
	if len(b) < 5 {
		return 0, nil, false
	}
	kind, format := b[0]&3, b[0]>>2&3
	if kind < 2 {
		n = int(uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16) >> 4
		if format != 3 || n > len(dst) {
			return 0, nil, false
		}
		if kind == 1 {
			simd.Fill(dst[:n], b[3])
			return n, b[4:], true
		}
		if n > len(b)-3 {
			return 0, nil, false
		}
		return copy(dst, b[3:3+n]), b[3+n:], true
	}
	if kind == 3 || format == 0 {
		return 0, nil, false
	}
	width := 4*int(format) + 6
	if format == 3 {
		width = 18
	}
	var header [8]byte
	at := 2 + int(format)
	copy(header[:], b[:at])
	h := binary.LittleEndian.Uint64(header[:]) >> 4
	n = int(h & (1<<width - 1))
	packed := int(h >> width & (1<<width - 1))
	if n > len(dst) || n == 0 || packed > len(b)-at {
		return 0, nil, false
	}
	return n, b[at+packed:], f.huffman(dst[:n:n], b[at:at+packed])
}

// huffman decodes four streams behind their table.
func (f *planesFrame) huffman(dst, b []byte) bool {
	s, streams, err := huff0.ReadTable(b, f.s.huffman)
	if err != nil {
		return false
	}
	f.s.huffman = s
	out, err := s.Decoder().Decompress4X(dst[:0], streams)
	return err == nil && len(out) == len(dst)
}
