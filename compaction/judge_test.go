package compaction

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// smallPolicy has limits of a few.
func smallPolicy(change func(*Policy)) Policy {
	p := Policy{
		TargetRecords: 100, TargetSize: 1000, MaxRows: 150, MinSizeRatio: 0.75, MaxSizeRatio: 1, MinInputs: 2, MaxInputs: 4,
		MaxCreationRange: time.Minute, MaxStripes: 10, MaxMetadataBytes: 50, MaxObjects: 8, PackObjects: 5, RebuildDeletedRatio: 0.1, RebuildStripes: 9,
	}
	if change != nil {
		change(&p)
	}
	return p
}

// plannerOf is a planner without a table.
func plannerOf(p Policy) *planner {
	return &planner{policy: p, capped: map[string]int{}, kept: &candidates{vault: "vault/"}, classes: map[string]*class{}, selection: &selection{}, plan: &Plan{Left: map[string]int{}}}
}

// small is the entry of a shard far below the targets; number distinguishes its name and time from others.
func small(number int64, change func(*manifest.Entry)) *manifest.Entry {
	e := &manifest.Entry{Path: fmt.Sprintf("vault/%04d.amudai.shard", number), Format: manifest.Format, RootBytes: 20, Records: 10}
	e.Private = manifest.Private{
		Created: manifest.CreationRange{First: 1 + number, Last: 1 + number}, Stripes: 1, MetadataBytes: 5, StoredBytes: 40, Objects: 2,
	}
	if change != nil {
		change(e)
	}
	return e
}

