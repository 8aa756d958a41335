package soak

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// policy is that of all services: small groups, so that there is always something to do.
var policy = compaction.Overrides{"*": {
	"schedule": "1s", "jitter": "0", "min-inputs": "3", "max-inputs": "20", "concurrency": "2", "expire": "2s", "pack-objects": "40", "collect": "10s",
}}

// serve is a service until it is ended or killed. It reports what it did, and how large its live heap is.
func serve(ctx context.Context, c *catalog.Catalog) error {
	go func() {
		for ctx.Err() == nil {
			pause(ctx, 2*time.Second)
			fmt.Println("heap:", liveHeap())
		}
	}()
	service := compaction.NewService(c, compaction.ServiceOptions{
		Workers: 2, Overrides: policy, Now: c.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Finished: func(r compaction.Run) {
			if r.Error != "" {
				fmt.Println("run-failed:", r.Table, strings.ReplaceAll(r.Error, "\n", " "))
			}
			switch {
			case len(r.Results) > 0:
				fmt.Println("compacted:", r.Table.Table)
			case r.Lease == compaction.LeaseLost:
				fmt.Println("lost-lease:", r.Table)
			}
		},
		Failed: func(st compaction.TableStatus) {
			if st.State == compaction.Halted {
				fmt.Println("halted:", st.Table, st.Problem)
			}
		},
	})
	return service.Run(ctx)
}

// liveHeap is the rest after a collection, in bytes.
func liveHeap() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// attend books what a service states.
func (s *soak) attend(c *child, heap func(int64)) {
	for c.said.Scan() {
		what, rest, _ := strings.Cut(c.said.Text(), " ")
		switch what {
		case "compacted:":
			s.compactions.Add(1)
			s.tables[catalog.Name{Namespace: "default", Table: rest}].wasCompacted()
		case "lost-lease:":
			s.lost.Add(1)
		case "heap:":
			var n int64
			fmt.Sscan(rest, &n)
			heap(n)
		case "halted:":
			s.t.Errorf("a service %s %s", what, rest)
		case "run-failed:", "failed:":
			if s.faultRuns.Add(1); !expected(rest) {
				s.t.Errorf("a service %s %s", what, rest)
			}
		}
	}
}

// torment starts a service again and again, and each time does something to it.
func (s *soak) torment(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		c, err := s.start("service", r.Uint64())
		if err != nil {
			s.t.Error(err)
			return
		}
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			s.attend(c, func(int64) {})
		}()
		pause(ctx, lifetime(r))
		how := r.IntN(4)
		if how != 0 {
			s.kills.Add(1)
		}
		s.end(ctx, c, heard, how, r)
	}
}

// steady is the service that lives to the end.
func (s *soak) steady(ctx context.Context) {
	r := rand.New(rand.NewPCG(s.seed, 99))
	c, err := s.start("service", r.Uint64())
	if err != nil {
		s.t.Error(err)
		return
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		s.attend(c, func(n int64) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.heaps = append(s.heaps, n)
		})
	}()
	select {
	case <-ctx.Done():
	case <-heard:
		s.t.Errorf("the service that should live to the end ended: %s", c.errors.String())
	}
	s.end(ctx, c, heard, 0, r)
}

// metadataCache is full after minutes, so that what grows beside it is seen.
const metadataCache = 1 << 20

// memoryIsFlat holds the live heap of the last quarter against that of the second. What encoders keep for their next use comes with the first rebuilds:
// 10 MB for each Zstd encoder, one for each of two workers.
func (s *soak) memoryIsFlat() {
	const margin = 32 << 20
	n := len(s.heaps)
	if n < 8 {
		s.t.Logf("memory: %d samples are too few to tell", n)
		return
	}
	early, late := median(s.heaps[n/4:n/2]), median(s.heaps[n*3/4:])
	s.t.Logf("memory: %d KiB of live heap early on, %d KiB at the end", early>>10, late>>10)
	if late > early+early/2+margin {
		s.t.Errorf("memory grows: %d bytes of live heap early on, %d at the end", early, late)
	}
}

func median(of []int64) int64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
