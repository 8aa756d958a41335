package cole

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// cursor reads the parts of a slice. Its errors are of package corrupt, with offsets from base.
type cursor struct {
	b    []byte
	at   int
	base int64
}

// left is how many bytes are not read yet.
func (c *cursor) left() int { return len(c.b) - c.at }

// corrupt is an error at the place of the next byte.
func (c *cursor) corrupt(format string, args ...any) error {
	return corrupt.At(c.base+int64(c.at), format, args...)
}

// take gives the next n bytes.
func (c *cursor) take(n int, what string) ([]byte, error) {
	if n < 0 || n > c.left() {
		return nil, c.corrupt("%s needs %d bytes, but %d remain", what, n, c.left())
	}
	out := c.b[c.at : c.at+n : c.at+n]
	c.at += n
	return out, nil
}

func (c *cursor) u8(what string) (uint8, error) {
	b, err := c.take(1, what)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (c *cursor) u32(what string) (uint32, error) {
	b, err := c.take(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) u64(what string) (uint64, error) {
	b, err := c.take(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// uvarint reads a LEB128 number of at most bits bits, in the fewest bytes that hold it.
func (c *cursor) uvarint(bits int) (uint64, error) {
	var v uint64
	for i := 0; i < c.left(); i++ {
		b := c.b[c.at+i]
		shift := 7 * i
		if shift >= bits || bits-shift < 7 && b&0x7F>>(bits-shift) != 0 {
			return 0, c.corrupt("a number of more than %d bits", bits)
		}
		v |= uint64(b&0x7F) << shift
		if b < 0x80 {
			if b == 0 && i > 0 {
				return 0, c.corrupt("a number with superfluous bytes")
			}
			c.at += i + 1
			return v, nil
		}
	}
	return 0, c.corrupt("an unterminated number")
}

// svarint reads a zigzag number of at most bits bits.
func (c *cursor) svarint(bits int) (int64, error) {
	v, err := c.uvarint(bits)
	return int64(v>>1) ^ -int64(v&1), err
}

// appendSvarint is the writing side of svarint.
func appendSvarint(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v<<1)^uint64(v>>63))
}
