package shardfmt

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/verify"
	"github.com/shardcat/shardcat/urlresolve"
)

// A term of an index whose artifacts are several times what is read at once is found in three steps: the ends of both, the columns of a leaf, the
// list. Block ranges are no step of their own.
func TestTermLookupInLargeIndex(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	folder := "file://" + t.TempDir() + "/"
	root, err := client.Mount(ctx, folder+"root.pb")
	if err != nil {
		t.Fatal(err)
	}
	const stripes, records, words = 4, 60_000, 120_000
	r := rand.New(rand.NewPCG(8, 15))
	b := textindex.NewBuilder(textindex.CaseInsensitive, []textindex.Field{{ID: 0, Tokenizer: textindex.UnicodeWord}})
	want := map[string]map[uint16][]uint64{}
	for s := range uint16(stripes) {
		if s > 0 {
			if err := b.NextStripe(); err != nil {
				t.Fatal(err)
			}
		}
		for at := range uint64(records) {
			var line []string
			for range 4 {
				w := fmt.Sprintf("w%06x", r.IntN(words)*131)
				if line = append(line, w); strings.HasSuffix(w, "77") {
					if want[w] == nil {
						want[w] = map[uint16][]uint64{}
					}
					if of := want[w][s]; len(of) == 0 || of[len(of)-1] != at {
						want[w][s] = append(of, at)
					}
				}
			}
			if err := b.Add(0, at, []byte(strings.Join(line, " "))); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, objects, err := b.Write(ctx, shardwriter.IndexTarget{Store: client, Root: root, Prefix: folder + "i-"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.Size < 512<<10 {
			t.Fatalf("%s has %d bytes: the test says nothing", o.URL, o.Size)
		}
		report, err := verify.Shard(ctx, client, o.URL, verify.Options{})
		if err != nil || !report.OK || report.UnprotectedBytes > 0 {
			t.Fatalf("%+v %v", report, err)
		}
	}
	const asked = 40
	direct := 0
	for _, w := range slices.Sorted(maps.Keys(want))[:asked] {
		lists := want[w]
		cold := blobio.NewClient(blobio.ClientOptions{})
		x, err := textindex.Open(ctx, cold, root, d, urlresolve.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := x.Lookup(ctx, w)
		c := cold.Counters()
		cold.Close()
		if err != nil {
			t.Fatal(w, err)
		}
		stripes := 0
		for _, e := range found { // several where the lists of a term go over the end of a leaf
			for _, p := range e.Postings {
				if stripes++; p.Kind != textindex.Positions || !slices.Equal(p.Values, lists[p.Stripe]) {
					t.Fatalf("%s in stripe %d: %v, not %v", w, p.Stripe, p, lists[p.Stripe])
				}
			}
		}
		if stripes != len(lists) {
			t.Fatalf("%s: %d lists, not %d", w, stripes, len(lists))
		}
		if c.Gets <= 6 && c.Depth <= 3 {
			direct++
		}
		if c.Gets > 8 || c.Depth > 4 || c.GetBytes > 400<<10 {
			t.Errorf("%s: %+v", w, c)
		}
	}
	if direct < asked*9/10 { // the last term of a leaf may go on in the next one
		t.Errorf("%d of %d terms were found in three steps", direct, asked)
	}
	copies(t, client, objects[0].URL)
}

// copies holds the copies in a root to be what its object has.
func copies(t *testing.T, client *blobio.Client, url string) {
	t.Helper()
	ctx := context.Background()
	root, err := meta.OpenRoot(ctx, client, url, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := root.Properties(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ranges := meta.Copies(meta.Properties(p.CustomProperties).Get(meta.PropertyCopies))
	if len(ranges) == 0 {
		t.Fatal("no copies")
	}
	for _, m := range ranges {
		b := make([]byte, len(m.Bytes))
		if _, err := client.ReadRange(ctx, url, int64(m.Start), b); err != nil || !slices.Equal(b, m.Bytes) {
			t.Fatalf("the copy of what is at %d: %v", m.Start, err)
		}
	}
}
