package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"golang.org/x/sync/errgroup"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
	"github.com/shardcat/shardcat/internal/testkit/seed"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

var name = catalog.Name{Namespace: "default", Table: "t"}

// How much runs: seeds of so many top-level steps each.
const (
	shortSeeds = 10
	someSeeds  = 300
	fullSeeds  = 3000
	steps      = 14
)

// TestSeeds runs the simulation for consecutive seeds, as many as SHARDCAT_SEEDS states, or for the one of SHARDCAT_SEED.
func TestSeeds(t *testing.T) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	n := uint64(someSeeds)
	if testing.Short() {
		n = shortSeeds
	}
	if os.Getenv("SHARDCAT_FULL") != "" {
		n = fullSeeds
	}
	if text := os.Getenv("SHARDCAT_SEEDS"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 32); err != nil {
			t.Fatalf("invalid SHARDCAT_SEEDS: %v", err)
		}
	}
	first, given := seed.Of(t)
	if given {
		n = 1
	}
	begun := runSeeds(t, first, n)
	t.Logf("%d seeds: %v", n, begun)
	if n >= shortSeeds {
		for _, what := range []string{"append", "delete", "overwrite", "compact", "expire", "collect", "killed", "lost", "nested", "deleted objects", "read", "alter"} {
			if begun[what] == 0 {
				t.Errorf("%d seeds, and never: %s", n, what)
			}
		}
	}
}

