package mutant

import (
	"fmt"
	"math/rand/v2"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// changeValues decodes a block of numbers (codes of a dictionary, offsets, variants, bits, or a field's own), changes some
// of them and encodes them again.
func changeValues(s *site) (string, error) {
	m, err := s.blocks()
	if err != nil {
		return "", err
	}
	i := s.r.IntN(m.Blocks())
	start, end := m.Range(i)
	first, last := m.Span(i)
	f, err := block.ParseFrame(s.data[start:end], s.buffer.BlockChecksums)
	if err != nil {
		return "", err
	}
	recode := s.recoder()
	if recode == nil {
		return "", errNothing
	}
	values, what, err := recode(s.r, f.Values, int(last-first))
	if err != nil {
		return "", err
	}
	changed := block.AppendFrame(nil, f.Presence, values, s.buffer.BlockChecksums)
	s.replaceBlock(m, i, changed)
	return fmt.Sprintf("block %d: %s", i, what), nil
}

// replaceBlock lays the buffer out again with another block in the place of one.
func (s *site) replaceBlock(m *colstream.Map, at int, changed []byte) {
	var data []byte
	var w colstream.MapBuilder
	for i := range m.Blocks() {
		start, end := m.Range(i)
		b := s.data[start:end]
		if i == at {
			b = changed
		}
		data = append(data, b...)
		first, last := m.Span(i)
		w.Add(uint32(last-first), uint32(len(b)))
	}
	data = append(data, make([]byte, -len(data)&(bufferAlignment-1))...)
	s.mapAt = len(data)
	s.data = w.Append(data)
}

// recoder decodes n values, changes some, and encodes them.
type recoder func(r *rand.Rand, sub []byte, n int) ([]byte, string, error)

// recoder gives the one for the buffer's values, nil if they are byte strings.
func (s *site) recoder() recoder {
	dictionary := false
	for _, b := range s.descriptor.Encodings[0].GetNative().GetBuffers() {
		dictionary = dictionary || b.Kind == metapb.BufferKind_VALUE_DICTIONARY
	}
	switch {
	case s.buffer.Kind == metapb.BufferKind_OFFSETS:
		return recode[uint64]
	case s.buffer.Kind == metapb.BufferKind_PRESENCE:
		return recode[uint8]
	case s.buffer.Kind != metapb.BufferKind_DATA:
		return nil
	case dictionary:
		return recode[uint32]
	}
	return ownRecoder(s.node)
}

func ownRecoder(n *schema.Node) recoder {
	switch n.Basic {
	case schema.Boolean, schema.Union:
		return recode[uint8]
	case schema.Int8:
		return signed(n.Signed, recode[int8], recode[uint8])
	case schema.Int16:
		return signed(n.Signed, recode[int16], recode[uint16])
	case schema.Int32:
		return signed(n.Signed, recode[int32], recode[uint32])
	case schema.Int64:
		return signed(n.Signed, recode[int64], recode[uint64])
	case schema.DateTime:
		return recode[uint64]
	case schema.Float32:
		return recode[float32]
	case schema.Float64:
		return recode[float64]
	}
	return nil
}

func signed(yes bool, a, b recoder) recoder {
	if yes {
		return a
	}
	return b
}

func recode[T simd.Number](r *rand.Rand, sub []byte, n int) ([]byte, string, error) {
	if n > 1<<20 {
		return nil, "", errNothing
	}
	v := make([]T, n)
	if err := block.DecodeNumbers(v, sub, new(block.Scratch)); err != nil {
		return nil, "", err
	}
	what := change(r, v)
	out, err := encode.Numbers(nil, v, nil, &encode.Options{Profile: encode.Plain})
	return out, what, err
}

// change changes one value, or all of them in a pattern.
func change[T simd.Number](r *rand.Rand, v []T) string {
	i := r.IntN(len(v))
	low, high := v[0], v[0]
	for _, x := range v {
		low, high = min(low, x), max(high, x)
	}
	switch r.IntN(8) {
	case 0:
		for k := range v {
			if k%2 == 1 {
				v[k] = high
			} else {
				v[k] = low
			}
		}
		return "alternating"
	case 1:
		for k := range len(v) / 2 {
			v[k], v[len(v)-1-k] = v[len(v)-1-k], v[k]
		}
		return "reversed"
	case 2:
		v[i]--
	case 3:
		v[i] = high + 1
	case 4:
		v[i] = 0
		v[i]--
	case 5:
		v[i] = v[r.IntN(len(v))]
	case 6:
		v[i] += T(r.IntN(100))
	default:
		v[i]++
	}
	return fmt.Sprintf("value %d is %v", i, v[i])
}
