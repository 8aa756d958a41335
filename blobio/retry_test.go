package blobio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// object is what the tests read: 1,000 bytes of which no two stretches are alike.
var object = func() []byte {
	b := make([]byte, 0, 1000)
	for i := range 250 {
		b = fmt.Appendf(b, "%03d.", i)
	}
	return b
}()

// faulty makes a Client over a bucket that holds object under the URL x, and fails by the script.
func faulty(t *testing.T, script string, opts blobio.ClientOptions) (sp *blobio.Client, url string, mem *memblob.Bucket, f *blobfake.Faulty) {
	t.Helper()
	mem = memblob.New()
	mem.Replace("x", object)
	f = blobfake.NewFaulty(t, mem, script)
	sp = blobio.NewClient(opts)
	if err := sp.MountBucket("mem://faulty/", f); err != nil {
		t.Fatal(err)
	}
	return sp, "mem://faulty/x", mem, f
}

func wantClass(t *testing.T, err, class error) {
	t.Helper()
	if blobio.Class(err) != class {
		t.Errorf("error is %v, want class %v", err, class)
	}
}

func TestReadsSurviveFaultsThatPass(t *testing.T) {
	for _, test := range []struct {
		script string
		gets   int64
		class  error
	}{
		{"get 1: fail transient", 2, nil},
		{"get 1-5: fail throttled", 6, nil},
		{"get 1-20: fail transient", 21, nil},
		{"get *: fail throttled", -1, blobio.ErrThrottled},
		{"get *: fail transient", -1, blobio.ErrTransient},
		{"get *: fail conflict", 6, blobio.ErrConflict}, // time does not heal it
		{"get 1: lost transient", 2, nil},
		{"get 1: fail denied", 1, blobio.ErrDenied},
		{"get 1: fail notfound", 1, blobio.ErrNotFound},
		{"get 1: fail unknown", 1, blobio.ErrUnknown},
		{"get 1: stall 10h", 2, nil},
		{"get 1: fail throttled after 30s", 2, nil},
		{"get 1: fail throttled after 1h", 1, blobio.ErrThrottled}, // beyond the time budget: not even waited for
	} {
		t.Run(test.script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sp, url, _, _ := faulty(t, test.script, blobio.ClientOptions{})
				begin := time.Now()
				dst := make([]byte, 500)
				_, err := sp.ReadRange(t.Context(), url, 100, dst)
				wantClass(t, err, test.class)
				if err == nil && !bytes.Equal(dst, object[100:600]) {
					t.Error("other bytes than those of the object")
				}
				if got := sp.Counters().Gets; test.gets < 0 && got > 60 || test.gets >= 0 && got != test.gets {
					t.Errorf("%d GETs, want %d", got, test.gets)
				}
				took, budget := time.Since(begin), blobio.RetryPolicy{}.WithDefaults().Budget
				if took > budget+2*time.Second { // the last attempt may have to wait for its turn at a busy bucket
					t.Errorf("took %v, more than the budget", took)
				}
				if test.gets < 0 && took < budget {
					t.Errorf("given up after %v, before the budget's end", took)
				}
			})
		})
	}
}

// outage is a bucket that is away until a time, and answers then.
type outage struct {
	blobio.Bucket
	until time.Time
	class error
}

func (o *outage) away(op, key string) error {
	if time.Now().Before(o.until) {
		return blobio.NewError(op, key, o.class, errors.New("by a test"))
	}
	return nil
}

func (o *outage) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	if err := o.away("read", key); err != nil {
		return 0, blobio.Info{}, err
	}
	return o.Bucket.ReadRange(ctx, key, off, dst, opts)
}

func (o *outage) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	if err := o.away("read", key); err != nil {
		return nil, blobio.Info{}, err
	}
	return o.Bucket.ReadSuffix(ctx, key, n, opts)
}

func (o *outage) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	if err := o.away("open", key); err != nil {
		return nil, blobio.Info{}, err
	}
	return o.Bucket.Open(ctx, key, off, opts)
}

