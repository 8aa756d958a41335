package layer

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Files without rows, also with columns behind the first.
func TestEmptyFiles(t *testing.T) {
	for _, types := range []string{"i64,()", "i64,()/string,u64"} {
		pairs, _ := ParseTypes(types)
		var out bytes.Buffer
		w, err := NewWriter(&out, pairs, WriteOptions{Filter: Bloom})
		if err == nil {
			err = w.Close()
		}
		if err != nil || out.Len() != trailerSize {
			t.Fatalf("%d bytes, %v", out.Len(), err)
		}
		f, _ := mustOpen(t, out.Bytes(), types)
		src, err := f.Read(context.Background(), fileformat.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.Next(context.Background()); err != io.EOF {
			t.Errorf("%v", err)
		}
	}
}

// A source yields a row for every row of the last column, whatever the sizes of batches.
func TestSourceRows(t *testing.T) {
	data, types, keys, groups := tree(t, 300, 3, tiny)
	f, _ := mustOpen(t, data, types)
	for _, size := range []int{1, 7, 10_000} {
		src, err := f.Read(context.Background(), fileformat.ReadOptions{BatchRows: size})
		if err != nil {
			t.Fatal(err)
		}
		row, first, left := 0, -1, 0
		for {
			b, err := src.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(b.NumRows()) {
				if left == 0 {
					first++
					for _, m := range groups[1][prefix(groups[0], first) : prefix(groups[0], first)+groups[0][first]] {
						left += m
					}
				}
				left--
				if got := int64(b.Column(3).(*array.Uint32).Value(i)); got != keys[2][row] {
					t.Fatalf("row %d: k2 %d, want %d", row, got, keys[2][row])
				}
				if got := b.Column(0).(*array.Int64).Value(i); got != keys[0][first] {
					t.Fatalf("row %d: k0 %d, want %d", row, got, keys[0][first])
				}
				row++
			}
		}
		if row != len(keys[2]) {
			t.Errorf("%d rows, want %d", row, len(keys[2]))
		}
	}
}

func prefix(counts []int, n int) (sum int) {
	for _, c := range counts[:n] {
		sum += c
	}
	return sum
}
