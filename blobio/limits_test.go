package blobio_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// slow makes a Client over a bucket with one object of size bytes under the URL x.
func slow(t *testing.T, l blobfake.Latency, size int, opts blobio.ClientOptions) (sp *blobio.Client, url string, s *blobfake.Slow) {
	t.Helper()
	mem := memblob.New()
	mem.Replace("x", make([]byte, size))
	s = blobfake.NewSlow(mem, l)
	sp = blobio.NewClient(opts)
	if err := sp.MountBucket("mem://slow/", s); err != nil {
		t.Fatal(err)
	}
	return sp, "mem://slow/x", s
}

func TestRangesAreCoalesced(t *testing.T) {
	const mib = 1 << 20
	mem := memblob.New()
	mem.Replace("x", make([]byte, 80*mib))
	bucket := blobfake.NewSlow(mem, blobfake.Latency{})
	for _, test := range []struct {
		name        string
		ranges      []blobio.Range
		gets, bytes int64
		depth       int64
	}{
		{"nothing", nil, 0, 0, 0},
		{"empty ranges", []blobio.Range{{5, 5}, {0, 0}}, 0, 0, 0},
		{"one", []blobio.Range{{100, 200}}, 1, 100, 1},
		{"neighbours", []blobio.Range{{0, 10}, {10, 20}, {20, 30}}, 1, 30, 1},
		{"a gap of 1 MiB", []blobio.Range{{0, 10}, {mib + 10, mib + 20}}, 1, mib + 20, 1},
		{"a gap of 1 MiB and a byte", []blobio.Range{{0, 10}, {mib + 11, mib + 20}}, 2, 19, 1},
		{"overlapping", []blobio.Range{{50, 60}, {0, 55}, {52, 53}}, 1, 60, 1},
		{"backwards", []blobio.Range{{30, 40}, {20, 30}}, 1, 20, 1},
		{"8 MiB", []blobio.Range{{0, 8 * mib}}, 1, 8 * mib, 1},
		{"more than a request", []blobio.Range{{0, 8*mib + 1}}, 2, 8*mib + 1, 1},
		{"close, but too much for one request", []blobio.Range{{0, 5 * mib}, {5 * mib, 9 * mib}}, 2, 9 * mib, 1},
		{"64 MiB: the last request first", []blobio.Range{{0, 64 * mib}}, 8, 64 * mib, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			sp, url := blobio.NewClient(blobio.ClientOptions{}), "mem://coalesce/x"
			if err := sp.MountBucket("mem://coalesce/", bucket); err != nil {
				t.Fatal(err)
			}
			got, err := sp.ReadRanges(t.Context(), url, test.ranges)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range test.ranges {
				if int64(len(got[i])) != r.Len() {
					t.Errorf("range %v has %d bytes", r, len(got[i]))
				}
			}
			c := sp.Counters()
			if c.Gets != test.gets || c.GetBytes != test.bytes || c.Depth != test.depth {
				t.Errorf("%+v, want %d GETs of %d bytes, depth %d", c, test.gets, test.bytes, test.depth)
			}
		})
	}
}

func TestImpossibleRangesTakeNoMemory(t *testing.T) {
	sp, url, _ := slow(t, blobfake.Latency{}, 1000, blobio.ClientOptions{})
	for _, ranges := range [][]blobio.Range{
		{{0, 1 << 62}}, {{0, 1 << 62}, {1 << 62, 1<<63 - 1}}, {{5, 4}}, {{-1, 4}}, {{0, 1001}}, {{1 << 40, 1<<40 + 1}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := sp.ReadRanges(t.Context(), url, ranges)
		runtime.ReadMemStats(&after)
		wantClass(t, err, blobio.ErrRange)
		allocated := after.TotalAlloc - before.TotalAlloc
		if allocated > 16<<20 {
			t.Errorf("%v took %d bytes", ranges, allocated)
		}
	}
}

func TestScanUsesTheConcurrencyItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 48 << 20
		for _, concurrency := range []int{1, 4, 16} {
			sp, url, s := slow(t, blobfake.Cloud, size, blobio.ClientOptions{Concurrency: concurrency, Gap: -1, Request: 1 << 20})
			begin := time.Now()
			if _, err := sp.ReadRanges(t.Context(), url, []blobio.Range{{0, size}}); err != nil {
				t.Fatal(err)
			}
			// 48 requests of 1 MiB in rounds; each round takes 30 ms and 1 MiB at 50 MiB/s.
			want := time.Duration((48+concurrency-1)/concurrency) * 50 * time.Millisecond
			if took := time.Since(begin); took != want || s.MostAtOnce() != concurrency {
				t.Errorf("%d at once: %v with %d in flight, want %v", concurrency, took, s.MostAtOnce(), want)
			}
			if c := sp.Counters(); c.Gets != 48 || c.Depth != 1 {
				t.Errorf("%+v, want 48 GETs of depth 1", c)
			}
		}
	})
}

