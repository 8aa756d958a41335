package simd

import (
	"hash/crc32"
	"testing"
)

// Check values of docs/format/blocks.md, made with the reference: one chunk of ((7·i + 3) mod 2^W) | 2^(W-1).
var packVectors = []struct {
	bits, width, size int
	crc               uint32
}{
	{8, 1, 128, 0x652d544c},
	{8, 2, 256, 0x68fcb05a},
	{8, 3, 384, 0x3816a4cb},
	{8, 5, 640, 0xa0924c1e},
	{8, 7, 896, 0xfc77a4c1},
	{8, 8, 1024, 0xcb91aa2c},
	{16, 1, 128, 0x652d544c},
	{16, 3, 384, 0x1fae033b},
	{16, 5, 640, 0x25abe694},
	{16, 9, 1152, 0x0628c2a1},
	{16, 13, 1664, 0x39c26411},
	{16, 16, 2048, 0x6849bcbd},
	{32, 1, 128, 0x652d544c},
	{32, 3, 384, 0x3221c48b},
	{32, 7, 896, 0x01b8ad7a},
	{32, 10, 1280, 0xb97259b6},
	{32, 17, 2176, 0x6bf212a9},
	{32, 31, 3968, 0xe4b547e9},
	{32, 32, 4096, 0xab4a59db},
	{64, 1, 128, 0x652d544c},
	{64, 3, 384, 0x3329e637},
	{64, 10, 1280, 0xd2174706},
	{64, 13, 1664, 0xe4e3707f},
	{64, 33, 4224, 0xd923f964},
	{64, 48, 6144, 0xc43ddbf3},
	{64, 63, 8064, 0xa4731a2a},
	{64, 64, 8192, 0x7a57aeff},
}

func TestPackVectors(t *testing.T) {
	for _, c := range packVectors {
		var packed []byte
		switch c.bits {
		case 8:
			packed = packVector[uint8](c.width)
		case 16:
			packed = packVector[uint16](c.width)
		case 32:
			packed = packVector[uint32](c.width)
		case 64:
			packed = packVector[uint64](c.width)
		}
		if crc := crc32.ChecksumIEEE(packed); len(packed) != c.size || crc != c.crc {
			t.Errorf("%d bits packed to %d: %d bytes with CRC %08x, want %d with %08x",
				c.bits, c.width, len(packed), crc, c.size, c.crc)
		}
	}
}

func packVector[U Unsigned](width int) []byte {
	vals := make([]U, ChunkLen)
	for i := range vals {
		vals[i] = U((7*uint64(i)+3)&(1<<width-1) | 1<<(width-1))
	}
	return AppendPacked(nil, vals, width, 0)
}
