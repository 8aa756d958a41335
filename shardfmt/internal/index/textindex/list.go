package textindex

import "slices"

const (
	// mostSingles is how many single positions a list of neighbours has at most, mostRanges how many exact ranges
	// of which some lie close.
	mostSingles, mostRanges = 64, 64
	// closeGap is how many records apart ranges are close.
	closeGap = 3
)

// list builds the stored form of a list of ascending positions. The form only ever becomes coarser: many positions of
// which some are neighbours become exact ranges, many ranges of which some are close become approximate ones.
type list struct {
	kind   Kind
	values []uint64
	other  []uint64 // memory for join
	// near means that two positions are neighbours, or that two ranges are close.
	near bool
}

// add appends a position, which must be above all before it.
func (l *list) add(p uint64) {
	switch l.kind {
	case Positions:
		l.near = l.near || len(l.values) > 0 && p == l.values[len(l.values)-1]+1
		l.values = append(l.values, p)
		if len(l.values) > mostSingles && l.near {
			l.join(0)
			l.kind, l.near = ExactRanges, l.anyClose()
		}
	case ExactRanges:
		if end := &l.values[len(l.values)-1]; *end == p {
			*end = p + 1
		} else {
			l.near = l.near || p <= *end+closeGap
			l.values = append(l.values, p, p+1)
		}
		if len(l.values) > 2*mostRanges && l.near {
			l.join(closeGap)
			l.kind = ApproximateRanges
		}
	default:
		if end := &l.values[len(l.values)-1]; p <= *end+closeGap {
			*end = p + 1
		} else {
			l.values = append(l.values, p, p+1)
		}
	}
}

// addAll appends positions, as add does one.
func (l *list) addAll(positions []uint32) {
	if len(l.values) == 0 {
		positions = l.addSingles(positions)
	}
	for len(positions) > 0 && l.kind != ApproximateRanges {
		l.add(uint64(positions[0]))
		positions = positions[1:]
	}
	if len(positions) == 0 {
		return
	}
	values := l.values
	end := values[len(values)-1]
	for _, v := range positions {
		p := uint64(v)
		if p <= end+closeGap {
			end = p + 1
			continue
		}
		values[len(values)-1] = end
		end = p + 1
		values = append(values, p, end)
	}
	values[len(values)-1] = end
	l.values = values
}

// addSingles is addAll for an empty list, up to where its form changes. It gives the positions behind.
func (l *list) addSingles(positions []uint32) (rest []uint32) {
	n, near := len(positions), false
	for i := 1; i < n; i++ {
		if near = near || positions[i] == positions[i-1]+1; near && i >= mostSingles {
			n = i // this one changes it
		}
	}
	l.values = slices.Grow(l.values, n)[:n]
	for i, p := range positions[:n] {
		l.values[i] = uint64(p)
	}
	l.near = near
	return positions[n:]
}

// join makes ranges of the values, and one range of those that are at most gap apart.
func (l *list) join(gap uint64) {
	out := l.other[:0]
	width := 2
	if l.kind == Positions {
		width = 1
	}
	for i := 0; i < len(l.values); i += width {
		start, end := l.values[i], l.values[i+width-1]
		if width == 1 {
			end++
		}
		if n := len(out); n > 0 && start <= out[n-1]+gap {
			out[n-1] = end
		} else {
			out = append(out, start, end)
		}
	}
	l.values, l.other = out, l.values
}

// anyClose reports whether two neighbouring ranges are close.
func (l *list) anyClose() bool {
	for i := 2; i < len(l.values); i += 2 {
		if l.values[i] <= l.values[i-1]+closeGap {
			return true
		}
	}
	return false
}

// reset empties the list and keeps its memory.
func (l *list) reset() { l.kind, l.near, l.values = Positions, false, l.values[:0] }
