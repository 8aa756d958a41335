//go:build unix

package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/internal/testkit/seed"
	"github.com/shardcat/shardcat/internal/testkit/sharedappends"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// killedChild gives a child of the test its work: ground, table, work and step, as JSON.
const killedChild = "SHARDCAT_TEST_KILLED_CHILD"

// work is what a child does until it is killed.
type work struct {
	name string
	do   func(*catalog.Table) error
	// after are the ids that it leads to.
	after func(ids map[int64]bool)
	// between, if not nil, are states before and after that a kill may leave besides these.
	between func(before, ids map[int64]bool) bool
	// steps is about how many it has, 10 where it is 0.
	steps int
}

// shared makes appends of this process share a snapshot.
var shared sharedappends.Hold

// at once collects without waiting; nobody else writes.
var atOnce = catalog.CollectOptions{Execute: true, MinAge: 1, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1}

func works() []work {
	ctx := context.Background()
	where, err := filter.Parse("id < 7 OR id = 15")
	if err != nil {
		panic(err)
	}
	gone := func(ids map[int64]bool) {
		maps.DeleteFunc(ids, func(id int64, _ bool) bool { return id < 7 || id == 15 })
	}
	same := func(map[int64]bool) {}
	return []work{
		sharedAppends(),
		{name: "append", do: func(t *catalog.Table) error {
			_, err := t.Ingest(ctx, newSource([]int64{100, 101}), catalog.IngestOptions{JobID: "append"})
			return err
		}, after: func(ids map[int64]bool) { ids[100], ids[101] = true, true }},
		{name: "delete", do: func(t *catalog.Table) error {
			_, err := t.Delete(ctx, where, catalog.DeleteOptions{})
			return err
		}, after: gone},
		{name: "overwrite", do: func(t *catalog.Table) error {
			_, err := t.Overwrite(ctx, where, newSource([]int64{100, 101}), catalog.IngestOptions{JobID: "overwrite"})
			return err
		}, after: func(ids map[int64]bool) { gone(ids); ids[100], ids[101] = true, true }},
		{name: "alter", do: func(t *catalog.Table) error {
			for range 4 { // a column comes, gets another name, is widened, and goes
				if err := alterColumn(ctx, t, "v"); err != nil {
					return err
				}
			}
			return nil
		}, after: same},
		{name: "compact", do: func(t *catalog.Table) error {
			_, err := compaction.Compact(ctx, t, compaction.Policy{}, compaction.Options{})
			return err
		}, after: same},
		{name: "expire", do: func(t *catalog.Table) error {
			p, err := t.PlanExpire(catalog.ExpireOptions{Age: 1})
			if err != nil {
				return err
			}
			return p.Execute(ctx)
		}, after: same},
		{name: "collect", do: func(t *catalog.Table) error {
			for range 2 { // both phases
				if _, err := t.Collect(ctx, atOnce); err != nil {
					return err
				}
			}
			return nil
		}, after: same},
		{name: "repair", do: func(t *catalog.Table) error {
			_, err := t.Repair(ctx, catalog.RepairOptions{AcceptLoss: true})
			return err
		}, after: same},
	}
}

// TestKilledProcess kills a real process by SIGKILL at steps of its work, on every catalog and store there is (see grounds):
// at each step of one work, which differs from run to run, and at a sample of the others; at each step of all of them where
// SHARDCAT_FULL is set. The table is as before or as after; the next run converges, and no garbage stays.
func TestKilledProcess(t *testing.T) {
	if text := os.Getenv(killedChild); text != "" {
		beKilled(t, text)
		return
	}
	number, _ := seed.Of(t)
	r := rand.New(rand.NewPCG(number, 11))
	all := works()
	whole := all[r.IntN(len(all))].name
	for i, at := range grounds(t) {
		t.Run(at.Name, func(t *testing.T) {
			for _, w := range all {
				sample := 1
				switch {
				case os.Getenv("SHARDCAT_FULL") != "" || i == 0 && w.name == whole && !testing.Short():
					sample = everyStep
				case i == 0 && !testing.Short():
					sample = 2
				}
				t.Run(w.name, func(t *testing.T) { walkKills(t, &killGround{ground: at, work: w}, r, sample) })
			}
		})
	}
}

// everyStep calls walkKills for each step of a work in turn.
const everyStep = 0

// walkKills kills at sample random steps of a work, or at each of its steps in turn.
func walkKills(t *testing.T, g *killGround, r *rand.Rand, sample int) {
	kills := 0
	if sample != everyStep {
		for range sample {
			kills += g.kill(t, 1+r.IntN(cmp.Or(g.steps, 10)))
		}
	} else {
		for g.kill(t, kills+1) != 0 {
			kills++
		}
	}
	t.Logf("killed %d times", kills)
}

// order is what a child has to do.
type order struct {
	Ground *ground
	Table  catalog.Name
	Work   string
	Step   int
}

