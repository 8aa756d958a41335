package compaction

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// hangingLists is a catalog whose lists of tables hang while hang is set, until their context ends.
type hangingLists struct {
	icecatalog.Catalog
	hang   *atomic.Bool
	hanged *atomic.Int64
}

func (c *hangingLists) ListTables(ctx context.Context, namespace table.Identifier) iter.Seq2[table.Identifier, error] {
	if c.hang.Load() {
		c.hanged.Add(1)
		<-ctx.Done()
	}
	return c.Catalog.ListTables(ctx, namespace)
}

// TestHangingListKeepsNoTableWaiting: while the list of tables hangs, known tables are worked on.
func TestHangingListKeepsNoTableWaiting(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 3)
	hang, hanged := &atomic.Bool{}, &atomic.Int64{}
	o := g.options()
	icebergaccess.Wrap(&o, func(c icecatalog.Catalog) icecatalog.Catalog { return &hangingLists{c, hang, hanged} })
	c, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, runs, stop := serve(t, c, ServiceOptions{Discover: time.Millisecond})
	defer stop()
	await(t, runs, 1)
	hang.Store(true)
	eventually(t, "a list hangs", func() bool { return hanged.Load() > 0 })
	fill(t, g.load(nil), 2)
	statusOf(t, s, name)
	if err := s.RunNow(name); err != nil {
		t.Fatal(err)
	}
	if r := await(t, runs, 1)[0]; r.Error != "" || len(r.Results) != 1 {
		t.Errorf("%+v", r)
	}
	if n := hanged.Load(); n != 1 {
		t.Errorf("%d lists hang at a time", n)
	}
}

// TestServiceCollectsDropped: the files of a dropped table go when their delay is over, unless the settings for all tables say never.
func TestServiceCollectsDropped(t *testing.T) {
	for _, c := range []struct {
		collect string
		once    bool
		left    int
	}{{"1d", false, 0}, {"1d", true, 0}, {"never", true, 6}} {
		g := newGround(t)
		tbl := g.create()
		fill(t, tbl, 3)
		if err := tbl.Catalog().Drop(ctx, name); err != nil {
			t.Fatal(err)
		}
		left := func() (n int) {
			for info, err := range tbl.Catalog().Client().List(ctx, tbl.VaultFolder()) {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(info.URL, ".amudai.") {
					n++
				}
			}
			return n
		}
		o := ServiceOptions{
			Overrides: Overrides{"*": {"collect": c.collect}}, Log: slog.New(slog.DiscardHandler),
			Collect: catalog.CollectOptions{MinAge: time.Nanosecond, UnsafeMinAge: true, DeleteDelay: -1},
		}
		if c.once {
			if err := NewService(g.open(nil), o).Once(ctx); err != nil {
				t.Error(err)
			}
		} else {
			_, _, stop := serve(t, g.open(nil), o)
			eventually(t, "the files of the dropped table are deleted", func() bool { return left() == 0 })
			stop()
		}
		if n := left(); n != c.left {
			t.Errorf("collect=%s, once: %v: %d objects, want %d", c.collect, c.once, n, c.left)
		}
	}
}
