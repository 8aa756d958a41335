package encode_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/internal/opened"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The golden shards, read and rewritten with the profile and the stripes they have, must not be larger
// than the reference's by more than two in a hundred: the buffers of all stripes, dictionaries and range
// indexes included, per profile. Fields of which the reference stored a block outside the safe subset are
// left out.
func TestShardSizesAgainstReference(t *testing.T) {
	sum := totals{}
	var larger []string
	for _, c := range interop.Cases(t) {
		w := &rewriter{t: t, profile: c.Profile}
		w.shard(c.Shard())
		skip := map[string]bool{}
		for _, s := range w.streams {
			skip[top(s.path)] = skip[top(s.path)] || s.unsafe
		}
		theirs := fieldSizes(t, c.Shard())
		ours := fieldSizes(t, writeAnew(t, c))
		for name, size := range theirs {
			if skip[name] {
				continue
			}
			sum.add(c.Profile, "buffers", size, ours[name])
			if ours[name] > size+size/50 {
				larger = append(larger, fmt.Sprintf("%s.%s: %d bytes, reference %d", c.Name, name, ours[name], size))
			}
		}
	}
	slices.Sort(larger)
	for _, line := range larger {
		t.Log(line)
	}
	sum.check(t)
}

// top is the top-level field of a path.
func top(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

// writeAnew writes a golden shard with our writer and returns the root's path.
func writeAnew(t *testing.T, c *interop.Case) string {
	t.Helper()
	ctx, sp := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
	}
	s, err := shardfmt.Open(ctx, sp, "file://"+filepath.ToSlash(c.Shard()), shardfmt.OpenOptions{})
	must(err)
	sc, err := s.Schema(ctx)
	must(err)
	var p shardfmt.Profile
	must(p.Set(c.Profile))
	out := filepath.Join(t.TempDir(), "out.amudai.shard")
	w, err := shardfmt.NewWriter(ctx, sp, "file://"+filepath.ToSlash(out), sc, shardfmt.WriterOptions{Profile: p})
	must(err)
	at := uint64(0)
	for _, stripe := range s.Stripes() {
		end := at + stripe.Records
		if stripe.Records > 0 {
			for b, err := range s.Scan(ctx, shardfmt.ScanOptions{Start: at, End: end}) {
				must(err)
				must(w.Write(ctx, b))
			}
		}
		must(w.EndStripe(ctx))
		at = end
	}
	_, err = w.Close(ctx)
	must(err)
	return out
}

// fieldSizes sums up the buffers of each top-level field over all stripes.
func fieldSizes(t *testing.T, path string) map[string]int {
	t.Helper()
	ctx, sp := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	s, err := shardfmt.Open(ctx, sp, "file://"+filepath.ToSlash(path), shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sc, err := s.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{}
	var add func(stripe int, name string, n *schema.Node)
	add = func(stripe int, name string, n *schema.Node) {
		d, _, err := opened.Root(s).StripeField(ctx, stripe, n.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range d.GetEncodings() {
			for _, b := range e.GetNative().GetBuffers() {
				sizes[name] += int(b.Buffer.Range.End - b.Buffer.Range.Start)
			}
		}
		for _, kid := range n.Children {
			add(stripe, name, kid)
		}
	}
	for i := range s.Stripes() {
		for _, f := range sc.Fields {
			add(i, f.Name, f)
		}
	}
	return sizes
}
