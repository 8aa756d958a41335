package meta

import (
	"cmp"
	"context"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// row is a part of the root of LayoutStripes: everything about stripes that follow one another.
type row struct {
	start int64
	data  []byte
}

// Partial reports whether only the end of the root is available.
func (r *Root) Partial() bool { return r.tailStart > 0 }

// completeUnlessByStripes reads the rest of a root that is not laid out by stripes.
func (r *Root) completeUnlessByStripes(ctx context.Context) error {
	if p := r.dir.PropertiesRef; p != nil && p.Url == "" && int64(p.GetRange().GetStart()) >= r.tailStart {
		if layout, err := r.layout(ctx); err != nil || layout == LayoutStripes {
			return err
		}
	}
	whole := r.take(int(r.size))
	copy(whole[r.tailStart:], r.tail)
	if _, err := r.store.ReadRange(ctx, r.url, 0, whole[:r.tailStart]); err != nil {
		return outside(err, r.url, 0, r.size)
	}
	r.tail, r.tailStart = whole, 0
	return checkMagic(whole)
}

// loadRows is LoadFields for a root laid out by stripes: all descriptors of the stripes requested are read with their
// lists, in one request where they lie close together. It does nothing where the root is not marked so, or available as a
// whole.
func (r *Root) loadRows(ctx context.Context, s *stripeList, stripes []int) (done bool, err error) {
	if r.tailStart == 0 || s.anchor != r.url {
		return false, nil
	}
	if layout, err := r.layout(ctx); err != nil || layout != LayoutStripes {
		return false, err
	}
	var places []place
	for _, i := range stripes {
		p, ok := r.rowOf(s.list, i)
		if !ok {
			return false, nil
		}
		if r.haveRow(p) {
			continue
		}
		if n := len(places); n > 0 && places[n-1].end == p.start {
			places[n-1].end = p.end
		} else {
			places = append(places, p)
		}
	}
	if err := r.fetch(ctx, places); err != nil {
		return false, err
	}
	r.keepRows(places)
	return true, nil
}

// rowOf is where all of stripe i lies; false if its list reports that this is nowhere sensible.
func (r *Root) rowOf(stripes []*metapb.StripeDirectory, i int) (place, bool) {
	start := int64(len(Magic))
	if i > 0 {
		before := stripes[i-1].FieldListRef
		_, end, err := RefRange(before)
		if err != nil || before.GetUrl() != "" {
			return place{}, false
		}
		start = end
	}
	own := stripes[i].FieldListRef
	_, end, err := RefRange(own)
	ok := err == nil && own.GetUrl() == "" && start < end && end <= r.size && end-start <= wholeRoot
	return place{r.url, start, end}, ok
}

// keepRows moves rows that were fetched to where parts of them are found.
func (r *Root) keepRows(places []place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range places {
		data := r.ahead[p]
		delete(r.ahead, p)
		at, found := slices.BinarySearchFunc(r.rows, p.start, compareRow)
		if !found && data != nil {
			r.rows = slices.Insert(r.rows, at, row{p.start, data})
		}
	}
}

func compareRow(w row, start int64) int { return cmp.Compare(w.start, start) }

func (r *Root) haveRow(p place) bool {
	_, ok := r.inRow(p.url, p.start, p.end)
	return ok || p.start >= r.tailStart
}

// inRow gives the bytes of a range that lies in a row that was read.
func (r *Root) inRow(url string, start, end int64) ([]byte, bool) {
	if url != r.url {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at, found := slices.BinarySearchFunc(r.rows, start, compareRow)
	if !found {
		at--
	}
	if at < 0 || end > r.rows[at].start+int64(len(r.rows[at].data)) {
		return nil, false
	}
	w := r.rows[at]
	return w.data[start-w.start : end-w.start], true
}
