package encode

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Benchmarks encode one flush of 65,536 values, or 2 MiB, at a time; MB are those of the values in memory.
// cpuMB/s is by the time that the process ran, for machines that have other things to do.

func reportProcessTime(b *testing.B, size int, since time.Duration) {
	if d := processTime() - since; d > 0 {
		b.ReportMetric(float64(b.N)*float64(size)/d.Seconds()/1e6, "cpuMB/s")
	}
}

func benchmarkCut[T simd.Number](b *testing.B, p Profile, vals []T) {
	e := NewEncoder(Options{Profile: p})
	b.SetBytes(int64(len(vals) * simd.SizeOf[T]()))
	b.ReportAllocs()
	size, start := 0, processTime()
	trees := map[string]int{}
	for b.Loop() {
		size = 0
		_, err := CutNumbers(e, vals, nil, false, func(k Block) error {
			size += len(k.Sub)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	reportProcessTime(b, len(vals)*simd.SizeOf[T](), start)
	_, _ = CutNumbers(e, vals, nil, false, func(Block) error { trees[e.Chosen()]++; return nil })
	b.ReportMetric(float64(len(vals)*simd.SizeOf[T]())/float64(size), "ratio")
	if testing.Verbose() {
		b.Log(trees)
	}
}

func BenchmarkNumbers(b *testing.B) {
	for _, p := range []Profile{MinimalCompression, Balanced, HighCompression} {
		for _, d := range distributions {
			r := rand.New(rand.NewPCG(1, 2))
			words := d.make(r, FlushValues)
			vals, narrow := make([]int64, len(words)), make([]uint32, len(words))
			for i, v := range words {
				vals[i], narrow[i] = int64(v), uint32(v)
			}
			b.Run(fmt.Sprintf("%s/i64/%s", p, d.name), func(b *testing.B) { benchmarkCut(b, p, vals) })
			b.Run(fmt.Sprintf("%s/u32/%s", p, d.name), func(b *testing.B) { benchmarkCut(b, p, narrow) })
		}
		for _, d := range floatDistributions {
			r := rand.New(rand.NewPCG(1, 2))
			vals := make([]float64, FlushValues)
			for i := range vals {
				vals[i] = d.at(r, i)
			}
			b.Run(fmt.Sprintf("%s/f64/%s", p, d.name), func(b *testing.B) { benchmarkCut(b, p, vals) })
		}
	}
}

func benchmarkBytes(b *testing.B, p Profile, at func(r *rand.Rand, i int) string) {
	r := rand.New(rand.NewPCG(1, 2))
	var data []byte
	offsets := []int64{0}
	for i := 0; len(data) < FlushBytes/2 && i < FlushValues; i++ {
		data = append(data, at(r, i)...)
		offsets = append(offsets, int64(len(data)))
	}
	e := NewEncoder(Options{Profile: p})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	size, start := 0, processTime()
	for b.Loop() {
		size = 0
		_, err := e.CutBytes(Bytes{Data: data, Offsets: offsets}, false, func(k Block) error {
			size += len(k.Sub)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	reportProcessTime(b, len(data), start)
	b.ReportMetric(float64(len(data))/float64(size), "ratio")
	trees := map[string]int{}
	_, _ = e.CutBytes(Bytes{Data: data, Offsets: offsets}, false, func(Block) error { trees[e.Chosen()]++; return nil })
	if testing.Verbose() {
		b.Log(trees)
	}
}

func BenchmarkBytes(b *testing.B) {
	for _, p := range []Profile{MinimalCompression, Balanced, HighCompression} {
		for _, d := range textDistributions {
			b.Run(fmt.Sprintf("%s/%s", p, d.name), func(b *testing.B) { benchmarkBytes(b, p, d.at) })
		}
	}
}