// runSeeds runs several seeds at a time, since each mostly waits, and sums up what was done.
func runSeeds(t *testing.T, first, n uint64) map[string]int {
	var mu sync.Mutex
	begun := map[string]int{}
	var group errgroup.Group
	group.SetLimit(8)
	for seed := first; seed < first+n; seed++ {
		group.Go(func() error {
			s := newSimulation(t, seed)
			err := s.run()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				return fmt.Errorf("SHARDCAT_SEED=%d: %w\n%s", seed, err, strings.Join(s.log, "\n"))
			}
			for what, n := range s.done {
				begun[what] += n
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return begun
}

// simulation is one seed at work.
type simulation struct {
	t      *testing.T
	r      *rand.Rand
	clock  *fakeclock.Clock
	heads  *heads
	bucket string
	dir    string
	// ledger are the ids that are in the table.
	ledger map[int64]bool
	next   int64
	depth  int
	done   map[string]int
	log    []string
	// readers hold plans of states, with the ids they must give, until their time is over.
	readers []reader
}

type reader struct {
	plan  *catalog.Plan
	ids   []int64
	until time.Time
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	s := &simulation{
		t: t, r: rand.New(rand.NewPCG(seed, 7)), bucket: fmt.Sprintf("simulation-%d", seed), dir: t.TempDir(),
		// iceberg-go stamps metadata by the real clock and refuses stamps of the future.
		clock:  fakeclock.New(time.Now().AddDate(-2, 0, 0)),
		ledger: map[int64]bool{}, done: map[string]int{},
	}
	plain := blobio.NewClient(blobio.ClientOptions{})
	if err := plain.MountBucket("mem://"+s.bucket+"/", s.store()); err != nil {
		t.Fatal(err)
	}
	s.heads = &heads{client: plain}
	return s
}

func (s *simulation) store() blobio.Bucket {
	return &fakeclock.Bucket{Bucket: memblob.Open(s.bucket), Clock: s.clock}
}

// open opens the catalog for one actor; a killer may kill it.
func (s *simulation) open(killer *crashtest.Killer, lossy bool) (*catalog.Catalog, error) {
	o := catalog.Options{
		URI: "sqlite:" + filepath.Join(s.dir, "catalog.db"), Warehouse: "mem://" + s.bucket + "/wh",
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}), Now: s.clock.Now,
	}
	for _, c := range []*blobio.Client{o.Client, o.Metadata} {
		if err := c.MountBucket("mem://"+s.bucket+"/", &crashtest.Bucket{Bucket: s.store(), Killer: killer}); err != nil {
			return nil, err
		}
	}
	icebergaccess.Wrap(&o, func(inner icecatalog.Catalog) icecatalog.Catalog {
		m := &memoryCatalog{Catalog: inner, heads: s.heads}
		m.before = func() error {
			s.interleave()
			if lossy && s.r.IntN(3) == 0 {
				s.done["lost"]++
				return errLost
			}
			return nil
		}
		m.after = func() error {
			if lossy && s.r.IntN(3) == 0 {
				s.done["lost"]++
				return errLost
			}
			return nil
		}
		return &crashtest.Catalog{Catalog: m, Killer: killer}
	})
	return catalog.Open(context.Background(), o)
}

// interleave lets another actor run a whole operation while one is about to commit.
func (s *simulation) interleave() {
	if s.depth >= 2 || s.r.IntN(3) != 0 {
		return
	}
	s.done["nested"]++
	if err := s.step(); err != nil {
		panic(failure{err})
	}
}

// failure carries an error out of a nested step.
type failure struct{ err error }

func (s *simulation) run() (err error) {
	defer func() {
		if f, ok := recover().(failure); ok {
			err = f.err
		} else if f != (failure{}) {
			panic(f)
		}
	}()
	if err := s.create(); err != nil {
		return err
	}
	for range steps {
		s.clock.Advance(time.Duration(s.r.IntN(60*60)) * time.Minute)
		if err := s.step(); err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
	}
	return s.settle()
}

func (s *simulation) create() error {
	c, err := s.open(crashtest.KillAt(0), false)
	if err != nil {
		return err
	}
	defer c.Close()
	columns, err := schema.Parse("id: Int64")
	if err != nil {
		return err
	}
	_, err = c.Create(context.Background(), name, catalog.CreateOptions{Schema: columns, CreateNamespace: true})
	return err
}

// action is what an actor may do, with how often it is chosen.
type action struct {
	name   string
	weight int
	do     func(*simulation, *catalog.Table) error
}

// actions are those of four writers, two compactors, and the others.
var actions []action

func init() {
	actions = []action{
		{"append", 8, (*simulation).append}, {"delete", 4, (*simulation).delete}, {"overwrite", 2, (*simulation).overwrite},
		{"compact", 4, (*simulation).compact}, {"expire", 3, (*simulation).expire}, {"collect", 4, (*simulation).collect},
		{"read", 3, (*simulation).read}, {"alter", 2, (*simulation).alter},
	}
}

// step runs one operation of one actor.
func (s *simulation) step() error {
	s.depth++
	defer func() { s.depth-- }()
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	pick := s.r.IntN(total)
	for _, a := range actions {
		if pick -= a.weight; pick >= 0 {
			continue
		}
		killer := crashtest.KillAt(0)
		if s.r.IntN(4) == 0 {
			killer = crashtest.KillAt(1 + s.r.IntN(14))
		}
		c, err := s.open(killer, s.r.IntN(4) == 0)
		if err != nil {
			return err
		}
		defer c.Close()
		t, err := c.Load(context.Background(), name)
		if err != nil {
			return err
		}
		err = a.do(s, t)
		at, killed := killer.Killed()
		s.done[a.name]++
		if killed {
			s.done["killed"]++
		}
		s.log = append(s.log, fmt.Sprintf("%*s%s %s killed=%q: %v", 2*s.depth, "", s.clock.Now().Format("01-02 15:04"), a.name, at, err))
		return err
	}
	return nil
}

// settled distinguishes errors that an actor may end with from those that it must not.
func settled(err error) error {
	for _, fine := range []error{crashtest.ErrKilled, catalog.ErrConflict, catalog.ErrUnknownOutcome, blobio.ErrDenied} {
		if errors.Is(err, fine) {
			return nil
		}
	}
	return err
}

// rows makes fresh ids and a source of them.
func (s *simulation) rows() ([]int64, *source) {
	n := 1 + s.r.IntN(12)
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = s.next
		s.next++
	}
	return ids, newSource(ids)
}

func (s *simulation) append(t *catalog.Table) error {
	ids, src := s.rows()
	_, err := t.Ingest(context.Background(), src, catalog.IngestOptions{})
	return s.resolve(err, ids, nil)
}