// TestWhyShardsAreLeft: each limit of a policy at its value and one beside it, and which reason goes before another.
func TestWhyShardsAreLeft(t *testing.T) {
	type entry = func(*manifest.Entry)
	all := func(changes ...entry) entry {
		return func(e *manifest.Entry) {
			for _, c := range changes {
				c(e)
			}
		}
	}
	deleted := func(n, records int64) entry { return func(e *manifest.Entry) { e.Deleted, e.Records = n, records } }
	manyStripes := func(e *manifest.Entry) { e.Stripes = 9 }
	untimed := func(e *manifest.Entry) { e.Created = manifest.CreationRange{} }
	large := func(e *manifest.Entry) { e.Records = 100 }
	objects := func(n, stored int64) entry {
		return func(e *manifest.Entry) { e.Objects, e.StoredBytes, e.RootBytes = n, stored, 20 }
	}
	for name, c := range map[string]struct {
		policy func(*Policy)
		entry  entry
		need   need
		why    string // a part of it, "" for none
	}{
		"small":                            {nil, nil, noNeed, ""},
		"no shard":                         {nil, func(e *manifest.Entry) { e.Format = "PARQUET" }, noNeed, "not a shard"},
		"draft":                            {nil, func(e *manifest.Entry) { e.Flags = manifest.DraftWire }, noNeed, "draft"},
		"tagged":                           {nil, func(e *manifest.Entry) { e.Flags = manifest.StandardProperties }, noNeed, "tagged"},
		"tagged, admitted":                 {func(p *Policy) { p.Tagged = true }, func(e *manifest.Entry) { e.Flags = manifest.StandardProperties }, noNeed, ""},
		"adopted":                          {nil, func(e *manifest.Entry) { e.Flags = manifest.Adopted }, noNeed, "adopted"},
		"adopted, admitted":                {func(p *Policy) { p.External = true }, func(e *manifest.Entry) { e.Flags = manifest.Adopted }, noNeed, ""},
		"no concat":                        {func(p *Policy) { p.NoConcat = true }, nil, noNeed, "concat is not allowed"},
		"no concat, but a rebuild":         {func(p *Policy) { p.NoConcat = true }, deleted(1, 9), deletedRecords, ""},
		"a record less than large":         {nil, func(e *manifest.Entry) { e.Records = 74 }, noNeed, ""},
		"large":                            {nil, func(e *manifest.Entry) { e.Records = 75 }, noNeed, hasRecords},
		"most rows, deleted ones among it": {nil, deleted(3, 147), noNeed, hasRecords},
		"as many rows as may be":           {func(p *Policy) { p.TargetRecords = 1000 }, deleted(3, 147), noNeed, ""},
		"a row more":                       {func(p *Policy) { p.TargetRecords = 1000 }, deleted(4, 147), noNeed, hasRecords},
		"a byte less than large":           {nil, func(e *manifest.Entry) { e.StoredBytes = 749 }, noNeed, ""},
		"large in bytes":                   {nil, func(e *manifest.Entry) { e.StoredBytes = 750 }, noNeed, hasSize},
		"as many stripes as may be":        {func(p *Policy) { p.RebuildStripes = 99 }, func(e *manifest.Entry) { e.Stripes = 10 }, noNeed, ""},
		"a stripe more":                    {func(p *Policy) { p.RebuildStripes = 99 }, func(e *manifest.Entry) { e.Stripes = 11 }, noNeed, "limit"},
		"as many objects as may be":        {func(p *Policy) { p.NoPack = true }, func(e *manifest.Entry) { e.Objects = 8 }, noNeed, ""},
		"an object more":                   {func(p *Policy) { p.NoPack = true }, func(e *manifest.Entry) { e.Objects = 9 }, noNeed, "limit"},
		"as much metadata as may be":       {nil, func(e *manifest.Entry) { e.MetadataBytes = 50 }, noNeed, ""},
		"a byte of it more":                {nil, func(e *manifest.Entry) { e.MetadataBytes = 51 }, noNeed, "limit"},
		"deleted records":                  {nil, deleted(1, 9), deletedRecords, ""},
		"fewer deleted records":            {nil, deleted(1, 10), noNeed, ""},
		"none deleted, any ratio":          {func(p *Policy) { p.RebuildDeletedRatio = 0 }, nil, noNeed, ""},
		"deleted records of a large shard": {nil, all(large, deleted(15, 100)), deletedRecords, ""},
		"deleted records, no rebuild":      {func(p *Policy) { p.NoRebuild = true }, deleted(5, 5), noNeed, ""},
		"deleted records, no time":         {nil, all(deleted(5, 5), untimed), deletedRecords, "creation time is unknown"},
		"no time":                          {nil, untimed, noNeed, ""},
		"small stripes":                    {nil, manyStripes, smallStripes, ""},
		"a small stripe less":              {nil, func(e *manifest.Entry) { e.Stripes = 8 }, noNeed, ""},
		"small stripes of a large shard":   {nil, all(large, manyStripes), smallStripes, ""},
		"small stripes, no rebuild":        {func(p *Policy) { p.NoRebuild = true }, manyStripes, noNeed, ""},
		"stripes that would hardly grow":   {func(p *Policy) { p.RebuildStripes = 2 }, func(e *manifest.Entry) { e.Stripes = stripeGrowth - 1 }, noNeed, ""},
		"stripes that just grow enough":    {func(p *Policy) { p.RebuildStripes = 2 }, func(e *manifest.Entry) { e.Stripes = stripeGrowth }, smallStripes, ""},
		"asked":                            {func(p *Policy) { p.RebuildAll = true }, nil, asked, ""},
		"asked of a large shard":           {func(p *Policy) { p.RebuildAll = true }, large, asked, hasRecords},
		"asked, no rebuild":                {func(p *Policy) { p.RebuildAll, p.NoRebuild = true, true }, nil, noNeed, ""},
		"many objects":                     {nil, objects(6, 20+5*merge.PackBelow-1), manyObjects, ""},
		"many objects of a large shard":    {nil, all(large, objects(6, 100)), manyObjects, ""},
		"many large objects":               {nil, objects(6, 20+5*merge.PackBelow), noNeed, hasSize},
		"an object less":                   {nil, objects(5, 100), noNeed, ""},
		"many objects, no packing":         {func(p *Policy) { p.NoPack = true }, objects(6, 100), noNeed, ""},
		"packing asked":                    {func(p *Policy) { p.PackAll = true }, nil, askedPack, ""},
		"packing asked of a large shard":   {func(p *Policy) { p.PackAll = true }, large, askedPack, hasRecords},
	} {
		p := plannerOf(smallPolicy(c.policy))
		e := small(1, c.entry)
		need := p.needOf(ctx, e)
		why := p.unfit(e, need)
		if need != c.need || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: need %q, left because %q; want %q and %q", name, need, why, c.need, c.why)
		}
	}
	for name, c := range map[string]struct {
		created manifest.CreationRange
		left    bool
	}{
		"older":          {manifest.CreationRange{First: 1, Last: 99}, true},
		"just as old":    {manifest.CreationRange{First: 1, Last: 100}, false},
		"younger":        {manifest.CreationRange{First: 1, Last: 101}, false},
		"of unknown age": {manifest.CreationRange{}, false},
	} {
		s := &selection{youngest: 100}
		if got := s.leaves(small(1, func(e *manifest.Entry) { e.Created = c.created })) != ""; got != c.left {
			t.Errorf("%s than lookback: left: %v", name, got)
		}
		if s.youngest = 0; s.leaves(small(1, func(e *manifest.Entry) { e.Created = c.created })) != "" {
			t.Errorf("%s, without lookback: left", name)
		}
	}
	for records, want := range map[int64]int64{0: 1, 1: 1, shardfmt.DefaultStripeRows: 1, shardfmt.DefaultStripeRows + 1: 2, 2 * shardfmt.DefaultStripeRows: 2} {
		if got := stripesOf(records); got != want {
			t.Errorf("%d records: %d stripes, want %d", records, got, want)
		}
	}
}

