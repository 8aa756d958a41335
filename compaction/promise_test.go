package compaction

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/seed"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// promises is a table with a random history.
type promises struct {
	*testing.T
	table *catalog.Table
	r     *rand.Rand
	next  int // the id of the next row, and what makes names of columns
	steps []string
}

// step makes something random happen to the table.
func (p *promises) step() error {
	p.next += 10
	what := p.r.IntN(12)
	p.steps = append(p.steps, fmt.Sprint(what))
	switch what {
	case 0:
		return p.widen(fmt.Sprintf("s%d: String", p.next))
	case 1:
		return p.widen(fmt.Sprintf("g%d: Struct<a: Int64, b: String>", p.next))
	case 2:
		return p.widen(fmt.Sprintf("l%d: List<Int64>", p.next))
	case 3:
		if fields := p.table.Schema().Fields; len(fields) > 1 {
			return p.table.DropColumn(ctx, fields[len(fields)-1].Name)
		}
		return nil
	case 4:
		if fields := p.table.Schema().Fields; len(fields) > 1 {
			return p.table.RenameColumn(ctx, fields[len(fields)-1].Name, fmt.Sprintf("r%d", p.next))
		}
		return nil
	case 5, 6:
		where, err := filter.Parse(fmt.Sprintf("id >= %d AND id < %d", p.r.IntN(p.next), p.next-5))
		if err == nil {
			_, err = p.table.Delete(ctx, where, catalog.DeleteOptions{})
		}
		return err
	}
	var out []string
	for i := range 10 {
		out = append(out, fmt.Sprintf(`{"id":%d}`, p.next+i))
	}
	only := &schema.Schema{Fields: []*schema.Node{{Name: "id", Basic: schema.Int64, Signed: true, Nullable: true}}}
	only.Number()
	_, err := p.table.Ingest(ctx, &source{only, "[" + strings.Join(out, ",") + "]"}, catalog.IngestOptions{
		CreationTime: time.Date(2024, 1, 1, 0, 0, p.next, 0, time.UTC), IngestionTime: what == 7, RecordID: what == 8,
	})
	return err
}

func (p *promises) widen(column string) error {
	s := &schema.Schema{Fields: slices.Clone(p.table.Schema().Fields)}
	more, err := schema.Parse(column)
	if err != nil {
		return err
	}
	s.Fields = append(s.Fields, more.Fields...)
	s.Number()
	return p.table.AddColumns(ctx, s)
}

// promisedPolicies are the modes of the command, and a limit of bytes.
var promisedPolicies = map[string]Policy{
	"auto":         {},
	"concat":       {NoRebuild: true, NoPack: true},
	"pack":         {NoRebuild: true, PackAll: true},
	"rebuild":      {RebuildAll: true},
	"little":       {MaxBytesPerRun: 4000},
	"none":         {MaxBytesPerRun: 1},
	"little, anew": {RebuildAll: true, MaxBytesPerRun: 20_000},
}

// TestPlanIsAPromise: over random histories of a table, a run does the groups of the plan before it, by their modes, moves the bytes that
// the plan states and never more than max-bytes-per-run, fails at nothing, and ends: what was done once is not planned for ever.
func TestPlanIsAPromise(t *testing.T) {
	seed, _ := seed.Of(t)
	for n := range uint64(16) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, n))
			p := &promises{T: t, table: newGround(t).create(), r: r}
			for range 4 {
				for range 6 {
					if err := p.step(); err != nil {
						t.Fatalf("seed %d, steps %v: %v", seed, p.steps, err)
					}
				}
				names := []string{"auto", "concat", "pack", "rebuild", "little", "none", "little, anew"}
				name := names[r.IntN(len(names))]
				p.steps = append(p.steps, name)
				p.keep(seed, promisedPolicies[name])
			}
		})
	}
}

// keep plans and runs until nothing is left to do.
func (p *promises) keep(seed uint64, policy Policy) {
	p.Helper()
	before := contents(p, p.table)
	for n := 0; ; n++ {
		plan, err := NewPlan(ctx, p.table, policy)
		if err != nil {
			p.Fatalf("seed %d, steps %v: %v", seed, p.steps, err)
		}
		if len(plan.Groups) == 0 {
			break
		}
		if n == 8 {
			p.Fatalf("seed %d, steps %v: there is work after %d runs: %+v", seed, p.steps, n, plan.Groups)
		}
		report, err := Compact(ctx, p.table, policy, Options{})
		if err != nil {
			p.Fatalf("seed %d, steps %v: %v", seed, p.steps, err)
		}
		if len(report.Results) != len(plan.Groups) || len(report.Failed) > 0 {
			p.Fatalf("seed %d, steps %v: %d groups planned, %d done, failed %+v", seed, p.steps, len(plan.Groups), len(report.Results), report.Failed)
		}
		for i, g := range plan.Groups {
			done := report.Results[i]
			if done.Mode != g.Mode || done.BytesMoved > g.BytesMoved || g.Mode == Rebuild && !g.SmallStripes && done.BytesMoved != g.BytesMoved {
				p.Errorf("seed %d, steps %v: planned %s of %d bytes, done %s of %d", seed, p.steps, g.Mode, g.BytesMoved, done.Mode, done.BytesMoved)
			}
		}
		if most := policy.MaxBytesPerRun; most > 0 && report.BytesMoved > most {
			p.Errorf("seed %d, steps %v: moved %d bytes, %d are allowed", seed, p.steps, report.BytesMoved, most)
		}
	}
	if after := contents(p, p.table); !slices.Equal(before, after) {
		p.Errorf("seed %d, steps %v: %d rows before compaction, %d other ones after", seed, p.steps, len(before), len(after))
	}
}
