package shardfmt

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// Indexes in the descriptions of fields, of stripes and of the shard as a whole, are called, and lose no row: as written, merged, packed, with deleted
// records, and built later. Those of stripes go with their stripes; those of the shard are merged.
func TestFieldIndexesLoseNoRow(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	var ofStripes IndexSpecs
	if err := ofStripes.Set("text@field:msg:unicode-log hash@field:u layer@field:id layer@field:d"); err != nil {
		t.Fatal(err)
	}
	var ofShard IndexSpecs
	if err := ofShard.Set("text@shard-field:s.tag:trivial hash@shard-field:s.n layer@shard-field:f hash@shard-field:ok"); err != nil {
		t.Fatal(err)
	}
	all := append(ofStripes[:len(ofStripes):len(ofStripes)], ofShard...)
	r := rand.New(rand.NewPCG(22, 81))
	folder := "file://" + t.TempDir() + "/"
	at := func(name string) string { return folder + name + ".amudai.shard" }
	writeIndexed(t, client, at("1"), r, 0, 1500, all)
	writeIndexed(t, client, at("2"), r, 1500, 900, all)
	writeIndexed(t, client, at("bare"), r, 2400, 800, nil)
	indexLater(t, client, at("bare"), at("half"), ofStripes)
	wholeLater(t, client, at("half"), at("3"), ofShard)
	in := []merge.Input{{URL: at("1")}, {URL: at("2")}, {URL: at("3")}}
	out, err := merge.Concat(ctx, client, at("m"), in, merge.Options{IndexMemory: 1})
	if err != nil || out.DroppedIndexes != 0 || out.JoinedIndexes != len(ofShard) {
		t.Fatalf("%+v %v", out, err)
	}
	out, err = merge.Pack(ctx, client, at("p"), in, merge.PackOptions{Object: folder + "p.amudai.stripe", All: true})
	if err != nil || out.DroppedIndexes != 0 || out.JoinedIndexes != len(ofShard) {
		t.Fatalf("%+v %v", out, err)
	}
	deleteSome(t, client, at("p"), at("d"))
	asked := 0
	for _, c := range []struct {
		name    string
		stripes int
	}{{"1", 3}, {"2", 2}, {"3", 2}, {"m", 7}, {"p", 7}, {"d", 7}} {
		name, stripes := c.name, c.stripes
		url := at(name)
		report, err := verify.Shard(ctx, client, url, verify.Options{})
		if err != nil || !report.OK || len(report.Warnings) > 0 {
			t.Fatalf("%s: %+v %v", url, report, err)
		}
		s, err := Open(ctx, client, url, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := s.Root().Indexes(ctx)
		if err != nil || len(whole.GetIndexDescriptors()) > 0 {
			t.Errorf("%s: %v of the shard, %v", name, whole, err)
		}
		ofAll, err := stripeindex.OfAllStripes(ctx, s.Root())
		if err != nil || len(ofAll) != len(ofShard) || len(s.Stripes()) != stripes {
			t.Errorf("%s: %d indexes of fields of the shard, %d stripes, %v", name, len(ofAll), len(s.Stripes()), err)
		}
		for i := range s.Stripes() {
			beside, err := s.Root().StripeIndexes(ctx, i)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range beside.GetIndexDescriptors() {
				if !stripeindex.IsFilter(d) {
					t.Errorf("%s: %v beside the fields of stripe %d", name, d, i)
				}
			}
		}
		used := holds(t, client, url, r, 40)
		if used == 0 {
			t.Errorf("%s: no index was asked", name)
		}
		asked += used
	}
	if asked < 60 {
		t.Errorf("indexes were asked for %d stripes only", asked)
	}
	// Without one of all inputs it goes, and counts; what stands with the stripes stays.
	writeIndexed(t, client, at("4"), r, 0, 800, ofStripes)
	writeIndexed(t, client, at("5"), r, 800, 800, all)
	out, err = merge.Concat(ctx, client, at("less"), []merge.Input{{URL: at("4")}, {URL: at("5")}}, merge.Options{})
	if err != nil || out.DroppedIndexes != len(ofShard) || out.JoinedIndexes != 0 {
		t.Fatalf("%+v %v", out, err)
	}
	holds(t, client, at("less"), r, 20)
	dropped := merge.IndexChange{Drop: func(d index.Descriptor) bool { return stripeindex.OfItsField(stripeindex.Message(d)) }}
	out, err = merge.ReplaceIndexes(ctx, client, at("none"), merge.Input{URL: at("m")}, dropped)
	if err != nil || out.DroppedIndexes != len(ofShard)+7*len(ofStripes) {
		t.Fatalf("%+v %v", out, err)
	}
	// What can't be one field's is refused by name.
	for _, text := range []string{"hash@field:u,ok", "text@shard-field:msg+s.tag", "text@field:tags"} {
		var specs IndexSpecs
		err := specs.Set(text)
		if err == nil {
			s, openErr := Open(ctx, client, at("1"), OpenOptions{})
			if openErr != nil {
				t.Fatal(openErr)
			}
			_, _, err = s.BuildIndexes(ctx, client, 0, specs, IndexBuild{})
		}
		if err == nil {
			t.Errorf("%s is not refused", text)
		}
	}
}
