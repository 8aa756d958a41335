package encode

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// planDictionary numbers the distinct values and stores the numbers. Whether counting them is worth while is
// seen on a sample.
func planDictionary[U word](e *Encoder, in *input[U], best *plan, sc scope, tried *codeSet) *plan {
	vals := in.vals
	if len(vals) < 16 || !e.mayNest(sc, block.BlockDictionary) {
		return nil
	}
	few := sampleDistinct(e, vals)
	expect := dictionarySize[U](len(vals), few)
	if e.rules.general == block.Zstd { // codes are coded by how often they occur
		expect -= expect / 4
		if few < fewCodes && len(vals) >= leastLowBytes {
			expect = 0
		}
	}
	if expect >= int(best.cost()) || !e.try(block.BlockDictionary, sc, tried) {
		return nil
	}
	return planNumbered(e, in, min(len(vals)/2, best.size/sizeOf[U]()), best, sc)
}

// planNumbered numbers the distinct values; nil if there are more than limit, or their codes alone come to more than best.
func planNumbered[U word](e *Encoder, in *input[U], limit int, best *plan, sc scope) *plan {
	codes, entries := number(e, in.vals, in.valid, limit)
	if entries == nil {
		return nil
	}
	p := e.newPlan(block.BlockDictionary, 0)
	within := sc.in(e.rules)
	within.banned |= setOf(block.BlockDictionary)
	coded := nest(p, 0, codes, planWords(e, &input[uint32]{vals: codes, kind: unsigned}, within))
	if headerOf(9)+coded >= int(best.cost()) {
		return nil
	}
	size, kid := len(entries)*sizeOf[U](), (*plan)(nil)
	// The dictionary follows the codes without padding: nothing but raw values may start anywhere.
	if coded%8 == 0 && len(entries) >= 64 {
		entries, kid = planEntries(e, codes, &input[U]{vals: entries, kind: in.kind}, p.kids[0].code, sc.second())
	}
	if kid != nil {
		size = kid.size
	}
	coded = inPlanes(e, p, codes, within)
	nest(p, 1, entries, kid)
	p.size = headerOf(9) + coded + size
	return p
}

// planEntries plans the entries of a dictionary in the order they have, or, where the codes are only packed and so may
// have any, by value, where neighbours are close: whichever is smaller, in a tree that is repeated by value if that is
// smaller than raw. It returns them in their order, to which it brings the codes.
func planEntries[U word](e *Encoder, codes []uint32, in *input[U], coded block.Code, sc scope) ([]U, *plan) {
	entries, k := in.vals, in.kind
	if k == float || coded != block.FLBitPack && coded != block.FusedFrameOfReference {
		return entries, maybeRaw(e, entries, k, sc)
	}
	var asIs *plan
	if sc.shape == nil {
		asIs = maybeRaw(e, entries, k, sc)
	}
	sorted, rank := sortEntries(e, entries)
	byValue := maybeRaw(e, sorted, k, sc)
	if byValue == nil || asIs != nil && asIs.cost() <= byValue.cost() {
		return entries, asIs
	}
	for i, c := range codes {
		codes[i] = rank[c]
	}
	return sorted, byValue
}

// sortEntries gives the entries by value, and the code that becomes of each code, which is 0 for null and else one more than the entry's
// place. The place of each is sorted with as many of the upper bits of its distance from the least as there is space for before it; the few that
// agree in these are sorted once more.
func sortEntries[U word](e *Encoder, entries []U) (sorted []U, rank []uint32) {
	sorted, rank = take[U](&e.arena, len(entries)), take[uint32](&e.arena, len(entries)+1)
	rank[0] = 0
	least, most := slices.Min(entries), slices.Max(entries)
	shift := bits.Len(uint(len(entries)))
	drop := max(0, widthOf(most-least)+shift-64)
	placed, place := take[uint64](&e.arena, len(entries)), uint64(1)<<shift-1
	for i, v := range entries {
		placed[i] = uint64(v-least)>>drop<<shift | uint64(i)
	}
	sortWords(e, placed)
	if drop > 0 {
		sortAlike(placed, shift, func(p uint64) U { return entries[p&place] })
	}
	for at, p := range placed {
		sorted[at] = entries[p&place]
		rank[p&place+1] = uint32(at + 1)
	}
	return sorted, rank
}

// sortAlike sorts those neighbours by value that agree in all but their lower bits.
func sortAlike[U word](placed []uint64, shift int, value func(uint64) U) {
	for from := 0; from < len(placed); {
		to := from + 1
		for to < len(placed) && placed[to]>>shift == placed[from]>>shift {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(placed[from:to], func(a, b uint64) int { return cmp.Compare(value(a), value(b)) })
		}
		from = to
	}
}

// dictionarySize is what n values with so many distinct ones come to, with packed codes.
func dictionarySize[U word](n, distinct int) int {
	return headerOf(9) + headerOf(1) + n*widthOf(uint32(distinct))/8 + distinct*sizeOf[U]()
}

// fewCodes are so few distinct values in a sample that their codes likely have one byte.
const fewCodes = 100

// sampleSize is the number of values of a sample of distinct values.
const sampleSize = 128

// sampleDistinct estimates from a sample, spread over the stream, how many distinct values there are at
// least: as many as the sample has; and if it has hardly any twice, so many that no more were to be expected
// (half of what a uniform choice would have, to be on the safe side).
func sampleDistinct[U word](e *Encoder, vals []U) int {
	step := max(1, len(vals)/sampleSize)
	at := int(e.o.Seed % uint64(step))
	sample := take[U](&e.arena, sampleSize)[:0]
	for ; at < len(vals) && len(sample) < sampleSize; at += step {
		sample = append(sample, vals[at])
	}
	slices.Sort(sample)
	distinct := 1
	for i := 1; i < len(sample); i++ {
		if sample[i] != sample[i-1] {
			distinct++
		}
	}
	if twice := len(sample) - distinct; twice < len(sample)/2 && len(sample) < len(vals) {
		return max(distinct, min(len(vals), len(sample)*len(sample)/(2*twice+1))/2)
	}
	return distinct
}