// beKilled is the child's part.
func beKilled(t *testing.T, text string) {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	killer := crashtest.KillAt(o.Step)
	killer.Kill = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	c, err := o.Ground.open(killer)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := c.Load(context.Background(), o.Table)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range works() {
		if w.name == o.Work {
			if err := w.do(tbl); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// killGround is a work on a ground, with a table that each kill recreates.
type killGround struct {
	*ground
	work
	table         catalog.Name
	before, after map[int64]bool
}

// fresh makes a table that the work has something to do on.
func (g *killGround) fresh(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	g.table = catalog.Name{Namespace: "killed", Table: "t" + strings.ReplaceAll(uuid.NewString(), "-", "")}
	c := g.mustOpen(t)
	defer c.Close()
	tbl, err := c.Create(ctx, g.table, catalog.CreateOptions{Schema: newSource(nil).Schema(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		ids := []int64{10*i + 3, 10*i + 4, 10*i + 5, 10*i + 6, 10*i + 7}
		if _, err := tbl.Ingest(ctx, newSource(ids), catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	where, err := filter.Parse("id > 22")
	if err == nil {
		_, err = tbl.Delete(ctx, where, catalog.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if g.name == "collect" {
		g.expire(t, tbl)
	}
	g.before = g.ids(t, tbl)
	if g.name == "repair" {
		g.lose(t, tbl)
	}
	g.after = maps.Clone(g.before)
	g.work.after(g.after)
}

func (g *killGround) expire(t *testing.T, tbl *catalog.Table) {
	t.Helper()
	p, err := tbl.PlanExpire(catalog.ExpireOptions{Age: 1})
	if err == nil {
		err = p.Execute(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lose deletes the root of a shard, whose rows are lost with it.
func (g *killGround) lose(t *testing.T, tbl *catalog.Table) {
	t.Helper()
	for e, err := range tbl.Entries(context.Background(), catalog.At{}) {
		if err == nil {
			err = tbl.Catalog().Client().Delete(context.Background(), e.Path, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		low, high := e.Columns[1].Lower, e.Columns[1].Upper
		maps.DeleteFunc(g.before, func(id int64, _ bool) bool { return id >= int64(low[0]) && id <= int64(high[0]) })
		return
	}
}

func (g *killGround) mustOpen(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := g.ground.open(crashtest.KillAt(0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (g *killGround) ids(t *testing.T, tbl *catalog.Table) map[int64]bool {
	t.Helper()
	p, err := tbl.Plan(context.Background(), catalog.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := idsOf(p)
	if err != nil {
		t.Fatal(err)
	}
	there := map[int64]bool{}
	for _, id := range ids {
		if there[id] {
			t.Errorf("row %d is there twice", id)
		}
		there[id] = true
	}
	return there
}

// kill runs the work in a child that dies at step n, and reports 1 if it did.
func (g *killGround) kill(t *testing.T, n int) (killed int) {
	t.Helper()
	g.fresh(t)
	ctx := context.Background()
	text, err := json.Marshal(order{g.ground, g.table, g.name, n})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), killedChild+"="+string(text))
	out, err := cmd.CombinedOutput()
	if err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%v: %s", err, out)
		}
		killed = 1
	}
	c := g.mustOpen(t)
	defer c.Close()
	tbl, err := c.Load(ctx, g.table)
	if err != nil {
		t.Fatal(err)
	}
	g.releaseLeases(t, tbl) // of the child, which is dead; they would end by themselves after an hour
	if g.name != "repair" {
		if ids := g.ids(t, tbl); !maps.Equal(ids, g.before) && !maps.Equal(ids, g.after) && (g.between == nil || !g.between(g.before, ids)) {
			t.Fatalf("killed at step %d: %v", n, slices.Sorted(maps.Keys(ids)))
		}
		g.whole(t, tbl, n)
	}
	if err := g.do(tbl); err != nil {
		t.Fatalf("after a kill at step %d: %v", n, err)
	}
	if ids := g.ids(t, tbl); !maps.Equal(ids, g.after) {
		t.Fatalf("killed at step %d, then done: %v", n, slices.Sorted(maps.Keys(ids)))
	}
	g.clean(t, tbl, n)
	return killed
}

// releaseLeases releases those of the child, as it would have. They stay where they are: their numbers are not given out again.
func (g *killGround) releaseLeases(t *testing.T, tbl *catalog.Table) {
	t.Helper()
	client, ctx := tbl.Catalog().Client(), context.Background()
	for info, err := range client.List(ctx, tbl.VaultFolder()+"_gc/lease-") {
		if err != nil {
			t.Fatal(err)
		}
		number, _, _ := strings.Cut(path.Base(info.Key), ".")
		if err := client.Put(ctx, tbl.VaultFolder()+"_gc/"+number+".released.json", []byte("{}")); err != nil && !errors.Is(err, blobio.ErrExists) {
			t.Fatal(err)
		}
	}
}

func (g *killGround) whole(t *testing.T, tbl *catalog.Table, n int) {
	t.Helper()
	r, err := tbl.Verify(context.Background(), catalog.VerifyOptions{})
	if err != nil || !r.OK {
		t.Fatalf("killed at step %d: %+v, %v", n, r, err)
	}
}

// clean collects until nothing is left to do.
func (g *killGround) clean(t *testing.T, tbl *catalog.Table, n int) {
	t.Helper()
	ctx := context.Background()
	g.expire(t, tbl)
	g.whole(t, tbl, n)
	var c *catalog.CollectResult
	for range 60 { // a store's clock may count whole seconds only, and something must be older than nothing to be marked
		var err error
		if c, err = tbl.Collect(ctx, atOnce); err != nil {
			t.Fatalf("killed at step %d: %v", n, err)
		}
		if c.Live == c.Objects {
			break
		}
		if c.Deleted+len(c.Mark) == 0 {
			time.Sleep(100 * time.Millisecond)
		}
	}
	if c.Live != c.Objects {
		t.Errorf("killed at step %d: garbage stays: %+v", n, c)
	}
	g.whole(t, tbl, n)
}
