package block

import (
	"encoding/binary"
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// The portable Roaring serialization, as far as presence needs it (roaringbitmap.org, RoaringFormatSpec):
//
//	cookie 12346 u32, containers u32        or  cookie 12347 u16, containers-1 u16, run flags ⌈containers/8⌉
//	containers × { key u16, cardinality-1 u16 }
//	containers × offset u32                     (with cookie 12347 only from 4 containers on)
//	containers: sorted u16 array up to 4096 values, else a bitset of 8192 bytes,
//	            or, flagged as runs: count u16, count × { start u16, length-1 u16 }
//
// Containers follow each other without gaps, so the offsets aren't needed; a parser of our own writes
// straight into the caller's bitmap and can't be made to allocate.
const (
	roaringCookie     = 12346
	roaringRunCookie  = 12347
	roaringArrayMax   = 4096
	roaringBitsetSize = 8192
	roaringNoOffsets  = 4 // below this many containers a bitmap with runs has no offsets
)

// roaringReader walks the containers of a serialized bitmap.
type roaringReader struct {
	b     []byte
	at    int    // start of the next container
	heads []byte // key and cardinality of each container
	runs  []byte // run flags, nil without run containers
	dst   []byte
	n     int
}

// setRoaring sets in dst the bits of the bitmap's positions, each of which must be below n.
func setRoaring(dst, b []byte, n int) error {
	r := roaringReader{b: b, dst: dst, n: n}
	if err := r.header(); err != nil {
		return err
	}
	last := -1
	for i := range len(r.heads) / 4 {
		key := u16(r.heads, 4*i)
		if key <= last {
			return corrupt.At(int64(r.at), "roaring bitmap: container %d has key %d after %d", i, key, last)
		}
		last = key
		card := u16(r.heads, 4*i+2) + 1
		var err error
		switch {
		case r.runs != nil && r.runs[i/8]>>(i%8)&1 == 1:
			err = r.run(key << 16)
		case card <= roaringArrayMax:
			err = r.array(key<<16, card)
		default:
			err = r.bitset(key<<16, card)
		}
		if err != nil {
			return err
		}
	}
	if r.at < len(b) {
		return corrupt.At(int64(r.at), "roaring bitmap: %d bytes after its containers", len(b)-r.at)
	}
	return nil
}

// header reads up to the first container.
func (r *roaringReader) header() error {
	if len(r.b) < 4 {
		return r.short("cookie")
	}
	count := 0
	cookie := u32(r.b, 0)
	switch {
	case cookie == roaringCookie:
		if len(r.b) < 8 {
			return r.short("header")
		}
		count, r.at = u32(r.b, 4), 8
	case cookie&0xffff == roaringRunCookie:
		count, r.at = cookie>>16+1, 4
		flags := (count + 7) / 8
		if len(r.b)-r.at < flags {
			return r.short("run flags")
		}
		r.runs = r.b[r.at : r.at+flags]
		r.at += flags
	default:
		return corrupt.At(0, "roaring bitmap with unknown cookie %d", cookie)
	}
	size := 4 * count
	if r.runs == nil || count >= roaringNoOffsets {
		size += 4 * count
	}
	if count > 1<<16 || len(r.b)-r.at < size {
		return r.short("container list")
	}
	r.heads = r.b[r.at : r.at+4*count]
	r.at += size
	return nil
}

// array sets the positions of a sorted list.
func (r *roaringReader) array(base, card int) error {
	if len(r.b)-r.at < 2*card {
		return r.short("array container")
	}
	last := -1
	for range card {
		v := u16(r.b, r.at)
		if v <= last || base+v >= r.n {
			return r.misplaced(base + v)
		}
		last = v
		r.dst[(base+v)/8] |= 1 << (v % 8)
		r.at += 2
	}
	return nil
}

// bitset copies a bitset of 65,536 positions.
func (r *roaringReader) bitset(base, card int) error {
	if len(r.b)-r.at < roaringBitsetSize {
		return r.short("bitset container")
	}
	set := r.b[r.at : r.at+roaringBitsetSize]
	ones := 0
	for i := 0; i < len(set); i += 8 {
		ones += bits.OnesCount64(binary.LittleEndian.Uint64(set[i:]))
	}
	if ones != card {
		return corrupt.At(int64(r.at), "roaring bitset holds %d positions, %d declared", ones, card)
	}
	last := len(set) - 1
	for last >= 0 && set[last] == 0 {
		last--
	}
	if last >= 0 {
		if top := base + 8*last + bits.Len8(set[last]) - 1; top >= r.n {
			return r.misplaced(top)
		}
		copy(r.dst[base/8:], set[:last+1])
	}
	r.at += roaringBitsetSize
	return nil
}

// run sets the positions of a list of runs.
func (r *roaringReader) run(base int) error {
	if len(r.b)-r.at < 2 {
		return r.short("run container")
	}
	count := u16(r.b, r.at)
	r.at += 2
	if len(r.b)-r.at < 4*count {
		return r.short("run container")
	}
	next := 0
	for range count {
		start, end := u16(r.b, r.at), u16(r.b, r.at)+u16(r.b, r.at+2)
		if start < next || end >= 1<<16 || base+end >= r.n {
			return r.misplaced(base + end)
		}
		for v := base + start; v <= base+end; v++ {
			r.dst[v/8] |= 1 << (v % 8)
		}
		next = end + 1
		r.at += 4
	}
	return nil
}

func (r *roaringReader) short(part string) error {
	return corrupt.At(int64(min(r.at, len(r.b))), "roaring bitmap of %d bytes ends in its %s", len(r.b), part)
}

func (r *roaringReader) misplaced(position int) error {
	return corrupt.At(int64(r.at), "roaring bitmap: position %d out of order or not below %d", position, r.n)
}
