package shardfmt

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// shardSpecs are indexes of a shard as a whole over all of the columns of indexedSchema.
func shardSpecs(t testing.TB) []IndexSpec {
	t.Helper()
	var specs IndexSpecs
	if err := specs.Set("text@shard:msg:unicode-log text@shard:s.tag:trivial hash@shard:s.tag,s.n hash@shard:u hash@shard:ok text@shard:tags,any hash@shard:tags layer@shard:d layer@shard:f,u layer@shard:id layer@shard:s.tag,d"); err != nil {
		t.Fatal(err)
	}
	return specs
}

// holds checks scans of a shard with indexes against those that read all rows, and gives for how many stripes indexes were called.
func holds(t *testing.T, client *blobio.Client, url string, r *rand.Rand, filters int) (used int) {
	t.Helper()
	for range filters {
		where := oddFilter(r, 2)
		var stats ScanStats
		got := matching(t, client, url, where, ScanOptions{Stats: &stats})
		want := matching(t, client, url, where, ScanOptions{IgnoreIndexes: true})
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %s: %d rows, %d without indexes", url, where, len(got), len(want))
		}
		used += stats.StripesIndexed
		candidatesHold(t, client, url, where, want)
	}
	return used
}

// wholeLater gives a shard that is there indexes as a whole.
func wholeLater(t *testing.T, client *blobio.Client, in, out string, specs []IndexSpec) {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, client, in, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var change merge.IndexChange
	if change.AddShard, change.Add, _, err = s.BuildShardIndexes(ctx, client, specs, IndexBuild{Root: out, Prefix: out + "."}); err != nil {
		t.Fatal(err)
	}
	if len(change.AddShard) != len(specs) {
		t.Fatalf("%d indexes", len(change.AddShard))
	}
	if _, err := merge.ReplaceIndexes(ctx, client, out, merge.Input{URL: in}, change); err != nil {
		t.Fatal(err)
	}
}

// A scan that asks indexes of a shard as a whole finds what a scan finds that reads all rows: as written, merged, merged and packed, with
// deleted records, built later, and merged from shards some of which got theirs later.
func TestShardIndexesLoseNoRow(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	r := rand.New(rand.NewPCG(17, 7))
	folder := "file://" + t.TempDir() + "/"
	at := func(name string) string { return folder + name + ".amudai.shard" }
	writeIndexed(t, client, at("1"), r, 0, 1500, shardSpecs(t))
	writeIndexed(t, client, at("2"), r, 1500, 900, shardSpecs(t))
	writeIndexed(t, client, at("bare"), r, 2400, 800, nil)
	wholeLater(t, client, at("bare"), at("3"), shardSpecs(t))
	in := []merge.Input{{URL: at("1")}, {URL: at("2")}, {URL: at("3")}}
	all := len(shardSpecs(t))
	joined := func(what string, out *merge.Result, err error) {
		t.Helper()
		if err != nil || out.DroppedIndexes != 0 || out.JoinedIndexes != all || out.IndexBytes == 0 || len(out.Written) == 0 {
			t.Fatalf("%s: %+v, %v", what, out, err)
		}
		for _, url := range out.Written {
			if !slices.Contains(out.Objects, url) {
				t.Fatalf("%s: %s is in no list", what, url)
			}
		}
	}
	out, err := merge.Concat(ctx, client, at("m"), in, merge.Options{IndexMemory: 1})
	joined("concat", out, err)
	out, err = merge.Concat(ctx, client, at("mm"), []merge.Input{{URL: at("m")}}, merge.Options{})
	if err != nil || out.DroppedIndexes != 0 || len(out.Written) != 0 {
		t.Fatalf("one input: %+v, %v", out, err)
	}
	out, err = merge.Pack(ctx, client, at("p"), in, merge.PackOptions{Object: folder + "p.amudai.stripe", All: true})
	joined("pack", out, err)
	deleteSome(t, client, at("p"), at("d"))
	for name, least := range map[string]int{"1": 20, "m": 30, "mm": 30, "p": 30, "d": 30} {
		url := at(name)
		report, err := verify.Shard(ctx, client, url, verify.Options{})
		if err != nil || !report.OK || len(report.Warnings) > 0 {
			t.Fatalf("%s: %+v %v", url, report, err)
		}
		if used := holds(t, client, url, r, 40); used < least {
			t.Errorf("%s: indexes were asked for %d stripes only", url, used)
		}
	}
}

