package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// testCreate: an object is there, whole, after Close and not before.
func testCreate(t *testing.T, s *suite) {
	for _, size := range []int{0, 1, 70_000, s.Parts} {
		key := fmt.Sprintf("%ssize-%d", s.prefix, size)
		data := pattern(0, size)
		w, err := s.bucket.Create(t.Context(), key, blobio.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for chunk := range slices.Chunk(data, 1<<20) {
			if n, err := w.Write(chunk); err != nil || n != len(chunk) {
				t.Fatalf("write: %d, %v", n, err)
			}
		}
		_, err = s.bucket.Stat(t.Context(), key, blobio.ReadOptions{})
		wantClass(t, err, blobio.ErrNotFound)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		s.wantObject(t, key, data)
		wantClass(t, w.Close(), blobio.ErrClosed)
		_, err = w.Write([]byte("more"))
		wantClass(t, err, blobio.ErrClosed)
		w.Abort()
		s.wantObject(t, key, data)
	}
}

// testCreateTwice: what is there stays, by a single request and by several.
func testCreateTwice(t *testing.T, s *suite) {
	for _, size := range []int{100, s.Parts} {
		key := fmt.Sprintf("%ssize-%d", s.prefix, size)
		first := pattern(1, size)
		if err := Put(t.Context(), s.bucket, key, first); err != nil {
			t.Fatal(err)
		}
		wantClass(t, Put(t.Context(), s.bucket, key, pattern(2, size)), blobio.ErrExists)
		wantClass(t, Put(t.Context(), s.bucket, key, first), blobio.ErrExists)
		s.wantObject(t, key, first)
	}
}

func testAbort(t *testing.T, s *suite) {
	key := s.prefix + "object"
	w, err := s.bucket.Create(t.Context(), key, blobio.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(pattern(0, s.Parts)); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	w.Abort()
	s.wantNothing(t)
	wantClass(t, w.Close(), blobio.ErrClosed)
	s.wantNothing(t)
	if err := Put(t.Context(), s.bucket, key, []byte("second try")); err != nil {
		t.Errorf("the key of an aborted object is not free: %v", err)
	}
}

// testCancelWrite: a context that ends before Close leaves no object.
func testCancelWrite(t *testing.T, s *suite) {
	for _, size := range []int{100, s.Parts} {
		ctx, cancel := context.WithCancel(t.Context())
		w, err := s.bucket.Create(ctx, fmt.Sprintf("%ssize-%d", s.prefix, size), blobio.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(pattern(0, size)); err != nil {
			t.Fatal(err)
		}
		cancel()
		wantClass(t, w.Close(), blobio.ErrCanceled)
		w.Abort()
		s.wantNothing(t)
	}
}

func testClosedWrites(t *testing.T, s *suite) {
	closed := s.Open(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	wantClass(t, Put(t.Context(), closed, s.prefix+"object", []byte("x")), blobio.ErrClosed)
	wantClass(t, closed.Delete(t.Context(), s.prefix+"object", blobio.DeleteOptions{}), blobio.ErrClosed)
	for _, err := range closed.List(t.Context(), s.prefix, blobio.ListOptions{}) {
		wantClass(t, err, blobio.ErrClosed)
	}
	s.wantNothing(t)
}

// racers is how many writers race for one key.
const racers = 24

// testRace: of many writers of one key exactly one wins, and the object is the winner's.
func testRace(t *testing.T, s *suite) {
	for _, size := range []int{1_000, s.Parts} {
		key := fmt.Sprintf("%ssize-%d", s.prefix, size)
		writers := make([]blobio.Writer, racers)
		for i := range writers {
			w, err := s.bucket.Create(t.Context(), key, blobio.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			writers[i] = w
		}
		errs := make([]error, racers)
		var all sync.WaitGroup
		for i, w := range writers {
			all.Go(func() {
				defer w.Abort()
				if _, errs[i] = w.Write(pattern(i, size)); errs[i] == nil {
					errs[i] = w.Close()
				}
			})
		}
		all.Wait()
		s.wantOneWinner(t, key, size, errs)
	}
}

func (s *suite) wantOneWinner(t *testing.T, key string, size int, errs []error) {
	t.Helper()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Errorf("size %d: writers %d and %d both won", size, winner, i)
		case err == nil:
			winner = i
		case blobio.Class(err) != blobio.ErrExists && blobio.Class(err) != blobio.ErrConflict:
			t.Errorf("size %d: a loser got %v (class %v), want %v", size, err, blobio.Class(err), blobio.ErrExists)
		}
	}
	if winner < 0 {
		t.Fatalf("size %d: nobody won: %v", size, errs[0])
	}
	s.wantObject(t, key, pattern(winner, size))
}

func testDelete(t *testing.T, s *suite) {
	ctx := t.Context()
	key, data := s.seed(t, "object", 100)
	info, err := s.bucket.Stat(ctx, key, blobio.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s.IgnoresDeletePins != "" {
		t.Logf("SKIPPED: delete with a condition: %s", s.IgnoresDeletePins)
	} else if other, _ := s.seed(t, "other", 10); other != "" {
		foreign, err := s.bucket.Stat(ctx, other, blobio.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantClass(t, s.bucket.Delete(ctx, key, blobio.DeleteOptions{IfMatch: foreign.ETag}), blobio.ErrChanged)
		s.wantObject(t, key, data)
	}
	if err := s.bucket.Delete(ctx, key, blobio.DeleteOptions{IfMatch: info.ETag}); err != nil {
		t.Fatal(err)
	}
	_, err = s.bucket.Stat(ctx, key, blobio.ReadOptions{})
	wantClass(t, err, blobio.ErrNotFound)
	wantClass(t, s.bucket.Delete(ctx, key, blobio.DeleteOptions{}), blobio.ErrNotFound)
	wantClass(t, s.bucket.Delete(ctx, key, blobio.DeleteOptions{IfMatch: info.ETag}), blobio.ErrNotFound)
	if err := Put(ctx, s.bucket, key, []byte("again")); err != nil {
		t.Errorf("creating a deleted object: %v", err)
	}
	if err := s.bucket.Delete(ctx, key, blobio.DeleteOptions{}); err != nil {
		t.Errorf("delete without a condition: %v", err)
	}
}

// testKeys: every key that Client lets through comes back from a list as it is.
func testKeys(t *testing.T, s *suite) {
	names := []string{"plain", "UPPER", "a=b", "_jobs", "-dash", "a.b.c", "..a", "a..", "deep/er/still", "00/.x",
		strings.Repeat("n", 200), "p/" + strings.Repeat("long/", 60) + "end"}
	for i, name := range names {
		if !blobio.PortableKey(name) {
			t.Fatalf("%q is not portable", name)
		}
		if err := Put(t.Context(), s.bucket, s.prefix+name, pattern(i, 50)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	slices.Sort(names)
	if got := s.list(t, s.prefix); !slices.Equal(got, names) {
		t.Errorf("list is %q, want %q", got, names)
	}
}

func testList(t *testing.T, s *suite) {
	for _, name := range []string{"a.b", "a/b", "a/c/d", "ab", "b"} {
		if err := Put(t.Context(), s.bucket, s.prefix+name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ prefix, want string }{
		{"", "a.b a/b a/c/d ab b"},
		{"a", "a.b a/b a/c/d ab"},
		{"a/", "a/b a/c/d"},
		{"a/c", "a/c/d"},
		{"b", "b"},
		{"c", ""},
		{"a/b/", ""},
	} {
		if got := strings.Join(s.list(t, s.prefix+test.prefix), " "); got != test.want {
			t.Errorf("prefix %q: %q, want %q", test.prefix, got, test.want)
		}
	}
	for info, err := range s.bucket.List(t.Context(), s.prefix, blobio.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimPrefix(info.Key, s.prefix); info.Size != int64(len(name)) || !blobio.KnownTime(info.ModTime) {
			t.Errorf("%+v", info)
		}
		break // a list may be left early
	}
}

func testListPages(t *testing.T, s *suite) {
	want := make([]string, s.PageKeys)
	var writers sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range want {
		want[i] = fmt.Sprintf("%06d", i)
		slots <- struct{}{}
		writers.Go(func() {
			defer func() { <-slots }()
			if err := Put(t.Context(), s.bucket, s.prefix+want[i], []byte{1}); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if got := s.list(t, s.prefix); !slices.Equal(got, want) {
		t.Errorf("%d keys written, %d listed", len(want), len(got))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	last := error(nil)
	for _, err := range s.bucket.List(ctx, s.prefix, blobio.ListOptions{}) {
		last = err
	}
	wantClass(t, last, blobio.ErrCanceled)
}

// testCopy makes an object of one's own bytes and of ranges of another, where the driver reports that the store copies such: the same bytes are there, fewer were
// sent, and a range or an object that is not there makes none.
func testCopy(t *testing.T, s *suite) {
	ctx := t.Context()
	create := func(key string) blobio.Writer {
		w, err := s.bucket.Create(ctx, s.prefix+key, blobio.CreateOptions{SizeHint: 32 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := create("copied")
	c, ok := w.(blobio.RangeCopier)
	if ok {
		ok = c.CopyAfter() >= 0
	}
	if w.Abort(); !ok {
		t.Skip("the store copies no ranges")
	}
	sourceKey, source := s.seed(t, "source", 21<<20)

	w = create("copied")
	c = w.(blobio.RangeCopier)
	var want []byte
	write := func(p []byte) {
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		want = append(want, p...)
	}
	write([]byte("mine"))
	n := c.CopyAfter()
	if n < 0 || n > 8<<20 {
		t.Fatalf("a copy after %d bytes", n)
	}
	write(source[1 : 1+n])
	for _, from := range []int64{1 + n, 7<<20 + 5} {
		if n := c.CopyAfter(); n != 0 {
			write(source[:n])
		}
		err := c.CopyRange(sourceKey, from, 13<<20, "")
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("the store copies no ranges")
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, source[from:from+13<<20]...)
		if from > 1+n {
			write([]byte("mine again"))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	there, _, err := s.bucket.ReadSuffix(ctx, s.prefix+"copied", int64(len(want))+1, blobio.ReadOptions{})
	if err != nil || !bytes.Equal(there, want) {
		t.Errorf("%d bytes are there, want %d: %v", len(there), len(want), err)
	}

	for _, bad := range []struct {
		name, key, etag string
		off             int64
		class           error
	}{{"missing", s.prefix + "nothing", "", 0, blobio.ErrNotFound}, {"past", sourceKey, "", 15 << 20, nil}, {"other", sourceKey, "0123456789abcdef0123456789abcdef", 0, blobio.ErrChanged}} {
		w := create("bad-" + bad.name)
		err := w.(blobio.RangeCopier).CopyRange(bad.key, bad.off, 13<<20, bad.etag)
		if err == nil || bad.class != nil && !errors.Is(err, bad.class) {
			t.Errorf("%s: %v, want %v", bad.name, err, bad.class)
		}
		w.Abort()
		if _, err := s.bucket.Stat(ctx, s.prefix+"bad-"+bad.name, blobio.ReadOptions{}); !errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("%s: %v", bad.name, err)
		}
	}
}

// testBig streams an object up and down again, watching the memory.
func testBig(t *testing.T, s *suite) {
	key := s.prefix + "object"
	watch := watchHeap()
	w, err := s.bucket.Create(t.Context(), key, blobio.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if n, err := io.Copy(w, io.LimitReader(&stream{}, s.Big)); err != nil || n != s.Big {
		t.Fatalf("wrote %d bytes: %v", n, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, info, err := s.bucket.Open(t.Context(), key, 0, blobio.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if info.Size != s.Big {
		t.Errorf("size %d, want %d", info.Size, s.Big)
	}
	check := &stream{checks: true}
	if n, err := io.Copy(check, r); err != nil || n != s.Big {
		t.Fatalf("read %d bytes: %v", n, err)
	}
	grown := watch()
	t.Logf("heap grew by %d MiB for %d MiB", grown>>20, s.Big>>20)
	if _, inMemory := s.bucket.(interface{ Replace(string, []byte) }); !inMemory && s.Big >= defaultBig && grown > mostGrown {
		t.Errorf("the heap grew by %d bytes for an object of %d, by more than %d: it was gathered in memory", grown, s.Big, mostGrown)
	}
}

// mostGrown is how much the heap may grow while an object of any size streams up or down: two parts of 8 MiB on their way, one
// that fills, and garbage.
const mostGrown = 32 << 20

// watchHeap samples the heap, with little garbage on it, until the function it returns is called, which gives the most
// it grew by.
func watchHeap() (grown func() int64) {
	gc := debug.SetGCPercent(10)
	runtime.GC()
	var begin, now runtime.MemStats
	runtime.ReadMemStats(&begin)
	most, stop, done := uint64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-done
		debug.SetGCPercent(gc)
		return int64(most) - int64(begin.HeapAlloc)
	}
}

// stream is an endless sequence of bytes that can also check what it is given against itself.
type stream struct {
	at     int64
	checks bool
}

func (s *stream) byteAt(at int64) byte { return byte(at ^ at>>8 ^ at>>16) }

func (s *stream) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = s.byteAt(s.at + int64(i))
	}
	s.at += int64(len(p))
	return len(p), nil
}

func (s *stream) Write(p []byte) (int, error) {
	for i, c := range p {
		if c != s.byteAt(s.at+int64(i)) {
			return i, fmt.Errorf("byte %d differs from what was written", s.at+int64(i))
		}
	}
	s.at += int64(len(p))
	return len(p), nil
}

// pattern is n bytes that identify their writer.
func pattern(who, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%07d.", who), n/8+1)[:n]
}

func (s *suite) wantObject(t *testing.T, key string, data []byte) {
	t.Helper()
	got := make([]byte, len(data))
	_, info, err := s.bucket.ReadRange(t.Context(), key, 0, got, blobio.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Size != int64(len(data)) || !bytes.Equal(got, data) {
		t.Errorf("%s has %d bytes and other content than was written (%d bytes)", key, info.Size, len(data))
	}
}

// wantNothing checks that the test's prefix is empty.
func (s *suite) wantNothing(t *testing.T) {
	t.Helper()
	if got := s.list(t, s.prefix); len(got) > 0 {
		t.Errorf("there are objects: %q", got)
	}
}

// list gives the names below a prefix, without the test's own prefix.
func (s *suite) list(t *testing.T, prefix string) []string {
	t.Helper()
	var names []string
	for info, err := range s.bucket.List(t.Context(), prefix, blobio.ListOptions{}) {
		if err != nil {
			t.Fatalf("list %s: %v", prefix, err)
		}
		names = append(names, strings.TrimPrefix(info.Key, s.prefix))
	}
	return names
}
