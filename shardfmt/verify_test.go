package shardfmt

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

func check(t testing.TB, sp *blobio.Client, url string) *corrupt.Report {
	t.Helper()
	r, err := verify.Shard(context.Background(), sp, url, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Whatever byte of whatever object of our shards is flipped, Verify finds it and names the object. Every 37th
// byte is tried, all of them if SHARDCAT_EXHAUSTIVE is set.
func TestVerifyFindsEveryFlippedByte(t *testing.T) {
	for _, layout := range []Layout{TwoLevel, Single} {
		dir := t.TempDir()
		sp := blobio.NewClient(blobio.ClientOptions{})
		defer sp.Close()
		root := "file://" + dir + "/s.amudai.shard"
		written := writeSample(t, sp, root, 60, WriterOptions{Layout: layout, StripeRows: 40})
		if r := check(t, sp, root); !r.OK || r.UnprotectedBytes != 0 || r.Objects != len(written.Objects) {
			t.Fatalf("%v: %+v", layout, r)
		}
		for _, o := range written.Objects {
			flipAll(t, sp, root, o.URL)
		}
	}
}

// flipAll flips each byte of an object in turn.
func flipAll(t *testing.T, sp *blobio.Client, root, object string) {
	name := strings.TrimPrefix(object, "file://")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	stride := 37
	if os.Getenv("SHARDCAT_EXHAUSTIVE") != "" {
		stride = 1
	}
	for i := 0; i < len(good); i += stride {
		bad := slices.Clone(good)
		bad[i] ^= 0x40
		if err := os.WriteFile(name, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		r := check(t, sp, root)
		found := slices.ContainsFunc(r.Errors, func(f corrupt.Finding) bool { return f.Object == object })
		if r.OK || !found {
			t.Errorf("byte %d of %s: %+v", i, filepath.Base(name), r.Errors)
		}
	}
	if err := os.WriteFile(name, good, 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeNumbers writes one stripe of numbers.
func writeNumbers(t *testing.T, sp *blobio.Client, url string, numbers []int64) *Written {
	t.Helper()
	ctx := context.Background()
	s, err := schema.Parse("n: Int64")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(ctx, sp, url, s, WriterOptions{Profile: Plain, CreationMin: 1, CreationMax: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(numbers, nil)
	if err := w.Write(ctx, array.NewRecordBatch(arrowtype.Schema(s), []arrow.Array{b.NewArray()}, int64(len(numbers)))); err != nil {
		t.Fatal(err)
	}
	written, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// TestSumsOfStripesAreCompared: a stripe in which every block is whole and every statistic true, but whose values are not
// those that were written, is found by the checksum of the stripe alone.
func TestSumsOfStripesAreCompared(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	numbers := []int64{5, 3, 8, 1, 9, 2, 7}
	a := writeNumbers(t, sp, "mem://sums/a.amudai.shard", numbers)
	slices.Reverse(numbers)
	b := writeNumbers(t, sp, "mem://sums/b.amudai.shard", numbers)
	if r := check(t, sp, a.URL); !r.OK {
		t.Fatalf("%+v", r)
	}
	at := a.Objects[0].URL
	other, _, err := sp.ReadAll(ctx, b.Objects[0].URL, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := sp.Delete(ctx, at, ""); err != nil {
		t.Fatal(err)
	}
	if err := sp.Put(ctx, at, other); err != nil {
		t.Fatal(err)
	}
	r := check(t, sp, a.URL)
	if r.OK || len(r.Errors) != 1 || r.Errors[0].Object != at || !strings.Contains(r.Errors[0].What, "differ from those written") {
		t.Errorf("%+v", r)
	}
}

func TestMissingStripe(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://v/s.amudai.shard", 300, WriterOptions{StripeRows: 200})
	if err := sp.Delete(ctx, w.Objects[0].URL, ""); err != nil {
		t.Fatal(err)
	}
	r := check(t, sp, w.URL)
	if r.OK || r.Errors[0].Object != w.Objects[0].URL {
		t.Errorf("missing stripe: %+v", r)
	}
}
