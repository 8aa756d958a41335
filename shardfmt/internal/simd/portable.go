package simd

// ChunkLen is the number of values of one FastLanes chunk.
const ChunkLen = 1024

// ChunkBytes is the size of a chunk of values packed to width bits: 128·width bytes.
func ChunkBytes(width int) int { return ChunkLen / 8 * width }

// PackedBytes is the size of n values packed to width bits, in whole chunks.
func PackedBytes(n, width int) int { return (n + ChunkLen - 1) / ChunkLen * ChunkBytes(width) }

// laneOrder is the order in which groups of eight rows come in the values (see the package comment).
var laneOrder = [8]int{0, 4, 2, 6, 1, 5, 3, 7}

// place is the row and the lane of value i of a chunk of B-bit words.
func place(i, bits int) (row, lane int) {
	lane = i % (ChunkLen / bits)
	s := i / 128
	return laneOrder[(i-128*s-lane)/16]*8 + s, lane
}

// At is value i of a chunk, without touching the rest: two words at most. width is 1..B.
func At[U Unsigned](chunk []byte, i, width int) U {
	size := SizeOf[U]()
	bits := 8 * size
	row, lane := place(i, bits)
	stride := ChunkLen / bits * size
	first := row * width / bits
	shift := row * width % bits
	v := uint64(LoadOne[U](chunk[first*stride+lane*size:])) >> shift
	if shift+width > bits {
		v |= uint64(LoadOne[U](chunk[(first+1)*stride+lane*size:])) << (bits - shift)
	}
	return U(v & (^uint64(0) >> (64 - width)))
}

// unpackPortable is the plain loop that the fast kernels are measured and tested against: a chunk into
// dst, with ref added to every value.
func unpackPortable[U Unsigned](dst *[ChunkLen]U, chunk []byte, width int, ref U) {
	for i := range dst {
		dst[i] = At[U](chunk, i, width) + ref
	}
}

// packPortable packs a chunk: the low width bits of each value minus ref.
func packPortable[U Unsigned](chunk []byte, src *[ChunkLen]U, width int, ref U) {
	size := SizeOf[U]()
	bits := 8 * size
	stride := ChunkLen / bits * size
	mask := ^uint64(0) >> (64 - width)
	clear(chunk)
	for i, v := range src {
		row, lane := place(i, bits)
		v := uint64(v-ref) & mask
		first, shift := row*width/bits, row*width%bits
		orWord(chunk[first*stride+lane*size:], size, v<<shift)
		if shift+width > bits {
			orWord(chunk[(first+1)*stride+lane*size:], size, v>>(bits-shift))
		}
	}
}

// orWord sets the bits of v in the little-endian word of size bytes at the start of b.
func orWord(b []byte, size int, v uint64) {
	for i := range size {
		b[i] |= byte(v >> (8 * i))
	}
}
