package encode

import (
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// leastRun is the share of the values, as a divisor, by which runs may be more than half of them: nulls that come as often
// as values make runs of two on average.
const leastRun = 32

// fewRuns reports whether runs may pay.
func (s *stats[U]) fewRuns() bool { return s.changes < s.n/2+s.n/leastRun }

// fewSteps reports whether runs of the differences may pay.
func (s *stats[U]) fewSteps() bool {
	return s.n >= 2*minDelta && s.diffChanges < s.n/3 && s.diffChanges < s.changes
}

// planRuns stores each run of equal values once, with its length. It pays from about two values a run on.
func planRuns[U word](e *Encoder, vals []U, s *stats[U], k kind, sc scope) *plan {
	count := s.changes + 1
	if !s.fewRuns() || !e.may(sc, block.RunLength) {
		return nil
	}
	heads, lengths := take[U](&e.arena, count), take[uint32](&e.arena, count)
	splitRuns(vals, heads, lengths)
	p := e.newPlan(block.RunLength, 0)
	p.size = headerOf(10) + align8(nest(p, 0, heads, maybeRaw(e, heads, k, sc)))
	p.size += nest(p, 1, lengths, maybeRaw(e, lengths, unsigned, sc.second()))
	return p
}

// splitRuns gives the value of each run and its length; heads and lengths have as many places as there are runs. It does not branch: where runs are
// short, nobody can report where the next one begins.
func splitRuns[U word](vals, heads []U, lengths []uint32) {
	ends := lengths[:len(heads)] // of the run so far
	run, last := 0, vals[0]
	for i, v := range vals {
		next := 0
		if v != last {
			next = 1
		}
		run, last = run+next, v
		heads[run], ends[run] = v, uint32(i+1)
	}
	for i := len(lengths) - 1; i > 0; i-- {
		lengths[i] -= lengths[i-1]
	}
}

// planSparse stores the values that aren't zero, with their positions, where these are few; in the profiles with Zstd, where the gaps between
// positions are coded by how often each occurs, also half of all and some. Null slots are zero too where most are null.
func planSparse[U word](e *Encoder, vals []U, s *stats[U], k kind, sc scope) *plan {
	most := s.n / 4
	if e.rules.general == block.Zstd && sc.level+2 < e.rules.depth {
		most = s.n / 8 * 5
	}
	if s.changes > 2*most+1 || !e.may(sc, block.Sparse) {
		return nil
	}
	count := s.n - countZeros(vals)
	if count > most {
		return nil
	}
	where, stored := take[uint32](&e.arena, count)[:0], take[U](&e.arena, count)[:0]
	for i, v := range vals {
		if v != 0 {
			where, stored = append(where, uint32(i)), append(stored, v)
		}
	}
	p := e.newPlan(block.Sparse, 0)
	p.size = headerOf(10) + align8(nest(p, 0, where, maybeRaw(e, where, unsigned, sc)))
	p.size += nest(p, 1, stored, maybeRaw(e, stored, k, sc.second()))
	return p
}

// maybeRaw plans a nested stream that may also be stored raw: nil.
func maybeRaw[U word](e *Encoder, vals []U, k kind, sc scope) *plan {
	if sc.level+1 >= e.rules.depth {
		return nil
	}
	within := sc.in(e.rules)
	if within.shape == raw {
		return unlessRaw(packedAfterRaw(e, vals, k, within), len(vals)*sizeOf[U]())
	}
	return unlessRaw(planWords(e, &input[U]{vals: vals, kind: k}, within), len(vals)*sizeOf[U]())
}

// packedAfterRaw packs a stream that was raw in an earlier block: whole chunks are packed, so a few values more or less may decide which is smaller.
func packedAfterRaw[U word](e *Encoder, vals []U, k kind, sc scope) *plan {
	if k == float || len(vals) < simd.ChunkLen/2 {
		return nil
	}
	s := scan(vals)
	return planPacked(e, &s, k, sc)
}
