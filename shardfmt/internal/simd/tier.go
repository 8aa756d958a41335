package simd

import (
	"errors"
	"fmt"
	"os"
)

// unpackers are the kernels that unpack one chunk, by packed width (1..B). The chunk holds 128·width bytes;
// the function may read and write nothing else.
type unpackers[U Unsigned] [65]func(dst *[ChunkLen]U, chunk []byte, ref U)

// kernels are the functions for one word width.
type kernels[U Unsigned] struct {
	// unpack unpacks one chunk of width 1..B; the chunk holds 128·width bytes, and the function may read and write nothing else.
	unpack func(dst *[ChunkLen]U, chunk []byte, width int, ref U)
	// vectors: unpack writes a vector at a time.
	vectors bool
	// pack is the way back.
	pack      func(chunk []byte, src *[ChunkLen]U, width int, ref U)
	prefixSum func(dst, src []U, base U)
	ramp      func(dst []U, base, step U)
	runs      func(dst, values []U, lengths []uint32) bool
	gather    func(dst, dict []U, codes []uint32) bool
	glue      func(dst, right []U, codes []uint16, high [8]U, limit uint16) bool
	steps     func(vals []U) Steps[U]
	changes   func(vals []U) int
	// extremes are the least and the greatest value, with the bits of flip turned around and read as signed then.
	extremes func(vals []U, flip U) (least, most U)
	compact  func(dst, src []U, bitmap []byte, from int)
	// Sign extension from narrower numbers, for the widths that are.
	widen8  func(dst []U, src []uint8)
	widen16 func(dst []U, src []uint16)
	widen32 func(dst []U, src []uint32)
}

// tier is a table of functions for a kind of processor. Decoders call the active tier's and don't know
// which it is.
type tier struct {
	name string
	// named: it is there by its name alone, and never the default.
	named bool
	words struct {
		u8  kernels[uint8]
		u16 kernels[uint16]
		u32 kernels[uint32]
		u64 kernels[uint64]
	}
	floats32 func(dst, src []uint32, exponent, factor int)
	floats64 func(dst, src []uint64, exponent, factor int)
	// integers64 is AlpIntegers.
	integers64 func(dst []uint64, missed []byte, src []uint64, exponent, factor int)
	largest    func(v []uint32) uint32
	bounds32   func([]float32) (Bounds[float32], bool)
	bounds64   func([]float64) (Bounds[float64], bool)
	// hashWords hashes as many words as there is space for.
	hashWords func(dst, src []uint64, secret uint64)
	// split32 and split64 are SplitLefts of a multiple of eight values above 0; nil if the plain loop is as good.
	split32 func(codes []uint16, missed []byte, vals []uint32, cut int, d *Lefts) uint64
	split64 func(codes []uint16, missed []byte, vals []uint64, cut int, d *Lefts) uint64
	// gather16 is gather of values of sixteen bytes, textEnds TextEnds.
	gather16 func(dst, dict [][16]byte, codes []uint32) bool
	textEnds func(offsets []int64, codes []uint32, ends []int64)
	moveEnds func(ends []int64, by int64) bool
	// texts copies the first of texts that have 32 bytes at most, as many as it can, and gives their number; nil where the plain loop does all.
	texts func(dst []byte, offsets []int64, codes []uint32, ends []int64, text []byte, longest int) int
	// fsst decodes the first codes of src, as many as it can, and gives how many bytes it wrote and read; nil where it is the plain loop.
	fsst   func(t *FsstTable, dst, src []byte) (written, read int)
	within within
	// compact16 compacts values of sixteen bytes, compactBits bits.
	compact16   func(dst, src [][16]byte, bitmap []byte, from int)
	compactBits func(dst []byte, at int, src []byte, from int, bitmap []byte, chosen, n int)
}

// The tiers in Go: generic works on 64-bit words (SWAR), portable is the plain loops, for big-endian machines
// and as the measure of all others. Those in assembly are this machine's affair (assembled).
var (
	generic         = newGeneric()
	portable        = newPortable()
	active, refused = choose(os.Getenv(Variable))
)

// Variable is the environment variable that names the tier, where it is not to be the machine's default.
const Variable = "SHARDCAT_CPU"