// number gives each value its code, 1 for the most frequent and so on, 0 for null slots, and the distinct
// values in that order; nothing if there are more than limit of them.
func number[U word](e *Encoder, vals []U, valid []byte, limit int) (codes []uint32, entries []U) {
	codes = take[uint32](&e.arena, len(vals))
	values, counts := take[U](&e.arena, limit)[:0], take[uint32](&e.arena, limit)[:0]
	if sizeOf[U]() <= 2 && valid == nil {
		values, counts = numberNarrow(e, codes, vals, values, counts)
	} else {
		values, counts = numberHashed(e, codes, vals, valid, values, counts)
	}
	if values == nil {
		return nil, nil
	}
	rank := rankByCount(e, counts, codes)
	entries = take[U](&e.arena, len(values))
	for id, v := range values {
		entries[rank[id]-1] = v
	}
	return codes, entries
}

// numberHashed gives each value its code, 1 for the first one and so on, and the values and how often each occurs; nil if there is no space for them.
func numberHashed[U word](e *Encoder, codes []uint32, vals []U, valid []byte, values []U, counts []uint32) ([]U, []uint32) {
	shift := 64 - bits.Len(uint(2*cap(values)))
	table := take[uint32](&e.arena, 1<<(64-shift))
	clear(table)
	for i, v := range vals {
		if valid != nil && valid[i/8]>>(i%8)&1 == 0 {
			codes[i] = 0
			continue
		}
		slot := hash(uint64(v)) >> shift
		for table[slot] != 0 && values[table[slot]-1] != v {
			slot = (slot + 1) & uint64(len(table)-1)
		}
		if table[slot] == 0 {
			if len(values) == cap(values) {
				return nil, nil
			}
			values, counts = append(values, v), append(counts, 0)
			table[slot] = uint32(len(values))
		}
		codes[i] = table[slot]
		counts[codes[i]-1]++
	}
	return values, counts
}

// numberNarrow is numberHashed of numbers of one or two bytes, none of them null, which are looked up as they are.
func numberNarrow[U word](e *Encoder, codes []uint32, vals, values []U, counts []uint32) ([]U, []uint32) {
	if e.narrow == nil {
		e.narrow = new([1 << 16]uint32)
	}
	table := e.narrow
	for i, v := range vals {
		code := table[uint16(v)]
		if code == 0 {
			if len(values) == cap(values) {
				emptyNarrow(table, values)
				return nil, nil
			}
			values, counts = append(values, v), append(counts, 0)
			code = uint32(len(values))
			table[uint16(v)] = code
		}
		codes[i] = code
		counts[code-1]++
	}
	emptyNarrow(table, values)
	return values, counts
}

// emptyNarrow takes values out of a table again.
func emptyNarrow[U word](table *[1 << 16]uint32, values []U) {
	for _, v := range values {
		table[uint16(v)] = 0
	}
}

// distinct gives the distinct values of vals in the order in which they come; nothing if there are more than limit.
func distinct[U word](e *Encoder, vals []U, limit int) []U {
	shift := 64 - bits.Len(uint(2*limit))
	table := take[uint32](&e.arena, 1<<(64-shift))
	clear(table)
	values := take[U](&e.arena, limit)[:0]
	for i, v := range vals {
		if i > 0 && v == vals[i-1] {
			continue
		}
		slot := hash(uint64(v)) >> shift
		for table[slot] != 0 && values[table[slot]-1] != v {
			slot = (slot + 1) & uint64(len(table)-1)
		}
		if table[slot] != 0 {
			continue
		}
		if len(values) == limit {
			return nil
		}
		values = append(values, v)
		table[slot] = uint32(len(values))
	}
	return values
}

// rankByCount numbers ids again, from 1, by descending count, and at equal counts in the order they have; it
// brings codes (id+1, or 0) to the new numbers.
func rankByCount(e *Encoder, counts, codes []uint32) (rank []uint32) {
	if rank = rankFew(e, counts); rank == nil {
		order := take[uint64](&e.arena, len(counts))
		for id, c := range counts {
			order[id] = uint64(^c)<<32 | uint64(id)
		}
		sortWords(e, order)
		rank = take[uint32](&e.arena, len(counts))
		for i, o := range order {
			rank[uint32(o)] = uint32(i + 1)
		}
	}
	for i, c := range codes {
		if c != 0 {
			codes[i] = rank[c-1]
		}
	}
	return rank
}

// rankFew is the rank of rankByCount by how many ids have each count; nil where counts go further than there are ids.
func rankFew(e *Encoder, counts []uint32) (rank []uint32) {
	if len(counts) == 0 {
		return nil
	}
	most := slices.Max(counts)
	if int(most) > len(counts) {
		return nil
	}
	next := take[uint32](&e.arena, int(most)+1) // by count, the number that the next id with it gets
	clear(next)
	for _, c := range counts {
		next[c]++
	}
	above := uint32(1)
	for c := most; ; c-- {
		next[c], above = above, above+next[c]
		if c == 0 {
			break
		}
	}
	rank = take[uint32](&e.arena, len(counts))
	for id, c := range counts {
		rank[id] = next[c]
		next[c]++
	}
	return rank
}

// hash spreads a word over 64 bits; the upper ones are the good ones (Fibonacci hashing).
func hash(v uint64) uint64 { return v * 0x9e3779b97f4a7c15 }
