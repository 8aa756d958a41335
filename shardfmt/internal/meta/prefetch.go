package meta

import (
	"context"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// place is a range of an object.
type place struct {
	url        string
	start, end int64
}

// kept gives the bytes of a range that was fetched ahead.
func (r *Root) kept(url string, start, end int64) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.ahead[place{url, start, end}]
	return b, ok
}

// fetch reads the ranges that are not available, with few requests per object, and keeps them.
func (r *Root) fetch(ctx context.Context, places []place) error {
	var missing []place
	for _, p := range places {
		if r.atHand(p) {
			continue
		}
		if p.url == r.url && p.end > r.size {
			return corrupt.Locate(corrupt.At(p.start, "range ends at %d of %d bytes", p.end, r.size), p.url, 0)
		}
		missing = append(missing, p)
	}
	byURL := func(a, b place) int { return strings.Compare(a.url, b.url) }
	if !slices.IsSortedFunc(missing, byURL) {
		slices.SortStableFunc(missing, byURL)
	}
	for len(missing) > 0 { // object by object, of which there is mostly one
		url, n := missing[0].url, 0
		for n < len(missing) && missing[n].url == url {
			n++
		}
		ranges := make([]blobio.Range, n)
		for i, p := range missing[:n] {
			ranges[i] = blobio.Range{Start: p.start, End: p.end}
		}
		missing = missing[n:]
		parts, err := r.readRanges(ctx, url, ranges)
		if err != nil {
			return r.unreachable(err, url, ranges[0].Start, ranges[n-1].End)
		}
		r.keep(url, ranges, parts)
	}
	return nil
}

// keep has ranges of an current object from now on.
func (r *Root) keep(url string, ranges []blobio.Range, parts [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ahead == nil {
		r.ahead = make(map[place][]byte, len(parts))
	}
	for i, b := range parts {
		r.ahead[place{url, ranges[i].Start, ranges[i].End}] = b
	}
}

// fetchToTail is fetch for places of the root that lie side by side and reach into its end: what is available of them is not read again. It
// does nothing for others, and for long ones, which fetch reads in parts.
func (r *Root) fetchToTail(ctx context.Context, places []place) (done bool, err error) {
	start, end, sum := r.tailStart, r.tailStart, int64(0)
	for _, p := range places {
		start, end = min(start, p.start), max(end, p.end)
		sum += p.end - p.start
	}
	if end == r.tailStart || end-start > min(sum+suffixSize, proveSize) {
		return false, nil
	}
	b, err := r.readToTail(ctx, start, end)
	if err != nil {
		return false, r.unreachable(err, r.url, start, end)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ahead == nil {
		r.ahead = map[place][]byte{}
	}
	for _, p := range places {
		r.ahead[p] = b[p.start-start : p.end-start : p.end-start]
	}
	return true, nil
}

func (r *Root) atHand(p place) bool {
	if p.url == r.url && p.start >= r.tailStart && p.end <= r.size {
		return true
	}
	_, ok := r.kept(p.url, p.start, p.end)
	return ok
}

// placeOf is where ref leads from a message in anchor.
func (r *Root) placeOf(anchor string, ref *metapb.DataRef) (place, error) {
	url, err := r.Resolve(anchor, ref.GetUrl())
	if err != nil {
		return place{}, err
	}
	start, end, err := RefRange(ref)
	if err != nil {
		return place{}, corrupt.Locate(err, anchor, 0)
	}
	return place{url, start, end}, nil
}

// LoadFields fetches what StripeField needs for the given stripes and node numbers: the field lists of the
// stripes, then the descriptors. Where those lie together, as our merged roots lay them out, that is one
// request each, and none for what the end of the root already held.
func (r *Root) LoadFields(ctx context.Context, stripes []int, ids []uint32) error {
	s, err := r.loadStripes(ctx)
	if err != nil {
		return err
	}
	if done, err := r.loadColumns(ctx, stripes, ids); done || err != nil {
		return err
	}
	if done, err := r.loadRows(ctx, s, stripes); done || err != nil {
		return err
	}
	places := make([]place, 0, len(stripes))
	for _, i := range stripes {
		_, dir, err := r.stripe(ctx, i)
		if err != nil {
			return err
		}
		p, err := r.placeOf(s.anchor, dir.FieldListRef)
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	if err := r.fetch(ctx, places); err != nil {
		return err
	}
	places = places[:0]
	for _, i := range stripes {
		list, err := r.stripeFields(ctx, i)
		if err != nil {
			return err
		}
		if places, err = r.fieldPlaces(places, list, ids); err != nil {
			return err
		}
	}
	return r.fetch(ctx, places)
}

// fieldPlaces adds where the descriptors of fields lie.
func (r *Root) fieldPlaces(places []place, list *fieldList, ids []uint32) ([]place, error) {
	for _, id := range ids {
		ref, start, end, err := list.refs.At(int(id))
		if err != nil {
			return nil, corrupt.Locate(err, list.anchor, 0)
		}
		if start == end {
			continue
		}
		url, err := r.Resolve(list.anchor, ref)
		if err != nil {
			return nil, err
		}
		places = append(places, place{url, start, end})
	}
	return places, nil
}

// LoadIndexes fetches what StripeIndexes needs for the given stripes, in one request where that lies close together.
func (r *Root) LoadIndexes(ctx context.Context, stripes []int) error {
	s, err := r.loadStripes(ctx)
	if err != nil {
		return err
	}
	var places []place
	for _, i := range stripes {
		_, dir, err := r.stripe(ctx, i)
		if err != nil {
			return err
		}
		if dir.IndexesRef == nil {
			continue
		}
		p, err := r.placeOf(s.anchor, dir.IndexesRef)
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	return r.fetch(ctx, places)
}