func (o *outage) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	if err := o.away("stat", key); err != nil {
		return blobio.Info{}, err
	}
	return o.Bucket.Stat(ctx, key, opts)
}

func (o *outage) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	if err := o.away("list", prefix); err != nil {
		return func(yield func(blobio.Info, error) bool) { yield(blobio.Info{}, err) }
	}
	return o.Bucket.List(ctx, prefix, opts)
}

func (o *outage) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	if err := o.away("create", key); err != nil {
		return nil, err
	}
	return o.Bucket.Create(ctx, key, opts)
}

func (o *outage) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	if err := o.away("delete", key); err != nil {
		return err
	}
	return o.Bucket.Delete(ctx, key, opts)
}

// TestOutageIsOutlasted: every call outlasts a store that is away for less than the budget, by either kind of fault, and
// reports its waits.
func TestOutageIsOutlasted(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, c *blobio.Client, url string) error{
		"range": func(ctx context.Context, c *blobio.Client, url string) error {
			_, err := c.ReadRange(ctx, url, 5, make([]byte, 10))
			return err
		},
		"suffix": func(ctx context.Context, c *blobio.Client, url string) error {
			_, _, err := c.ReadSuffix(ctx, url, 10)
			return err
		},
		"all": func(ctx context.Context, c *blobio.Client, url string) error {
			_, _, err := c.ReadAll(ctx, url, 1<<20)
			return err
		},
		"stat":   func(ctx context.Context, c *blobio.Client, url string) error { _, err := c.Stat(ctx, url); return err },
		"put":    func(ctx context.Context, c *blobio.Client, url string) error { return c.Put(ctx, url+"2", object) },
		"delete": func(ctx context.Context, c *blobio.Client, url string) error { return c.Delete(ctx, url, "") },
		"list": func(ctx context.Context, c *blobio.Client, url string) error {
			for _, err := range c.List(ctx, url) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	} {
		for _, class := range []error{blobio.ErrTransient, blobio.ErrThrottled} {
			for away, survives := range map[time.Duration]bool{2 * time.Second: true, 100 * time.Second: true, 150 * time.Second: false} {
				t.Run(fmt.Sprintf("%s %v %v", name, class, away), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						mem := memblob.New()
						mem.Replace("x", object)
						var waits atomic.Int64
						c := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Notify: func(w blobio.Wait) {
							waits.Add(1)
							if w.Err == nil || w.For <= 0 || w.For > w.Left {
								t.Errorf("wait %+v", w)
							}
						}}})
						if err := c.MountBucket("mem://away/", &outage{mem, time.Now().Add(away), class}); err != nil {
							t.Fatal(err)
						}
						err := call(t.Context(), c, "mem://away/x")
						if survives && err != nil || !survives && !errors.Is(err, class) {
							t.Errorf("%v", err)
						}
						if n := waits.Load(); n < 2 || n > 100 {
							t.Errorf("%d waits", n)
						}
					})
				})
			}
		}
	}
}

// shuffled is a bucket whose lists give keys as they are written down, pass by pass; the last one repeats. "!" breaks a list off.
type shuffled struct {
	blobio.Bucket
	passes []string
	n      int
}

func (s *shuffled) List(context.Context, string, blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	pass := s.passes[min(s.n, len(s.passes)-1)]
	s.n++
	return func(yield func(blobio.Info, error) bool) {
		for key := range strings.FieldsSeq(pass) {
			if key == "!" {
				yield(blobio.Info{}, blobio.NewError("list", "", blobio.ErrTransient, nil))
				return
			}
			if !yield(blobio.Info{Key: key}, nil) {
				return
			}
		}
	}
}

