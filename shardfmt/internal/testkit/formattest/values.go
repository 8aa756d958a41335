package formattest

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// elements are the types of vectors by the element of their blocks.
var elements = map[block.Elem]string{
	block.Int8: "Int8", block.Int16: "Int16", block.Int32: "Int32", block.Int64: "Int64",
	block.Uint8: "UInt8", block.Uint16: "UInt16", block.Uint32: "UInt32", block.Uint64: "UInt64",
	block.Float32: "Float32", block.Float64: "Float64", block.Binary: "Binary",
}

// text is a number as a vector has it.
func text[T simd.Number](v T) string {
	switch v := any(v).(type) {
	case float32:
		return fmt.Sprintf("%08x", math.Float32bits(v))
	case float64:
		return fmt.Sprintf("%016x", math.Float64bits(v))
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	return strconv.FormatInt(int64(v), 10)
}

// bitmap has a set bit for every value that is present; nil if all are.
func bitmap(n int, nulls ...int) []byte {
	if len(nulls) == 0 {
		return nil
	}
	valid := make([]byte, (n+7)/8)
	for i := range n {
		valid[i/8] |= 1 << (i % 8)
	}
	for _, at := range nulls {
		valid[at/8] &^= 1 << (at % 8)
	}
	return valid
}

// there reports whether value i is present.
func there(valid []byte, i int) bool { return valid == nil || valid[i/8]>>(i%8)&1 == 1 }

// numberTexts are numbers as a vector has them.
func numberTexts[T simd.Number](vals []T, valid []byte) []*string {
	out := make([]*string, len(vals))
	for i, v := range vals {
		if there(valid, i) {
			s := text(v)
			out[i] = &s
		}
	}
	return out
}

// byteTexts are byte strings as a vector has them.
func byteTexts(vals [][]byte, valid []byte) []*string {
	out := make([]*string, len(vals))
	for i, v := range vals {
		if there(valid, i) {
			s := hex.EncodeToString(v)
			out[i] = &s
		}
	}
	return out
}
