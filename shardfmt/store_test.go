package shardfmt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// bytesOf reads an object.
func bytesOf(t testing.TB, sp *blobio.Client, url string) []byte {
	t.Helper()
	b, _, err := sp.ReadAll(context.Background(), url, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A shard in memory opens in one line, and reads as it does from a store.
func TestOpenReaderAt(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://readerat/s.amudai.shard", 5000, WriterOptions{Layout: Single, StripeRows: 2000})
	b := bytesOf(t, sp, w.URL)
	s, err := OpenReaderAt(t.Context(), bytes.NewReader(b), int64(len(b)), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equalBatches(t, readAll(t, s, ScanOptions{BatchRows: 700}), sampleBatch(sampleSchema(t), 0, 5000))
	if got := ids(t, s, ScanOptions{Filter: bind(t, s, "id = 4321")}); len(got) != 1 || got[0] != 4321 {
		t.Errorf("filtered: %v", got)
	}
}

// What the ReaderAt does not have is an error of its kind: a reader that ends early, stripes in other objects.
func TestOpenReaderAtOfHalfAShard(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://readerat2/s.amudai.shard", 500, WriterOptions{StripeRows: 200})
	b := bytesOf(t, sp, w.URL)
	s, err := OpenReaderAt(t.Context(), bytes.NewReader(b), int64(len(b)), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Scan(t.Context(), ScanOptions{}) {
		if !errors.Is(err, corrupt.ErrCorrupt) || !errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("stripes elsewhere: %v", err)
		}
	}
	short := io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))-1)
	if _, err := OpenReaderAt(t.Context(), short, int64(len(b)), OpenOptions{}); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("a reader that ends early: %v", err)
	}
}

// brokenStore begins objects whose writers take no byte, and counts those that nobody has ended.
type brokenStore struct {
	*blobio.Client
	open int
}

type brokenWriter struct{ of *brokenStore }

func (s *brokenStore) Create(context.Context, string, blobio.CreateOptions) (blobio.Writer, error) {
	s.open++
	return &brokenWriter{s}, nil
}

func (w *brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space") }
func (w *brokenWriter) Close() error              { w.Abort(); return nil }
func (w *brokenWriter) Abort() {
	if w.of != nil {
		w.of.open--
	}
	w.of = nil
}

// An object whose first bytes can't be written is given up, not left open.
func TestFirstWriteFails(t *testing.T) {
	for _, layout := range []Layout{TwoLevel, Single} {
		client := blobio.NewClient(blobio.ClientOptions{})
		defer client.Close()
		st := &brokenStore{Client: client}
		w, err := NewWriter(t.Context(), st, "mem://first/s.amudai.shard", sampleSchema(t), WriterOptions{Layout: layout, StripeRows: 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), sampleBatch(sampleSchema(t), 0, 25)); err == nil {
			t.Error("the write succeeds")
		}
		w.Abort(t.Context())
		if st.open != 0 {
			t.Errorf("%v: %d objects are still open", layout, st.open)
		}
	}
}
