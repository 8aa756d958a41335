package shardfmt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// writeLines writes lines of JSON as a shard.
func writeLines(t *testing.T, sp *blobio.Client, url string, s *schema.Schema, lines string, o shardfmt.WriterOptions) {
	t.Helper()
	ctx := context.Background()
	src, err := fileio.OpenSource(ctx, sp, []string{fileio.Stdin}, fileio.SourceOptions{
		Format: fileio.NDJSON, Schema: s, Stdin: strings.NewReader(lines), BatchRows: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	w, err := shardfmt.NewWriter(ctx, sp, url, src.Schema(), o)
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
}

// readLines reads a shard as lines of JSON, and holds it to what verification finds.
func readLines(t *testing.T, sp *blobio.Client, url string) string {
	t.Helper()
	ctx := context.Background()
	report, err := verify.Shard(ctx, sp, url, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !(report.OK) {
		t.Fatalf("%v: report.OK is false", report.Errors)
	}
	shard, err := shardfmt.Open(ctx, sp, url, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := shard.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &out, s, fileio.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// manyVariants is a union of n structs that distinguish themselves by their only field, and lines of it in which each is chosen, and
// a null comes now and then.
func manyVariants(t *testing.T, n int) (*schema.Schema, string) {
	t.Helper()
	u := &schema.Node{Name: "u", Basic: schema.Union, Nullable: true}
	for i := range n {
		u.Children = append(u.Children, &schema.Node{Name: fmt.Sprint("v", i), Basic: schema.Struct, Nullable: true, Children: []*schema.Node{
			{Name: fmt.Sprint("f", i), Basic: schema.Int32, Signed: true, Nullable: true}}})
	}
	s := &schema.Schema{Fields: []*schema.Node{u}}
	s.Number()
	var lines strings.Builder
	for i := range n + 11 {
		if i%9 == 4 {
			lines.WriteString("{\"u\":null}\n")
		} else {
			fmt.Fprintf(&lines, "{\"u\":{\"f%d\":%d}}\n", i*37%n, i)
		}
	}
	return s, lines.String()
}

// TestUnionsOfManyVariants: a discriminator is a byte, so a union may have 256 variants, twice as many as one of Arrow; both forms are written, read,
// verified and merged, also as elements of lists, and Arrow is notified by name that it can't have them.
func TestUnionsOfManyVariants(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	for _, n := range []int{128, 256} {
		s, lines := manyVariants(t, n)
		var inputs []merge.Input
		for name, sparse := range map[string]bool{"dense": false, "sparse": true} {
			url := fmt.Sprintf("%s%s-%d.amudai.shard", at, name, n)
			writeLines(t, sp, url, s, lines, shardfmt.WriterOptions{SparseUnions: sparse, StripeRows: 150})
			if want, got := lines, readLines(t, sp, url); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, %d variants: got %v, want %v", name, n, got, want)
			}
			inputs = append(inputs, merge.Input{URL: url})
		}
		both := fmt.Sprintf("%sboth-%d.amudai.shard", at, n)
		_, err := merge.Concat(ctx, sp, both, inputs, merge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want, got := lines+lines, readLines(t, sp, both); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		_, err = fileio.NewSink(fileio.ArrowStream, io.Discard, s, fileio.SinkOptions{})
		if n > 128 {
			if err == nil || !strings.Contains(err.Error(), "Arrow has at most 128") {
				t.Fatalf("%v, want an error with %q", err, "Arrow has at most 128")
			}
		} else {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	s, _ := manyVariants(t, 257)
	_, err := shardfmt.NewWriter(ctx, sp, at+"more.amudai.shard", s, shardfmt.WriterOptions{})
	if err == nil || !strings.Contains(err.Error(), "257") {
		t.Fatalf("%v, want an error with %q", err, "257")
	}
}

// TestNullUnionsInUnions: a null that is a union's own stays one below other unions, in both forms.
func TestNullUnionsInUnions(t *testing.T) {
	sp, at := propertySpace(t)
	s, err := schema.Parse("u: Union<Union<Int64, String>, List<Union<Boolean, Int64>>>, last: Int8")
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range 600 {
		fmt.Fprintf(&lines, "{\"u\":%s,\"last\":%d}\n", []string{"null", fmt.Sprint(i), `"x"`, `[true,null,7]`, "null", "[]"}[i*7%6], i%100)
	}
	for name, sparse := range map[string]bool{"dense": false, "sparse": true} {
		url := at + name + ".amudai.shard"
		writeLines(t, sp, url, s, lines.String(), shardfmt.WriterOptions{SparseUnions: sparse, StripeRows: 250})
		if want, got := lines.String(), readLines(t, sp, url); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", name, got, want)
		}
	}
}

// TestLabelsAreHints: what an extension label states about values decides what is tried on them: no decimal digits are looked for in an embedding
// vector, sketches are compressed instead of listed, addresses get a Bloom filter; and the label stays.
func TestLabelsAreHints(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	random := rand.New(rand.NewPCG(1, 2))
	var lines strings.Builder
	for i := range 3000 {
		sketch := make([]byte, 60)
		for j := range sketch {
			sketch[j] = "AAAAAAAABBCD"[random.IntN(12)]
		}
		fmt.Fprintf(&lines, "{\"e\":[%d.25,%d.5],\"ip\":\"10.%d.%d.%d\",\"hll\":\"%s\"}\n", random.IntN(1000), random.IntN(1000), i%200, i/200, i%7, sketch)
	}
	plans := func(name string, labelled bool) (map[string]string, *inspect.Inspection) {
		s, err := schema.Parse("e: List<Float64>, ip: String, hll: Binary")
		if err != nil {
			t.Fatal(err)
		}
		if labelled {
			for i, label := range []string{schema.LabelEmbedding, schema.LabelIP, schema.LabelHLL} {
				s.Fields[i].Ext = &schema.Extension{Label: label}
			}
		}
		url := at + name + ".amudai.shard"
		writeLines(t, sp, url, s, lines.String(), shardfmt.WriterOptions{})
		if want, got := lines.String(), readLines(t, sp, url); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		x, err := inspect.Shard(ctx, sp, url, inspect.Options{Detail: inspect.Blocks})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for field, f := range x.Fields {
			for _, b := range f.Stripes[0].Encodings[0].Buffers {
				for plan := range b.Plans {
					out[field] += b.Kind + ":" + plan + " "
				}
			}
		}
		return out, x
	}
	without, plain := plans("plain", false)
	with, x := plans("labelled", true)
	if all, one := without["e.item"], "DATA:Alp["; !strings.Contains(all, one) {
		t.Fatalf("%v lacks %v", all, one)
	}
	if all, one := with["e.item"], "Alp["; strings.Contains(all, one) {
		t.Fatalf("%v has %v", all, one)
	}
	if all, one := without["hll"], "Zstd"; strings.Contains(all, one) {
		t.Fatalf("%v has %v", all, one)
	}
	if all, one := with["hll"], "DATA:Zstd"; !strings.Contains(all, one) {
		t.Fatalf("%v lacks %v", all, one)
	}
	if all, one := string(plain.Fields["ip"].Stripes[0].Statistics), "membership_filters"; strings.Contains(all, one) {
		t.Fatalf("%v has %v", all, one)
	}
	if all, one := string(x.Fields["ip"].Stripes[0].Statistics), "membership_filters"; !strings.Contains(all, one) {
		t.Fatalf("%v lacks %v", all, one)
	}
	for i, label := range []string{schema.LabelEmbedding, schema.LabelIP, schema.LabelHLL} {
		if want, got := label, x.Schema[i].Label(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	_, err := merge.Concat(ctx, sp, at+"merged.amudai.shard", []merge.Input{{URL: at + "labelled.amudai.shard"}}, merge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := inspect.Shard(ctx, sp, at+"merged.amudai.shard", inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := schema.LabelEmbedding, m.Schema[0].Label(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}