// victims chooses ids that are in the table, and a filter for them.
func (s *simulation) victims() ([]int64, filter.Expr) {
	all := slices.Sorted(maps.Keys(s.ledger))
	if len(all) == 0 {
		return nil, nil
	}
	low := s.r.IntN(len(all))
	ids := all[low:min(len(all), low+1+s.r.IntN(15))]
	e, err := filter.Parse(fmt.Sprintf("id BETWEEN %d AND %d", ids[0], ids[len(ids)-1]))
	if err != nil {
		panic(failure{err})
	}
	return ids, e
}

func (s *simulation) delete(t *catalog.Table) error {
	ids, where := s.victims()
	if where == nil {
		return nil
	}
	_, err := t.Delete(context.Background(), where, catalog.DeleteOptions{})
	return s.resolve(err, nil, ids)
}

func (s *simulation) overwrite(t *catalog.Table) error {
	gone, where := s.victims()
	if where == nil {
		return nil
	}
	ids, src := s.rows()
	_, err := t.Overwrite(context.Background(), where, src, catalog.IngestOptions{})
	return s.resolve(err, ids, gone)
}

// resolve enters what an operation did into the ledger. Where its outcome is not known the table reports, and it must
// have been done whole or not at all.
func (s *simulation) resolve(err error, added, removed []int64) error {
	removed = slices.DeleteFunc(slices.Clone(removed), func(id int64) bool { return !s.ledger[id] }) // by others meanwhile
	if err != nil {
		if bad := settled(err); bad != nil {
			return bad
		}
		there, scanErr := s.scan()
		if scanErr != nil {
			return scanErr
		}
		done, undone := 0, 0
		for _, id := range added {
			if there[id] {
				done++
			} else {
				undone++
			}
		}
		for _, id := range removed {
			if there[id] {
				undone++
			} else {
				done++
			}
		}
		if done > 0 && undone > 0 {
			return fmt.Errorf("half done: +%v -%v after %w", added, removed, err)
		}
		if undone > 0 {
			return nil
		}
	}
	for _, id := range added {
		s.ledger[id] = true
	}
	for _, id := range removed {
		delete(s.ledger, id)
	}
	return nil
}

func (s *simulation) compact(t *catalog.Table) error {
	policy := compaction.Policy{MaxInputs: 2 + s.r.IntN(6)}
	if s.r.IntN(3) == 0 {
		policy.NoRebuild, policy.PackAll = true, true
	}
	_, err := compaction.Compact(context.Background(), t, policy, compaction.Options{Check: s.r.IntN(4) == 0})
	return settled(err)
}

func (s *simulation) expire(t *catalog.Table) error {
	p, err := t.PlanExpire(catalog.ExpireOptions{OlderThan: time.Now().Add(time.Hour), RetainLast: 1 + s.r.IntN(3)})
	if err == nil {
		err = p.Execute(context.Background())
	}
	return settled(err)
}

func (s *simulation) collect(t *catalog.Table) error {
	c, err := t.Collect(context.Background(), catalog.CollectOptions{Execute: true, MinAge: 24 * time.Hour, MaxDeleteRatio: 1})
	if c != nil {
		s.done["deleted objects"] += c.Deleted
	}
	return settled(err)
}

// alter takes a column one step on. That others changed it meanwhile is not a failure.
func (s *simulation) alter(t *catalog.Table) error {
	err := alterColumn(context.Background(), t, fmt.Sprintf("v%d", s.r.IntN(2)))
	for _, changed := range []error{catalog.ErrInvalid, catalog.ErrNotFound, catalog.ErrExists} {
		if errors.Is(err, changed) {
			return nil
		}
	}
	return settled(err)
}

// alterColumn does to a column what comes next: it is added as an Int32, renamed, widened to an Int64, and dropped.
func alterColumn(ctx context.Context, t *catalog.Table, name string) error {
	if n, err := t.Schema().Lookup(name); err == nil && n != nil {
		return t.RenameColumn(ctx, name, name+"_renamed")
	}
	n, err := t.Schema().Lookup(name + "_renamed")
	switch {
	case err != nil || n == nil:
		return t.AddColumn(ctx, name, &schema.Node{Name: name, Basic: schema.Int32, Signed: true, Nullable: true})
	case n.Basic == schema.Int32:
		return t.WidenColumn(ctx, name+"_renamed", &schema.Node{Name: name + "_renamed", Basic: schema.Int64, Signed: true, Nullable: true})
	}
	return t.DropColumn(ctx, name+"_renamed")
}

