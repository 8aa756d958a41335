package simd

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkTiers measures the kernels of each tier of this machine, by the processor time of 1024 values that stay in the
// first-level cache. The tiers take turns, and each one's best turn counts (docs/design/kernels.md has the figures):
//
//	go test ./shardfmt/internal/simd -run '^$' -bench Tiers -benchtime 1x
func BenchmarkTiers(b *testing.B) {
	best := active
	defer func() { active = best }()
	const turns, rounds = 30, 1000
	for _, k := range timed() {
		b.Run(k.name, func(b *testing.B) {
			runtime.LockOSThread() // a goroutine of its own
			defer runtime.UnlockOSThread()
			tiers := available()[1:]
			least := make([]time.Duration, len(tiers))
			for turn := range turns * b.N {
				for i := range tiers {
					active = tiers[i]
					start := threadTime()
					for range rounds {
						k.run()
					}
					if took := threadTime() - start; turn == 0 || took < least[i] {
						least[i] = took
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			for i, t := range tiers {
				b.ReportMetric(float64(least[i])/rounds, t.name+"-ns")
			}
		})
	}
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// timedKernel is a kernel on 1024 values.
type timedKernel struct {
	name string
	run  func()
}

func timed() (list []timedKernel) {
	list = append(list, timedUnpack[uint8](1, 3, 7)...)
	list = append(list, timedUnpack[uint16](1, 9, 15)...)
	list = append(list, timedUnpack[uint32](1, 10, 17, 31)...)
	list = append(list, timedUnpack[uint64](1, 10, 33, 50, 63)...)
	r := rand.New(rand.NewPCG(1, 1))
	words, other, narrow := make([]uint64, ChunkLen), random[uint64](r, ChunkLen), make([]uint32, ChunkLen)
	codes, lefts, dict, high := make([]uint32, ChunkLen), make([]uint16, ChunkLen), random[uint64](r, 1000), [8]uint64{}
	values, truths := random[uint64](r, ChunkLen), make([]uint64, ChunkLen/64)
	for i := range codes {
		codes[i], lefts[i] = r.Uint32N(1000), uint16(r.IntN(8))
	}
	list = append(list,
		timedKernel{"widen 16 to 64", func() { SignExtend(words, lefts) }},
		timedKernel{"widen 32 to 64", func() { SignExtend(words, codes) }},
		timedKernel{"prefix sum u32", func() { PrefixSum(narrow, codes, 1) }},
		timedKernel{"prefix sum u64", func() { PrefixSum(words, other, 1) }},
		timedKernel{"ramp u32", func() { Ramp(narrow, 1, 2) }},
		timedKernel{"ramp u64", func() { Ramp(words, 1, 2) }},
		timedKernel{"ALP f32", func() { AlpFloats(narrow, codes, 6, 5) }},
		timedKernel{"ALP f64", func() { AlpFloats(words, other, 14, 12) }},
		timedKernel{"ALP-RD f64", func() { Glue(words, other, lefts, &high, 7) }},
		timedKernel{"gather u64", func() { Gather(words, dict, codes) }},
		timedKernel{"within i64", func() { IntsWithin(truths, Cast[int64](words), 5, 1<<40) }},
		timedKernel{"within u32", func() { IntsWithin(truths, codes, 5, 500) }},
		timedKernel{"within f64", func() { FloatsWithin(truths, Cast[float64](words), 5, 500) }},
		timedKernel{"largest code", func() { AllAtMost(codes, 1000) }},
	)
	for _, length := range []int{2, 4, 8, 16, 32, 128} {
		lengths := make([]uint32, ChunkLen/length)
		for i := range lengths {
			lengths[i] = uint32(length)
		}
		list = append(list, timedKernel{fmt.Sprintf("runs of %d, u64", length), func() { ExpandRuns(words, values[:len(lengths)], lengths) }})
	}
	return list
}

func timedUnpack[U Unsigned](widths ...int) (list []timedKernel) {
	dst := new([ChunkLen]U)
	for _, width := range widths {
		chunk := AsBytes(random[uint8](rand.New(rand.NewPCG(2, 2)), ChunkBytes(width)))
		for _, ref := range []U{0, 5} {
			name := fmt.Sprintf("unpack u%d, width %d", 8*SizeOf[U](), width)
			if ref != 0 {
				name += ", FOR"
			}
			list = append(list, timedKernel{name, func() { of[U]().unpack(dst, chunk, width, ref) }})
		}
	}
	return list
}
