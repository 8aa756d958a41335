package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// part is a stream inside a sub-block: a nested sub-block, or a raw array of numbers.
type part struct {
	b      []byte
	at     int  // where b starts in the enclosing sub-block, for the offset of errors
	nested bool // b starts with an encoding code
	elem   Elem
	count  int
}

// header is the size of an encoding's code and metadata with its padding (docs/format/blocks.md).
func header(metadata int) int { return align8(codeSize + metadata) }

// checkHeader: sub has space for a header of size bytes.
func checkHeader(sub []byte, code Code, size int) error {
	if len(sub) < size {
		return corrupt.At(0, "%v: sub-block of %d bytes is too short for its header of %d", code, len(sub), size)
	}
	return nil
}

// checkFlags refuses flags, at some offsets of sub, that are neither 0 nor 1.
func checkFlags(sub []byte, code Code, at ...int) error {
	for _, i := range at {
		if sub[i] > 1 {
			return corrupt.At(int64(i), "%v: flag of %d", code, sub[i])
		}
	}
	return nil
}

// cut is the size bytes of sub at offset at.
func cut(sub []byte, code Code, what string, at, size int) ([]byte, error) {
	if at > len(sub) || size > len(sub)-at {
		return nil, corrupt.At(int64(at), "%v: %s of %d bytes in a sub-block of %d", code, what, size, len(sub))
	}
	return sub[at : at+size : at+size], nil
}

// boundCount refuses a number of stored values that neither the values requested nor the bytes available can
// justify. Zero-length runs and unused dictionary entries make counts above n legal.
func boundCount(count, n int, sub []byte, code Code) error {
	if count > n+8*len(sub) {
		return corrupt.At(0, "%v: %d stored values in %d bytes for %d", code, count, len(sub), n)
	}
	return nil
}

// decodePart decodes the first len(dst) values of p; a raw array may be longer.
func decodePart[U simd.Unsigned](dst []U, p part, s *Scratch) error {
	if p.nested {
		return corrupt.Locate(decode(dst, p.b, p.elem.kind(), s), "", int64(p.at))
	}
	if len(p.b)/simd.SizeOf[U]() < len(dst) {
		return corrupt.At(int64(p.at), "%d bytes for an array of %d × %v", len(p.b), len(dst), p.elem)
	}
	simd.Load(dst, p.b)
	return nil
}

// decodeWhole is decodePart for streams whose raw form extends to the end and must hold exactly len(dst).
func decodeWhole[U simd.Unsigned](dst []U, p part, s *Scratch) error {
	if !p.nested && len(p.b)/simd.SizeOf[U]() != len(dst) {
		return corrupt.At(int64(p.at), "%d bytes for an array of exactly %d × %v", len(p.b), len(dst), p.elem)
	}
	return decodePart(dst, p, s)
}
