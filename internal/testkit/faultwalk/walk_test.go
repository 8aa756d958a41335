package faultwalk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/seed"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// batches are the rest of a source.
func batches(ctx context.Context, src fileio.Source) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for {
			b, err := src.Next(ctx)
			if errors.Is(err, io.EOF) || !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// step is one run: a command, and a fault at one of its requests.
type step struct {
	command *command
	fault   *fault
	n       int
}

// walker walks one store.
type walker struct {
	world *world
	// commands are those that the store's catalog has.
	commands []command
	learned  map[string]untouched // by command
	prepared map[string]*snapshot // by command
	// again has the states, by command and form, that a next run has led to the state after it.
	again map[string]bool
	// unmoved are steps that ended with an error and left every byte as it was, alike those that left what an earlier step of the same
	// command did, ids and times aside. Neither has a next run of its own.
	unmoved, alike int
	steps          int
	struck         int // steps in which the fault came to pass
	failed         int // commands that ended with an error
}

// untouched is what a run of a command without faults printed, and how many requests of each kind it made.
type untouched struct {
	printed  []string
	requests map[string]int
}

// newWalker has the commands of a store's catalog.
func newWalker(t *testing.T, at *store) *walker {
	t.Helper()
	w := &walker{world: newWorld(t, at), learned: map[string]untouched{}, prepared: map[string]*snapshot{}, again: map[string]bool{}}
	for _, c := range commands {
		if c.rest == nil || *c.rest == (at.name == "rest") {
			w.commands = append(w.commands, c)
		}
	}
	return w
}

// untouched is what a command does without faults, by a run of it where there was none yet.
func (w *walker) untouched(t *testing.T, c *command) untouched {
	t.Helper()
	if known, ok := w.learned[c.name]; ok {
		return known
	}
	w.prepare(t, c)
	attach, requests, lift := w.world.store.broken(t, "")
	r := w.world.session(t, func(_ *testing.T, s *blobio.Client) { attach(s) })
	r.job = "untouched"
	if err := c.run(r); err != nil {
		t.Fatalf("%s, untouched: %v", c.name, err)
	}
	r.close()
	lift()
	known := untouched{r.out, map[string]int{}}
	for _, kind := range []string{"any", "get", "list", "load", "commit"} {
		known.requests[kind] = requests(kind)
	}
	w.learned[c.name] = known
	if got, want := w.world.observe(t), w.expected(c); !got.equal(want) {
		t.Fatalf("%s, untouched: %v, want %v", c.name, got, want)
	}
	if c.shared {
		w.world.checkShared(t)
	}
	return known
}

// before is the state before a command.
func (w *walker) before(c *command) state {
	if c.prepared != nil {
		return c.prepared(w.world.state.clone())
	}
	return w.world.state.clone()
}

// prepare resets the world and does what a command needs in it, without faults. It does that once, and later resets return to its state.
func (w *walker) prepare(t *testing.T, c *command) {
	t.Helper()
	w.world.damaged, w.world.shared, w.world.start = c.damaged, c.shared, w.world.common
	if ready, ok := w.prepared[c.name]; ok {
		w.world.start = ready
	}
	w.world.reset(t)
	if c.prepare == nil || w.world.start != w.world.common {
		return
	}
	r := w.world.session(t, w.world.store.straight)
	r.job = "prepare"
	err := c.prepare(r)
	r.close()
	if err != nil {
		t.Fatalf("%s: to prepare: %v", c.name, err)
	}
	if w.world.store.restore != nil { // which keeps one state
		return
	}
	ready := w.world.save(t)
	if got, want := w.world.observe(t), w.before(c); !got.equal(want) {
		t.Fatalf("%s, prepared: %v, want %v", c.name, got, want)
	}
	if !c.damaged {
		ready.verified = maps.Clone(w.world.verified)
	}
	w.prepared[c.name] = ready
}

// expected is the state after a command.
func (w *walker) expected(c *command) state {
	s := w.before(c)
	if c.after == nil {
		return s
	}
	return c.after(s)
}

func (f *fault) counted() string {
	if f.kind == "" {
		return "any"
	}
	return f.kind
}

// take runs one step and reports whether its fault was reached.
func (w *walker) take(t *testing.T, s step) (struck bool) {
	t.Helper()
	w.steps++
	defer func() {
		if t.Failed() {
			t.Fatalf("in %q, %s, at request %d of %s", s.command.name, s.fault.name, s.n, s.fault.counted())
		}
	}()
	w.prepare(t, s.command)
	attach, requests, lift := w.world.store.broken(t, s.fault.at(s.n))
	r := w.world.session(t, func(_ *testing.T, client *blobio.Client) { attach(client) })
	r.job = "walk"
	err := s.command.run(r)
	r.close()
	lift()
	struck = requests(s.fault.counted()) >= s.n
	if struck {
		w.struck++
	}
	if err != nil {
		w.failed++
		w.classed(t, s, err)
	}
	w.settled(t, s, r, err)
	return struck
}

// classed checks an error against the classes that the fault may bring to the command.
func (w *walker) classed(t *testing.T, s step, err error) {
	t.Helper()
	f := s.fault
	allowed := append([]error{blobio.ErrTransient, blobio.ErrThrottled, blobio.ErrUnknown, catalog.ErrUnknownOutcome}, f.brings...)
	if f.hides && f.kind == "list" {
		allowed = append(allowed, s.command.unlisted...)
	}
	if len(f.brings) > 0 && slices.Contains(f.brings, corrupt.ErrCorrupt) {
		allowed = append(allowed, errDamage)
	}
	if !slices.ContainsFunc(allowed, func(class error) bool { return errors.Is(err, class) }) {
		t.Errorf("an error without a class that fits: %v", err)
	}
	for _, wrong := range []error{blobio.ErrNotFound, catalog.ErrNotFound, fileio.ErrNoInput, blobio.ErrExists, catalog.ErrExists,
		catalog.ErrConflict, catalog.ErrUnsafe, catalog.ErrInvalid} {
		if !f.hides && errors.Is(err, wrong) {
			t.Errorf("the fault was taken for %q: %v", wrong, err)
		}
	}
}

// settled holds what a run left to before or after, and what the next run leaves to after.
func (w *walker) settled(t *testing.T, s step, r *session, err error) {
	t.Helper()
	c := s.command
	if c.after == nil {
		if err != nil {
			return
		}
		if want := w.untouched(t, c).printed; !slices.Equal(r.out, want) {
			t.Errorf("printed %q, want %q", r.out, want)
		}
		return
	}
	before, after := w.before(c), w.expected(c)
	if w.world.look(t) && err != nil && len(r.added) == 0 {
		// The state is the one before, and the next run is the one that w.untouched checks.
		w.untouched(t, c)
		w.unmoved++
		return
	}
	got := w.world.observe(t)
	for _, row := range r.added {
		if !slices.Contains(got.tables[flights.String()], row) {
			t.Errorf("error %v; the table lacks %s of an append without an error", err, row)
		}
	}
	unknown := errors.Is(err, catalog.ErrUnknownOutcome)
	switch {
	case got.equal(after) && (err == nil || unknown || c.either):
	case got.equal(after) && s.fault.hides && slices.ContainsFunc(c.again, func(class error) bool { return errors.Is(err, class) }):
	case got.equal(before) && err != nil:
	case err == nil && c.hidden != nil && s.fault.hides && got.equal(c.hidden(before.clone())):
		return
	case err != nil && c.between != nil && c.between(got):
	default:
		t.Errorf("error %v; left %v", err, got)
		return
	}
	form := fmt.Sprint(c.name, got, "\n", w.world.form(t))
	if w.again[form] {
		w.alike++
		return
	}
	again := w.world.session(t, w.world.straight)
	defer again.close()
	again.job = "walk"
	if err := c.run(again); err != nil {
		if !got.equal(after) || !slices.ContainsFunc(c.again, func(class error) bool { return errors.Is(err, class) }) {
			t.Errorf("the next run: %v", err)
		}
	}
	if got := w.world.observe(t); !got.equal(after) {
		t.Errorf("the next run left %v, want %v", got, after)
	}
	w.again[form] = !t.Failed()
}

// whole walks all pairs of the walker's commands and faults to their ends, at each request or, of a stride of more, some.
func (w *walker) whole(t *testing.T, stride int) {
	number, _ := seed.Of(t)
	random := rand.New(rand.NewPCG(number, 1))
	for i := range w.commands {
		c := &w.commands[i]
		for k := range w.world.store.faults {
			f := &w.world.store.faults[k]
			if !f.suits(c) {
				continue
			}
			t.Run(c.name+"/"+f.name, func(t *testing.T) {
				for n := 1 + random.IntN(stride); w.take(t, step{c, f, n}); n += stride {
				}
			})
		}
	}
	w.log(t)
}

func (w *walker) log(t *testing.T) {
	t.Logf("%d faults injected in %d runs of %d commands, %d of which ended with an error, %d of these without a change; %d left what another run had",
		w.struck, w.steps, len(w.learned), w.failed, w.unmoved, w.alike)
}

// sample takes some steps of the walk: with as many steps as commands and faults, each of them has its turn.
func (w *walker) sample(t *testing.T, random *rand.Rand, steps int) {
	faults := w.world.store.faults
	for i, f := range random.Perm(steps) {
		s := step{&w.commands[i%len(w.commands)], &faults[f%len(faults)], 1}
		for ; !s.fault.suits(s.command); f++ {
			s.fault = &faults[(f+1)%len(faults)]
		}
		most := w.untouched(t, s.command).requests[s.fault.counted()]
		for k := 0; most == 0; k++ { // no lists, say
			s.command = &w.commands[k]
			if !s.fault.suits(s.command) {
				continue
			}
			most = w.untouched(t, s.command).requests[s.fault.counted()]
		}
		s.n += random.IntN(most)
		w.take(t, s)
	}
}

// full requests the whole walk.
var full = os.Getenv("SHARDCAT_FULL") != ""

// TestStoreWithoutAName: a host name that does not resolve is a store that can't be reached, and nothing else.
func TestStoreWithoutAName(t *testing.T) {
	for name := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := serverStore(t, name)
			w := newWalker(t, at)
			for i := range w.commands {
				w.takeUnresolvable(t, &w.commands[i], i%2 == 0)
				if full {
					w.takeUnresolvable(t, &w.commands[i], i%2 == 1)
				}
			}
			t.Logf("%d runs, %d of which ended with an error", w.steps, w.failed)
		})
	}
}

