package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// testRanges: exactly the bytes requested, or ErrRange; the size is known from the answer.
func testRanges(t *testing.T, s *suite) {
	const size = 10_000
	key, data := s.seed(t, "object", size)
	for _, test := range []struct {
		name   string
		off, n int64
		ok     bool
	}{
		{"first byte", 0, 1, true},
		{"from the start", 0, 100, true},
		{"the middle", 4_000, 2_000, true},
		{"last byte", size - 1, 1, true},
		{"whole", 0, size, true},
		{"to the end", 9_000, 1_000, true},
		{"nothing at the start", 0, 0, true},
		{"nothing in the middle", 17, 0, true},
		{"nothing at the end", size, 0, true},
		{"over the end by one", 9_000, 1_001, false},
		{"more than whole", 0, size + 1, false},
		{"at the end", size, 1, false},
		{"beyond the end", size + 1, 1, false},
		{"far beyond the end", 1 << 40, 10, false},
		{"nothing beyond the end", size + 1, 0, false},
		{"before the start", -1, 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dst := make([]byte, test.n)
			_, info, err := s.bucket.ReadRange(t.Context(), key, test.off, dst, blobio.ReadOptions{})
			if !test.ok {
				wantClass(t, err, blobio.ErrRange)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(dst, data[test.off:test.off+test.n]) {
				t.Error("other bytes than were written")
			}
			if info.Size != size || info.Key != key {
				t.Errorf("info = %+v, want size %d and key %s", info, size, key)
			}
		})
	}
	t.Run("empty object", func(t *testing.T) {
		empty, _ := s.seed(t, "empty", 0)
		if _, info, err := s.bucket.ReadRange(t.Context(), empty, 0, nil, blobio.ReadOptions{}); err != nil || info.Size != 0 {
			t.Errorf("reading nothing of nothing: %+v, %v", info, err)
		}
		_, _, err := s.bucket.ReadRange(t.Context(), empty, 0, make([]byte, 1), blobio.ReadOptions{})
		wantClass(t, err, blobio.ErrRange)
	})
}

func testSuffix(t *testing.T, s *suite) {
	const size = 1_000
	key, data := s.seed(t, "object", size)
	empty, _ := s.seed(t, "empty", 0)
	for _, n := range []int64{1, 8, size - 1, size, size + 1, 1 << 20} {
		got, info, err := s.bucket.ReadSuffix(t.Context(), key, n, blobio.ReadOptions{})
		if err != nil {
			t.Fatalf("last %d bytes: %v", n, err)
		}
		if want := data[size-min(n, size):]; !bytes.Equal(got, want) || info.Size != size {
			t.Errorf("last %d bytes: got %d bytes and size %d", n, len(got), info.Size)
		}
	}
	got, info, err := s.bucket.ReadSuffix(t.Context(), empty, 10, blobio.ReadOptions{})
	if err != nil || len(got) != 0 || info.Size != 0 {
		t.Errorf("suffix of an empty object: %d bytes, %+v, %v", len(got), info, err)
	}
}

