package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"time"

	"github.com/shardcat/shardcat/shardfmt/internal/testkit/mutant"
)

// attack is what cases are made of, and what is known of it.
type attack struct {
	options
	shards []*mutant.Shard
	inputs []input
	// own are the names of the shards of our own, whose every byte is protected.
	own    map[string]bool
	hashes map[string]uint64
	work   string
}

// largest is the size of shards of a corpus that are left out, in bytes: cases should be many.
const largest = 2 << 20

// newAttack loads the corpus; work is a folder for files in passing.
func newAttack(ctx context.Context, o options, work string) (*attack, error) {
	a := &attack{options: o, own: map[string]bool{}, hashes: map[string]uint64{}, work: work}
	own, err := mutant.Own(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range own {
		a.own[s.Name] = true
	}
	if a.inputs, err = inputs(own[0]); err != nil {
		return nil, err
	}
	files, err := filesBelow(o.module)
	if err != nil {
		return nil, err
	}
	a.inputs = append(a.inputs, files...)
	a.shards = own
	if o.corpus == "" {
		return a, nil
	}
	roots, err := filepath.Glob(filepath.Join(o.corpus, "*", mutant.RootName))
	if err != nil {
		return nil, err
	}
	slices.Sort(roots)
	for _, root := range roots {
		s, err := mutant.Load(filepath.Dir(root))
		if err != nil {
			return nil, err
		}
		if s.Size() <= largest {
			a.shards = append(a.shards, s)
		}
	}
	return a, nil
}

// inputShare is the part of the cases that change input files: one of so many.
const inputShare = 6

// subject is what a case is about.
type subject struct {
	r      *rand.Rand
	of     *mutant.Shard
	mutant *mutant.Mutant
	// name, data and what of a changed file, if mutant is nil.
	name, what string
	data       []byte
}

// subject makes case n.
func (a *attack) subject(n int64) (*subject, error) {
	r := rand.New(rand.NewPCG(a.seed, uint64(n)))
	s := &subject{r: r}
	if r.IntN(inputShare) == 0 {
		in := a.anyInput(r)
		s.name = in.name
		s.data, s.what = changeInput(r, in)
		return s, nil
	}
	s.of = a.shards[r.IntN(len(a.shards))]
	if r.IntN(3) == 0 {
		s.of = a.shards[r.IntN(len(a.own))]
	}
	var err error
	s.mutant, err = mutant.New(r, s.of, a.shards)
	return s, err
}

// anyInput chooses a file, every format as often as any other.
func (a *attack) anyInput(r *rand.Rand) input {
	formats := map[string][]input{}
	for _, in := range a.inputs {
		formats[filepath.Ext(in.name)] = append(formats[filepath.Ext(in.name)], in)
	}
	names := slices.Sorted(maps.Keys(formats))
	of := formats[names[r.IntN(len(names))]]
	return of[r.IntN(len(of))]
}

// save writes a case to a folder.
func (s *subject) save(dir string) error {
	if s.mutant != nil {
		return s.mutant.Save(dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, s.name), s.data, 0o600)
}

// String reports what was changed.
func (s *subject) String() string {
	if s.mutant == nil {
		return s.name + ": " + s.what
	}
	return fmt.Sprintf("%s, %s: %s", s.of.Name, s.mutant.Kind, s.mutant.What)
}

// progress is a line of a worker's output: a case begins, or has ended with a verdict.
type progress struct {
	Case    int64    `json:"case"`
	Verdict *verdict `json:"verdict,omitempty"`
}

// work runs cases in this process.
func work(ctx context.Context, o options) (faults int, err error) {
	dir, err := os.MkdirTemp("", "shardcat-attack")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	a, err := newAttack(ctx, o, dir)
	if err != nil {
		return 0, err
	}
	out := json.NewEncoder(os.Stdout)
	peak := watch()
	until := time.Now().Add(o.length)
	for n := o.first; (o.cases == 0 || n < o.first+o.cases) && time.Now().Before(until) && ctx.Err() == nil; n++ {
		if err := out.Encode(progress{Case: n}); err != nil {
			return faults, err
		}
		s, err := a.subject(n)
		if err != nil {
			return faults, fmt.Errorf("case %d: %w", n, err)
		}
		peak.Store(0)
		v := a.run(s)
		v.Peak = peak.Load()
		if v.Fault != "" {
			faults++
		}
		if err := out.Encode(progress{n, &v}); err != nil {
			return faults, err
		}
	}
	return faults, nil
}

// run judges a case.
func (a *attack) run(s *subject) (v verdict) {
	started := time.Now()
	if s.mutant != nil {
		v = a.judge(s.r, s.mutant, s.of)
	} else {
		v = a.judgeInput(s.name, s.data)
	}
	v.Nanos = time.Since(started).Nanoseconds()
	return v
}

// sampleEvery is how often memory is looked at.
const sampleEvery = 2 * time.Millisecond

// watch keeps the most bytes of memory in use since the last time it was set to 0.
func watch() *atomic.Uint64 {
	peak := new(atomic.Uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			if n := sample[0].Value.Uint64(); n > peak.Load() {
				peak.Store(n)
			}
			time.Sleep(sampleEvery)
		}
	}()
	return peak
}
