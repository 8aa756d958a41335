package lance

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// decoder makes Arrow data of some values: of a page, of a column, of a field. Positions count from its first value.
//
// Reading is in steps: request, fetch, request again for what the bytes that came point to, until nothing is requested
// for; then decode. What is available stays, so that it may be decoded in parts.
type decoder interface {
	// weigh is about how many bytes values [low, end) take, as far as is known by now.
	weigh(low, end uint64) uint64
	// request names what decoding [low, end) needs next.
	request(low, end uint64, r *requests) error
	// decode gives values [low, end). The offset of the data is 0.
	decode(low, end uint64) (arrow.ArrayData, error)
}

// bitmapOf copies bits [low, low+n) of b.
func bitmapOf(b []byte, low, n int) *memory.Buffer {
	out := make([]byte, bitutil.BytesForBits(int64(n)))
	bitutil.CopyBitmap(b, low, n, out, 0)
	return memory.NewBufferBytes(out)
}

// bitsNeeded is where the bytes of bits [low, end) lie.
func bitsNeeded(low, end uint64) (int64, int64) { return int64(low / 8), int64((end + 7) / 8) }

// flat decodes values of a fixed width.
type flat struct {
	buffer
	t    arrow.DataType
	bits uint64
}

func (d *flat) span(low, end uint64) (int64, int64) {
	if d.bits%8 == 0 {
		return int64(low * (d.bits / 8)), int64(end * (d.bits / 8))
	}
	return bitsNeeded(low*d.bits, end*d.bits)
}

func (d *flat) weigh(low, end uint64) uint64 { return (end - low) * d.bits / 8 }

func (d *flat) request(low, end uint64, r *requests) error {
	a, b := d.span(low, end)
	d.want(a, b, r)
	return nil
}

func (d *flat) decode(low, end uint64) (arrow.ArrayData, error) {
	b, err := d.bytes(d.span(low, end))
	if err != nil {
		return nil, err
	}
	n := int(end - low)
	var values *memory.Buffer
	switch {
	case d.bits == 1:
		values = bitmapOf(b, int(low%8), n)
	case d.bits%8 == 0:
		values = memory.NewBufferBytes(aligned(b, d.bits/8))
	default:
		values = memory.NewBufferBytes(d.unpack(b, low, n))
	}
	return array.NewData(d.t, n, []*memory.Buffer{nil, values}, nil, 0, 0), nil
}

// unpack widens numbers of an odd number of bits, the lowest bits of the buffer's bytes first.
func (d *flat) unpack(b []byte, low uint64, n int) []byte {
	width := uint64(d.t.(arrow.FixedWidthDataType).BitWidth()) / 8
	out := make([]byte, uint64(n)*width)
	skip := low * d.bits % 8
	for i := range uint64(n) {
		for bit := range d.bits {
			if from := skip + i*d.bits + bit; b[from/8]>>(from%8)&1 != 0 {
				out[i*width+bit/8] |= 1 << (bit % 8)
			}
		}
	}
	return out
}

// nulls decodes values of which some are null: what the bitmap states, and what the values themselves do.
type nulls struct {
	validity *flat
	values   decoder
}

func (d *nulls) weigh(low, end uint64) uint64 { return (end-low)/8 + d.values.weigh(low, end) }

func (d *nulls) request(low, end uint64, r *requests) error {
	return firstError(d.validity.request(low, end, r), d.values.request(low, end, r))
}

func (d *nulls) decode(low, end uint64) (arrow.ArrayData, error) {
	valid, err := d.validity.decode(low, end)
	if err != nil {
		return nil, err
	}
	values, err := d.values.decode(low, end)
	if err != nil {
		return nil, err
	}
	return mask(values, valid.Buffers()[1]), nil
}

// mask is data of which only those values are valid that a bitmap states are.
func mask(data arrow.ArrayData, valid *memory.Buffer) arrow.ArrayData {
	if data.DataType().ID() == arrow.NULL {
		return data
	}
	n := data.Len()
	buffers := append([]*memory.Buffer(nil), data.Buffers()...)
	if own := buffers[0]; own != nil {
		both := make([]byte, len(valid.Bytes()))
		bitutil.BitmapAnd(own.Bytes(), valid.Bytes(), 0, 0, both, 0, int64(n))
		valid = memory.NewBufferBytes(both)
	}
	buffers[0] = valid
	missing := n - bitutil.CountSetBits(valid.Bytes(), 0, n)
	return rebuild(data, data.DataType(), buffers, missing)
}