// TestListGivesEachKeyOnce: in any order, however often the store repeats a key or breaks the list off.
func TestListGivesEachKeyOnce(t *testing.T) {
	for _, test := range []struct {
		passes []string
		want   string
		class  error
	}{
		{[]string{"a b c"}, "a b c", nil},
		{[]string{"a b b c c"}, "a b c", nil},
		{[]string{"a b !", "a b c d"}, "a b c d", nil},
		{[]string{"a b !", "a aa b c d"}, "a b c d", nil}, // written meanwhile
		{[]string{"c a b"}, "c a b", nil},
		{[]string{"a d b c"}, "a d b c", nil},
		{[]string{"a b c a"}, "a b c", nil},
		{[]string{"b d a c", "b d a !", "b d !", "b d a c e"}, "b d a c e", nil},
		{[]string{"b d a c", "b ! ", "b d a c"}, "b d a c", nil},
		{[]string{"b d a c", "d b a c"}, "b d", blobio.ErrUnknown},
		{[]string{"b d a c", "b"}, "b d", blobio.ErrUnknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := blobio.NewClient(blobio.ClientOptions{})
			if err := c.MountBucket("mem://shuffled/", &shuffled{Bucket: memblob.New(), passes: test.passes}); err != nil {
				t.Fatal(err)
			}
			var got []string
			var failed error
			for info, err := range c.List(t.Context(), "mem://shuffled/") {
				if failed = err; err == nil {
					got = append(got, info.Key)
				}
			}
			if strings.Join(got, " ") != test.want || blobio.Class(failed) != test.class {
				t.Errorf("%q: %q, %v; want %q", test.passes, got, failed, test.want)
			}
		})
	}
}

// TestBusyStoreGetsASecond: the waits after an answer that the store is busy are ten times as long from the start.
func TestBusyStoreGetsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := map[string]time.Duration{}
		for _, class := range []string{"throttled", "transient"} {
			for range 200 {
				sp, url, _, _ := faulty(t, "get 1: fail "+class, blobio.ClientOptions{})
				begin := time.Now()
				if _, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 10)); err != nil {
					t.Fatal(err)
				}
				took[class] += time.Since(begin)
			}
		}
		if took["throttled"] < 4*took["transient"] {
			t.Errorf("waits %v", took)
		}
	})
}

// TestHungListEnds: a page of a list that never comes is a fault like any other.
func TestHungListEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, url, _, _ := faulty(t, "list 1: stall 10h", blobio.ClientOptions{})
		begin := time.Now()
		n := 0
		for _, err := range sp.List(t.Context(), url) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if took := time.Since(begin); n != 1 || took > time.Minute {
			t.Errorf("%d keys after %v", n, took)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, url, _, _ := faulty(t, "get 1: fail throttled after 30s", blobio.ClientOptions{})
		begin := time.Now()
		if _, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 30*time.Second {
			t.Errorf("asked again after %v, the store wanted 30 s", took)
		}
	})
}

// TestRetryAfterBeyondTheBudget: a wait that the budget has no time for ends the attempts at once, and the error reports it.
func TestRetryAfterBeyondTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, url, _, _ := faulty(t, "get *: fail throttled after 10m", blobio.ClientOptions{})
		begin := time.Now()
		_, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 10))
		wantClass(t, err, blobio.ErrThrottled)
		if took := time.Since(begin); took > time.Second || sp.Counters().Gets != 1 || !strings.Contains(err.Error(), "requests a delay of 10m0s, longer than the remaining --retry-budget") {
			t.Errorf("%v after %v and %d requests", err, took, sp.Counters().Gets)
		}
	})
}

// TestResumeAtEveryOffset breaks the body after each number of bytes: the next request names the rest, and
// no byte comes twice.
func TestResumeAtEveryOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for cut := range len(object) {
			sp, url, _, _ := faulty(t, fmt.Sprintf("get 1: cut %d", cut), blobio.ClientOptions{})
			dst := make([]byte, len(object))
			if _, err := sp.ReadRange(t.Context(), url, 0, dst); err != nil || !bytes.Equal(dst, object) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if c := sp.Counters(); c.Gets != 2 || c.GetBytes != int64(len(object)) || c.Depth != 2 {
				t.Fatalf("cut at %d: %+v, want 2 GETs for %d bytes", cut, c, len(object))
			}
		}
	})
}

