package meta

import (
	"context"
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// column is the descriptors of one field in all stripes, read in one piece from a root laid out by columns.
type column struct {
	start  int64
	frames [][]byte
}

// loadColumns is LoadFields for a root laid out by columns, where only the field lists of the first and last
// stripe are needed: between a field's descriptors of those two lie all others of that field, in order. It
// does nothing where the root is not marked so, is available as a whole, or few of its stripes are requested.
func (r *Root) loadColumns(ctx context.Context, stripes []int, ids []uint32) (done bool, err error) {
	s, err := r.loadStripes(ctx)
	if err != nil || r.tailStart == 0 || len(s.list) < 3 || 2*len(stripes) < len(s.list) {
		return false, err
	}
	if layout, err := r.layout(ctx); err != nil || layout != LayoutColumns {
		return false, err
	}
	first, last, err := r.outerLists(ctx, s)
	if err != nil || first.anchor != r.url || last.anchor != r.url {
		return false, err
	}
	var places []place
	for _, id := range ids {
		url, start, _, err := first.refs.At(int(id))
		lastURL, _, end, err2 := last.refs.At(int(id))
		if err != nil || err2 != nil || url != "" || lastURL != "" || end <= start {
			return false, nil
		}
		places = append(places, place{r.url, start, end})
	}
	if err := r.fetch(ctx, places); err != nil {
		return false, err
	}
	for i, id := range ids {
		if err := r.keepColumn(ctx, id, places[i], len(s.list)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// outerLists are the field lists of the first and the last stripe.
func (r *Root) outerLists(ctx context.Context, s *stripeList) (first, last *fieldList, err error) {
	n := len(s.list) - 1
	a, err := r.placeOf(s.anchor, s.list[0].FieldListRef)
	if err != nil {
		return nil, nil, err
	}
	b, err := r.placeOf(s.anchor, s.list[n].FieldListRef)
	if err != nil {
		return nil, nil, err
	}
	if err := r.fetch(ctx, []place{a, b}); err != nil {
		return nil, nil, err
	}
	if first, err = r.stripeFields(ctx, 0); err != nil {
		return nil, nil, err
	}
	last, err = r.stripeFields(ctx, n)
	return first, last, err
}

// layout is what the root states about its layout, empty if nothing.
func (r *Root) layout(ctx context.Context) (string, error) {
	layout, _, err := r.wireText(ctx, PropertyLayout)
	return layout, err
}

// keepColumn cuts a column into its frames, which must be one per stripe.
func (r *Root) keepColumn(ctx context.Context, id uint32, p place, stripes int) error {
	b, err := r.bytes(ctx, p.url, p.start, p.end)
	if err != nil {
		return err
	}
	c := &column{start: p.start}
	for rest := b; len(rest) > 0; {
		if len(rest) < FrameOverhead || int64(binary.LittleEndian.Uint32(rest)) > int64(len(rest)-FrameOverhead) {
			return corrupt.Locate(corrupt.At(p.end-int64(len(rest)), "field %d: its column holds no frame here", id), p.url, 0)
		}
		n := int(binary.LittleEndian.Uint32(rest)) + FrameOverhead
		c.frames = append(c.frames, rest[:n:n])
		rest = rest[n:]
	}
	if len(c.frames) != stripes {
		return corrupt.Locate(corrupt.At(p.start, "field %d: %d descriptors for %d stripes", id, len(c.frames), stripes), p.url, 0)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.columns == nil {
		r.columns = map[uint32]*column{}
	}
	r.columns[id] = c
	return nil
}

// fromColumn is the descriptor of a field in stripe i, and its size, if its column was loaded.
func (r *Root) fromColumn(i int, id uint32) (*metapb.StripeFieldDescriptor, int, error) {
	r.mu.Lock()
	c := r.columns[id]
	r.mu.Unlock()
	if c == nil || i < 0 || i >= len(c.frames) {
		return nil, 0, nil
	}
	start := c.start
	for _, f := range c.frames[:i] {
		start += int64(len(f))
	}
	payload, err := Unframe(c.frames[i])
	if err != nil {
		return nil, 0, corrupt.Locate(err, r.url, start)
	}
	m := new(metapb.StripeFieldDescriptor)
	if err := unmarshal(payload, m); err != nil {
		return nil, 0, corrupt.Locate(err, r.url, start+4)
	}
	return m, len(payload), checkField(m, r.url, start+4, i, id)
}

func checkField(m *metapb.StripeFieldDescriptor, url string, at int64, i int, id uint32) error {
	if m.Field == nil {
		return corrupt.Locate(corrupt.At(at, "stripe %d, field %d: no field descriptor inside", i, id), url, 0)
	}
	return checkStatistics(m.Field, url, at, id)
}
