package encode

import (
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// headerOf is the size of code, own bytes of metadata and padding (docs/format/blocks.md).
func headerOf(own int) int { return align8(2 + own) }

// input is a stream of words to plan for.
type input[U word] struct {
	vals []U
	kind kind
	// valid is nil for nested streams, and for streams in which nothing is null; null slots hold what fillNulls put there.
	valid []byte
	// stats are those of vals, once planWords took them.
	stats stats[U]
}

// planWords finds the best plan for a stream of words.
func planWords[U word](e *Encoder, in *input[U], sc scope) *plan {
	vals := in.vals
	best := e.newPlan(block.Plain, 2+len(vals)*sizeOf[U]())
	if len(vals) == 0 || e.rules.tries == 0 {
		return best
	}
	s := &in.stats
	if in.kind == float {
		*s = scanFloats(vals)
	} else {
		*s = scan(vals)
	}
	if s.changes == 0 {
		return e.newPlan(block.SingleValue, 2+sizeOf[U]())
	}
	if e.o.Profile == Plain {
		return best
	}
	if sc.shape != nil {
		if p := repeat(e, in, sc); p != nil {
			return p
		}
		if e.recalled && sc.shape != raw {
			e.weighAnew()
		}
		sc.shape = nil
	}
	best = weigh(e, in, best, sc)
	best.outline = s.outline()
	return best
}

// weigh finds the best of what may be.
func weigh[U word](e *Encoder, in *input[U], best *plan, sc scope) *plan {
	vals, k, s := in.vals, in.kind, &in.stats
	e.tries++
	var tried codeSet
	if k == float {
		best = planFloats(e, vals, best, sc, &tried)
	} else {
		var done bool
		if best, done = planIntegers(e, in, best, sc); done {
			best = planUncut(e, in, best, sc)
			framed := planWordFrame(e, vals, best, sc, &tried)
			if framed == nil || framed.size >= best.size-best.size/lowBytesGain {
				e.learn(sc, tried, block.Zstd)
				return best
			}
			e.learn(sc, tried, wordFrameTrial)
			return framed
		}
	}
	best = better(best, planRuns(e, vals, s, k, sc))
	best = better(best, planDictionary(e, in, best, sc, &tried))
	best = better(best, planSparse(e, vals, s, k, sc))
	if codes := e.o.NoPresence && sizeOf[U]() == 4 && sc.level == 0; codes { // of a value dictionary
		best = better(best, planPlanes(e, vals, best.size, sc))
	}
	low := planLowBytes(e, vals, s, k, sc)
	if low == nil && k != float {
		low = planWordFrame(e, vals, best, sc, &tried)
	}
	if low != nil && low.size < best.size-best.size/lowBytesGain {
		best = better(best, low)
	}
	best = better(best, planGeneral(e, in, best, sc, &tried))
	if best == low && low != nil {
		e.learn(sc, tried, wordFrameTrial) // Zstd's own encoder has lost
		return best
	}
	e.learn(sc, tried, best.code)
	return best
}

// planUncut weighs what of a stream that was cut down to fewer bytes has one encoding less around it if it isn't: differences, runs and the codes of a
// dictionary. best is what the cut one came to.
func planUncut[U word](e *Encoder, in *input[U], best *plan, sc scope) *plan {
	kid := best.kids[0]
	if closeNeighbours(e, in.vals, best, sc) || in.stats.fewSteps() {
		best = better(best, planDelta(e, in, best, sc))
	}
	switch {
	case kid == nil:
	case kid.code == block.RunLength || kid.code == block.Delta:
		best = better(best, planRuns(e, in.vals, &in.stats, in.kind, sc))
	case kid.code == block.BlockDictionary && e.tooDeepForPlanes(sc.level+1):
		best = better(best, planNumbered(e, in, len(in.vals)/2, best, sc))
	}
	return best
}

// planIntegers weighs what only integers can be; done when nothing else needs to be weighed, because the
// stream was cut down to fewer bytes and all was weighed there.
func planIntegers[U word](e *Encoder, in *input[U], best *plan, sc scope) (_ *plan, done bool) {
	vals, s := in.vals, &in.stats
	best = better(best, planPacked(e, s, in.kind, sc))
	best = better(best, planZigZag(e, in, best, sc))
	deep := sc.level+2 < e.rules.depth
	if narrow := planTruncate(e, in, deep && promising(e, vals, s, best, sc), sc); narrow != nil {
		best = better(best, narrow)
		if deep {
			return best, true
		}
	}
	best = better(best, planDelta(e, in, best, sc))
	return better(best, planAroundMode(e, vals, s, sc)), false
}

// planPacked weighs FLBitPack and FFOR, whose sizes follow from the extremes.
func planPacked[U word](e *Encoder, s *stats[U], k kind, sc scope) *plan {
	var packed, ffor *plan
	if w := s.width; k == unsigned && e.may(sc, block.FLBitPack) {
		packed = e.newPlan(block.FLBitPack, headerOf(1)+simd.PackedBytes(s.n, w))
		packed.width = w
	}
	if w := widthOf(s.span); e.may(sc, block.FusedFrameOfReference) {
		ffor = e.newPlan(block.FusedFrameOfReference, headerOf(sizeOf[U]()+1)+simd.PackedBytes(s.n, w))
		ffor.width, ffor.ref = w, uint64(s.low)
	}
	return better(packed, ffor)
}

// promising reports whether anything but packing may come of a stream of integers. If not, it is not worth
// another look once it is cut down to fewer bytes.
func promising[U word](e *Encoder, vals []U, s *stats[U], best *plan, sc scope) bool {
	if s.n < 512 || s.fewRuns() || best.size < 512 || sc.level < e.rules.generalBelow {
		return true
	}
	if expect, steady := s.deltas(e.rules); steady || expect < best.cost() || closeNeighbours(e, vals, best, sc) {
		return true
	}
	if sc.general && e.rules.general != 0 {
		if l := &e.trials[e.rules.general][sc.level+1]; l.wait == 0 || e.eager {
			return true
		} else {
			l.wait--
		}
	}
	return dictionarySize[U](s.n, sampleDistinct(e, vals)) < int(best.cost())
}

// planTruncate stores signed values in fewer bytes, and, if requested to, encodes what results.
func planTruncate[U word](e *Encoder, in *input[U], nested bool, sc scope) *plan {
	vals, s := in.vals, &in.stats
	if in.kind != signed || !e.may(sc, block.TruncateU8) {
		return nil
	}
	switch width := bitsOf[U](); {
	case s.signedWidth <= 8 && width > 8:
		return planNarrow[U, uint8](e, vals, block.TruncateU8, nested, sc)
	case s.signedWidth <= 16 && width > 16:
		return planNarrow[U, uint16](e, vals, block.TruncateU16, nested, sc)
	case s.signedWidth <= 32 && width > 32:
		return planNarrow[U, uint32](e, vals, block.TruncateU32, nested, sc)
	}
	return nil
}

func planNarrow[U, N word](e *Encoder, vals []U, code block.Code, nested bool, sc scope) *plan {
	narrow := take[N](&e.arena, len(vals))
	for i, v := range vals {
		narrow[i] = N(v)
	}
	var kid *plan
	if nested {
		within := sc.nestedShape()
		within.level++
		kid = unlessRaw(planWords(e, &input[N]{vals: narrow, kind: unsigned}, within), len(narrow)*sizeOf[N]())
	}
	p := e.newPlan(code, 0)
	p.size = headerOf(1) + nest(p, 0, narrow, kid)
	return p
}

// minDelta is the fewest values of a Delta stream.
const minDelta = 8

// planDelta stores the differences of neighbours. The differences are looked at only if they promise
// something: a smaller span than the values, or long runs of the same step that isn't zero.
func planDelta[U word](e *Encoder, in *input[U], best *plan, sc scope) *plan {
	vals, s := in.vals, &in.stats
	if s.n < minDelta || !e.mayNest(sc, block.Delta) {
		return nil
	}
	expect, steady := s.deltas(e.rules)
	if !steady && !s.fewSteps() && expect >= best.cost() && sc.level >= e.rules.generalBelow && !closeNeighbours(e, vals, best, sc) {
		return nil
	}
	return planDifferences(e, vals, in.kind, sc)
}

// planDifferences stores the differences of neighbours.
func planDifferences[U word](e *Encoder, vals []U, k kind, sc scope) *plan {
	diffs := take[U](&e.arena, len(vals)-1)
	for i := range diffs {
		diffs[i] = vals[i+1] - vals[i]
	}
	p := e.newPlan(block.Delta, 0)
	p.ref = uint64(vals[0])
	p.size = headerOf(sizeOf[U]()) + nest(p, 0, diffs, planWords(e, &input[U]{vals: diffs, kind: k}, sc.in(e.rules)))
	return p
}

// closeNeighbours reports whether most values are so close to the one before that their differences, coded by how often each occurs, promise less than
// best. It looks at a few runs of values.
func closeNeighbours[U word](e *Encoder, vals []U, best *plan, sc scope) bool {
	const runs, run = 4, 64
	n := len(vals)
	codes := sc.banned.has(block.BlockDictionary) || e.o.NoPresence && !e.o.Ordered && sizeOf[U]() == 4 // in no order
	if e.rules.general != block.Zstd || n < minWordFrame || codes {
		return false
	}
	width := 0
	for r := range runs {
		part := vals[(n-run-1)*r/(runs-1):][:run+1]
		for i, v := range part[1:] {
			width += widthOf(zigZag(v-part[i])) + 1
		}
	}
	return n*width/(runs*run)/8 < best.size*4/5
}

// deltas is what packed differences cost, and whether the step hardly changes. The profiles with Zstd, which has other ways to store differences,
// take their bare size.
func (s *stats[U]) deltas(r *rules) (expect float64, steady bool) {
	size := sizeOf[U]()
	expect = float64(headerOf(size) + headerOf(size+1) + simd.PackedBytes(s.n-1, widthOf(s.diffSpan)))
	if r.general != block.Zstd {
		expect *= r.weight[block.Delta] * r.weight[block.FusedFrameOfReference]
	}
	return expect, s.diffChanges < s.n/4 && s.changes > s.n/2
}

// planAroundMode is for streams in which nearly all values are the same one: with that as the reference of a
// FOR, the rest is sparse.
func planAroundMode[U word](e *Encoder, vals []U, s *stats[U], sc scope) *plan {
	if !e.mayNest(sc, block.FrameOfReference) || s.changes > s.n/3 || s.n < 64 {
		return nil
	}
	mode, votes := vals[0], 0
	for _, v := range vals {
		switch {
		case v == mode:
			votes++
		case votes == 0:
			mode, votes = v, 1
		default:
			votes--
		}
	}
	if mode == 0 || votes < s.n/4*3 {
		return nil
	}
	return planFOR(e, vals, mode, sc)
}

// planFOR takes a reference off all values.
func planFOR[U word](e *Encoder, vals []U, ref U, sc scope) *plan {
	rest := take[U](&e.arena, len(vals))
	for i, v := range vals {
		rest[i] = v - ref
	}
	p := e.newPlan(block.FrameOfReference, 0)
	p.ref = uint64(ref)
	p.size = headerOf(sizeOf[U]()) + nest(p, 0, rest, planWords(e, &input[U]{vals: rest, kind: unsigned}, sc.in(e.rules)))
	return p
}

// planZigZag maps values of either sign to unsigned ones, 0, −1, 1, −2, … to 0, 1, 2, 3, …. That helps when
// their magnitudes are steadier than the values are, which a few short runs of the stream tell.
func planZigZag[U word](e *Encoder, in *input[U], best *plan, sc scope) *plan {
	vals, s := in.vals, &in.stats
	if in.kind != signed || !s.negative || s.n < zigZagRun || !e.mayNest(sc, block.ZigZag) {
		return nil
	}
	if float64(s.n*zigZagStep(vals)/8) >= best.cost()*3/4 {
		return nil
	}
	return planMapped(e, vals, sc)
}

// planMapped maps values of either sign to unsigned ones.
func planMapped[U word](e *Encoder, vals []U, sc scope) *plan {
	mapped := take[U](&e.arena, len(vals))
	for i, v := range vals {
		mapped[i] = zigZag(v)
	}
	p := e.newPlan(block.ZigZag, 0)
	p.size = headerOf(1) + nest(p, 0, mapped, planWords(e, &input[U]{vals: mapped, kind: unsigned}, sc.in(e.rules)))
	return p
}

func zigZag[U word](v U) U { return v<<1 ^ U(extend(v)>>63) }

// zigZagRun is the length of the runs that zigZagStep looks at.
const zigZagRun = 16

// zigZagStep is the bits that differences of neighbours take once they are mapped, in the narrowest of four
// runs of the stream: noise makes none of them narrow.
func zigZagStep[U word](vals []U) int {
	least := bitsOf[U]()
	for i := range 4 {
		run := vals[(len(vals)-zigZagRun)*i/3:][:zigZagRun]
		low, high := int64(0), int64(0)
		for j := 1; j < len(run); j++ {
			d := extend(zigZag(run[j]) - zigZag(run[j-1]))
			low, high = min(low, d), max(high, d)
		}
		least = min(least, widthOf(uint64(high-low)))
	}
	return least
}
