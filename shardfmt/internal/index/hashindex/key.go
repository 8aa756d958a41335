package hashindex

import (
	"encoding/binary"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Prefix is the start of the keys of a field: the names on the path to it, and a colon.
func Prefix(path ...string) string { return strings.Join(path, ".") + ":" }

// Hash is the hash of a value of a field, given by the prefix of its keys and the bytes of the value.
func Hash(prefix string, value []byte) uint64 {
	var room [64]byte
	return xxh3.Hash(append(append(room[:0], prefix...), value...))
}

// AppendInteger appends the bytes of an integer of a node: as many as its type is wide, the least significant first.
func AppendInteger(dst []byte, basic schema.Basic, v uint64) []byte {
	switch basic {
	case schema.Int8:
		return append(dst, byte(v))
	case schema.Int16:
		return binary.LittleEndian.AppendUint16(dst, uint16(v))
	case schema.Int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(dst, v)
}

// AppendBool appends the byte of a boolean.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, '1')
	}
	return append(dst, '0')
}
