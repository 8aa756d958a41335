package compaction

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// indexedTable is a table whose rows are random words, under columns that are renamed, dropped and added.
type indexedTable struct {
	*catalog.Table
	t    *testing.T
	r    *rand.Rand
	next int
	// names of the columns that are filtered, in the table now: text, tag, number.
	names [3]string
	// sifted counts the stripes and shards that term filters ruled out.
	sifted int
}

func newIndexedTable(t *testing.T, indexes string) *indexedTable {
	t.Helper()
	g := newGround(t)
	s, err := schema.Parse("id: Int64, msg: String, s: Struct<tag: String>, n: Int32, gone: String")
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := g.open(nil).Create(ctx, catalog.Name{Table: "indexed"}, catalog.CreateOptions{
		Schema: s, CreateNamespace: true, Properties: map[string]string{catalog.IndexesProperty: indexes},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &indexedTable{Table: tbl, t: t, r: rand.New(rand.NewPCG(11, 13)), names: [3]string{"msg", "s.tag", "n"}}
}

func (x *indexedTable) check(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// words are rare enough that an index leaves most rows out.
func (x *indexedTable) words(n int) string {
	var words []string
	for range n {
		words = append(words, fmt.Sprintf("w%d", x.r.IntN(3000)))
	}
	return strings.Join(words, [...]string{" ", "-", ", "}[x.r.IntN(3)])
}

// ingest adds rows in the table's schema of now.
func (x *indexedTable) ingest(rows int) {
	x.t.Helper()
	var out []string
	for range rows {
		x.next++
		row := map[string]any{"id": x.next, x.names[0]: x.words(8), "s": map[string]any{"tag": x.words(1)}, x.names[2]: x.r.IntN(2000)}
		if x.r.IntN(10) == 0 {
			row[x.names[0]], row["s"] = nil, nil
		}
		text, err := json.Marshal(row)
		x.check(err)
		out = append(out, string(text))
	}
	at := time.Date(2024, 1, 1, 0, x.next, 0, 0, time.UTC)
	_, err := x.Ingest(ctx, &source{x.Schema(), "[" + strings.Join(out, ",") + "]"}, catalog.IngestOptions{CreationTime: at, StripeRows: rows/2 + 1})
	x.check(err)
}

// where is a random filter.
func (x *indexedTable) where() string {
	leaf := func() string {
		switch x.r.IntN(5) {
		case 0:
			return fmt.Sprintf("%s HASPREFIX 'w%d'", x.names[0], x.r.IntN(300))
		case 1:
			return fmt.Sprintf("%s = '%s'", x.names[1], x.words(1))
		case 2:
			return fmt.Sprintf("%s IN ('%s', '%s')", x.names[1], x.words(1), x.words(1))
		case 3:
			return fmt.Sprintf("%s IN (%d, %d)", x.names[2], x.r.IntN(2000), x.r.IntN(2000))
		}
		return fmt.Sprintf("%s HAS '%s'", x.names[0], x.words(1))
	}
	switch x.r.IntN(4) {
	case 0:
		return leaf() + " OR " + leaf()
	case 1:
		return leaf() + " AND NOT " + leaf()
	}
	return leaf()
}

// compare holds scans with indexes to scans without, and gives how many stripes were looked up in indexes.
func (x *indexedTable) compare(filters int) (indexed int) {
	x.t.Helper()
	for range filters {
		where := x.where()
		var found [2][]int64
		for i, ignore := range []bool{false, true} {
			e, err := filter.Parse(where)
			x.check(err)
			p, err := x.Plan(ctx, catalog.ScanOptions{Where: e, Select: []string{"id"}, IgnoreIndexes: ignore})
			x.check(err)
			var stats catalog.ScanStats
			for b, err := range p.Run(ctx, &stats) {
				x.check(err)
				found[i] = append(found[i], b.Column(0).(*array.Int64).Int64Values()...)
			}
			slices.Sort(found[i])
			if ignore && stats.StripesIndexed > 0 {
				x.t.Fatalf("%s: indexes were to be ignored, and were asked", where)
			}
			indexed += stats.StripesIndexed + stats.StripesPrunedTerms + stats.ShardsPrunedTerms
			x.sifted += stats.StripesPrunedTerms + stats.ShardsPrunedTerms
			if ignore && stats.StripesPrunedTerms+stats.ShardsPrunedTerms > 0 {
				x.t.Fatalf("%s: term filters were to be ignored, and were asked", where)
			}
		}
		if !slices.Equal(found[0], found[1]) {
			x.t.Fatalf("%s: with indexes %v, without %v", where, found[0], found[1])
		}
	}
	return indexed
}

// asks checks that all live shards have so many indexes as wholes, and that scans look up at least so many stripes in them.
func (x *indexedTable) asks(what string, indexes, least int) {
	x.t.Helper()
	for e, err := range x.Entries(ctx, catalog.At{}) {
		x.check(err)
		s, err := shardfmt.Open(ctx, x.Catalog().Client(), e.Path, shardfmt.OpenOptions{})
		x.check(err)
		indexesOf, err := s.Indexes(ctx, -1)
		x.check(err)
		if n := len(indexesOf); n < indexes {
			x.t.Errorf("%s: %s has %d indexes", what, e.Path, n)
		}
	}
	asked, gets := 0, int64(0)
	for range 30 {
		e, err := filter.Parse(x.where())
		x.check(err)
		p, err := x.Plan(ctx, catalog.ScanOptions{Where: e, Select: []string{"id"}})
		x.check(err)
		var stats catalog.ScanStats
		for _, err := range p.Run(ctx, &stats) {
			x.check(err)
		}
		asked, gets = asked+stats.StripesIndexed, gets+stats.IndexGets
	}
	if asked < least || least > 0 && gets == 0 {
		x.t.Errorf("%s: indexes were asked for %d stripes only, with %d GETs", what, asked, gets)
	}
}

func (x *indexedTable) compact() *Report {
	x.t.Helper()
	report, err := Compact(ctx, x.Table, Policy{}, Options{})
	x.check(err)
	return report
}

// No merge, deletion or change of the schema makes an index lie, and none loses it: a scan with indexes gives the rows of
// one that does not.
func TestIndexesSurviveWhatHappensToATable(t *testing.T) {
	surviveWhatHappens(t, "text:msg,gone:unicode-log text:s.tag:trivial hash:n hash:s.tag", "text:text:unicode-log hash:n")
}

// The same holds for indexes of shards as wholes, which merging merges, or leaves out and reports it.
func TestShardIndexesSurviveWhatHappensToATable(t *testing.T) {
	surviveWhatHappens(t, "text@shard:msg,gone:unicode-log text@shard:s.tag:trivial hash@shard:n hash@shard:s.tag", "text@shard:text:unicode-log hash@shard:n")
}

// surviveWhatHappens goes through the life of a table with some indexes, and others later.
func surviveWhatHappens(t *testing.T, indexes, later string) {
	x, whole := newIndexedTable(t, indexes), strings.Contains(indexes, "@shard")
	used := func(what string, least int) {
		t.Helper()
		if n := x.compare(15); n < least {
			t.Errorf("%s: indexes were asked for %d stripes only", what, n)
		}
	}
	x.ingest(1300)
	x.ingest(1000)
	used("as written", 3)
	if r := x.compact(); r.ShardsAfter != 1 || r.BytesMoved != 0 || r.Results[0].DroppedIndexes != 0 || whole != (r.Results[0].JoinedIndexes == 4) {
		t.Fatalf("%+v", r.Results)
	}
	used("merged", 3)
	if whole {
		x.asks("merged", 4, 5)
	}
	where, err := filter.Parse("n < 700")
	x.check(err)
	_, err = x.Delete(ctx, where, catalog.DeleteOptions{})
	x.check(err)
	used("deleted from", 3)

	x.check(x.RenameColumn(ctx, "msg", "text"))
	x.check(x.DropColumn(ctx, "gone"))
	x.check(x.SetProperties(ctx, map[string]string{catalog.IndexesProperty: later}, nil))
	x.names[0] = "text"
	x.ingest(600)
	used("renamed and dropped", 3)
	more, err := schema.Parse("later: String")
	x.check(err)
	x.check(x.AddColumns(ctx, more))
	x.check(x.WidenColumn(ctx, "n", &schema.Node{Basic: schema.Int64, Signed: true}))
	x.ingest(400)
	x.compare(6)
	x.compact()
	x.compare(6)
	spec := shardfmt.IndexSpec{Kind: shardfmt.HashIndex, Columns: []string{"later", "text"}}
	if whole {
		spec.Scope = shardfmt.OfShard
	}
	added, err := x.AddIndex(ctx, spec, catalog.IndexOptions{})
	x.check(err)
	if added.Built == 0 || added.Dropped != 0 {
		t.Errorf("%+v", added)
	}
	used("indexed later", 3)
	_, err = Compact(ctx, x.Table, Policy{RebuildAll: true}, Options{})
	x.check(err)
	used("rebuilt", 3)
	if whole {
		x.asks("rebuilt", 3, 0) // one stripe, mostly too small for an index lookup to pay
	}
	x.check(x.verified())
	if x.sifted < 10 {
		t.Errorf("term filters ruled out %d stripes and shards only", x.sifted)
	}
}

// Without its term filters, or with damaged ones, a table gives the same rows; with them shards that lack a word are ruled out by one short
// read for all of them, and collection keeps them.
func TestTermFiltersOfATable(t *testing.T) {
	g := newGround(t)
	cat := g.open(nil)
	s, err := schema.Parse("id: Int64, msg: String")
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := cat.Create(ctx, catalog.Name{Table: "words"}, catalog.CreateOptions{
		Schema: s, CreateNamespace: true, Properties: map[string]string{catalog.IndexesProperty: "text:msg"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const shards, rows = 6, 400
	var lines []string
	for i := range shards * rows {
		lines = append(lines, fmt.Sprintf(`{"id": %d, "msg": "common w%d %s"}`, i, i, strings.Repeat("x", 20)))
	}
	if _, err := tbl.Ingest(ctx, &source{tbl.Schema(), "[" + strings.Join(lines, ",") + "]"}, catalog.IngestOptions{ShardRows: rows, StripeRows: rows / 2}); err != nil {
		t.Fatal(err)
	}
	look := func(where string) (ids []int64, p *catalog.Plan, gets int64) {
		t.Helper()
		e, err := filter.Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		before := cat.Client().Counters().Gets
		if p, err = tbl.Plan(ctx, catalog.ScanOptions{Where: e, Select: []string{"id"}}); err != nil {
			t.Fatal(err)
		}
		gets = cat.Client().Counters().Gets - before
		for b, err := range p.Run(ctx, nil) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, b.Column(0).(*array.Int64).Int64Values()...)
		}
		return ids, p, gets
	}
	if ids, p, gets := look("msg HAS 'w1234'"); !slices.Equal(ids, []int64{1234}) || p.PrunedTerms < shards-2 || gets > 1 {
		t.Errorf("%v, %d shards ruled out by %d GETs", ids, p.PrunedTerms, gets)
	}
	if ids, p, gets := look("msg HAS 'nowhere'"); len(ids) > 0 || p.PrunedTerms < shards-1 || gets > 1 {
		t.Errorf("%v, %d shards ruled out by %d GETs", ids, p.PrunedTerms, gets)
	}
	if ids, p, _ := look("msg HASPREFIX 'w123' AND id > 1000"); len(ids) != 10 || p.PrunedTerms != 0 {
		t.Errorf("%v, %d shards ruled out", ids, p.PrunedTerms)
	}
	c, err := tbl.Collect(ctx, catalog.CollectOptions{MinAge: 1, UnsafeMinAge: true})
	if err != nil || len(c.Mark) > 0 || len(c.Kept) > 0 {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := Compact(ctx, tbl, Policy{}, Options{}); err != nil {
		t.Fatal(err)
	}
	if ids, p, gets := look("msg HAS 'w1234'"); !slices.Equal(ids, []int64{1234}) || len(p.Shards) != 1 || gets > 1 {
		t.Errorf("merged: %v, %d GETs", ids, gets)
	}
	if ids, p, gets := look("msg HAS 'nowhere'"); len(ids) > 0 || p.PrunedTerms != 1 || gets > 1 {
		t.Errorf("merged: %v, %d shards ruled out by %d GETs", ids, p.PrunedTerms, gets)
	}
	for info, err := range cat.Client().List(ctx, tbl.VaultFolder()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(info.URL, ".amudai.filter") {
			if err := cat.Client().Delete(ctx, info.URL, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ids, p, _ := look("msg HAS 'w1234'"); !slices.Equal(ids, []int64{1234}) || p.PrunedTerms != 0 {
		t.Errorf("without filters: %v", ids)
	}
}

// verified reads the whole table, its indexes included.
func (x *indexedTable) verified() error {
	report, err := x.Verify(ctx, catalog.VerifyOptions{})
	if err == nil && !report.OK {
		err = fmt.Errorf("%+v", report)
	}
	return err
}

// Many shards get their indexes in few snapshots, each shard once.
func TestIndexesComeInGroups(t *testing.T) {
	const shards = 130
	g := newGround(t)
	tbl := g.create()
	if _, err := tbl.Ingest(ctx, rows(0, shards), catalog.IngestOptions{ShardRows: 1, StripeRows: 1}); err != nil {
		t.Fatal(err)
	}
	var seen []int
	got, err := tbl.AddIndex(ctx, shardfmt.IndexSpec{Kind: shardfmt.TextIndex, Columns: []string{"name"}},
		catalog.IndexOptions{Progress: func(n int) { seen = append(seen, n) }})
	if err != nil || got.Shards != shards || got.Built != shards || len(tbl.History()) != 1+3 {
		t.Errorf("%+v, %d snapshots, %v", got, len(tbl.History()), err)
	}
	if len(seen) != shards || !slices.IsSorted(seen) || seen[shards-1] != shards {
		t.Errorf("told of %v", seen)
	}
	if got, err = tbl.BuildIndexes(ctx, catalog.IndexOptions{}); err != nil || *got != (catalog.IndexResult{}) {
		t.Errorf("again: %+v, %v", got, err)
	}
}