// read plans now and reads later, within the delay.
func (s *simulation) read(*catalog.Table) error {
	c, err := s.open(crashtest.KillAt(0), false)
	if err != nil {
		return err
	}
	s.t.Cleanup(func() { c.Close() })
	t, err := c.Load(context.Background(), name)
	if err != nil {
		return err
	}
	p, err := t.Plan(context.Background(), catalog.ScanOptions{})
	if err != nil {
		return err
	}
	ids, err := idsOf(p)
	s.readers = append(s.readers, reader{p, ids, s.clock.Now().Add(47 * time.Hour)})
	return err
}

// scan reads the table afresh; a row that is there twice is an error.
func (s *simulation) scan() (map[int64]bool, error) {
	c, err := s.open(crashtest.KillAt(0), false)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	t, err := c.Load(context.Background(), name)
	if err != nil {
		return nil, err
	}
	p, err := t.Plan(context.Background(), catalog.ScanOptions{})
	if err != nil {
		return nil, err
	}
	ids, err := idsOf(p)
	there := map[int64]bool{}
	for _, id := range ids {
		if there[id] {
			return nil, fmt.Errorf("row %d is there twice", id)
		}
		there[id] = true
	}
	if n := t.Describe().Records; err == nil && n != int64(len(ids)) {
		return nil, fmt.Errorf("%d rows, the summary says %d", len(ids), n)
	}
	return there, err
}

// check compares the table with the ledger, and lets the readers whose time is nearly over read.
func (s *simulation) check() error {
	there, err := s.scan()
	if err != nil {
		return err
	}
	if !maps.Equal(there, s.ledger) {
		return fmt.Errorf("the table has %v, the ledger %v", slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(s.ledger)))
	}
	s.readers = slices.DeleteFunc(s.readers, func(r reader) bool { return !s.clock.Now().Before(r.until) })
	for _, r := range s.readers {
		ids, err := idsOf(r.plan)
		if err != nil || !slices.Equal(ids, r.ids) {
			return fmt.Errorf("a reader's state changed within the delay: %v, %w", ids, err)
		}
	}
	return nil
}

// settle lets collections run until nothing is left to do: everything verifies, and what is there is live.
func (s *simulation) settle() error {
	ctx := context.Background()
	c, err := s.open(crashtest.KillAt(0), false)
	if err != nil {
		return err
	}
	defer c.Close()
	s.depth = 2 // nobody comes in between
	t, err := c.Load(ctx, name)
	if err != nil {
		return err
	}
	for range 3 {
		s.clock.Advance(8 * 24 * time.Hour)
		if _, err := t.Collect(ctx, catalog.CollectOptions{Execute: true, MaxDeleteRatio: 1}); err != nil {
			return err
		}
	}
	left, err := t.Collect(ctx, catalog.CollectOptions{})
	if err != nil {
		return err
	}
	if left.Live != left.Objects {
		return fmt.Errorf("garbage is left: %+v", left)
	}
	r, err := t.Verify(ctx, catalog.VerifyOptions{})
	if err != nil {
		return err
	}
	if !r.OK {
		return fmt.Errorf("damaged: %+v", r.Errors)
	}
	s.readers = nil
	return s.check()
}

func idsOf(p *catalog.Plan) ([]int64, error) {
	var ids []int64
	for b, err := range p.Run(context.Background(), nil) {
		if err != nil {
			return nil, err
		}
		a := b.Column(0).(*array.Int64)
		ids = append(ids, a.Int64Values()...)
	}
	slices.Sort(ids)
	return ids, nil
}

// source yields one batch of ids.
type source struct {
	schema *schema.Schema
	batch  arrow.RecordBatch
}

func newSource(ids []int64) *source {
	s, err := schema.Parse("id: Int64")
	if err != nil {
		panic(failure{err})
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	b.Field(0).(*array.Int64Builder).AppendValues(ids, nil)
	return &source{s, b.NewRecordBatch()}
}

func (s *source) Schema() *schema.Schema { return s.schema }

func (s *source) Next(context.Context) (arrow.RecordBatch, error) {
	if s.batch == nil {
		return nil, io.EOF
	}
	b := s.batch
	s.batch = nil
	return b, nil
}
