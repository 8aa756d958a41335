package catalog

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/urlresolve"
)

// maxJoined bounds the bytes of term filters that are joined for one commit.
const maxJoined = 64 << 20

// joinTerms lays the term filters of new shards side by side where they lie apart, so that a scan rules all of them out by one short
// read. It is worth doing, never needed: where it can't be done the entries stay as they are.
func (j *Job) joinTerms(ctx context.Context, entries []*manifest.Entry) {
	allow, err := j.table.Allowed()
	if err != nil {
		return
	}
	x := &termJoiner{job: j, policy: urlresolve.Policy{Allow: allow}, runs: make([][]manifest.TermFilter, len(entries)), changed: map[int]bool{}}
	for i, e := range entries {
		x.runs[i] = e.TermRuns()
		for k := range x.runs[i] {
			x.note(e.Path, i, k)
		}
	}
	for _, g := range x.groups {
		if len(g.matrices) < 2 || g.bytes > maxJoined {
			continue
		}
		if err := x.join(ctx, g); err != nil {
			j.table.cat.opts.Log.Warn("the term filters of new shards could not be merged", "error", err)
			return
		}
	}
	for i, e := range entries {
		if x.changed[i] {
			e.SetTermRuns(x.runs[i])
		}
	}
}

// inheritTerms leads the entry of a merged shard to the term filters that the entries of its inputs lead to. An input that is no longer live leaves
// the entry as it is: the commit will find that out.
func (t *Table) inheritTerms(ctx context.Context, e *manifest.Entry, inputs []string) error {
	s := t.branch("")
	allow, err := t.Allowed()
	if err != nil || s == nil {
		return err
	}
	places := make(map[string]int, len(inputs))
	for i, path := range inputs {
		places[path] = i
	}
	found, left := make([]*manifest.Entry, len(inputs)), len(places)
	for in, err := range t.entriesOf(ctx, s, &manifest.Projection{Keep: func(e *manifest.Entry) bool { _, ok := places[e.Path]; return ok }}, nil) {
		if err != nil {
			return err
		}
		found[places[in.Path]] = in
		if left--; left == 0 {
			break
		}
	}
	if !slices.Contains(found, nil) {
		e.InheritTerms(found, urlresolve.Policy{Allow: allow})
	}
	return nil
}

// termJoiner joins the filters of the same fields of several entries.
type termJoiner struct {
	job    *Job
	policy urlresolve.Policy
	// runs are the filters of each entry.
	runs    [][]manifest.TermFilter
	changed map[int]bool
	groups  []*termGroup
	written int
}

// termGroup is filters that know the same of the same fields.
type termGroup struct {
	hash     bool
	fields   []manifest.TermField
	members  []termMember
	matrices map[termMatrix][]index.TermColumn
	bytes    int64
}

// termMember is a run of an entry, and where its columns are now.
type termMember struct {
	root       string
	entry, run int
	from       termMatrix
}

type termMatrix struct {
	object string
	start  int64
	index.Matrix
}

// note finds the group of a run.
func (x *termJoiner) note(root string, entry, run int) {
	r := &x.runs[entry][run]
	object, err := urlresolve.Resolve(root, r.Object, x.policy)
	if err != nil {
		return
	}
	i := slices.IndexFunc(x.groups, func(g *termGroup) bool { return g.hash == r.Hash && reflect.DeepEqual(g.fields, r.Fields) })
	if i < 0 {
		i = len(x.groups)
		x.groups = append(x.groups, &termGroup{hash: r.Hash, fields: r.Fields, matrices: map[termMatrix][]index.TermColumn{}})
	}
	g, at := x.groups[i], termMatrix{object, r.Start, r.Matrix}
	if _, known := g.matrices[at]; !known {
		g.matrices[at] = nil
		g.bytes += at.Size()
	}
	g.members = append(g.members, termMember{root, entry, run, at})
}

// join reads the matrices of a group, and writes their columns as few.
func (x *termJoiner) join(ctx context.Context, g *termGroup) error {
	places := slices.Collect(maps.Keys(g.matrices))
	split := make([][]index.TermColumn, len(places))
	// All at once: together they have at most maxJoined bytes, and the store bounds its requests in flight.
	err := x.job.table.cat.client.EachUpTo(ctx, len(places), len(places), func(ctx context.Context, branch *blobio.Client, i int) (err error) {
		at := places[i]
		data := make([]byte, at.Size())
		if _, err = branch.ReadRange(ctx, at.object, at.start, data); err != nil {
			return err
		}
		if split[i], err = at.Split(data); err != nil {
			err = fmt.Errorf("%s: %w", at.object, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, at := range places {
		g.matrices[at] = split[i]
	}
	var columns []index.TermColumn
	var waiting []termMember
	for _, m := range g.members {
		r := x.runs[m.entry][m.run]
		own := g.matrices[m.from][r.Column : r.Column+r.Count]
		if len(columns) > 0 && !fitsAll(columns, own) {
			if err := x.write(ctx, waiting, columns); err != nil {
				return err
			}
			columns, waiting = nil, nil
		}
		columns, waiting = append(columns, own...), append(waiting, m)
	}
	return x.write(ctx, waiting, columns)
}

func fitsAll(columns, more []index.TermColumn) bool {
	return more[len(more)-1].Fits(slices.Concat(columns, more[:len(more)-1]))
}

// write writes the columns of some runs as one matrix, in their order, unless they make none.
func (x *termJoiner) write(ctx context.Context, of []termMember, columns []index.TermColumn) error {
	if len(of) < 2 {
		return nil
	}
	m, data := index.JoinMatrix(columns)
	t := x.job.table
	url := fmt.Sprintf("%sdata/%s-terms%d.amudai.filter", t.VaultFolder(), x.job.Attempt(), x.written)
	if !m.Valid() {
		return nil
	}
	x.written++
	if err := t.cat.client.Put(ctx, url, data); err != nil {
		return err
	}
	column := 0
	for _, member := range of {
		r := &x.runs[member.entry][member.run]
		r.Object, r.Start, r.Matrix, r.Column = urlresolve.Relative(member.root, url), 0, m, column
		column += r.Count
		x.changed[member.entry] = true
	}
	return nil
}