// rebuild is data of the same children with other buffers or another type of the same layout.
func rebuild(data arrow.ArrayData, t arrow.DataType, buffers []*memory.Buffer, missing int) arrow.ArrayData {
	if data.DataType().ID() == arrow.DICTIONARY {
		return array.NewDataWithDictionary(t, data.Len(), buffers, missing, 0, data.Dictionary().(*array.Data))
	}
	return array.NewData(t, data.Len(), buffers, data.Children(), missing, 0)
}

// allNull decodes values of which none is stored.
type allNull struct{ t arrow.DataType }

func (d *allNull) weigh(low, end uint64) uint64 { return (end - low) * nullWidth(d.t) }

func (d *allNull) request(_, _ uint64, _ *requests) error { return nil }

func (d *allNull) decode(low, end uint64) (arrow.ArrayData, error) {
	if err := checkUnstored(end-low, nullWidth(d.t)); err != nil {
		return nil, err
	}
	a := array.MakeArrayOfNull(memory.DefaultAllocator, d.t, int(end-low))
	return a.Data(), nil
}

// maxUnstored bounds what values for which nothing is stored take at once, in bytes.
const maxUnstored = 1 << 28

// checkUnstored refuses values that only their number states there are: a list may claim any number of nulls.
func checkUnstored(n, width uint64) error {
	if n > maxUnstored/max(width, 1) {
		return corrupt.Unsupported(-1, "%d values at once without stored data", n)
	}
	return nil
}

// fixedList decodes lists of one length.
type fixedList struct {
	t     *arrow.FixedSizeListType
	items decoder
}

func (d *fixedList) of(low, end uint64) (uint64, uint64) {
	return low * uint64(d.t.Len()), end * uint64(d.t.Len())
}

func (d *fixedList) weigh(low, end uint64) uint64 { return d.items.weigh(d.of(low, end)) }

func (d *fixedList) request(low, end uint64, r *requests) error {
	a, b := d.of(low, end)
	return d.items.request(a, b, r)
}

func (d *fixedList) decode(low, end uint64) (arrow.ArrayData, error) {
	items, err := d.items.decode(d.of(low, end))
	if err != nil {
		return nil, err
	}
	return array.NewData(d.t, int(end-low), []*memory.Buffer{nil}, []arrow.ArrayData{items}, 0, 0), nil
}

// typed gives data the type of an extension.
type typed struct {
	t arrow.DataType
	decoder
}

func (d *typed) decode(low, end uint64) (arrow.ArrayData, error) {
	data, err := d.decoder.decode(low, end)
	if err != nil {
		return nil, err
	}
	return rebuild(data, d.t, data.Buffers(), data.NullN()), nil
}

// chain decodes a column, page after page.
type chain struct {
	pages []link
	t     arrow.DataType
}

// link is a page of a chain: values [first, end).
type link struct {
	first, end uint64
	decoder
}

// each calls do with the part of [low, end) that each page has, counted in the page.
func (d *chain) each(low, end uint64, do func(p *link, low, end uint64) error) error {
	if low >= end {
		return nil
	}
	for i := d.find(low); i < len(d.pages) && d.pages[i].first < end; i++ {
		p := &d.pages[i]
		if err := do(p, max(low, p.first)-p.first, min(end, p.end)-p.first); err != nil {
			return err
		}
	}
	return nil
}

// find is the first page that ends behind a value.
func (d *chain) find(at uint64) int {
	low, high := 0, len(d.pages)
	for low < high {
		if mid := (low + high) / 2; d.pages[mid].end > at {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

func (d *chain) weigh(low, end uint64) (total uint64) {
	_ = d.each(low, end, func(p *link, low, end uint64) error {
		total += p.decoder.weigh(low, end)
		return nil
	})
	return total
}

func (d *chain) request(low, end uint64, r *requests) error {
	return d.each(low, end, func(p *link, low, end uint64) error { return p.decoder.request(low, end, r) })
}

func (d *chain) decode(low, end uint64) (arrow.ArrayData, error) {
	var parts []arrow.Array
	err := d.each(low, end, func(p *link, low, end uint64) error {
		data, err := p.decoder.decode(low, end)
		if err == nil {
			parts = append(parts, array.MakeFromData(data))
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(parts) == 0:
		return array.MakeArrayOfNull(memory.DefaultAllocator, d.t, 0).Data(), nil
	case len(parts) == 1:
		return parts[0].Data(), nil
	}
	all, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		return nil, corrupt.Unsupported(-1, "values of several pages: %v", err)
	}
	return all.Data(), nil
}
