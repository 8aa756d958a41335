package fileio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// orders are rows of CSV with the types that most columns have.
func orders(rows int) string {
	var b strings.Builder
	b.WriteString("id,price,day,at,mode,comment\n")
	for i := range rows {
		fmt.Fprintf(&b, "%d,%d.%02d,1996-%02d-%02d,1996-03-13T04:05:%02dZ,%s,comment number %d\n",
			i*31, i%900, i%100, i%12+1, i%28+1, i%60, []string{"AIR", "TRUCK", "RAIL"}[i%3], i)
	}
	return b.String()
}

// allRows reads all batches of a source.
func allRows(t testing.TB, src fileio.Source) (rows int64) {
	t.Helper()
	for {
		b, err := src.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows += b.NumRows()
		b.Release()
	}
}

// A row of CSV is read without an allocation of its own: what twice the rows allocate more is what batches do.
func TestRowsOfCSVAllocateNothing(t *testing.T) {
	const rows = 20_000
	allocations := func(n int) uint64 {
		_, paths := write(t, "orders.csv", orders(n))
		src, err := open(t, fileio.SourceOptions{InferRows: 1000}, paths...)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := allRows(t, src); got != int64(n) {
			t.Fatalf("%d rows of %d", got, n)
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	if one, two := allocations(rows), allocations(2*rows); two > one+rows/20 {
		t.Errorf("%d allocations for %d rows, %d for twice as many", one, rows, two)
	}
}

func BenchmarkCSV(b *testing.B) {
	text := orders(50_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	_, paths := write(b, "orders.csv", text)
	for b.Loop() {
		src, err := open(b, fileio.SourceOptions{}, paths...)
		if err != nil {
			b.Fatal(err)
		}
		allRows(b, src)
		src.Close()
	}
}
