package lance

import (
	"encoding/binary"
	"unsafe"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// aligned is b, copied if it does not lie where numbers of width bytes may lie in memory.
func aligned(b []byte, width uint64) []byte {
	if len(b) == 0 || width&(width-1) != 0 || uintptr(unsafe.Pointer(unsafe.SliceData(b)))&uintptr(min(width, 16)-1) == 0 {
		return b
	}
	return append(make([]byte, 0, len(b)), b...)
}

// numbers reads whole numbers without sign of any width up to 64 bits: offsets and indices.
type numbers struct{ flat }

// load widens numbers [low, end).
func (d *numbers) load(low, end uint64) ([]uint64, error) {
	b, err := d.bytes(d.span(low, end))
	if err != nil {
		return nil, err
	}
	out := make([]uint64, end-low)
	switch d.bits {
	case 8:
		for i := range out {
			out[i] = uint64(b[i])
		}
	case 16:
		for i := range out {
			out[i] = uint64(binary.LittleEndian.Uint16(b[2*i:]))
		}
	case 32:
		for i := range out {
			out[i] = uint64(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case 64:
		for i := range out {
			out[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	default:
		skip := low * d.bits % 8
		for i := range out {
			for bit := range d.bits {
				from := skip + uint64(i)*d.bits + bit
				out[i] |= uint64(b[from/8]>>(from%8)&1) << bit
			}
		}
	}
	return out, nil
}

// ends are the offsets of lists or of texts: where each value ends, and by the same number whether it is null.
type ends struct {
	numbers
	adjustment uint64
	// limit is the most that an end may be: what there is to point to.
	limit uint64
}

// around requests the offsets that values [low, end) need: their own, and the one before.
func (d *ends) around(low, end uint64, r *requests) error {
	if low > 0 {
		low--
	}
	return d.request(low, end, r)
}

// ready reports whether those offsets are available.
func (d *ends) ready(low, end uint64) bool {
	var r requests
	_ = d.around(low, end, &r)
	return len(r.missing) == 0
}

// at is where value i ends, and whether it is null.
func (d *ends) at(i uint64) (uint64, error) {
	v, err := d.load(i, i+1)
	if err != nil {
		return 0, err
	}
	return d.end(v[0], i)
}

// end is the offset that a stored number stands for.
func (d *ends) end(v, i uint64) (uint64, error) {
	if v >= d.adjustment {
		v -= d.adjustment
	}
	if v > d.limit {
		return 0, corrupt.At(d.buffer.at+int64(i*d.bits/8), "value %d ends at %d, beyond the %d that there are", i, v, d.limit)
	}
	return v, nil
}

// span of what values [low, end) point to.
func (d *ends) target(low, end uint64) (from, to uint64, err error) {
	if low > 0 {
		if from, err = d.at(low - 1); err != nil {
			return 0, 0, err
		}
	}
	if to, err = d.at(end - 1); err == nil && to < from {
		err = corrupt.At(d.buffer.at, "values %d to %d end at %d, before they begin at %d", low, end, to, from)
	}
	return from, to, err
}

// offsets decodes values [low, end): an Arrow offset more than there are values, from 0, and the bitmap of those that are not
// null, or nil if all are. from is where the first begins.
func (d *ends) offsets(low, end uint64) (from uint64, offsets []uint64, valid []byte, missing int, err error) {
	if low > 0 {
		if from, err = d.at(low - 1); err != nil {
			return 0, nil, nil, 0, err
		}
	}
	stored, err := d.load(low, end)
	if err != nil {
		return 0, nil, nil, 0, err
	}
	offsets = make([]uint64, len(stored)+1)
	last := from
	for i, v := range stored {
		if v >= d.adjustment {
			if v -= d.adjustment; valid == nil {
				valid = allValid(len(stored))
			}
			valid[i/8] &^= 1 << (i % 8)
			missing++
		}
		if v < last || v > d.limit {
			return 0, nil, nil, 0, corrupt.At(d.buffer.at+int64((low+uint64(i))*d.bits/8), "value %d ends at %d, outside [%d, %d]", low+uint64(i), v, last, d.limit)
		}
		last = v
		offsets[i+1] = v - from
	}
	return from, offsets, valid, missing, nil
}

// allValid is a bitmap of n ones.
func allValid(n int) []byte {
	out := make([]byte, (n+7)/8)
	for i := range out {
		out[i] = 0xFF
	}
	return out
}

// narrow makes Arrow offsets of 4 or 8 bytes.
func narrow(offsets []uint64, large bool) ([]byte, error) {
	if large {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(offsets))), 8*len(offsets)), nil
	}
	if last := offsets[len(offsets)-1]; last > 1<<31-1 {
		return nil, corrupt.Unsupported(-1, "values of %d bytes or items in one batch, more than 32-bit offsets hold: read fewer rows at once", last)
	}
	out := make([]byte, 4*len(offsets))
	for i, v := range offsets {
		binary.NativeEndian.PutUint32(out[4*i:], uint32(v))
	}
	return out, nil
}
