package bench

import (
	"fmt"
	"os"
	"testing"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// Every contestant gives the column's values; Open compares them.
func TestContestants(t *testing.T) {
	for _, c := range append(Columns(1<<14), TextColumns(1<<14)...) {
		t.Run(c.Name, func(t *testing.T) {
			for _, who := range contestants(t, c) {
				if _, err := who.Open(); err != nil {
					t.Errorf("%s: %v", who.Name, err)
				}
			}
		})
	}
}

// Blocks whose trees are known before come out as large as those for which they are chosen, or what choosing costs would not be
// what the two differ in. (FSST is trained again for each block there.)
func TestRewriterWritesTheSame(t *testing.T) {
	for _, c := range append(Columns(1<<17), TextColumns(1<<17)...) {
		chosen, err1 := ScanShardcat(c, encode.Balanced)
		known, err2 := Rewriter(c, encode.Balanced)
		if err1 != nil || err2 != nil {
			t.Fatal(c.Name, err1, err2)
		}
		if d := known.Size - chosen.Size; d > chosen.Size/20 || -d > chosen.Size/20 {
			t.Errorf("%s: %d bytes with trees that are known, %d chosen", c.Name, known.Size, chosen.Size)
		}
	}
}

func contestants(tb testing.TB, c *Column) []Contestant {
	tb.Helper()
	list := []Contestant{Memcpy(c, false), Memcpy(c, true)}
	if c.Strings == nil {
		for _, fresh := range []bool{false, true} {
			s, err := ReadShardcat(c, encode.Balanced, fresh)
			if err != nil {
				tb.Fatal(err)
			}
			s.Name = fmt.Sprintf("%s, whole, fresh %v", s.Name, fresh)
			list = append(list, s)
		}
	}
	for _, p := range []encode.Profile{encode.Balanced, encode.HighCompression} {
		s, err := ScanShardcat(c, p)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, s)
	}
	known, err := Rewriter(c, encode.Balanced)
	if err != nil {
		tb.Fatal(err)
	}
	list = append(list, known)
	for _, p := range []shardfmt.Profile{shardfmt.Balanced, shardfmt.HighCompression} {
		f, err := OpenColumn(plainDir(tb), c, p)
		if err != nil {
			tb.Fatal(err)
		}
		s, err := f.Reused()
		if err != nil {
			tb.Fatal(err)
		}
		s.Name = "file, " + s.Name
		list = append(list, s)
	}
	pg, err := ParquetGo(c, plainDir(tb))
	if err != nil {
		tb.Fatal(err)
	}
	ag, err := ArrowGo(c, plainDir(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return append(append(list, pg...), ag...)
}

// plainDir is a folder whose name needs no escapes in a URL, as that of a test does.
func plainDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "shardcat-bench")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func BenchmarkKernels(b *testing.B) {
	for _, k := range Kernels() {
		b.Run(k.Name, func(b *testing.B) {
			b.SetBytes(int64(k.Bytes))
			for b.Loop() {
				k.Run()
			}
		})
	}
}

func BenchmarkColumns(b *testing.B) {
	for _, c := range append(Columns(Values), TextColumns(Values/4)...) {
		for _, who := range contestants(b, c) {
			b.Run(c.Name+"/"+who.Name, func(b *testing.B) {
				run, err := who.Open()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(c.Bytes()))
				b.ReportAllocs()
				for b.Loop() {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
