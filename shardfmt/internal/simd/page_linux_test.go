package simd

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"
)

// atEnd is whether the memory of page ends, or else starts, beside a page that may not be touched.
var atEnd = true

// page is memory between pages that may not be touched, and that lies directly beside one of them: a kernel that reads
// or writes one byte too many dies.
func page(t *testing.T, size int) []byte {
	t.Helper()
	unit := syscall.Getpagesize()
	full := (size + unit - 1) / unit * unit
	all, err := syscall.Mmap(-1, 0, full+2*unit, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(all); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{all[:unit], all[unit+full:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	b := all[unit : unit+full]
	if atEnd {
		b = b[full-size:]
	}
	return b[:size:size]
}

// eachEnd runs a test with each tier, and with its memory at either end of its pages.
func eachEnd(t *testing.T, test func(t *testing.T)) {
	defer func() { atEnd = true }()
	eachTier(t, func(t *testing.T) {
		for _, atEnd = range []bool{true, false} {
			test(t)
		}
	})
}

// numbersPage is n numbers at an end of a page.
func numbersPage[U Unsigned](t *testing.T, n int) []U {
	b := page(t, n*SizeOf[U]())
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Kernels stay inside their slices: chunk and values both end, or start, where a page does.
func TestEndOfPage(t *testing.T) {
	eachEnd(t, func(t *testing.T) {
		t.Run("u8", endOfPage[uint8])
		t.Run("u16", endOfPage[uint16])
		t.Run("u32", endOfPage[uint32])
		t.Run("u64", endOfPage[uint64])
	})
}

func endOfPage[U Unsigned](t *testing.T) {
	for width := 1; width <= 8*SizeOf[U](); width++ {
		chunk := page(t, ChunkBytes(width))
		dst := (*[ChunkLen]U)(numbersPage[U](t, ChunkLen))
		of[U]().unpack(dst, chunk, width, 0)
		of[U]().unpack(dst, chunk, width, 1)
		pack(chunk, dst, width, 1)
		for i := range ChunkLen {
			_ = At[U](chunk, i, width)
		}
		Unpack(numbersPage[U](t, ChunkLen-1), chunk, width, 1, new(Room))
	}
	for n := range 70 {
		dst, codes := numbersPage[U](t, n), numbersPage[uint32](t, n)
		AllAtMost(codes, 0)
		of[U]().prefixSum(dst, dst, 1)
		Ramp(dst, 1, 2)
		Fill(dst, 3)
		UnZigZag(dst)
		of[U]().gather(dst, numbersPage[U](t, 1), codes)
		of[U]().runs(dst, numbersPage[U](t, 2), []uint32{uint32(n / 2), uint32(n - n/2)})
		Glue(dst, dst, numbersPage[uint16](t, n), (*[8]U)(numbersPage[U](t, 8)), 7)
		bitmap := page(t, (n+7)/8)
		copy(bitmap, "some bits")
		Compact(numbersPage[U](t, Ones(bitmap, n)), dst, bitmap, 0)
		if n > 3 {
			Compact(numbersPage[U](t, OnesBetween(bitmap, 3, n-3)), dst[3:], bitmap, 3)
		}
		pageWiden[uint8](t, dst)
		pageWiden[uint16](t, dst)
		pageWiden[uint32](t, dst)
	}
}

func pageWiden[N, U Unsigned](t *testing.T, dst []U) {
	if SizeOf[N]() < SizeOf[U]() {
		SignExtend(dst, numbersPage[N](t, len(dst)))
	}
}

// Comparisons read values up to the end of a page, and write words up to it.
func TestEndOfPageWithin(t *testing.T) {
	eachEnd(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 3, 7, 8, 63, 64, 65, 67, 127, 128, 129, 192, 199} {
			out := numbersPage[uint64](t, (n+63)/64)
			IntsWithin(out, numbersPage[uint8](t, n), 1, 2)
			IntsWithin(out, numbersPage[uint16](t, n), 1, 2)
			IntsWithin(out, numbersPage[uint32](t, n), 1, 2)
			IntsWithin(out, numbersPage[uint64](t, n), 1, 2)
			IntsWithin(out, Cast[int8](numbersPage[uint8](t, n)), 1, 2)
			IntsWithin(out, Cast[int16](numbersPage[uint16](t, n)), 1, 2)
			IntsWithin(out, Cast[int32](numbersPage[uint32](t, n)), 1, 2)
			FloatsWithin(out, Cast[float32](numbersPage[uint32](t, n)), 1, 2)
			FloatsWithin(out, Cast[float64](numbersPage[uint64](t, n)), 1, 2)
		}
	})
}

func TestEndOfPageBytes(t *testing.T) { eachEnd(t, endOfPageBytes) }

func endOfPageBytes(t *testing.T) {
	table := new(FsstTable)
	table.Set([]byte("abcdefgh"), []byte{8})
	for n := range 40 {
		bits, flags := page(t, (n+7)/8), page(t, n)
		BitsOfBytes(bits, flags)
		SetBits(bits, n)
		InvertBits(bits, n)
		Ones(bits, n)
		SetBits(bits, n/2)
		OnesBetween(bits, n/3, n-n/3)
		CopyBits(bits, n/3, page(t, (n+7)/8), n/4, n-n/3)
		CompactBits(bits, n/3, page(t, (n+7)/8), n/4, page(t, (n+7)/8), n/3, n-n/3)
		CompactBytes(page(t, n/2*3), page(t, 3*n), 3, bits, 0)
		texts := page(t, n)
		offsets, ends := numbersPage[uint64](t, n+1), numbersPage[uint64](t, n+1)
		for i := range offsets {
			offsets[i], ends[i] = uint64(i), uint64(i)
		}
		for _, longest := range []int{1, 20, 40} {
			GatherTexts(page(t, n), Cast[int64](offsets), numbersPage[uint32](t, n), Cast[int64](ends), texts, longest)
		}
		MoveEnds(Cast[int64](ends), 3)
		TextEnds(Cast[int64](offsets), numbersPage[uint32](t, n), Cast[int64](numbersPage[uint64](t, n/4+2)))
		Gather16(sixteens(page(t, 16*n)), sixteens(page(t, 16*(n/4+1))), numbersPage[uint32](t, n))
		table.Decode(page(t, 8*n), flags)
		table.DecodeSpan(page(t, 3*n), flags, 5)
		Repeat(page(t, n), []byte("abc"))
		AlpFloats(numbersPage[uint32](t, n), numbersPage[uint32](t, n), 3, 2)
		AlpFloats(numbersPage[uint64](t, n), numbersPage[uint64](t, n), 3, 2)
	}
}

// Compaction reads and writes whole words, but none outside its slices.
func TestEndOfPageCompact(t *testing.T) {
	eachEnd(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(15, 15))
		for _, n := range []int{63, 64, 65, 127, 128, 130, 200, 64 * 70} {
			for _, from := range []int{0, 1, 7, 64} {
				bitmap, src := page(t, (from+n+7)/8), page(t, (from+n+7)/8)
				copy(bitmap, chosen(r, from+n))
				ones := OnesBetween(bitmap, from, n)
				CompactBits(page(t, (ones+7)/8), 0, src, from, bitmap, from, n)
				Compact(numbersPage[uint32](t, ones), numbersPage[uint32](t, n), bitmap, from)
				Compact(numbersPage[uint64](t, ones), numbersPage[uint64](t, n), bitmap, from)
				CompactBytes(page(t, 16*ones), page(t, 16*n), 16, bitmap, from)
			}
		}
	})
}