// TestStreamResumesAtEveryOffset does the same to a stream, twice each.
func TestStreamResumesAtEveryOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for cut := range len(object) {
			sp, url, _, f := faulty(t, fmt.Sprintf("get 1-2: cut %d", cut), blobio.ClientOptions{})
			got, _, err := sp.ReadAll(t.Context(), url, 1<<20)
			if err != nil || !bytes.Equal(got, object) {
				t.Fatalf("cut at %d: %d bytes, %v", cut, len(got), err)
			}
			if n := f.Requests("get"); n < 2 || n > 3 {
				t.Fatalf("cut at %d: %d requests", cut, n)
			}
		}
	})
}

func TestReplacedObjectIsNeverMixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := bytes.Repeat([]byte("y"), len(object))
		sp, url, mem, f := faulty(t, "get 1: cut 300", blobio.ClientOptions{})
		r, _, err := sp.Open(t.Context(), url, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 300)); err != nil {
			t.Fatal(err)
		}
		mem.Replace("x", other)
		n, err := io.Copy(io.Discard, r)
		if n != 0 {
			t.Errorf("%d bytes of the other object arrived", n)
		}
		wantClass(t, err, blobio.ErrChanged)

		f.Play(t, "")
		mem.Replace("x", object)
		view := sp.Pinned()
		if _, err := view.ReadRange(t.Context(), url, 0, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		mem.Replace("x", other)
		_, err = view.ReadRange(t.Context(), url, 10, make([]byte, 10))
		wantClass(t, err, blobio.ErrChanged)
		_, _, err = view.ReadSuffix(t.Context(), url, 10)
		wantClass(t, err, blobio.ErrChanged)
		_, _, err = view.Open(t.Context(), url, 10)
		wantClass(t, err, blobio.ErrChanged)
		if _, err := sp.ReadRange(t.Context(), url, 10, make([]byte, 10)); err != nil {
			t.Errorf("outside of the view: %v", err)
		}
	})
}

func TestStalledStreamIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, url, _, _ := faulty(t, "get 1: stall 10h", blobio.ClientOptions{})
		got, _, err := sp.ReadAll(t.Context(), url, 1<<20)
		if err != nil || !bytes.Equal(got, object) {
			t.Fatal(err)
		}
	})
}

func TestSuffixSurvivesFaultsThatPass(t *testing.T) {
	for _, fault := range []string{"cut 0", "cut 5", "cut -1", "fail transient", "lost transient", "stall 10h"} {
		synctest.Test(t, func(t *testing.T) {
			sp, url, _, _ := faulty(t, "get 1: "+fault, blobio.ClientOptions{})
			tail, info, err := sp.ReadSuffix(t.Context(), url, 10)
			if err != nil || !bytes.Equal(tail, object[990:]) || info.Size != 1000 || sp.Counters().Gets != 2 {
				t.Errorf("%s: %q, %+v, %v", fault, tail, info, err)
			}
		})
	}
}

// TestSuffixOfBodiesThatBreak: where each body breaks after some bytes, the end of an object is put together from them, of one object.
func TestSuffixOfBodiesThatBreak(t *testing.T) {
	for fault, gets := range map[string]int64{"get *: cut 5": 3, "get *: cut 4": 4, "get 1: cut 0": 2} {
		synctest.Test(t, func(t *testing.T) {
			sp, url, _, _ := faulty(t, fault, blobio.ClientOptions{})
			tail, info, err := sp.ReadSuffix(t.Context(), url, 10)
			if err != nil || !bytes.Equal(tail, object[990:]) || info.Size != 1000 || sp.Counters().Gets != gets {
				t.Errorf("%s: %q, %+v, %v after %d requests", fault, tail, info, err, sp.Counters().Gets)
			}
			sp, url, _, _ = faulty(t, fault, blobio.ClientOptions{})
			tail, info, err = sp.ReadSuffix(t.Context(), url, 5000)
			if strings.HasSuffix(fault, "0") && (err != nil || !bytes.Equal(tail, object) || info.Size != 1000) {
				t.Errorf("%s, more than all: %d bytes, %+v, %v", fault, len(tail), info, err)
			}
		})
	}
}

