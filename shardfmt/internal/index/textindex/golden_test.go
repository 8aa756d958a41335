package textindex

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/urlresolve"
)

// goldenPosting is a posting as the golden indexes tell it.
type goldenPosting struct {
	Field     uint32
	Stripe    uint16
	Repr      string
	Positions []uint64
	Ranges    [][2]uint64
}

// goldenLine is a line of expect.ndjson.gz or prefix.ndjson.gz.
type goldenLine struct {
	Term, Prefix              string
	Postings                  []goldenPosting
	Lost                      []goldenPosting
	Certain, Possible, Source []goldenPosting
}

// openFolder opens the index that a folder describes.
func openFolder(t *testing.T, dir string) *Index {
	t.Helper()
	ctx := context.Background()
	b, err := os.ReadFile(filepath.Join(dir, "index.rel.pb"))
	if err != nil {
		t.Fatal(err)
	}
	d := new(metapb.IndexDescriptor)
	if err := proto.Unmarshal(b, d); err != nil {
		t.Fatal(err)
	}
	client := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { client.Close() })
	base, err := client.Mount(ctx, filepath.Join(dir, "index.rel.pb"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(ctx, client, base, d, urlresolve.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// eachLine calls f with the lines of a compressed file.
func eachLine(t *testing.T, path string, f func(goldenLine)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var l goldenLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		f(l)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// golden are the golden text indexes.
func golden(t *testing.T) []string {
	dirs, err := filepath.Glob(filepath.Join(interop.Dir(t), "indexes", "text-*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no text indexes: %v", err)
	}
	return dirs
}

// told puts postings into the form of the golden ones.
func told(entries []Entry) (out []goldenPosting) {
	for _, e := range entries {
		for _, p := range e.Postings {
			g := goldenPosting{Field: p.Field, Stripe: p.Stripe, Repr: p.Kind.String()}
			if p.Kind == Positions {
				g.Positions = p.Values
			} else {
				for _, r := range p.Ranges() {
					g.Ranges = append(g.Ranges, [2]uint64{r.Start, r.End})
				}
			}
			out = append(out, g)
		}
	}
	return out
}

// The reference's indexes answer every term with the postings that the reference reads.
func TestGoldenTerms(t *testing.T) {
	for _, dir := range golden(t) {
		x, n := openFolder(t, dir), 0
		eachLine(t, filepath.Join(dir, "expect.ndjson.gz"), func(l goldenLine) {
			if n++; n > 500 && n%10 != 0 && os.Getenv("SHARDCAT_FULL") == "" {
				return
			}
			got, err := x.Lookup(context.Background(), l.Term)
			if err != nil {
				t.Fatal(err)
			}
			if have := told(got); len(have) != len(l.Postings) || len(have) > 0 && !reflect.DeepEqual(have, l.Postings) {
				t.Fatalf("%s: %q: got %v, want %v", dir, l.Term, have, l.Postings)
			}
		})
	}
}

// The reference's indexes answer every prefix: with what the reference reads where it reads all, else with no less than
// the data hold and the index did not lose.
func TestGoldenPrefixes(t *testing.T) {
	for _, dir := range golden(t) {
		x := openFolder(t, dir)
		eachLine(t, filepath.Join(dir, "prefix.ndjson.gz"), func(l goldenLine) {
			entries, err := x.Prefix(context.Background(), l.Prefix)
			if err != nil {
				t.Fatal(err)
			}
			a, err := Combine(entries)
			if err != nil {
				t.Fatal(err)
			}
			if x.collation == CaseInsensitive && (!sameSets(a.Certain, l.Certain) || !sameSets(a.Possible, l.Possible)) {
				t.Fatalf("%s: %q: got %v", dir, l.Prefix, a)
			}
			for _, s := range l.Source {
				for _, p := range s.Positions {
					if !holds(a, s, p) {
						t.Errorf("%s: %q: record %d is missing", dir, l.Prefix, p)
					}
				}
			}
		})
	}
}

func sameSets(got []PositionSet, want []goldenPosting) bool {
	return slices.EqualFunc(got, want, func(a PositionSet, b goldenPosting) bool {
		return a.Stripe == b.Stripe && a.Field == b.Field && slices.Equal(a.Positions, b.Positions)
	})
}

func holds(a Answer, s goldenPosting, p uint64) bool {
	for _, sets := range [][]PositionSet{a.Certain, a.Possible} {
		for _, c := range sets {
			if c.Stripe == s.Stripe && c.Field == s.Field && slices.Contains(c.Positions, p) {
				return true
			}
		}
	}
	return false
}
