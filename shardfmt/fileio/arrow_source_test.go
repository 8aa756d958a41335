package fileio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Some writers of Arrow files pad the magic to 64 bytes, so that all that follows is aligned so.
func TestArrowFileOfAnyAlignment(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[{"a": 1}, {"a": 2}]`))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w, err := ipc.NewFileWriter(&file, ipc.WithSchema(s))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(b), w.Close()); err != nil {
		t.Fatal(err)
	}
	for _, head := range []int{8, 16, 64} {
		text := bytes.Join([][]byte{file.Bytes()[:8], make([]byte, head-8), file.Bytes()[8:]}, nil)
		r, err := newArrowStream(io.NopCloser(nil), bufio.NewReader(bytes.NewReader(text)), 1<<20)
		if err != nil {
			t.Fatalf("a head of %d bytes: %v", head, err)
		}
		got, err := r.next(t.Context())
		if err != nil || got.NumRows() != 2 {
			t.Errorf("a head of %d bytes: %v", head, err)
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}
