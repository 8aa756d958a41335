package block

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Named is what the value sub-block of a block begins with where a field has several value dictionaries: which of them the
// codes behind it are of. It is none of the nineteen encodings, and a number far from theirs, so that readers that
// don't know it refuse the block. The bytes:
//
//	0  code u16 = 256
//	2  zeros u16
//	4  buffer_id u32 of the dictionary
//	8  sub-block of the codes, u32
const Named Code = 256

const namedHeader = 8

// AppendNamed appends what comes before codes of the dictionary of an id.
func AppendNamed(dst []byte, id uint32) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(Named))
	dst = append(dst, 0, 0)
	return binary.LittleEndian.AppendUint32(dst, id)
}

// Named takes a block apart that names the dictionary of its codes: its id, and the block of the codes.
func (f Frame) Named() (id uint32, codes Frame, err error) {
	if len(f.Values) < 2 {
		return 0, f, corrupt.At(f.ValuesOffset(), "a sub-block of %d bytes", len(f.Values))
	}
	if c := Code(binary.LittleEndian.Uint16(f.Values)); c != Named {
		return 0, f, corrupt.At(f.ValuesOffset(), "a block of encoding %v without the id of one of several value dictionaries", c)
	}
	if len(f.Values) < namedHeader {
		return 0, f, corrupt.At(f.ValuesOffset(), "%d bytes are too few to name a value dictionary", len(f.Values))
	}
	if f.Values[2] != 0 || f.Values[3] != 0 {
		return 0, f, corrupt.At(f.ValuesOffset()+2, "padding is not zero")
	}
	id = binary.LittleEndian.Uint32(f.Values[4:])
	return id, Frame{Presence: f.Presence, Values: f.Values[namedHeader:], skipped: namedHeader}, nil
}

// isNamed reports whether a sub-block names the dictionary of its codes.
func isNamed(sub []byte) bool {
	return len(sub) >= namedHeader && Code(binary.LittleEndian.Uint16(sub)) == Named
}
