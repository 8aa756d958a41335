package compaction

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/merge"
)

// A shard of many small stripes is rewritten in parts: as many of its smallest stripes as make one that is stripeGrowth times as large as
// the largest of them. The others stay where they are, under a root of their own that a later concatenation joins with what was
// written. So a record is rewritten a logarithm of times, however often its shard takes in small shards.

// keptRoot ends the name of the root over the stripes that stay.
const keptRoot = "-kept.amudai.shard"

// smallest is how many stripes, of records in rising order, are to be rewritten: 2 at least, and at least half of them.
func smallest(records []int64) int {
	for growth := int64(stripeGrowth); growth > 1; growth /= 2 {
		sum, count := int64(0), 0
		for i, n := range records {
			sum += n
			if growth*n <= min(sum, shardfmt.DefaultStripeRows) {
				count = i + 1
			}
		}
		if count > 1 && 2*count >= len(records) {
			return count
		}
	}
	return len(records)
}

// parted are the stripes of a group's inputs, by path: those to write again, and those that stay.
type parted struct {
	small, kept map[string][]int
}

// part chooses among the stripes of all inputs.
func (g *Group) part(ctx context.Context, t *catalog.Table) (*parted, error) {
	type stripe struct {
		path    string
		number  int
		records int64
	}
	var all []stripe
	paths := g.Inputs.Paths()
	for i, in := range g.Inputs.all() {
		records := []int64{in.records + in.deleted}
		if in.stripes != 1 {
			var err error
			if records, err = t.StripeRecords(ctx, paths[i], in.root); err != nil {
				return nil, err
			}
		}
		for number, n := range records {
			all = append(all, stripe{paths[i], number, n})
		}
	}
	slices.SortStableFunc(all, func(a, b stripe) int { return int(a.records - b.records) })
	sizes := make([]int64, len(all))
	for i, s := range all {
		sizes[i] = s.records
	}
	p, count := &parted{small: map[string][]int{}, kept: map[string][]int{}}, smallest(sizes)
	for _, path := range paths {
		p.small[path], p.kept[path] = []int{}, []int{}
	}
	for i, s := range all {
		if i < count {
			p.small[s.path] = append(p.small[s.path], s.number)
		} else {
			p.kept[s.path] = append(p.kept[s.path], s.number)
		}
	}
	for _, path := range paths {
		slices.Sort(p.small[path])
		slices.Sort(p.kept[path])
	}
	return p, nil
}

// all reports whether no stripe stays.
func (p *parted) all() bool {
	for _, numbers := range p.kept {
		if len(numbers) > 0 {
			return false
		}
	}
	return true
}

// writeStripes writes the small stripes of the group's inputs again and makes a root over the others.
func (j *Job) writeStripes(ctx context.Context) error {
	g := j.group
	p, err := g.part(ctx, j.table)
	if err != nil {
		return err
	}
	if p.all() {
		return j.writeRows(ctx, nil)
	}
	out := j.table.VaultFolder() + j.run.Attempt() + keptRoot
	j.objects = []string{out}
	merged, err := j.keep(ctx, out, p)
	if errors.Is(err, ErrNeedsRebuild) {
		return j.writeRows(ctx, nil)
	}
	if err != nil {
		return err
	}
	j.written(merged)
	kept, err := j.table.DescribeMerged(ctx, out, merged.Root, nil)
	if err != nil {
		return err
	}
	g.place(kept)
	err = j.writeRows(ctx, p.small)
	j.objects, j.entries = append(j.objects, out), append(j.entries, kept)
	return err
}

// keep makes the root of the stripes that stay.
func (j *Job) keep(ctx context.Context, out string, stripes *parted) (*merge.Result, error) {
	return j.mergeRoots(ctx, out, func(ctx context.Context, client *blobio.Client, out string, inputs []merge.Input, o merge.Options) (*merge.Result, error) {
		var some []merge.Input
		for _, in := range inputs {
			if in.Stripes = stripes.kept[in.URL]; len(in.Stripes) > 0 {
				some = append(some, in)
			}
		}
		return merge.Concat(ctx, client, out, some, o)
	})
}

// isKept reports whether an entry is that of a root over stripes that stay.
func isKept(e *manifest.Entry) bool { return strings.HasSuffix(e.Path, keptRoot) }
