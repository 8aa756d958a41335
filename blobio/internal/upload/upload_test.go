package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// shelf is a store in memory that counts what it is requested.
type shelf struct {
	mu       sync.Mutex
	parts    map[int][]byte
	object   []byte
	begun    int
	dropped  int
	inFlight atomic.Int32
	most     atomic.Int32

	failPart   int // n-th part fails, −1 for none
	failTimes  int // how often; 0 is always
	failCommit error
	commits    []error // what the commits answer in turn, before failCommit
	failed     int
	slow       time.Duration
}

var errPart = &blobio.Error{Class: blobio.ErrTransient, Err: errors.New("part was refused")}

func newShelf() *shelf { return &shelf{parts: map[int][]byte{}, failPart: -1} }

func (s *shelf) Whole(ctx context.Context, body []byte) error {
	s.object = bytes.Clone(body)
	if s.object == nil {
		s.object = []byte{}
	}
	return ctx.Err()
}

func (s *shelf) Begin(context.Context) error { s.begun++; return nil }

func (s *shelf) Part(ctx context.Context, n int, body []byte) error {
	now := s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	if n == s.failPart && s.fails() {
		return errPart
	}
	select {
	case <-time.After(s.slow):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[n] = bytes.Clone(body)
	return nil
}

func (s *shelf) fails() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	return s.failTimes == 0 || s.failed <= s.failTimes
}

func (s *shelf) Commit(_ context.Context, n int) error {
	if len(s.commits) > 0 {
		err := s.commits[0]
		s.commits = s.commits[1:]
		return err
	}
	if s.failCommit != nil {
		return s.failCommit
	}
	for i := range n {
		s.object = append(s.object, s.parts[i]...)
	}
	return nil
}

func (s *shelf) Drop(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped++
	return nil
}

func (s *shelf) drops() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

func TestUploadSizes(t *testing.T) {
	for _, tc := range []struct {
		name             string
		size, chunk      int
		hint             int64
		wantParts, begun int
	}{
		{"empty", 0, 1, 0, 0, 0},
		{"below a part", 99, 10, 0, 0, 0},
		{"exactly a part", 100, 100, 0, 0, 0},
		{"one byte more", 101, 101, 0, 2, 1},
		{"two parts exactly", 200, 7, 0, 2, 1},
		{"many parts", 1234, 33, 0, 13, 1},
		{"hint too small", 250, 50, 10, 3, 1},
		{"hint enlarges parts", 3000, 100, 3000, 15, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newShelf()
			w := NewWriter(t.Context(), s, Options{PartSize: 100, MaxParts: 20, SizeHint: tc.hint})
			data := pattern(tc.size)
			for rest := data; len(rest) > 0; {
				n := min(tc.chunk, len(rest))
				if wrote, err := w.Write(rest[:n]); err != nil || wrote != n {
					t.Fatalf("Write = %d, %v", wrote, err)
				}
				rest = rest[n:]
			}
			if s.object != nil {
				t.Fatal("object is there before Close")
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(s.object, data) {
				t.Errorf("object has %d bytes, want %d equal ones", len(s.object), len(data))
			}
			if len(s.parts) != tc.wantParts || s.begun != tc.begun {
				t.Errorf("%d parts, %d begun; want %d, %d", len(s.parts), s.begun, tc.wantParts, tc.begun)
			}
			w.Abort()
			if s.dropped != 0 {
				t.Error("Abort after Close dropped the upload")
			}
			if _, err := w.Write([]byte("x")); !errors.Is(err, ErrEnded) {
				t.Errorf("Write after Close: %v, want ErrEnded", err)
			}
		})
	}
}

func TestUploadBoundsConcurrency(t *testing.T) {
	s := newShelf()
	s.slow = time.Millisecond
	w := NewWriter(t.Context(), s, Options{PartSize: 10, Concurrency: 3})
	data := pattern(500)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if most := s.most.Load(); most < 2 || most > 3 {
		t.Errorf("%d parts in flight at most, want 2 or 3", most)
	}
	if !bytes.Equal(s.object, data) {
		t.Error("object differs")
	}
}