// TestBucketConcurrency: two short reads count as one request, and what is longer, or no read, as one.
func TestBucketConcurrency(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		most int
	}{{"256 KiB", 256 << 10, 6}, {"256 KiB and a byte", 256<<10 + 1, 3}, {"no read", 0, 3}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sp, url, s := slow(t, blobfake.Cloud, 1<<20, blobio.ClientOptions{BucketConcurrency: 3})
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() {
						var err error
						if c.n == 0 {
							_, err = sp.Stat(t.Context(), url)
						} else {
							_, err = sp.ReadRange(t.Context(), url, 0, make([]byte, c.n))
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if s.MostAtOnce() != c.most {
					t.Errorf("%d requests at once, want %d", s.MostAtOnce(), c.most)
				}
			})
		})
	}
}

func TestReadMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, url, s := slow(t, blobfake.Cloud, 10<<20, blobio.ClientOptions{ReadMemory: 2 << 20})
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				if _, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 1<<20)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if s.MostAtOnce() != 2 {
			t.Errorf("%d reads of 1 MiB at once within 2 MiB", s.MostAtOnce())
		}
		if _, err := sp.ReadRange(t.Context(), url, 0, make([]byte, 8<<20)); err != nil {
			t.Errorf("a read larger than the budget: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		all.Go(func() { _, _ = sp.ReadRange(t.Context(), url, 0, make([]byte, 8<<20)) })
		synctest.Wait()
		_, err := sp.ReadRange(ctx, url, 0, make([]byte, 1))
		wantClass(t, err, blobio.ErrCanceled)
		all.Wait()
	})
}

// TestStormSlowsRequests: a store that bears 20 requests a second is called by 50 readers. All are served, and
// the store isn't hammered.
func TestStormSlowsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memblob.New()
		mem.Replace("x", object)
		busy := &overloaded{Bucket: blobfake.NewSlow(mem, blobfake.Cloud), perSecond: 20}
		sp := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: 50, Budget: time.Hour}})
		if err := sp.MountBucket("mem://busy/", busy); err != nil {
			t.Fatal(err)
		}
		const readers, reads = 50, 8
		var all sync.WaitGroup
		for range readers {
			all.Go(func() {
				for range reads {
					if _, err := sp.ReadRange(t.Context(), "mem://busy/x", 0, make([]byte, 10)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		gets := sp.Counters().Gets
		t.Logf("%d requests for %d reads, %d refused", gets, readers*reads, busy.refused)
		if gets > 3*readers*reads {
			t.Errorf("%d requests for %d reads: the store was hammered", gets, readers*reads)
		}

		busy.perSecond = 1 << 30 // the storm is over
		time.Sleep(time.Second)
		for range 200 {
			time.Sleep(100 * time.Millisecond)
			if _, err := sp.ReadRange(t.Context(), "mem://busy/x", 0, make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		if err := sp.Each(t.Context(), 160, func(ctx context.Context, sp *blobio.Client, _ int) error {
			_, err := sp.ReadRange(ctx, "mem://busy/x", 0, make([]byte, 10))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("160 reads, 16 at once, took %v after the storm: the limit did not fall away", took)
		}
	})
}

// overloaded refuses what goes beyond a number of reads in a second.
type overloaded struct {
	blobio.Bucket
	mu        sync.Mutex
	perSecond int
	second    int64
	served    int
	refused   int
}

func (o *overloaded) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	o.mu.Lock()
	if now := time.Now().Unix(); now != o.second {
		o.second, o.served = now, 0
	}
	o.served++
	over := o.served > o.perSecond
	if over {
		o.refused++
	}
	o.mu.Unlock()
	if over {
		return 0, blobio.Info{}, blobio.NewError("read", key, blobio.ErrThrottled, nil)
	}
	return o.Bucket.ReadRange(ctx, key, off, dst, opts)
}

// TestHedging: with more than one answer in a hundred slow, hedging brings p99 to at most twice p50, for at most 5 % more
// requests; without, p99 is that of the slow ones.
func TestHedging(t *testing.T) {
	lat := blobfake.Cloud
	lat.SlowShare, lat.SlowFirstByte = 0.015, 2*time.Second
	const reads = 3000
	measure := func(t *testing.T, opts blobio.ClientOptions) (p50, p99 time.Duration, gets int64) {
		sp, url, _ := slow(t, lat, 1<<20, opts)
		times := make([]time.Duration, reads)
		dst := make([]byte, 64<<10)
		for i := range times {
			begin := time.Now()
			if _, err := sp.ReadRange(t.Context(), url, 0, dst); err != nil {
				t.Fatal(err)
			}
			times[i] = time.Since(begin)
		}
		slices.Sort(times)
		return times[reads/2], times[reads*99/100], sp.Counters().Gets
	}
	synctest.Test(t, func(t *testing.T) {
		p50, p99, gets := measure(t, blobio.ClientOptions{})
		t.Logf("without: p50 %v, p99 %v, %d GETs", p50, p99, gets)
		if gets != reads || p99 < 2*time.Second {
			t.Errorf("without hedging: %d GETs for %d reads, p99 %v", gets, reads, p99)
		}
		p50, p99, gets = measure(t, blobio.ClientOptions{Hedging: true})
		t.Logf("with: p50 %v, p99 %v, %d GETs", p50, p99, gets)
		if p99 > 2*p50+time.Millisecond/10 {
			t.Errorf("p99 %v is more than twice p50 %v", p99, p50)
		}
		if extra := gets - reads; extra < 1 || extra > reads/20+10 {
			t.Errorf("%d second requests for %d reads", extra, reads)
		}
	})
}

// TestHedgingBudget: a store that turned slow altogether does not get every request twice.
func TestHedgingBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memblob.New()
		mem.Replace("x", object)
		var now blobio.Bucket = blobfake.NewSlow(mem, blobfake.Cloud)
		sp := blobio.NewClient(blobio.ClientOptions{Hedging: true})
		if err := sp.MountBucket("mem://turning/", &turning{now: &now}); err != nil {
			t.Fatal(err)
		}
		read := func(n int) {
			for range n {
				if _, err := sp.ReadRange(t.Context(), "mem://turning/x", 0, make([]byte, 10)); err != nil {
					t.Fatal(err)
				}
			}
		}
		read(400)
		now = blobfake.NewSlow(mem, blobfake.Latency{FirstByte: 300 * time.Millisecond})
		before := sp.Counters().Gets
		read(400)
		if extra := sp.Counters().Gets - before - 400; extra > 400/20+10 {
			t.Errorf("%d second requests for 400 reads", extra)
		}
	})
}

// turning is a bucket that can be exchanged.
type turning struct {
	blobio.Bucket
	now *blobio.Bucket
}

func (b *turning) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	return (*b.now).ReadRange(ctx, key, off, dst, opts)
}

func TestHedgedReadsAreRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memblob.New()
		mem.Replace("x", object)
		sp := blobio.NewClient(blobio.ClientOptions{Hedging: true})
		lat := blobfake.Latency{FirstByte: time.Millisecond, SlowShare: 0.2, SlowFirstByte: time.Second}
		if err := sp.MountBucket("mem://h/", blobfake.NewSlow(mem, lat)); err != nil {
			t.Fatal(err)
		}
		for i := range 500 {
			dst := make([]byte, 10)
			off := int64(i % 900)
			if _, err := sp.ReadRange(t.Context(), "mem://h/x", off, dst); err != nil || string(dst) != string(object[off:off+10]) {
				t.Fatalf("read %d: %q, %v", i, dst, err)
			}
		}
	})
}

func TestDepthOfForks(t *testing.T) {
	sp, url, _ := slow(t, blobfake.Latency{}, 1000, blobio.ClientOptions{})
	ctx := t.Context()
	read := func(c *blobio.Client, n int) {
		for range n {
			if _, err := c.ReadRange(ctx, url, 0, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	read(sp, 2)
	fork := sp.Fork()
	for _, n := range []int{1, 4, 2} { // one after the other in time, but not dependent
		branch := fork.Branch()
		read(branch, n-1)
		if err := branch.Each(ctx, 8, func(_ context.Context, c *blobio.Client, _ int) error { read(c, 1); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	fork.Join()
	read(sp, 1)
	if got, want := sp.Counters().Depth, int64(2+4+1); got != want {
		t.Errorf("depth %d, want %d", got, want)
	}
}

func TestEachStopsAtTheFirstError(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{Concurrency: 2})
	done := 0
	var mu sync.Mutex
	err := sp.Each(t.Context(), 1000, func(ctx context.Context, _ *blobio.Client, i int) error {
		mu.Lock()
		done++
		mu.Unlock()
		switch {
		case i == 3:
			return fmt.Errorf("at %d", i)
		case i > 3:
			<-ctx.Done() // or the others might be through before the error is seen
		}
		return nil
	})
	if err == nil || err.Error() != "at 3" || done > 20 {
		t.Errorf("%v after %d calls", err, done)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sp.Each(ctx, 5, func(context.Context, *blobio.Client, int) error { return nil }); err == nil {
		t.Error("a context that ended before is not an error")
	}
}