// TestSlowLoris: a store that trickles is given up in bounded time.
func TestSlowLoris(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		sp, url, _ := slow(t, blobfake.Latency{Rate: 1 << 10}, size, blobio.ClientOptions{}) // a quarter of an hour for 1 MiB
		begin := time.Now()
		_, err := sp.ReadRange(t.Context(), url, 0, make([]byte, size))
		wantClass(t, err, blobio.ErrTransient)
		longest := blobio.RetryPolicy{}.WithDefaults().Budget + blobio.RetryPolicy{}.WithDefaults().Stall + size/blobio.SlowestRate*time.Second
		if took := time.Since(begin); took > longest {
			t.Errorf("given up after %v, want %v at most", took, longest)
		}
	})
}

// TestPutOutcomes: won, lost and unknown, whatever the answers say.
func TestPutOutcomes(t *testing.T) {
	mine, others := []byte("mine"), []byte("others")
	for _, test := range []struct {
		name, script string
		there        []byte // before the Put
		class        error
		holds        []byte // afterwards
	}{
		{"plain", "", nil, nil, mine},
		{"taken", "", others, blobio.ErrExists, others},
		{"mine already", "", mine, nil, mine},
		{"answer lost", "put 1: lost transient", nil, nil, mine},
		{"answer lost, unknown", "put 1: lost unknown", nil, nil, mine},
		{"delivered twice", "put 1: twice", nil, nil, mine},
		{"not done", "put 1: fail transient", nil, nil, mine},
		{"not done, then taken by the retry of itself", "put 1: lost throttled", nil, nil, mine},
		{"answer lost, taken", "put 1: lost transient", others, blobio.ErrExists, others},
		{"busy", "put 1-5: fail throttled", nil, nil, mine},
		{"always busy", "put *: fail throttled", nil, blobio.ErrThrottled, nil},
		{"another writer at work", "put 1: fail conflict", nil, nil, mine},
		{"refused", "put 1: fail denied", nil, blobio.ErrDenied, nil},
		{"unknown", "put 1: lost unknown\nget *: fail denied", nil, blobio.ErrUnknown, mine},
		{"unknown, nothing there", "put 1: fail unknown", nil, blobio.ErrUnknown, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sp, _, mem, _ := faulty(t, test.script, blobio.ClientOptions{})
				if test.there != nil {
					mem.Replace("p", test.there)
				}
				wantClass(t, sp.Put(t.Context(), "mem://faulty/p", mine), test.class)
				held := make([]byte, len(test.holds))
				_, _, err := mem.ReadRange(t.Context(), "p", 0, held, blobio.ReadOptions{})
				if (err == nil) != (test.holds != nil) || !bytes.Equal(held, test.holds) {
					t.Errorf("the store holds %q, %v", held, err)
				}
			})
		})
	}
}

// TestPutWalk breaks each request of three writes in each way that loses no data: the writes must all succeed.
func TestPutWalk(t *testing.T) {
	for _, fault := range []string{"fail transient", "lost transient", "fail throttled", "lost throttled", "twice"} {
		synctest.Test(t, func(t *testing.T) {
			steps := blobfake.Walk(t,
				func(n int) string { return fmt.Sprintf("any %d: %s", n, fault) },
				func(*testing.T) blobio.Bucket { return memblob.New() },
				func(t *testing.T, _ int, b *blobfake.Faulty) {
					sp := blobio.NewClient(blobio.ClientOptions{})
					if err := sp.MountBucket("mem://walk/", b); err != nil {
						t.Fatal(err)
					}
					for i := range 3 {
						if err := sp.Put(t.Context(), fmt.Sprintf("mem://walk/%d", i), []byte{byte(i)}); err != nil {
							t.Errorf("%s: %v", fault, err)
						}
					}
				})
			if steps < 3 {
				t.Errorf("%s: %d steps", fault, steps)
			}
		})
	}
}

func TestDeleteWhoseAnswerWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, url, _, _ := faulty(t, "delete 1: lost transient", blobio.ClientOptions{})
		if err := sp.Delete(t.Context(), url, ""); err != nil {
			t.Errorf("the first attempt deleted it: %v", err)
		}
		wantClass(t, sp.Delete(t.Context(), url, ""), blobio.ErrNotFound)
	})
}

func TestListGoesOnBehindTheLastKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, _, mem, _ := faulty(t, "list 1-3: lost transient", blobio.ClientOptions{})
		for i := range 5 {
			mem.Replace(fmt.Sprint("l/", i), nil)
		}
		var keys []string
		for info, err := range sp.List(t.Context(), "mem://faulty/l/") {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, info.Key)
		}
		if got := strings.Join(keys, " "); got != "l/0 l/1 l/2 l/3 l/4" {
			t.Errorf("listed %s", got)
		}
	})
}

func TestErrorsHoldNoSecret(t *testing.T) {
	for _, err := range []error{
		blobio.NewError("read", "https://user:secret@host/x?sig=secret", blobio.ErrDenied, nil),
		func() error {
			_, err := blobio.NewClient(blobio.ClientOptions{}).Mount(t.Context(), "nosuch://user:secret@host/x?key=secret")
			return err
		}(),
		func() error {
			_, err := blobio.NewClient(blobio.ClientOptions{}).Mount(t.Context(), "mem://user:secret@ho st/%zz?key=secret")
			return err
		}(),
		func() error {
			_, err := blobio.NewClient(blobio.ClientOptions{}).Stat(t.Context(), "s3://user:secret@host/x?sig=secret")
			return err
		}(),
	} {
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

func TestClosedSpace(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	url := "mem://" + t.Name() + "/x"
	if err := sp.Put(t.Context(), url, nil); err != nil {
		t.Fatal(err)
	}
	if err := sp.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := sp.Stat(t.Context(), url)
	wantClass(t, err, blobio.ErrClosed)
	wantClass(t, sp.Put(t.Context(), url, nil), blobio.ErrClosed)
	if !errors.Is(err, blobio.ErrClosed) {
		t.Error("errors.Is does not find the class")
	}
}

// TestCloseOutcomes is TestPutOutcomes for objects that are written piece by piece. Small ones are tried again as a Put
// is; streamed ones are settled in the same way, but not tried again.
func TestCloseOutcomes(t *testing.T) {
	for _, test := range []struct {
		script   string
		there    string // before
		readBack bool
		class    error // of a small object
		streamed error // of a streamed one
	}{
		{},
		{there: "others", class: blobio.ErrExists, streamed: blobio.ErrExists},
		{there: "mine and more"}, // a retry of ourselves came first
		{script: "put 1: lost transient"},
		{script: "put 1: lost unknown"},
		{script: "put 1: twice"},
		{script: "put 1: lost transient", there: "others", class: blobio.ErrExists, streamed: blobio.ErrExists},
		{script: "put 1: lost transient", there: "mine and MORE", class: blobio.ErrExists, streamed: blobio.ErrExists},
		{script: "put 1: fail transient", streamed: blobio.ErrTransient},
		{script: "put 1: fail throttled", streamed: blobio.ErrThrottled},
		{script: "put 1: fail denied", class: blobio.ErrDenied, streamed: blobio.ErrDenied},
		{script: "put 1: lost unknown\nget *: fail denied", class: blobio.ErrUnknown, streamed: blobio.ErrUnknown},
		{script: "put 1: garble", readBack: true, streamed: blobio.ErrDamaged},
		{script: "put 1: truncate", readBack: true, streamed: blobio.ErrDamaged},
		{script: "put *: garble", readBack: true, class: blobio.ErrDamaged, streamed: blobio.ErrDamaged},
		{readBack: true},
	} {
		for hint, class := range map[int64]error{0: test.class, 1 << 30: test.streamed} {
			t.Run(fmt.Sprintf("%s %s %d", test.script, test.there, hint), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sp, _, mem, _ := faulty(t, test.script, blobio.ClientOptions{})
					if test.readBack {
						sp.ReadBackWrites()
					}
					w, err := sp.Create(t.Context(), "mem://faulty/p", blobio.CreateOptions{SizeHint: hint})
					if err != nil {
						t.Fatal(err)
					}
					for _, part := range []string{"mine", " and ", "more"} {
						if _, err := io.WriteString(w, part); err != nil {
							t.Fatal(err)
						}
					}
					if test.there != "" {
						mem.Replace("p", []byte(test.there))
					}
					wantClass(t, w.Close(), class)
					wantClass(t, w.Close(), blobio.ErrClosed)
					w.Abort()
					if errors.Is(class, blobio.ErrDamaged) {
						_, err := mem.Stat(t.Context(), "p", blobio.ReadOptions{})
						wantClass(t, err, blobio.ErrNotFound)
					}
				})
			})
		}
	}
}