func TestUploadFailuresDropTheParts(t *testing.T) {
	commit := errors.New("commit was refused")
	for _, tc := range []struct {
		name string
		edit func(*shelf)
		opts Options
		want error
	}{
		{"part", func(s *shelf) { s.failPart = 1 }, Options{}, errPart},
		{"last part", func(s *shelf) { s.failPart = 4 }, Options{}, errPart},
		{"commit", func(s *shelf) { s.failCommit = commit }, Options{}, commit},
		{"too many parts", func(*shelf) {}, Options{MaxParts: 3}, ErrTooManyParts},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newShelf()
			tc.edit(s)
			tc.opts.PartSize = 100
			w := NewWriter(t.Context(), s, tc.opts)
			_, err := w.Write(pattern(450))
			if err == nil {
				err = w.Close()
			}
			if !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			if again := w.Close(); !errors.Is(again, tc.want) {
				t.Errorf("Close again: %v, want %v", again, tc.want)
			}
			if s.dropped != 1 || s.object != nil {
				t.Errorf("dropped %d times, object of %d bytes; want once and none", s.dropped, len(s.object))
			}
		})
	}
}

func TestUploadCancelledWithoutAnotherCall(t *testing.T) {
	s := newShelf()
	ctx, cancel := context.WithCancel(t.Context())
	w := NewWriter(ctx, s, Options{PartSize: 10})
	if _, err := w.Write(pattern(35)); err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 5000 {
		if s.drops() == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if s.drops() != 1 {
		t.Fatal("a cancelled upload was left in the store")
	}
	if err := w.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v, want context.Canceled", err)
	}
}

func TestUploadRepeatsWhatMayBeRepeated(t *testing.T) {
	again := blobio.RetryPolicy{Attempts: 3, Budget: time.Minute, First: time.Millisecond, Most: time.Millisecond}
	for _, tc := range []struct {
		times int
		retry blobio.RetryPolicy
		want  error
	}{{2, again, nil}, {0, again, errPart}, {1, blobio.RetryPolicy{}, errPart}} {
		s := newShelf()
		s.failPart, s.failTimes = 1, tc.times
		w := NewWriter(t.Context(), s, Options{PartSize: 100, Retry: tc.retry})
		_, err := w.Write(pattern(450))
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, tc.want) || (err == nil && !bytes.Equal(s.object, pattern(450))) {
			t.Errorf("failing %d times: %v, want %v", tc.times, err, tc.want)
		}
		if tc.retry.Attempts > 0 && tc.times == 0 && s.failed != again.Attempts {
			t.Errorf("%d attempts, want %d", s.failed, again.Attempts)
		}
	}
}

// TestCommitIsRepeated: a commit is requested again; if its answer was lost, what the store states to the second one is
// no news.
func TestCommitIsRepeated(t *testing.T) {
	again := blobio.RetryPolicy{Attempts: 3, Budget: time.Minute, First: time.Millisecond, Most: time.Millisecond}
	busy, lost, gone := fmt.Errorf("busy: %w", blobio.ErrThrottled), fmt.Errorf("lost: %w", blobio.ErrTransient), errors.New("no such upload")
	for _, test := range []struct {
		answers []error
		want    error
	}{
		{[]error{busy}, nil}, {[]error{busy, lost}, nil}, {[]error{lost, gone}, lost}, {[]error{busy, gone}, gone}, {[]error{gone}, gone},
	} {
		s := newShelf()
		s.commits = test.answers
		w := NewWriter(t.Context(), s, Options{PartSize: 10, Retry: again})
		if _, err := w.Write(pattern(25)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); !errors.Is(err, test.want) {
			t.Errorf("%v became %v", test.answers, err)
		}
	}
}
