package colstream

import (
	"bytes"
	"io"
	"testing"
)

// A tape gives back what was written, from a file and from memory, however long it is.
func TestTape(t *testing.T) {
	file := NewSpill(100 << 10)
	defer file.Close()
	for _, spill := range []*Spill{nil, file} {
		tape := NewTape(spill)
		var want []byte
		for i := range 300 {
			block := bytes.Repeat([]byte{byte(i), byte(i >> 1)}, 50*i)
			want = append(want, block...)
			if _, err := tape.Write(block); err != nil {
				t.Fatal(err)
			}
		}
		got, err := io.ReadAll(tape.Reader())
		if err != nil || !bytes.Equal(got, want) || tape.Size() != int64(len(want)) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(want), err)
		}
		var pieces []byte
		if err := tape.Pieces(func(b []byte) error { pieces = append(pieces, b...); return nil }); err != nil || !bytes.Equal(pieces, want) {
			t.Fatalf("pieces of %d bytes of %d, %v", len(pieces), len(want), err)
		}
		if spill == nil && (tape.inMemory() != len(want) || len(tape.parts) == 0) {
			t.Fatalf("%d bytes in memory of %d, in %d parts", tape.inMemory(), len(want), len(tape.parts))
		}
	}
}