func testStream(t *testing.T, s *suite) {
	const size = 300_000
	key, data := s.seed(t, "object", size)
	for _, off := range []int64{0, 1, size / 2, size - 1, size} {
		r, info, err := s.bucket.Open(t.Context(), key, off, blobio.ReadOptions{})
		if err != nil {
			t.Fatalf("from %d: %v", off, err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, data[off:]) || info.Size != size {
			t.Errorf("from %d: %d bytes, size %d, %v", off, len(got), info.Size, err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	_, _, err := s.bucket.Open(t.Context(), key, size+1, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrRange)
}

func testStat(t *testing.T, s *suite) {
	key, _ := s.seed(t, "object", 321)
	info, err := s.bucket.Stat(t.Context(), key, blobio.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Size != 321 || info.Key != key {
		t.Errorf("info = %+v", info)
	}
	_, read, err := s.bucket.ReadRange(t.Context(), key, 0, make([]byte, 1), blobio.ReadOptions{})
	if s.NoReadETags != "" {
		t.Logf("SKIPPED: the ETag of a read: %s", s.NoReadETags)
		read.ETag = info.ETag
	}
	if err != nil || read.ETag != info.ETag {
		t.Errorf("stat says ETag %q, a read %q, %v", info.ETag, read.ETag, err)
	}
}

func testMissing(t *testing.T, s *suite) {
	ctx, key := t.Context(), s.prefix+"missing"
	_, _, err := s.bucket.ReadRange(ctx, key, 0, make([]byte, 1), blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrNotFound)
	_, _, err = s.bucket.ReadRange(ctx, key, 0, nil, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrNotFound)
	_, _, err = s.bucket.ReadSuffix(ctx, key, 10, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrNotFound)
	_, _, err = s.bucket.Open(ctx, key, 0, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrNotFound)
	_, err = s.bucket.Stat(ctx, key, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrNotFound)
}

// testPinned: a read that names an ETag the object does not have is ErrChanged.
func testPinned(t *testing.T, s *suite) {
	if s.IgnoresPins != "" {
		t.Skip("pinned reads: " + s.IgnoresPins)
	}
	key, data := s.seed(t, "object", 100)
	other, _ := s.seed(t, "other", 50)
	info, err := s.bucket.Stat(t.Context(), key, blobio.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := s.bucket.Stat(t.Context(), other, blobio.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	right := blobio.ReadOptions{IfMatch: info.ETag}
	dst := make([]byte, 100)
	if _, _, err := s.bucket.ReadRange(t.Context(), key, 0, dst, right); err != nil || !bytes.Equal(dst, data) {
		t.Errorf("read with the object's own ETag: %v", err)
	}
	wrong := blobio.ReadOptions{IfMatch: foreign.ETag}
	_, _, err = s.bucket.ReadRange(t.Context(), key, 0, dst, wrong)
	wantClass(t, err, blobio.ErrChanged)
	_, _, err = s.bucket.ReadSuffix(t.Context(), key, 10, wrong)
	wantClass(t, err, blobio.ErrChanged)
	_, _, err = s.bucket.Open(t.Context(), key, 0, wrong)
	wantClass(t, err, blobio.ErrChanged)
}

// testCancelRead: a context that ended ends reads, also one whose body is half read.
func testCancelRead(t *testing.T, s *suite) {
	key, data := s.seed(t, "object", 4<<20)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.bucket.ReadRange(gone, key, 0, make([]byte, 10), blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrCanceled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not match context.Canceled", err)
	}
	_, err = s.bucket.Stat(gone, key, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrCanceled)

	ctx, cancel := context.WithCancel(t.Context())
	r, _, err := s.bucket.Open(ctx, key, 0, blobio.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	head := make([]byte, 10)
	if _, err := io.ReadFull(r, head); err != nil || !bytes.Equal(head, data[:10]) {
		t.Fatalf("first bytes: %v", err)
	}
	cancel()
	n, err := io.Copy(io.Discard, r)
	if err == nil {
		t.Fatalf("read %d more bytes to the end after the context was cancelled", n)
	}
	wantClass(t, err, blobio.ErrCanceled)
}

func testClosedReads(t *testing.T, s *suite) {
	key, _ := s.seed(t, "object", 100)
	closed := s.Open(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := closed.ReadRange(t.Context(), key, 0, make([]byte, 10), blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrClosed)
	_, _, err = closed.ReadSuffix(t.Context(), key, 10, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrClosed)
	_, _, err = closed.Open(t.Context(), key, 0, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrClosed)
	_, err = closed.Stat(t.Context(), key, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrClosed)
	if _, err := s.bucket.Stat(t.Context(), key, blobio.ReadOptions{}); err != nil {
		t.Errorf("closing one handle broke another: %v", err)
	}
}

// wantClass checks that err has this class and no other.
func wantClass(t *testing.T, err, class error) {
	t.Helper()
	if !errors.Is(err, class) || blobio.Class(err) != class {
		t.Errorf("error is %v (class %v), want class %v", err, blobio.Class(err), class)
	}
}
