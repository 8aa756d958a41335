package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Kernel is an inner loop over data that stays in the first-level cache.
type Kernel struct {
	Name string
	// Values and Bytes that one run writes (or, for the checksum, reads).
	Values, Bytes int
	Run           func()
}

// kernelValues is the values of a run: four chunks, as a large block.
const kernelValues = 4 * simd.ChunkLen

// Kernels lists the loops of package simd, and memcpy of the same sizes first.
func Kernels() []Kernel {
	var list []Kernel
	for _, size := range []int{1, 2, 4, 8} {
		src, dst := make([]byte, size*kernelValues), make([]byte, size*kernelValues)
		list = append(list, Kernel{fmt.Sprintf("memcpy, %d bytes a value", size), kernelValues, len(dst),
			func() { copy(dst, src) }})
	}
	list = append(list, unpackKernels[uint8](1, 3, 7)...)
	list = append(list, unpackKernels[uint16](1, 9, 15)...)
	list = append(list, unpackKernels[uint32](1, 10, 17, 31)...)
	list = append(list, unpackKernels[uint64](1, 10, 33, 63)...)
	return append(list, otherKernels()...)
}

// unpackKernels unpacks some widths, without and with a frame of reference.
func unpackKernels[U simd.Unsigned](widths ...int) (list []Kernel) {
	size := simd.SizeOf[U]()
	vals, room := make([]U, kernelValues), new(simd.Room)
	for _, width := range widths {
		packed := simd.AppendPacked(nil, vals, width, 0)
		for _, ref := range []U{0, 5} {
			name := fmt.Sprintf("FastLanes unpack u%d, width %d", 8*size, width)
			if ref > 0 {
				name += ", FOR"
			}
			list = append(list, Kernel{name, kernelValues, size * kernelValues,
				func() { simd.Unpack(vals, packed, width, ref, room) }})
		}
	}
	return list
}

func otherKernels() []Kernel {
	r := rand.New(rand.NewPCG(1, 1))
	words, narrow, integers := make([]uint64, kernelValues), make([]uint32, kernelValues), make([]uint64, kernelValues)
	dict, codes := make([]uint64, 1000), make([]uint32, kernelValues)
	for i := range codes {
		codes[i] = r.Uint32N(uint32(len(dict)))
	}
	lefts, high := make([]uint16, kernelValues), [8]uint64{}
	bitmap, flags := make([]byte, kernelValues/8), make([]byte, kernelValues)
	list := []Kernel{
		{"prefix sum u64", kernelValues, 8 * kernelValues, func() { simd.PrefixSum(words, words, 1) }},
		{"ramp u64", kernelValues, 8 * kernelValues, func() { simd.Ramp(words, 1, 2) }},
		{"ALP-RD parts to f64", kernelValues, 8 * kernelValues, func() { simd.Glue(words, integers, lefts, &high, 7) }},
		{"dictionary gather u64, 1000 entries", kernelValues, 8 * kernelValues, func() { simd.Gather(words, dict, codes) }},
		{"sign extend u16 to u64", kernelValues, 8 * kernelValues,
			func() { simd.SignExtend(words, simd.Tail[uint16](words, kernelValues)) }},
		{"zigzag u64", kernelValues, 8 * kernelValues, func() { simd.UnZigZag(words) }},
		{"ALP to f64", kernelValues, 8 * kernelValues, func() { simd.AlpFloats(words, integers, 14, 12) }},
		{"ALP to f32", kernelValues, 4 * kernelValues, func() { simd.AlpFloats(narrow, codes, 6, 5) }},
		{"presence bytes to bitmap", kernelValues, kernelValues, func() { simd.BitsOfBytes(bitmap, flags) }},
		{"checksum (XXH3-64)", kernelValues, 8 * kernelValues, func() { sink += xxh3.Hash(simd.AsBytes(words)) }},
	}
	list = append(list, fsstKernel())
	for _, length := range []int{3, 20, 200} {
		values, lengths := make([]uint64, kernelValues/length), make([]uint32, kernelValues/length)
		for i := range lengths {
			lengths[i] = uint32(length)
		}
		n := len(values) * length
		list = append(list, Kernel{fmt.Sprintf("run expansion u64, runs of %d", length), n, 8 * n,
			func() { simd.ExpandRuns(words[:n], values, lengths) }})
	}
	return list
}

// fsstKernel decompresses words of one to eight letters.
func fsstKernel() Kernel {
	table, codes, size := new(simd.FsstTable), make([]byte, kernelValues), 0
	var symbols, lengths []byte
	for i := range 200 {
		symbols = append(symbols, "abcdefgh"...)
		lengths = append(lengths, byte(1+i%8))
	}
	table.Set(symbols, lengths)
	for i := range codes {
		codes[i] = byte(i * 7 % 200)
		size += int(lengths[codes[i]])
	}
	text := make([]byte, size)
	return Kernel{"FSST, symbols of 1 to 8 bytes", len(codes), size, func() { table.Decode(text, codes) }}
}

// sink keeps a result alive.
var sink uint64

// Contestant is the kernel as something to measure: enough runs to be timed.
func (k Kernel) Contestant() Contestant {
	return Contestant{Name: k.Name, Open: func() (func() error, error) {
		return func() error {
			for range KernelRounds {
				k.Run()
			}
			return nil
		}, nil
	}}
}

// KernelRounds is the runs of a kernel that are timed together.
const KernelRounds = 50
