package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/crash"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// killedChild tells a child of the test what to do: folder, work and step, each on a line.
const killedChild = "SHARDCAT_TEST_KILLED_CHILD"

// work is what a child does until it is killed.
type work struct {
	name string
	do   func(*catalog.Table) error
	// after are the ids that it leads to.
	after func(ids map[int64]bool)
}

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
		{"append", func(t *catalog.Table) error {
			_, err := t.Ingest(ctx, newSource([]int64{100, 101}), catalog.IngestOptions{JobID: "append"})
			return err
		}, func(ids map[int64]bool) { ids[100], ids[101] = true, true }},
		{"delete", func(t *catalog.Table) error {
			_, err := t.Delete(ctx, where, catalog.DeleteOptions{})
			return err
		}, gone},
		{"overwrite", func(t *catalog.Table) error {
			_, err := t.Overwrite(ctx, where, newSource([]int64{100, 101}), catalog.IngestOptions{JobID: "overwrite"})
			return err
		}, func(ids map[int64]bool) { gone(ids); ids[100], ids[101] = true, true }},
		{"alter", func(t *catalog.Table) error {
			for range 4 { // a column comes, gets another name, is widened, and goes
				if err := alterColumn(ctx, t, "v"); err != nil {
					return err
				}
			}
			return nil
		}, same},
		{"expire", func(t *catalog.Table) error {
			p, err := t.PlanExpire(catalog.ExpireOptions{Age: 1})
			if err != nil {
				return err
			}
			return p.Execute(ctx)
		}, same},
		{"collect", func(t *catalog.Table) error {
			for range 2 { // both phases
				if _, err := t.Collect(ctx, atOnce); err != nil {
					return err
				}
			}
			return nil
		}, same},
		{"repair", func(t *catalog.Table) error {
			_, err := t.Repair(ctx, catalog.RepairOptions{AcceptLoss: true})
			return err
		}, same},
	}
}

// openFiles opens the catalog of a folder, behind a killer.
func openFiles(dir string, killer *crash.Killer) (*catalog.Catalog, error) {
	o := catalog.Options{
		URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: "file://" + dir + "/wh",
		Client: blobio.NewClient(), Metadata: blobio.NewClient(),
		Wrap: func(c icecatalog.Catalog) icecatalog.Catalog { return &crash.Catalog{Catalog: c, Killer: killer} },
	}
	for _, c := range []*blobio.Client{o.Client, o.Metadata} {
		if err := c.MountBucket("file:///", &crash.Bucket{Bucket: fileblob.Open("/"), Killer: killer}); err != nil {
			return nil, err
		}
	}
	return catalog.Open(context.Background(), o)
}

// TestKilledProcess kills a real process by SIGKILL at each step of its work, a sample of them unless SHARDCAT_FULL is
// set. What it leaves is as before or as after; the next run converges, and no garbage stays.
func TestKilledProcess(t *testing.T) {
	if job := os.Getenv(killedChild); job != "" {
		beKilled(t, strings.Split(job, "\n"))
		return
	}
	seed := uint64(1)
	if text := os.Getenv("SHARDCAT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(seed, 11))
	for _, w := range works() {
		t.Run(w.name, func(t *testing.T) {
			g := newKillGround(t, w)
			kills := 0
			for n := 1; ; n++ {
				if os.Getenv("SHARDCAT_FULL") == "" {
					if n > 2 || n > 1 && testing.Short() {
						break
					}
					kills += g.kill(t, 1+r.IntN(10))
					continue
				}
				if g.kill(t, n) == 0 {
					break
				}
				kills++
			}
			if kills == 0 {
				t.Log("the work ended before the steps of this seed")
			}
		})
	}
}

// beKilled is the child's part.
func beKilled(t *testing.T, job []string) {
	n, err := strconv.Atoi(job[2])
	if err != nil {
		t.Fatal(err)
	}
	killer := crash.KillAt(n)
	killer.Kill = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	c, err := openFiles(job[0], killer)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := c.Load(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range works() {
		if w.name == job[1] {
			if err := w.do(tbl); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// killGround is a folder that every run starts from.
type killGround struct {
	work
	dir, kept     string
	before, after map[int64]bool
}

func newKillGround(t *testing.T, w work) *killGround {
	g := &killGround{work: w, dir: filepath.Join(t.TempDir(), "run"), kept: filepath.Join(t.TempDir(), "kept"), before: map[int64]bool{}}
	ctx := context.Background()
	if err := os.MkdirAll(g.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	tbl := g.open(t, true)
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
	if w.name == "collect" {
		p, err := tbl.PlanExpire(catalog.ExpireOptions{Age: 1})
		if err == nil {
			err = p.Execute(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for id := range g.ids(t, tbl) {
		g.before[id] = true
	}
	if w.name == "repair" {
		g.lose(t, tbl)
	}
	g.after = maps.Clone(g.before)
	w.after(g.after)
	tbl.Catalog().Close()
	if err := os.CopyFS(g.kept, os.DirFS(g.dir)); err != nil {
		t.Fatal(err)
	}
	return g
}

// lose deletes the root of a shard, whose rows are lost with it.
func (g *killGround) lose(t *testing.T, tbl *catalog.Table) {
	for e, err := range tbl.Entries(context.Background(), catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(strings.TrimPrefix(e.Path, "file://")); err != nil {
			t.Fatal(err)
		}
		break
	}
	for e, err := range tbl.Entries(context.Background(), catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(strings.TrimPrefix(e.Path, "file://")); err == nil {
			continue
		}
		low, high := e.Columns[1].Lower, e.Columns[1].Upper
		maps.DeleteFunc(g.before, func(id int64, _ bool) bool { return id >= int64(low[0]) && id <= int64(high[0]) })
	}
}

func (g *killGround) open(t *testing.T, create bool) *catalog.Table {
	t.Helper()
	c, err := openFiles(g.dir, crash.KillAt(0))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if create {
		tbl, err := c.Create(ctx, name, catalog.CreateOptions{Schema: newSource(nil).Schema(), CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		return tbl
	}
	tbl, err := c.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return tbl
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
	if err := errors.Join(os.RemoveAll(g.dir), os.CopyFS(g.dir, os.DirFS(g.kept))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), killedChild+"="+strings.Join([]string{g.dir, g.name, fmt.Sprint(n)}, "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%v: %s", err, out)
		}
		killed = 1
	}
	g.dropLeases(t) // of the child, which is dead; they would end by themselves after an hour
	tbl := g.open(t, false)
	defer tbl.Catalog().Close()
	if g.name != "repair" {
		if ids := g.ids(t, tbl); !maps.Equal(ids, g.before) && !maps.Equal(ids, g.after) {
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

func (g *killGround) dropLeases(t *testing.T) {
	t.Helper()
	leases, err := filepath.Glob(filepath.Join(g.dir, "wh/vault/*/_gc/lease-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases {
		if err := os.Remove(l); err != nil {
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
	p, err := tbl.PlanExpire(catalog.ExpireOptions{Age: 1})
	if err == nil {
		err = p.Execute(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.whole(t, tbl, n)
	for range 3 {
		if _, err := tbl.Collect(ctx, atOnce); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := tbl.Collect(ctx, catalog.CollectOptions{MinAge: 1, UnsafeMinAge: true}); err != nil || c.Live != c.Objects {
		t.Errorf("killed at step %d: garbage stays: %+v, %v", n, c, err)
	}
	g.whole(t, tbl, n)
}