// TestGroupsEndAtLimits: a run takes a shard with which it just fits each limit, and none with which it does not.
func TestGroupsEndAtLimits(t *testing.T) {
	for name, c := range map[string]struct {
		policy func(*Policy)
		second func(*manifest.Entry)
		why    string
	}{
		"far below all":            {nil, nil, ""},
		"inputs":                   {func(p *Policy) { p.MaxInputs = 1 }, nil, "max-inputs"},
		"records, just":            {nil, func(e *manifest.Entry) { e.Records = 90 }, ""},
		"records":                  {nil, func(e *manifest.Entry) { e.Records = 91 }, "target-records"},
		"records, a larger ratio":  {func(p *Policy) { p.MaxSizeRatio = 1.2 }, func(e *manifest.Entry) { e.Records = 110 }, ""},
		"records beyond it":        {func(p *Policy) { p.MaxSizeRatio = 1.2 }, func(e *manifest.Entry) { e.Records = 111 }, "target-records"},
		"the first has its target": {func(p *Policy) { p.TargetRecords, p.MaxSizeRatio = 10, 9 }, nil, "target-records"},
		"rows, just":               {func(p *Policy) { p.MaxRows = 35 }, func(e *manifest.Entry) { e.Deleted = 15 }, ""},
		"rows":                     {func(p *Policy) { p.MaxRows = 35 }, func(e *manifest.Entry) { e.Deleted = 16 }, "max-rows"},
		"bytes, just":              {nil, func(e *manifest.Entry) { e.StoredBytes = 960 }, ""},
		"bytes":                    {nil, func(e *manifest.Entry) { e.StoredBytes = 961 }, "target-size"},
		"stripes, just":            {nil, func(e *manifest.Entry) { e.Stripes = 9 }, ""},
		"stripes":                  {nil, func(e *manifest.Entry) { e.Stripes = 10 }, "max-stripes"},
		"metadata, just":           {nil, func(e *manifest.Entry) { e.MetadataBytes = 45 }, ""},
		"metadata":                 {nil, func(e *manifest.Entry) { e.MetadataBytes = 46 }, "max-metadata-bytes"},
		"objects, just":            {nil, func(e *manifest.Entry) { e.Objects = 8 }, ""}, // roots are copied
		"objects":                  {nil, func(e *manifest.Entry) { e.Objects = 9 }, "max-objects"},
		"time, just":               {nil, func(e *manifest.Entry) { e.Created.First, e.Created.Last = 600_000_002, 600_000_002 }, ""},
		"time":                     {nil, func(e *manifest.Entry) { e.Created.First, e.Created.Last = 600_000_003, 600_000_003 }, "max-creation-range"},
		"time without a limit":     {func(p *Policy) { p.MaxCreationRange = -1 }, func(e *manifest.Entry) { e.Created.Last = math.MaxInt64 }, ""},
	} {
		p := plannerOf(smallPolicy(c.policy))
		at := []place{p.kept.add(small(1, nil)), p.kept.add(small(2, c.second))}
		r := run{policy: &p.policy}
		r.start(at)
		var got []string
		for _, in := range (Inputs{p.kept, at}).all() {
			got = append(got, r.refuses(in))
			if got[len(got)-1] == "" {
				r.add(in)
			}
		}
		if got[0] != "" || got[1] != c.why {
			t.Errorf("%s: %q, want %q", name, got[1], c.why)
		}
	}
	if got := span(manifest.CreationRange{First: 1, Last: math.MaxInt64}); got <= 290*365*24*time.Hour {
		t.Errorf("the longest range: %s", got)
	}
}

// TestWhatIsMergedTogether: shards are of one class only if spec, partition, deleted records, tags, need and, with a longest time, whether their time is
// known are the same; the short way for shards without a partition makes the same classes.
func TestWhatIsMergedTogether(t *testing.T) {
	kinds := map[string]func(*manifest.Entry){
		"plain":            nil,
		"another spec":     func(e *manifest.Entry) { e.SpecID = 1 },
		"a partition":      func(e *manifest.Entry) { e.Partition = map[int]any{1000: "a"} },
		"another":          func(e *manifest.Entry) { e.Partition = map[int]any{1000: "b"} },
		"of null":          func(e *manifest.Entry) { e.Partition = map[int]any{1000: nil} },
		"of two fields":    func(e *manifest.Entry) { e.Partition = map[int]any{1000: "a", 1001: 1} },
		"another second":   func(e *manifest.Entry) { e.Partition = map[int]any{1000: "a", 1001: 2} },
		"deleted records":  func(e *manifest.Entry) { e.Deleted, e.Records = 1, 20 },
		"tags":             func(e *manifest.Entry) { e.Tags = 5 },
		"other tags":       func(e *manifest.Entry) { e.Tags = 7 },
		"unknown time":     func(e *manifest.Entry) { e.Created = manifest.CreationRange{} },
		"small stripes":    func(e *manifest.Entry) { e.Stripes = 9 },
		"many deleted":     func(e *manifest.Entry) { e.Deleted, e.Records = 5, 5 },
		"many objects":     func(e *manifest.Entry) { e.Objects = 6 },
		"these, deleted":   func(e *manifest.Entry) { e.Objects, e.Deleted, e.Records = 6, 1, 20 },
		"tags and a tuple": func(e *manifest.Entry) { e.Tags, e.Partition = 5, map[int]any{1000: "a"} },
	}
	p := plannerOf(smallPolicy(nil))
	number := int64(0)
	for range 2 {
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			number++
			p.sort(ctx, small(number, kinds[name]))
		}
	}
	if len(p.plan.Left) > 0 {
		t.Errorf("left: %v", p.plan.Left)
	}
	if len(p.classes) != len(kinds) {
		t.Errorf("%d classes of %d kinds: %v", len(p.classes), len(kinds), slices.Sorted(maps.Keys(p.classes)))
	}
	for key, c := range p.classes {
		if len(c.candidates) != 2 {
			t.Errorf("%s: %d shards", key, len(c.candidates))
		}
		var one candidate
		if p.kept.read(c.candidates[0], &one); c.deleted != (one.deleted > 0) {
			t.Errorf("%s: a class of deleted records: %v, its first shard has %d", key, c.deleted, one.deleted)
		}
	}
}

// TestOrderOfNeighbours: by time, then by commit, then by name; what has no time comes last.
func TestOrderOfNeighbours(t *testing.T) {
	s := &candidates{vault: "vault/"}
	at := func(first, last, sequence int64, name string) place {
		return s.add(small(1, func(e *manifest.Entry) {
			e.Path, e.Sequence, e.Created = "vault/"+name, sequence, manifest.CreationRange{First: first, Last: last}
		}))
	}
	sorted := []place{at(1, 5, 9, "z"), at(2, 3, 9, "z"), at(2, 4, 1, "z"), at(2, 4, 2, "a"), at(2, 4, 2, "b"), at(0, 0, 1, "b"), at(0, 0, 2, "a")}
	for i, a := range sorted {
		for j, b := range sorted {
			got := s.neighbours(a, b)
			if got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%d and %d: %d", i, j, got)
			}
		}
	}
}