// What not all inputs have alike, or some have for other records than there are, is dropped and counted; what can't be read is, too. No row
// is lost by it.
func TestShardIndexesThatAreDropped(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	r := rand.New(rand.NewPCG(17, 9))
	folder := "file://" + t.TempDir() + "/"
	at := func(name string) string { return folder + name + ".amudai.shard" }
	all := shardSpecs(t)
	writeIndexed(t, client, at("1"), r, 0, 800, all)
	writeIndexed(t, client, at("2"), r, 800, 800, all[:2])
	other := slices.Clone(all[:2])
	other[0].Tokenizer = 0
	writeIndexed(t, client, at("3"), r, 1600, 800, other)
	for _, c := range []struct {
		with            []string
		joined, dropped int
	}{{[]string{"1", "2"}, 2, len(all) - 2}, {[]string{"1", "2", "3"}, 1, len(all) - 1 + 1 + 1}} {
		var in []merge.Input
		for _, name := range c.with {
			in = append(in, merge.Input{URL: at(name)})
		}
		out := at("of" + strings.Join(c.with, ""))
		res, err := merge.Concat(ctx, client, out, in, merge.Options{})
		if err != nil || res.JoinedIndexes != c.joined || res.DroppedIndexes != c.dropped {
			t.Fatalf("%v: %+v %v", c.with, res, err)
		}
		holds(t, client, out, r, 10)
	}
	// Some stripes of a shard: positions of the others would be wrong.
	out, err := merge.Concat(ctx, client, at("part"), []merge.Input{{URL: at("1"), Stripes: []int{0}}, {URL: at("2")}}, merge.Options{})
	if err != nil || out.JoinedIndexes != 0 || out.DroppedIndexes != len(all)+2 {
		t.Fatalf("%+v %v", out, err)
	}
	// An index whose objects are gone.
	s, err := Open(ctx, client, at("2"), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Root().Indexes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.Root().Resolve(at("2"), c.IndexDescriptors[0].Artifacts[1].DataRef.Url)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(ctx, url, ""); err != nil {
		t.Fatal(err)
	}
	out, err = merge.Concat(ctx, client, at("gone"), []merge.Input{{URL: at("1")}, {URL: at("2")}}, merge.Options{})
	if err != nil || out.JoinedIndexes != 1 || out.DroppedIndexes != len(all) {
		t.Fatalf("%+v %v", out, err)
	}
	holds(t, client, at("gone"), r, 10)
}

// An index that came to a shard of other records than it is of, by whoever copies what he does not know, is not asked.
func TestShardIndexOfOtherRecords(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	r := rand.New(rand.NewPCG(5, 9))
	folder := "file://" + t.TempDir() + "/"
	writeIndexed(t, client, folder+"its.amudai.shard", r, 0, 1500, shardSpecs(t))
	writeIndexed(t, client, folder+"other.amudai.shard", r, 0, 1400, nil)
	s, err := Open(ctx, client, folder+"its.amudai.shard", OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Root().Indexes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out := folder + "copied.amudai.shard"
	if _, err := merge.ReplaceIndexes(ctx, client, out, merge.Input{URL: folder + "other.amudai.shard"}, merge.IndexChange{AddShard: stripeindex.DescriptorsOf(c.IndexDescriptors)}); err != nil {
		t.Fatal(err)
	}
	if used := holds(t, client, out, r, 30); used > 0 {
		t.Errorf("it was asked for %d stripes", used)
	}
}

// P5, over 16 stripes: a word costs few requests to look up, whether one stripe has it or all. An index of each stripe costs as many requests
// as there are stripes, several times over.
func TestTermLookupByShardIndex(t *testing.T) {
	const stripes, lines = 16, 2500
	folder := "file://" + t.TempDir() + "/"
	cost := func(scope, where string, rows int) (s ScanStats, c blobio.Counters) {
		t.Helper()
		cold := blobio.NewClient(blobio.ClientOptions{})
		defer cold.Close()
		got := matching(t, cold, folder+scope+".amudai.shard", where, ScanOptions{Stats: &s})
		if len(got) != rows {
			t.Fatalf("%s: %d rows", where, len(got))
		}
		c = cold.Counters()
		t.Logf("%s, %s: index %d GETs, %d bytes; all %d GETs, %d bytes, depth %d", scope, where, s.IndexGets, s.IndexBytes, c.Gets, c.GetBytes, c.Depth)
		return s, c
	}
	specs := map[string]string{"stripe": "text:msg:unicode-log hash:host", "shard": "text@shard:msg:unicode-log hash@shard:host"}
	for scope, spec := range specs {
		stripedLinesOf(t, folder+scope+".amudai.shard", stripes, lines, spec)
	}
	for where, rows := range map[string]int{"msg HAS 'needle'": 1, "msg HAS 'everywhere'": stripes, "msg HAS 'nowhere'": 0, "host = 'alone'": 1, "msg HASPREFIX 'everyw'": stripes} {
		s, c := cost("shard", where, rows)
		if s.IndexGets > 4 || s.IndexBytes > 320<<10 || s.StripesUnindexed > 0 || s.StripesIndexed+s.StripesPruned != stripes {
			t.Errorf("%s: %+v", where, s)
		}
		if rows == 0 && (c.Gets > 8 || c.Depth > 4 || c.GetBytes > 512<<10) { // of the whole way to the answer, the root included
			t.Errorf("%s: %+v", where, c)
		}
	}
	s, _ := cost("stripe", "msg HAS 'everywhere'", stripes)
	if s.IndexGets < 2*stripes {
		t.Errorf("%+v", s)
	}
	_, c := cost("shard", "msg HAS 'everywhere'", stripes)
	if most := int64(1 + 4 + 2*stripes); c.Gets > most || c.Depth > 6 {
		t.Errorf("%+v with those for the rows", c)
	}
}
