package encode

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// planByteDictionary numbers the distinct values of a variable-length stream. Null slots get code 0, and
// only they.
func (e *Encoder) planByteDictionary(s *byteValues, valid []byte) *plan {
	codes, entries := e.numberBytes(s, valid, s.n/2)
	if entries == nil {
		return nil
	}
	p := e.dictionaryOf(s, entries)
	lengths := stream[uint32](p, 1)
	within := scope{}.in(e.rules)
	within.banned |= setOf(block.BlockDictionary)
	p.size = headerOf(13) + align8(nest(p, 0, codes, planWords(e, &input[uint32]{vals: codes, kind: unsigned}, within)))
	p.size += nest(p, 1, lengths, maybeRaw(e, lengths, unsigned, scope{})) + len(p.payload)
	return p
}

// dictionaryOf is a plan with the entries, by where in s they occur: their bytes, and their lengths as stream 1.
func (e *Encoder) dictionaryOf(s *byteValues, entries []uint32) *plan {
	lengths, size := take[uint32](&e.arena, len(entries)), 0
	for i, at := range entries {
		lengths[i] = uint32(s.offsets[at+1] - s.offsets[at])
		size += int(lengths[i])
	}
	text := take[uint8](&e.arena, size)[:0]
	for _, at := range entries {
		text = append(text, s.data[s.offsets[at]:s.offsets[at+1]]...)
	}
	p := e.newPlan(block.BlockDictionary, 0)
	p.payload = text
	nest(p, 1, lengths, nil)
	return p
}

// numberBytes gives each value its code, 1 for the most frequent and so on, 0 for null slots, and in that
// order where each distinct value occurs first; nothing if there are more than limit of them.
func (e *Encoder) numberBytes(s *byteValues, valid []byte, limit int) (codes, entries []uint32) {
	shift := 64 - bits.Len(uint(2*limit))
	table := take[uint32](&e.arena, 1<<(64-shift))
	clear(table)
	codes = take[uint32](&e.arena, s.n)
	recent := take[uint64](&e.arena, recentWords<<recentBits)
	clear(recent)
	first, hashes := take[uint32](&e.arena, limit)[:0], take[uint64](&e.arena, limit)[:0]
	counts := take[uint32](&e.arena, limit)[:0]
	for i := range s.n {
		if valid != nil && valid[i/8]>>(i%8)&1 == 0 {
			codes[i] = 0
			continue
		}
		var known []uint64
		key := keyOf(s.data, int(s.offsets[i]), int(s.offsets[i+1]))
		if key.size != 0 {
			known = recent[recentWords*key.place():][:recentWords]
			if known[0] == key.head && known[1] == key.tail && uint32(known[2]>>32) == key.size {
				codes[i] = uint32(known[2])
				counts[codes[i]-1]++
				continue
			}
		}
		v := s.data[s.offsets[i]:s.offsets[i+1]]
		h := xxh3.Hash(v)
		slot := h >> shift
		for ; table[slot] != 0; slot = (slot + 1) & uint64(len(table)-1) {
			id := table[slot] - 1
			if hashes[id] == h && bytes.Equal(v, s.data[s.offsets[first[id]]:s.offsets[first[id]+1]]) {
				break
			}
		}
		if table[slot] == 0 {
			if len(first) == limit {
				return nil, nil
			}
			first, hashes, counts = append(first, uint32(i)), append(hashes, h), append(counts, 0)
			table[slot] = uint32(len(first))
		}
		codes[i] = table[slot]
		counts[codes[i]-1]++
		if known != nil {
			known[0], known[1], known[2] = key.head, key.tail, uint64(key.size)<<32|uint64(codes[i])
		}
	}
	rank := rankByCount(e, counts, codes)
	entries = take[uint32](&e.arena, len(first))
	for id, at := range first {
		entries[rank[id]-1] = at
	}
	return codes, entries
}

// Short values that were numbered lately are found by their bytes as words, without their hash: those of a dictionary that pays repeat few.
// Of each, recentWords are kept: its key, and its code.
const recentBits, recentWords = 8, 3

// shortKey is a value of at most 16 bytes: its first and its last eight of them, or all of a shorter one and 0, and its length and 1; 0 for a
// longer value.
type shortKey struct {
	head, tail uint64
	size       uint32
}

// keyOf is the key of the value from start to end in data.
func keyOf(data []byte, start, end int) shortKey {
	if end-start > simd.EndsTell {
		return shortKey{}
	}
	head, tail := simd.Ends(data, start, end)
	return shortKey{head, tail, uint32(end - start + 1)}
}

// place is where a value is kept.
func (k shortKey) place() int {
	return int(simd.HashEnds(k.head, k.tail, int(k.size)) >> (64 - recentBits))
}

func appendByteDictionary(dst []byte, p *plan) []byte {
	start := len(dst)
	dst, _ = appendHeader(dst, p.code, 13)
	dst = appendNested[uint32](dst, p, 0)
	coded := len(dst) - start - 16
	dst = pad(dst, start)
	from := len(dst)
	dst = appendNested[uint32](dst, p, 1)
	at := dst[start+2:]
	binary.LittleEndian.PutUint32(at, uint32(coded))
	binary.LittleEndian.PutUint32(at[4:], uint32(len(dst)-from))
	binary.LittleEndian.PutUint32(at[8:], uint32(len(p.in[1])/4))
	at[12] = flag(p.kids[1])
	return append(dst, p.payload...)
}