// TestPlacesOfBounds: the range of a column is known only if both bounds are, and none where all values are null.
func TestPlacesOfBounds(t *testing.T) {
	node := func(b schema.Basic, signed bool) *schema.Node { return &schema.Node{Basic: b, Signed: signed} }
	bytes := func(v int64) []byte {
		return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32), byte(v >> 40), byte(v >> 48), byte(v >> 56)}
	}
	double := func(v float64) []byte { return bytes(int64(math.Float64bits(v))) }
	column := func(low, high []byte, values, nulls int64) manifest.Column {
		return manifest.Column{Values: values, Nulls: nulls, Lower: low, Upper: high}
	}
	const since1970 = 621355968000000000
	for name, c := range map[string]struct {
		n    *schema.Node
		c    *manifest.Column
		want valueRange
	}{
		"Int64":          {node(schema.Int64, true), ref(column(bytes(-3), bytes(5), 9, 0)), valueRange{-3, 5, knownRange}},
		"UInt32":         {node(schema.Int32, false), ref(column(bytes(3), bytes(5), 9, 0)), valueRange{3, 5, knownRange}},
		"Float64":        {node(schema.Float64, false), ref(column(double(-0.5), double(2.5), 9, 0)), valueRange{-0.5, 2.5, knownRange}},
		"DateTime":       {node(schema.DateTime, false), ref(column(bytes(0), bytes(1), 9, 0)), valueRange{since1970, since1970 + 10, knownRange}},
		"String":         {node(schema.String, false), ref(column([]byte("a"), []byte("b"), 9, 0)), valueRange{}},
		"no lower bound": {node(schema.Int64, true), ref(column(nil, bytes(5), 9, 0)), valueRange{}},
		"no upper bound": {node(schema.Int64, true), ref(column(bytes(5), nil, 9, 0)), valueRange{}},
		"nulls only":     {node(schema.Int64, true), ref(column(nil, nil, 9, 9)), valueRange{state: noValues}},
		"unknown counts": {node(schema.Int64, true), ref(column(nil, nil, manifest.Unknown, manifest.Unknown)), valueRange{}},
		"no column":      {node(schema.Int64, true), nil, valueRange{}},
	} {
		e := &manifest.Entry{Columns: map[int]manifest.Column{}}
		if c.c != nil {
			e.Columns[7] = *c.c
		}
		if got := rangeOf(c.n, 7, e); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if got, want := onLine(c.n), c.n.Basic != schema.String; got != want {
			t.Errorf("%s: on a line: %v", name, got)
		}
	}
	known := func(low, high float64) valueRange { return valueRange{low, high, knownRange} }
	for name, c := range map[string]struct {
		ranges []valueRange
		want   float64
	}{
		"neighbours":              {[]valueRange{known(0, 1), known(1, 2)}, 2},
		"far apart":               {[]valueRange{known(0, 1), known(9, 10)}, 10},
		"far apart, the last one": {[]valueRange{known(9, 10), known(0, 1)}, 10},
		"the same":                {[]valueRange{known(0, 1), known(0, 1)}, 1},
		"below zero":              {[]valueRange{known(-2, -1), known(-4, -3)}, 3},
		"one":                     {[]valueRange{known(0, 1)}, 0},
		"one and nulls":           {[]valueRange{known(0, 1), {state: noValues}}, 0},
		"with an unknown one":     {[]valueRange{known(0, 1), {}, known(1, 2)}, 0},
		"of single values":        {[]valueRange{known(1, 1), known(2, 2)}, 0},
		"endless":                 {[]valueRange{known(0, math.Inf(1)), known(1, 2)}, 0},
		"none":                    {nil, 0},
	} {
		var s spread
		for _, r := range c.ranges {
			s.add(r)
		}
		if got := s.widening(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func ref[T any](v T) *T { return &v }

// TestBytesOfARun: groups are done as long as they fit into the rest of what a run may move; those that move nothing always, and one that does not fit
// keeps no smaller one from it.
func TestBytesOfARun(t *testing.T) {
	for name, c := range map[string]struct {
		most   int64
		groups []int64
		want   []int64
		unmet  int
	}{
		"no limit":         {0, []int64{5, 1 << 40}, []int64{5, 1 << 40}, 0},
		"just":             {10, []int64{4, 6}, []int64{4, 6}, 0},
		"a byte too much":  {10, []int64{4, 7}, []int64{4}, 0},
		"a smaller one":    {10, []int64{4, 7, 6}, []int64{4, 6}, 0},
		"nothing moved":    {10, []int64{10, 0, 1, 0}, []int64{10, 0, 0}, 0},
		"more than may be": {10, []int64{11, 3}, []int64{3}, 1},
		"as much":          {10, []int64{10}, []int64{10}, 0},
	} {
		p := plannerOf(smallPolicy(func(p *Policy) { p.MaxBytesPerRun = c.most }))
		for i, n := range c.groups {
			p.plan.Groups = append(p.plan.Groups, Group{BytesMoved: n, Inputs: Inputs{p.kept, []place{p.kept.add(small(int64(i), nil))}}})
		}
		p.limitBytes()
		var got []int64
		for _, g := range p.plan.Groups {
			got = append(got, g.BytesMoved)
		}
		left := 0
		for _, n := range p.plan.Left {
			left += n
		}
		if !slices.Equal(got, c.want) || left != len(c.groups)-len(c.want) || len(p.plan.Unmet) != c.unmet {
			t.Errorf("%s: %v, left %v, unmet %v; want %v", name, got, p.plan.Left, p.plan.Unmet, c.want)
		}
	}
}

// TestRecordsOfOutputs: what was written has as many live records as the inputs, in one shard or several; one less, one more and none are refused.
func TestRecordsOfOutputs(t *testing.T) {
	kept := &candidates{vault: "vault/"}
	g := &Group{Records: 10, Inputs: Inputs{kept, []place{kept.add(small(1, nil))}}}
	for name, c := range map[string]struct {
		records []int64
		ok      bool
	}{
		"one": {[]int64{10}, true}, "several": {[]int64{4, 0, 6}, true}, "one less": {[]int64{4, 5}, false}, "one more": {[]int64{11}, false}, "none": {nil, false},
	} {
		j := &Job{group: g}
		for i, n := range c.records {
			j.entries = append(j.entries, small(int64(i), func(e *manifest.Entry) { e.Records = n }))
		}
		if err := j.compare(ctx); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrContent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDepths: shards overlap where more than so many ranges share a value; ends that touch, single values and unknown ranges do not count, and
// hide no shard behind them.
func TestDepths(t *testing.T) {
	id := &schema.Node{Name: "id", Basic: schema.Int64, Signed: true}
	for name, c := range map[string]struct {
		ranges [][]int64 // of a shard: low and high, nothing for unknown
		want   [][]int   // sets of shards by number
	}{
		"none":               {nil, nil},
		"as deep as may be":  {[][]int64{{0, 9}, {1, 8}}, nil},
		"deeper":             {[][]int64{{0, 9}, {1, 8}, {2, 7}}, [][]int{{0, 1, 2}}},
		"behind an unknown":  {[][]int64{{}, {0, 9}, {1, 8}, {2, 7}}, [][]int{{1, 2, 3}}},
		"behind one value":   {[][]int64{{-5, -5}, {0, 9}, {1, 8}, {2, 7}}, [][]int{{1, 2, 3}}},
		"among one value":    {[][]int64{{0, 9}, {1, 1}, {1, 8}, {2, 7}}, [][]int{{0, 2, 3}}},
		"ends that touch":    {[][]int64{{0, 3}, {1, 3}, {3, 9}, {3, 8}}, nil},
		"a chain":            {[][]int64{{0, 4}, {2, 6}, {4, 8}, {6, 10}}, nil},
		"two apart":          {[][]int64{{0, 9}, {1, 9}, {2, 9}, {20, 29}, {21, 29}, {22, 29}}, [][]int{{0, 1, 2}, {3, 4, 5}}},
		"together by a long": {[][]int64{{0, 40}, {1, 9}, {2, 9}, {20, 29}, {21, 29}}, [][]int{{0, 1, 2, 3, 4}}},
		"one beside":         {[][]int64{{0, 9}, {1, 9}, {2, 9}, {20, 29}}, [][]int{{0, 1, 2}}},
	} {
		p := plannerOf(smallPolicy(func(p *Policy) { p.MaxOverlapDepth = 2 }))
		p.columns = []watch{{id, 7}}
		p.kept.columns = p.columns
		var window []place
		number := map[int64]int{}
		for i, r := range c.ranges {
			e := small(int64(i), func(e *manifest.Entry) { e.Records = 100 })
			if len(r) > 0 {
				bound := func(v int64) []byte {
					return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32), byte(v >> 40), byte(v >> 48), byte(v >> 56)}
				}
				e.Columns = map[int]manifest.Column{7: {Values: 100, Lower: bound(r[0]), Upper: bound(r[1])}}
			}
			window = append(window, p.kept.add(e))
			number[window[i].at] = i
		}
		var got [][]int
		taken := 0
		for _, deep := range p.depths(window) {
			var set []int
			for _, at := range deep {
				set = append(set, number[at.at])
			}
			slices.Sort(set)
			got, taken = append(got, set), taken+len(set)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || p.plan.Left[hasRecords] != len(window)-taken {
			t.Errorf("%s: %v, left %v; want %v", name, got, p.plan.Left, c.want)
		}
	}
}

// TestConcatThatNeedsARebuild: a group that only its merge shows to need a rebuild becomes one if the policy and the rest of what the run may move allow
// it; else nothing of it is left.
func TestConcatThatNeedsARebuild(t *testing.T) {
	for name, c := range map[string]struct {
		policy Policy
		room   func(int64) bool
		id     string
		ok     bool
		why    string
	}{
		"without a limit": {Policy{}, nil, "", true, ""},
		"within it":       {Policy{}, func(int64) bool { return true }, "", true, ""},
		"beyond it":       {Policy{}, func(int64) bool { return false }, "", false, "max-bytes-per-run"},
		"not allowed":     {Policy{NoRebuild: true}, func(int64) bool { return true }, "", false, ""},
		"with an id":      {Policy{}, nil, "named", true, ""},
	} {
		g := newGround(t)
		tbl := g.create()
		fill(t, tbl, 3)
		if err := tbl.AddColumns(ctx, wider()); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if _, err := tbl.Ingest(ctx, widerRows(100+10*i, 10), catalog.IngestOptions{CreationTime: time.Date(2024, 1, 1, 12, i, 0, 0, time.UTC)}); err != nil {
				t.Fatal(err)
			}
		}
		before, objects, head := contents(t, tbl), objectsOf(t, tbl), tbl.Head()
		var inputs []string
		for e, err := range tbl.Entries(ctx, catalog.At{}) {
			if err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, e.Path)
		}
		group, err := GroupOf(ctx, tbl, inputs)
		if err != nil {
			t.Fatal(err)
		}
		group.Mode = Concat
		var askedFor []int64
		o := Options{JobID: c.id}
		if c.room != nil {
			o.room = func(n int64) bool { askedFor = append(askedFor, n); return c.room(n) }
		}
		j, err := Begin(ctx, tbl, group, c.policy, o)
		if err != nil {
			t.Fatal(err)
		}
		err = j.Write(ctx)
		if c.room != nil && !c.policy.NoRebuild && !slices.Equal(askedFor, []int64{group.Bytes}) {
			t.Errorf("%s: asked for %v bytes, %d would be moved", name, askedFor, group.Bytes)
		}
		if !c.ok {
			if !errors.Is(err, ErrNeedsRebuild) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v", name, err)
			}
			after := g.load(nil)
			if open, err := after.Jobs(ctx, false); err != nil || len(open) != 0 || after.Head() != head || !slices.Equal(objectsOf(t, after), objects) {
				t.Errorf("%s: %d open jobs, %v, objects %v", name, len(open), err, objectsOf(t, after))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := j.ReadBack(ctx); err != nil {
			t.Error(err)
		}
		r, err := j.Commit(ctx)
		if err != nil || r.Mode != Rebuild || r.BytesMoved != group.Bytes {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if got := contents(t, g.load(nil)); !slices.Equal(got, before) {
			t.Errorf("%s: %d rows became %d others", name, len(before), len(got))
		}
	}
}

// TestPartOfARebuild: a rebuild of which a shard is missing is not taken up, and is done again.
func TestPartOfARebuild(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 4)
	before := contents(t, g.load(nil))
	policy := Policy{TargetRecords: 20}
	killed := begun(t, g.load(nil), Rebuild, policy, Options{})
	if err := killed.Write(ctx); err != nil || len(killed.entries) < 2 {
		t.Fatalf("%d shards, %v", len(killed.entries), err)
	}
	tbl := g.load(nil)
	if err := tbl.Catalog().Client().Delete(ctx, killed.entries[0].Path, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(ctx, tbl, killed.Name(), policy, Options{}); !errors.Is(err, catalog.ErrNotWritten) {
		t.Errorf("%v", err)
	}
	if done, err := ResumeAll(ctx, tbl, policy, Options{}); err != nil || len(done) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := Compact(ctx, tbl, Policy{}, Options{}); err != nil {
		t.Error(err)
	}
	sameContents(t, g.load(nil), before)
}

// TestLostRoots: what is missing is damage of the table only if it is the root of a live shard, whichever one.
func TestLostRoots(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	missing := func(url string, class error) error {
		return blobio.NewError("read", url, class, errors.New("by a test"))
	}
	live := 0
	for e, err := range tbl.Entries(ctx, catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		live++
		if err := lostRoot(ctx, tbl, missing(e.Path, blobio.ErrNotFound)); errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s, denied once: %v", e.Path, err)
		}
		client := tbl.Catalog().Client()
		root, _, err := client.ReadAll(ctx, e.Path, 1<<20)
		if err == nil {
			err = client.Delete(ctx, e.Path, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := lostRoot(ctx, tbl, missing(e.Path, blobio.ErrNotFound)); !errors.Is(err, corrupt.ErrCorrupt) || !errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("%s: %v", e.Path, err)
		}
		if err := client.Put(ctx, e.Path, root); err != nil {
			t.Fatal(err)
		}
		if err := lostRoot(ctx, tbl, missing(e.Path, blobio.ErrDenied)); errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s, denied: %v", e.Path, err)
		}
	}
	other := missing(tbl.VaultFolder()+"other.amudai.shard", blobio.ErrNotFound)
	if err := lostRoot(ctx, tbl, other); live != 3 || !errors.Is(err, other) || errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("%d shards; another object: %v", live, err)
	}
}

// TestResumeAmongOthers: what an earlier process wrote is found behind jobs of other kinds, on a table with shards that it does not concern, before and
// after its inputs.
func TestResumeAmongOthers(t *testing.T) {
	eachMode(t, func(t *testing.T, g *ground, policy Policy) {
		tbl := g.load(nil)
		ingest := func(from, hour int) {
			t.Helper()
			if _, err := tbl.Ingest(ctx, rows(from, 10), catalog.IngestOptions{CreationTime: time.Date(2030, 1, 1, hour, 0, 0, 0, time.UTC)}); err != nil {
				t.Fatal(err)
			}
		}
		killed := begun(t, tbl, modeOf(t), policy, Options{})
		if err := killed.Write(ctx); err != nil {
			t.Fatal(err)
		}
		tbl = g.load(nil)
		ingest(500, 1)
		ingest(600, 2)
		if _, _, err := tbl.BeginJob(ctx, catalog.JobAppend, "a-first", nil, func(string) []string { return nil }); err != nil {
			t.Fatal(err)
		}
		before := contents(t, tbl)
		open, err := tbl.Jobs(ctx, false)
		if err != nil || len(open) != 2 {
			t.Fatalf("%d open jobs, %v", len(open), err)
		}
		for _, order := range [][]*catalog.JobState{{open[1], open[0]}, {open[0], open[1]}} {
			if order[0].Kind != catalog.JobAppend {
				continue // the other job goes first
			}
			done, err := resumeEach(ctx, g.load(nil), order, policy, Options{Check: true})
			if err != nil || len(done) != 1 || done[0].Inputs != 4 || done[0].Records != 40 {
				t.Errorf("%+v, %v", done, err)
			}
		}
		after := g.load(nil)
		if got := contents(t, after); !slices.Equal(got, before) || after.Describe().Shards != 3 {
			t.Errorf("%d rows became %d in %d shards", len(before), len(got), after.Describe().Shards)
		}
	})
}

// TestQuarantineForgets: a group is forgotten when none of its shards is live any more, and not before.
func TestQuarantineForgets(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 2)
	var live []string
	for e, err := range tbl.Entries(ctx, catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, e.Path)
	}
	q, err := LoadQuarantine(ctx, tbl, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(q.forget(ctx, tbl), (*Quarantine)(nil).forget(ctx, tbl)); err != nil {
		t.Errorf("without groups: %v", err)
	}
	gone := tbl.VaultFolder() + "gone.amudai.shard"
	for _, inputs := range [][]string{{gone, live[0]}, {gone + "-2", gone + "-3"}, {live[1]}} {
		if err := q.Add(ctx, &Failure{Inputs: inputs, Error: "by a test"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.forget(ctx, tbl); err != nil {
		t.Fatal(err)
	}
	again, err := LoadQuarantine(ctx, tbl, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*Quarantine{q, again} {
		if len(x.Groups()) != 2 || !x.Holds(live[0]) || !x.Holds(live[1]) || x.Holds(gone+"-2") {
			t.Errorf("%+v", x.Groups())
		}
	}
}

// TestLiveGroups: shards are found wherever they stand among the others, and keep the order that was requested; one that is not live is a conflict.
func TestLiveGroups(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 4)
	var live []string
	for e, err := range tbl.Entries(ctx, catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, e.Path)
	}
	for _, inputs := range [][]string{live[:1], live[1:2], live[3:], {live[3], live[0]}, {live[0], live[3]}, {live[2], live[1], live[3]}} {
		group, err := GroupOf(ctx, tbl, inputs)
		if err != nil || !slices.Equal(group.Inputs.Paths(), inputs) || group.Records != int64(10*len(inputs)) {
			t.Errorf("%v: %+v, %v", inputs, group, err)
		}
		if group.class.deleted {
			t.Errorf("%v: deleted records", inputs)
		}
	}
	c, bucket := g.openFaulty()
	tbl, err := c.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	bucket.Play(t, "any 1: fail denied")
	if group, err := GroupOf(ctx, tbl, live[:1]); !errors.Is(err, blobio.ErrDenied) {
		t.Errorf("a manifest that can't be read: %+v, %v", group, err)
	}
	if _, err := GroupOf(ctx, tbl, []string{live[0], tbl.VaultFolder() + "gone.amudai.shard"}); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("%v", err)
	}
}

// TestWhatIsWrittenAnew: shards at the target count for the depth only where the policy lets them be rewritten and their time is known, and a shard that
// a rebuild would write as it is is left alone.
func TestWhatIsWrittenAnew(t *testing.T) {
	for name, c := range map[string]struct {
		overlap, noRebuild, untimed bool
		need                        need
		why                         string
		want                        bool
	}{
		"records":       {true, false, false, noNeed, hasRecords, true},
		"bytes":         {true, false, false, noNeed, hasSize, true},
		"small":         {true, false, false, noNeed, "", false},
		"tagged":        {true, false, false, noNeed, "tagged", false},
		"without depth": {false, false, false, noNeed, hasRecords, false},
		"not allowed":   {true, true, false, noNeed, hasRecords, false},
		"unknown time":  {true, false, true, noNeed, hasSize, false},
		"another need":  {true, false, false, deletedRecords, hasSize, false},
	} {
		p := plannerOf(smallPolicy(func(p *Policy) { p.NoRebuild = c.noRebuild }))
		p.overlap = c.overlap
		e := small(1, func(e *manifest.Entry) {
			if c.untimed {
				e.Created = manifest.CreationRange{}
			}
		})
		if got := p.mayOverlap(e, c.need, c.why); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, c := range map[string]struct {
		order string
		entry func(*manifest.Entry)
		want  bool
	}{
		"as it would be":   {"", nil, true},
		"another shape":    {"", func(e *manifest.Entry) { e.Shape = 6 }, false},
		"deleted records":  {"", func(e *manifest.Entry) { e.Deleted = 1 }, false},
		"two stripes":      {"", func(e *manifest.Entry) { e.Stripes = 2 }, false},
		"in order":         {"id", func(e *manifest.Entry) { e.SortOrderID = 1 }, true},
		"in none":          {"id", nil, false},
		"order not wanted": {"", func(e *manifest.Entry) { e.SortOrderID = 1 }, true},
	} {
		p := plannerOf(smallPolicy(func(p *Policy) { p.Order = c.order }))
		p.shapes = &shapes{current: map[int64]bool{5: true}}
		at := p.kept.add(small(1, func(e *manifest.Entry) {
			e.Shape = 5
			if c.entry != nil {
				c.entry(e)
			}
		}))
		if got := p.rebuiltAlready(&run{inputs: []place{at}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		p.specID = 3
		for spec, left := range map[int]bool{3: c.want, 4: false} {
			p.plan = &Plan{Left: map[string]int{}}
			p.close(&class{need: asked, specID: spec}, &run{policy: &p.policy, inputs: []place{at}}, "")
			if len(p.plan.Left) > 0 != left || len(p.plan.Groups) > 0 == left {
				t.Errorf("%s, partition spec %d: left %v, %d groups", name, spec, p.plan.Left, len(p.plan.Groups))
			}
		}
	}
}

// TestHeldBytesOfARun: what a shard alone has is held by the merge but for its root; where root and data are one object, all of it.
func TestHeldBytesOfARun(t *testing.T) {
	for objects, want := range map[int64]int64{1: 80, 2: 40, 3: 40} {
		policy := smallPolicy(nil)
		kept, r := &candidates{vault: "vault/"}, run{policy: &policy}
		var all []place
		for i := range int64(2) {
			all = append(all, kept.add(small(i, func(e *manifest.Entry) { e.Objects = objects })))
		}
		r.start(all)
		for _, c := range (Inputs{kept, all}).all() {
			r.add(c)
		}
		if r.held != want {
			t.Errorf("two shards of 40 bytes in %d objects, 20 of them a root: %d are held, want %d", objects, r.held, want)
		}
	}
}

// TestHalfOfATarget: a run has less than half of both targets only if it has neither.
func TestHalfOfATarget(t *testing.T) {
	policy := smallPolicy(nil) // 100 records, 1,000 bytes
	for _, c := range []struct {
		records, deleted, bytes int64
		want                    bool
	}{{49, 0, 499, true}, {50, 0, 499, false}, {49, 0, 500, false}, {60, 11, 499, true}, {60, 10, 499, false}} {
		r := run{policy: &policy, records: c.records, deleted: c.deleted, bytes: c.bytes}
		if got := r.half(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWatchedColumns: the first times, then the first numbers, at most lossColumns of them.
func TestWatchedColumns(t *testing.T) {
	for text, want := range map[string][]string{
		"s: String, f: Float32, b: Boolean, d: Float64, n: Int8": {"f", "d"},
		"s: String, d: Float64, g: Guid, u: UInt16, n: Int8":     {"d", "u"},
		"s: String, n: Int8, t: DateTime, u: Int64":              {"t", "n"},
		"n: Int8, t: DateTime, s: String, u: DateTime":           {"t", "u"},
		"s: String, b: Boolean":                                  nil,
	} {
		s, err := schema.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		tbl, err := newGround(t).open(nil).Create(ctx, name, catalog.CreateOptions{Schema: s, CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range watched(tbl) {
			got = append(got, w.node.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestRunsThatLimitsEnd: a run that is below half of the targets counts for what is not met where a limit ends it, but the number of inputs.
func TestRunsThatLimitsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		need          need
		policy        func(*Policy)
		first, second func(*manifest.Entry)
		want          map[string]int
	}{
		"stripes":           {noNeed, nil, nil, func(e *manifest.Entry) { e.Stripes = 10 }, map[string]int{"max-stripes": 1}},
		"half the records":  {noNeed, nil, func(e *manifest.Entry) { e.Records = 50 }, func(e *manifest.Entry) { e.Stripes = 10 }, map[string]int{}},
		"records":           {noNeed, nil, nil, func(e *manifest.Entry) { e.Records = 91 }, map[string]int{}},
		"inputs":            {noNeed, func(p *Policy) { p.MaxInputs = 1 }, nil, nil, map[string]int{}},
		"another need":      {askedPack, nil, nil, func(e *manifest.Entry) { e.Stripes = 10 }, map[string]int{}},
		"nothing is beyond": {noNeed, nil, nil, nil, map[string]int{}},
	} {
		p := plannerOf(smallPolicy(c.policy))
		p.group(&class{need: c.need, candidates: []place{p.kept.add(small(1, c.first)), p.kept.add(small(2, c.second))}})
		if !maps.Equal(p.capped, c.want) {
			t.Errorf("%s: %v, want %v", name, p.capped, c.want)
		}
	}
}

// TestFailedPlans: a policy that is refused, and a manifest that can't be read, end a plan.
func TestFailedPlans(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 2)
	c, bucket := g.openFaulty()
	tbl, err := c.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := NewPlan(ctx, tbl, Policy{MinInputs: -1}); err == nil {
		t.Errorf("%+v", plan)
	}
	bucket.Play(t, "any 1: fail denied")
	if plan, err := NewPlan(ctx, tbl, Policy{}); !errors.Is(err, blobio.ErrDenied) {
		t.Errorf("%+v, %v", plan, err)
	}
	bucket.Play(t, "")
	if _, err := Compact(ctx, tbl, Policy{NoRebuild: true}, Options{}); err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(ctx, tbl, Policy{RebuildAll: true})
	if err != nil || len(plan.Groups) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	bucket.Play(t, "any 1: fail denied")
	if part, err := plan.Groups[0].part(ctx, tbl); !errors.Is(err, blobio.ErrDenied) {
		t.Errorf("%+v, %v", part, err)
	}
}

// TestKeptStripesOfSomeInputs: an input of which no stripe stays is no part of the root over those that do, and holds no object.
func TestKeptStripesOfSomeInputs(t *testing.T) {
	tbl := newGround(t).create()
	fill(t, tbl, 2)
	plan, err := NewPlan(ctx, tbl, Policy{})
	if err != nil || len(plan.Groups) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	g := &plan.Groups[0]
	paths := g.Inputs.Paths()
	kept := &parted{kept: map[string][]int{paths[0]: {}, paths[1]: {0}}}
	merged, err := (&Job{table: tbl, group: g, policy: Policy{}.withDefaults()}).keep(ctx, tbl.VaultFolder()+"kept.amudai.shard", kept)
	if err != nil || merged.Inputs != 1 || merged.Records != 10 || len(merged.Objects) != 1 {
		t.Errorf("%+v, %v", merged, err)
	}
}