// choose picks the tier of that name, or this machine's default for none. For a name that this machine or this
// build has no tier for, it gives an error, and the default all the same.
func choose(name string) (*tier, error) {
	tiers := available()
	if name == "" {
		return usual(tiers), nil
	}
	for _, t := range tiers {
		if t.name == name {
			return t, nil
		}
	}
	return usual(tiers), fmt.Errorf("%s=%s: %w; available: %s", Variable, name, lack(name), names(tiers))
}

// usual is the default of tiers: the last, which is the fastest, of those that may be.
func usual(tiers []*tier) *tier {
	last := len(tiers) - 1
	for tiers[last].named {
		last--
	}
	return tiers[last]
}

// available is the tiers that this machine and this build have, from the plainest on.
func available() []*tier {
	if !littleEndian {
		return []*tier{portable}
	}
	tiers := []*tier{portable, generic}
	for _, name := range []string{avx2, avx512} {
		if t, err := assembled(name); err == nil {
			tiers = append(tiers, t)
		}
	}
	return tiers
}

// lack reports why there is no tier of a name.
func lack(name string) error {
	switch name {
	case generic.name:
		return errors.New("this machine is big-endian")
	case avx2, avx512:
		if _, err := assembled(name); err != nil {
			return err
		}
		return errors.New("this machine is big-endian")
	}
	return errors.New("no such tier")
}

// The names of the tiers in assembly for amd64.
const (
	avx2   = "avx2"
	avx512 = "avx512"
)

// names lists tiers.
func names(tiers []*tier) (list string) {
	for i, t := range tiers {
		if i > 0 {
			list += ", "
		}
		list += t.name
	}
	return list
}

// Tier is the name of the table of functions in use.
func Tier() string { return active.name }

// Refused is an error if the environment requests a tier that this machine or this build doesn't have.
func Refused() error { return refused }

// of is the active functions for U.
func of[U Unsigned]() *kernels[U] { return in[U](active) }

// in is the functions of a tier for U.
func in[U Unsigned](t *tier) *kernels[U] {
	var u U
	switch any(u).(type) {
	case uint8:
		return any(&t.words.u8).(*kernels[U])
	case uint16:
		return any(&t.words.u16).(*kernels[U])
	case uint32:
		return any(&t.words.u32).(*kernels[U])
	}
	return any(&t.words.u64).(*kernels[U])
}

func newGeneric() *tier {
	t := &tier{name: "generic", floats32: alpFloats32, floats64: alpFloats64, largest: largest, within: newWithin(),
		gather16: gather16Bytes, textEnds: textEnds, moveEnds: moveEnds,
		compact16: compact[[16]byte], compactBits: compactBits, bounds32: bounds[float32], bounds64: bounds[float64], hashWords: hashWords, integers64: alpIntegers64}
	t.words.u8 = genericKernels(&unpack8)
	t.words.u16 = genericKernels(&unpack16)
	t.words.u32 = genericKernels(&unpack32)
	t.words.u64 = genericKernels(&unpack64)
	return t
}

func genericKernels[U Unsigned](byWidth *unpackers[U]) kernels[U] {
	k := portableKernels[U]()
	k.unpack = func(dst *[ChunkLen]U, chunk []byte, width int, ref U) { byWidth[width](dst, chunk, ref) }
	k.pack = pack[U]
	k.prefixSum, k.ramp, k.runs = prefixSum[U], ramp[U], shortRuns[U]
	return k
}

func newPortable() *tier {
	t := &tier{name: "portable", floats32: alpFloats32, floats64: alpFloats64, largest: largest, within: newWithin(),
		gather16: gather16Bytes, textEnds: textEnds, moveEnds: moveEnds,
		compact16: compact[[16]byte], compactBits: compactBits, bounds32: bounds[float32], bounds64: bounds[float64], hashWords: hashWords, integers64: alpIntegers64}
	t.words.u8 = portableKernels[uint8]()
	t.words.u16 = portableKernels[uint16]()
	t.words.u32 = portableKernels[uint32]()
	t.words.u64 = portableKernels[uint64]()
	return t
}

func portableKernels[U Unsigned]() kernels[U] {
	return kernels[U]{
		unpackPortable[U], false, packPortable[U], prefixSumPortable[U], rampPortable[U], expandRuns[U], gather[U], glue[U], steps[U], changes[U], extremes[U], compact[U],
		signExtend[U, uint8], signExtend[U, uint16], signExtend[U, uint32],
	}
}