// takeUnresolvable runs a command whose shards, or with everything metadata too, are on a host that nobody knows.
func (w *walker) takeUnresolvable(t *testing.T, c *command, everything bool) {
	t.Helper()
	w.steps++
	w.prepare(t, c)
	shards := true
	r := w.world.session(t, func(t *testing.T, s *blobio.Client) {
		if shards || everything { // the first space is that of the shards
			w.world.store.unresolvable(t, s)
		} else {
			w.world.store.straight(t, s)
		}
		shards = false
	})
	r.job = "walk"
	err := c.run(r)
	r.close()
	unresolvable := &fault{name: "a host that does not resolve"}
	if err != nil {
		w.failed++
		w.classed(t, step{c, unresolvable, 0}, err)
	}
	w.settled(t, step{c, unresolvable, 0}, r, err)
	if t.Failed() {
		t.Fatalf("in %q, everything %v", c.name, everything)
	}
}

// walkedTogether is how many commands a whole walk has under way on one store: a slow one keeps no other waiting.
const walkedTogether = 6

// TestWalk: whatever a store does, nothing is lost, doubled or half done. A whole walk has a world for each command. Runs wait more than they
// work, so -parallel should let all commands of all stores begin.
func TestWalk(t *testing.T) {
	for i, at := range []struct {
		name   string
		open   func(t *testing.T) *store
		steps  int // of a sample
		stride int // of a whole walk
	}{
		{"mem", memStore, 120, 1},
		{"catalog", catalogStore, 160, 1},
		{"postgres", postgresStore, 40, 1},
		{"rest", restStore, 40, 1},
		{"file", fileStore, 60, 1},
		{"s3", func(t *testing.T) *store { return serverStore(t, "s3") }, 51, 1},
		{"azure", func(t *testing.T) *store { return serverStore(t, "azure") }, 20, 3},
		{"gcs", func(t *testing.T) *store { return serverStore(t, "gcs") }, 20, 3},
	} {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			switch {
			case !full:
				w := newWalker(t, at.open(t))
				number, _ := seed.Of(t)
				w.sample(t, rand.New(rand.NewPCG(number, uint64(i))), at.steps)
				w.log(t)
				if w.struck*2 < w.steps {
					t.Errorf("only %d of %d runs met their fault", w.struck, w.steps)
				}
			case at.name == "rest": // whose server has one namespace for the walk
				newWalker(t, at.open(t)).whole(t, at.stride)
			default:
				slots := make(chan struct{}, walkedTogether)
				for i := range commands {
					if on := commands[i].rest; on == nil || !*on {
						t.Run(commands[i].name, func(t *testing.T) {
							t.Parallel()
							slots <- struct{}{}
							defer func() { <-slots }()
							w := newWalker(t, at.open(t))
							w.commands = commands[i : i+1]
							w.whole(t, at.stride)
						})
					}
				}
			}
		})
	}
}
