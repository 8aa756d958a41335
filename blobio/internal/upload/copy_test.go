package upload

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// copyShelf is a shelf that has another object, and copies ranges of it.
type copyShelf struct {
	*shelf
	other  []byte
	refuse error // what the copies answer, nil to copy
	copied int
}

func (s *copyShelf) CopyAllowed() (least, most int64) { return 40, 250 }

func (s *copyShelf) CopyPart(_ context.Context, n int, of Copied) error {
	if least, most := s.CopyAllowed(); of.Size < least || of.Size > most || of.Key != "other" || of.ETag != "1" {
		return errors.New("such a range can't be copied")
	}
	if s.refuse != nil {
		return s.refuse
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[n] = bytes.Clone(s.other[of.Off : of.Off+of.Size])
	s.copied += int(of.Size)
	return nil
}

var (
	_ Copier             = (*copyShelf)(nil)
	_ blobio.RangeCopier = (*Writer)(nil)
)

// What is written and what is copied comes in order, and every part but the last has the least size that parts have.
func TestCopiedRanges(t *testing.T) {
	r, copied := rand.New(rand.NewPCG(3, 4)), 0
	for range 500 {
		s := &copyShelf{shelf: newShelf(), other: pattern(5000)}
		w := NewWriter(t.Context(), s, Options{PartSize: 100, MaxParts: 1000})
		var want []byte
		for range 1 + r.IntN(6) {
			if r.IntN(2) == 0 {
				data := pattern(r.IntN(350))
				if _, err := w.Write(data); err != nil {
					t.Fatal(err)
				}
				want = append(want, data...)
				continue
			}
			off, size := r.IntN(3000), r.IntN(1500)
			if n := int(w.CopyAfter()); n > 0 {
				if n = min(n, size); r.IntN(4) > 0 {
					if _, err := w.Write(s.other[off : off+n]); err != nil {
						t.Fatal(err)
					}
					want = append(want, s.other[off:off+n]...)
					off, size = off+n, size-n
				}
			}
			able := w.CopyAfter() == 0 && size >= 40
			err := w.CopyRange("other", int64(off), int64(size), "1")
			if able != (err == nil) || err != nil && !errors.Is(err, errors.ErrUnsupported) {
				t.Fatalf("%d bytes: %v", size, err)
			}
			if err == nil {
				want = append(want, s.other[off:off+size]...)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(s.object, want) {
			t.Fatalf("%d bytes, want %d", len(s.object), len(want))
		}
		for n := range len(s.parts) - 1 {
			if len(s.parts[n]) < 40 {
				t.Fatalf("part %d of %d has %d bytes", n, len(s.parts), len(s.parts[n]))
			}
		}
		copied += s.copied
	}
	if copied < 100_000 {
		t.Errorf("only %d bytes were copied", copied)
	}
}

// A store that can't copy gets the bytes by Write; one that fails to makes no object.
func TestRefusedRanges(t *testing.T) {
	s := &copyShelf{shelf: newShelf(), other: pattern(500), refuse: errors.ErrUnsupported}
	w := NewWriter(t.Context(), s, Options{PartSize: 100})
	_, err := w.Write(s.other[:70])
	if err := errors.Join(err, w.CopyRange("other", 70, 430, "1")); !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	if _, err := w.Write(s.other[70:]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil || !bytes.Equal(s.object, s.other) {
		t.Errorf("%d bytes, %v", len(s.object), err)
	}

	s = &copyShelf{shelf: newShelf(), other: pattern(500), refuse: errPart}
	w = NewWriter(t.Context(), s, Options{PartSize: 100})
	if err := w.CopyRange("other", 0, 500, "1"); !errors.Is(err, blobio.ErrTransient) {
		t.Error(err)
	}
	if err := w.Close(); err == nil || s.object != nil || s.drops() != 1 {
		t.Errorf("%v, %d bytes, %d drops", err, len(s.object), s.drops())
	}
	plain := NewWriter(t.Context(), newShelf(), Options{PartSize: 100})
	if n := plain.CopyAfter(); n >= 0 {
		t.Errorf("a store without copies takes one after %d bytes", n)
	}
	plain.Abort()
}
