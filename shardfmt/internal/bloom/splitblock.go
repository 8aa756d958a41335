// Package bloom is the Bloom filter in blocks of 32 bytes that Parquet made common: all eight bits of a value lie in
// one block, so that one short read answers.
package bloom

import "encoding/binary"

// BlockSize of a filter, in bytes.
const BlockSize = 32

// salts spread a hash over the eight words of a block.
var salts = [8]uint32{
	0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31,
}

// Block is the number of the block of a hash, among n: its upper half, scaled.
func Block(h uint64, n int) int { return int((h >> 32) * uint64(n) >> 32) }

// bit is the bit of word i of the block.
func bit(h uint64, i int) uint32 { return 1 << (uint32(h) * salts[i] >> 27) }

// Insert sets the bits of a hash in its block.
func Insert(block []byte, h uint64) {
	for i := range salts {
		word := block[4*i:]
		binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|bit(h, i))
	}
}

// Has reports whether all bits of a hash are set in its block.
func Has(block []byte, h uint64) bool {
	for i := range salts {
		if binary.LittleEndian.Uint32(block[4*i:])&bit(h, i) == 0 {
			return false
		}
	}
	return true
}