// TestCreateOutgrowsWhatIsHeld: an object that turns out to be large is streamed from the byte on at which that is seen.
func TestCreateOutgrowsWhatIsHeld(t *testing.T) {
	sp, _, mem, _ := faulty(t, "", blobio.ClientOptions{})
	w, err := sp.Create(t.Context(), "mem://faulty/large", blobio.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for i := range 10 {
		piece := bytes.Repeat([]byte{byte(i)}, 1<<20)
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
		want = append(want, piece...)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _, err := mem.ReadSuffix(t.Context(), "large", 1<<30, blobio.ReadOptions{}); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d: %v", len(got), len(want), err)
	}
}

// TestPutReadBack: damage is seen whatever the store states, and written again.
func TestPutReadBack(t *testing.T) {
	for script, class := range map[string]error{"": nil, "put 1: garble": nil, "put 1-2: truncate": nil, "put *: truncate": blobio.ErrDamaged} {
		synctest.Test(t, func(t *testing.T) {
			sp, _, mem, _ := faulty(t, script, blobio.ClientOptions{})
			wantClass(t, sp.PutReadBack(t.Context(), "mem://faulty/p", []byte("mine")), class)
			got, _, err := mem.ReadSuffix(t.Context(), "p", 100, blobio.ReadOptions{})
			if class == nil && (err != nil || string(got) != "mine") {
				t.Errorf("%q: the store holds %q, %v", script, got, err)
			}
		})
	}
}

// TestCountersByStore: requests to each bucket are counted for it and for all together, what was retried apart.
func TestCountersByStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, _, _, _ := faulty(t, "get 1-2: fail throttled", blobio.ClientOptions{})
		if err := sp.MountBucket("mem://other/", memblob.New()); err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{"mem://faulty/p", "mem://other/p"} {
			if err := sp.Put(t.Context(), url, []byte("four")); err != nil {
				t.Fatal(err)
			}
			if _, _, err := sp.ReadAll(t.Context(), url, 10); err != nil {
				t.Fatal(err)
			}
		}
		all, stores := sp.Counters(), sp.CountersByStore()
		broken, whole := stores["mem://faulty/"], stores["mem://other/"]
		if broken.Retries != 2 || broken.Gets != whole.Gets+2 || broken.PutBytes != 4 || whole.Retries != 0 || whole.Puts != 1 || whole.GetBytes != 4 {
			t.Errorf("%+v, %+v", broken, whole)
		}
		if all.Gets != broken.Gets+whole.Gets || all.Puts != broken.Puts+whole.Puts || all.Retries != 2 || all.GetBytes != broken.GetBytes+whole.GetBytes {
			t.Errorf("%+v of all, %+v and %+v", all, broken, whole)
		}
	})
}
