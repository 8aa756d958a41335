package formattest

import (
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// blocks collects vectors that are blocks; the first error stays.
type blocks struct {
	vectors []Vector
	err     error
}

// file gives what was collected.
func (b *blocks) file(name, about string) (*File, error) {
	return &File{Name: name, About: about, Vectors: b.vectors}, b.err
}

// add frames a sub-block and reports what is in it.
func (b *blocks) add(v Vector, of encode.Block, elem block.Elem, fixed int, err error) {
	if err == nil {
		var tree *block.Tree
		if tree, err = block.Describe(of.Sub, elem, v.Count, fixed); err == nil {
			v.Tree = tree.String()
			v.Bytes = hexLines(block.AppendFrame(nil, of.Presence, of.Sub, true))
			b.vectors = append(b.vectors, v)
		}
	}
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("vector %q: %w", v.Name, err)
	}
}

// numbers adds a block of numbers, of which those at nulls are null.
func numbers[T simd.Number](b *blocks, name, tree string, vals []T, nulls ...int) {
	valid := bitmap(len(vals), nulls...)
	sub, err := encode.NumbersAs(nil, vals, valid, tree)
	elem := block.ElemOf[T]()
	v := Vector{Name: name, Type: elements[elem], Count: len(vals), Values: numberTexts(vals, valid)}
	b.add(v, encode.Block{Presence: encode.Presence(nil, valid, len(vals), false), Sub: sub}, elem, 0, err)
}

// texts adds a block of byte strings of any length.
func texts(b *blocks, name, tree string, vals []string, nulls ...int) {
	var data []byte
	offsets, list := []int64{0}, make([][]byte, len(vals))
	for i, s := range vals {
		data, list[i] = append(data, s...), []byte(s)
		offsets = append(offsets, int64(len(data)))
	}
	valid := bitmap(len(vals), nulls...)
	sub, err := encode.BytesAs(nil, encode.Bytes{Data: data, Offsets: offsets, Valid: valid}, tree)
	v := Vector{Name: name, Type: "Binary", Count: len(vals), Values: byteTexts(list, valid)}
	b.add(v, encode.Block{Presence: encode.Presence(nil, valid, len(vals), false), Sub: sub}, block.Binary, 0, err)
}

// fixed adds a block of byte strings of one size.
func fixed(b *blocks, name, tree string, vals []string, nulls ...int) {
	size := len(vals[0])
	var data []byte
	list := make([][]byte, len(vals))
	for i, s := range vals {
		data, list[i] = append(data, s...), []byte(s)
	}
	valid := bitmap(len(vals), nulls...)
	sub, err := encode.BytesAs(nil, encode.Bytes{Data: data, Fixed: size, Valid: valid}, tree)
	v := Vector{Name: name, Type: fmt.Sprintf("FixedSizeBinary(%d)", size), Count: len(vals), Values: byteTexts(list, valid)}
	b.add(v, encode.Block{Presence: encode.Presence(nil, valid, len(vals), false), Sub: sub}, block.FixedBinary, size, err)
}

// sequence is n numbers, the first and then step by step.
func sequence[T simd.Number](first, step T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = first
		first += step
	}
	return out
}

// scattered is n numbers that follow no rule but that they are below limit.
func scattered[T simd.Number](n int, limit uint64) []T {
	out, state := make([]T, n), uint64(1)
	for i := range out {
		state = state*6364136223846793005 + 1442695040888963407
		out[i] = T(state >> 11 % limit)
	}
	return out
}
