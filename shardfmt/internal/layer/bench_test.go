package layer

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// BenchmarkWriteAndRead reports how many rows a second are written and read, and the one over the other: neither shall be
// bought by the other.
func BenchmarkWriteAndRead(b *testing.B) {
	const rows = 200_000
	ctx := context.Background()
	data := write(b, rows, "i64,i64", WriteOptions{SelfDescribing: true}, even)
	f, _ := mustOpen(b, data, "")
	pairs, _ := ParseTypes("i64,i64")
	var writing, reading time.Duration
	for b.Loop() {
		start := time.Now()
		w, err := NewWriter(io.Discard, pairs, WriteOptions{})
		for i := 0; i < rows && err == nil; i++ {
			key, aux := even(i)
			err = w.Write(0, key, aux)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
		writing += time.Since(start)
		start = time.Now()
		src, err := f.Read(ctx, fileformat.ReadOptions{})
		for err == nil {
			_, err = src.Next(ctx)
		}
		if err != io.EOF {
			b.Fatal(err)
		}
		reading += time.Since(start)
	}
	n := float64(rows * b.N)
	b.ReportMetric(n/writing.Seconds(), "written/s")
	b.ReportMetric(n/reading.Seconds(), "read/s")
	b.ReportMetric(reading.Seconds()/writing.Seconds(), "read-time/write-time")
}
