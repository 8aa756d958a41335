package merge_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// bitmapOf sets the given bits of n.
func bitmapOf(n int, set ...int) []byte {
	b := make([]byte, (n+7)/8)
	for _, i := range set {
		b[i/8] |= 1 << (i % 8)
	}
	return b
}

// firstColumn reads the values of the first column.
func firstColumn(t *testing.T, sp *blobio.Client, url string) (out []int64) {
	_, batches := scan(t, sp, url)
	for _, b := range batches {
		a := b.Column(0).(*array.Int64)
		for i := range a.Len() {
			out = append(out, a.Value(i))
		}
	}
	return out
}

func numbersWithout(n int64, gone ...int64) (out []int64) {
	for i := range n {
		if !slices.Contains(gone, i) {
			out = append(out, i)
		}
	}
	return out
}

func verified(t *testing.T, sp *blobio.Client, url string) {
	r, err := verify.Shard(context.Background(), sp, url, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Errors; len(got) != 0 {
		t.Fatalf("got %v, want nothing", got)
	}
	if got := r.Warnings; len(got) != 0 {
		t.Fatalf("got %v, want nothing", got)
	}
	if got := r.UnprotectedBytes; got != 0 {
		t.Fatalf("r.UnprotectedBytes is %v", got)
	}
}

// TestDeleteRecords deletes, deletes more, and merges the rest: data objects stay as they are, and the object
// of a marker that was replaced is named no more.
func TestDeleteRecords(t *testing.T) {
	ctx := context.Background()
	for _, layout := range []shardfmt.Layout{shardfmt.TwoLevel, shardfmt.Single} {
		t.Run(layout.String(), func(t *testing.T) {
			sp, at := blobio.NewClient(blobio.ClientOptions{}), fmt.Sprintf("mem://delete-records-%s/", layout)
			in := writeNumbers(t, sp, at+"a.amudai.shard", "v: Int64", []int{1}, 60, layout) // stripes of 40 and 20
			before := sp.Counters()
			one, err := merge.DeleteRecords(ctx, sp, at+"b.amudai.shard", in, merge.Deletion{Stripes: map[int][]byte{1: bitmapOf(20, 3, 19)}, Object: at + "data/b.amudai.stripe"})
			if err != nil {
				t.Fatal(err)
			}
			if want, got := 2, sp.Counters().Puts-before.Puts; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("the marker and the root: got %v, want %v", got, want)
			}
			if want, got := 2, one.Deleted; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			verified(t, sp, one.URL)
			if want, got := numbersWithout(60, 43, 59), firstColumn(t, sp, one.URL); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}

			s, err := shardfmt.Open(ctx, sp, one.URL, shardfmt.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			marked, err := s.DeletedRecords(ctx, 1)
			if err != nil {
				t.Fatal(err)
			}
			if want, got := bitmapOf(20, 3, 19), marked; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}

			two, err := merge.DeleteRecords(ctx, sp, at+"c.amudai.shard", merge.Input{URL: one.URL, Size: one.Size}, merge.Deletion{Stripes: map[int][]byte{0: bitmapOf(40, 39), 1: bitmapOf(20, 0, 3, 19)}, Object: at + "data/c.amudai.stripe"})
			if err != nil {
				t.Fatal(err)
			}
			verified(t, sp, two.URL)
			if all, one := two.Objects, at+"data/b.amudai.stripe"; slices.Contains(all, one) {
				t.Fatalf("%v has %v", all, one)
			}
			if all, one := two.Objects, at+"data/c.amudai.stripe"; !slices.Contains(all, one) {
				t.Fatalf("%v lacks %v", all, one)
			}
			if want, got := numbersWithout(60, 39, 40, 43, 59), firstColumn(t, sp, two.URL); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}

			aligned(t, sp, two.URL, 2)

			// What is deleted in the stripes that are not named stays deleted, by the marker that is there.
			three, err := merge.DeleteRecords(ctx, sp, at+"e.amudai.shard", merge.Input{URL: two.URL, Size: two.Size}, merge.Deletion{Stripes: map[int][]byte{1: bitmapOf(20, 0, 1, 3, 19)}, Object: at + "data/e.amudai.stripe"})
			if err != nil {
				t.Fatal(err)
			}
			verified(t, sp, three.URL)
			if want, got := numbersWithout(60, 39, 40, 41, 43, 59), firstColumn(t, sp, three.URL); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			for _, one := range []string{at + "data/c.amudai.stripe", at + "data/e.amudai.stripe"} {
				if !slices.Contains(three.Objects, one) {
					t.Fatalf("%v lacks %v", three.Objects, one)
				}
			}

			both, err := merge.Concat(ctx, sp, at+"d.amudai.shard", []merge.Input{{URL: one.URL}, {URL: two.URL}}, merge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			verified(t, sp, both.URL)
			if got := firstColumn(t, sp, both.URL); len(got) != 58+56 {
				t.Fatalf("%d elements, want %d: %v", len(got), 58+56, got)
			}
		})
	}
}

// aligned checks that the buffers of the markers, one in each stripe, start where the format wants buffers to start.
func aligned(t *testing.T, sp *blobio.Client, url string, stripes int) {
	ctx := context.Background()
	r, err := meta.OpenRoot(ctx, sp, url, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	marker, err := r.FieldByKind(ctx, schema.InternalDeletedRecord, schema.Boolean)
	if err != nil {
		t.Fatal(err)
	}
	end := uint64(0)
	for i := range stripes {
		d, _, err := r.StripeField(ctx, i, marker.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range d.Encodings {
			for _, b := range e.GetNative().Buffers {
				if b.Buffer.Range.Start%colstream.Alignment != 0 || b.Buffer.Range.Start < end {
					t.Errorf("stripe %d: a buffer from %d, behind one that ends at %d", i, b.Buffer.Range.Start, end)
				}
				end = b.Buffer.Range.End
			}
		}
	}
	if end == 0 {
		t.Error("no marker has bytes")
	}
}

// TestDeleteRecordsRefuses: what is deleted stays so, and a bitmap has a bit for every record.
func TestDeleteRecordsRefuses(t *testing.T) {
	ctx := context.Background()
	sp, at := blobio.NewClient(blobio.ClientOptions{}), "mem://delete-refuses/"
	in := writeNumbers(t, sp, at+"a.amudai.shard", "v: Int64", []int{1}, 20, shardfmt.TwoLevel)
	mark := func(in merge.Input, name string, stripe int, bits []byte) (merge.Input, error) {
		r, err := merge.DeleteRecords(ctx, sp, at+name, in, merge.Deletion{
			Stripes: map[int][]byte{stripe: bits}, Object: at + "data/" + name + ".amudai.stripe"})
		if err != nil {
			return merge.Input{}, err
		}
		return merge.Input{URL: r.URL, Size: r.Size}, nil
	}
	marked, err := mark(in, "b.amudai.shard", 0, bitmapOf(20, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	_, err = mark(marked, "c.amudai.shard", 0, bitmapOf(20, 1))
	if !errors.Is(err, merge.ErrRevived) {
		t.Fatalf("%v, want %v", err, merge.ErrRevived)
	}
	_, err = mark(in, "d.amudai.shard", 0, bitmapOf(30, 1))
	if err == nil {
		t.Fatalf("no error")
	}
	_, err = mark(in, "e.amudai.shard", 9, bitmapOf(20, 1))
	if err == nil {
		t.Fatalf("no error")
	}
	before := sp.Counters()
	all, err := mark(in, "f.amudai.shard", 0, []byte{255, 255, 255})
	if err != nil {
		t.Fatal(err)
	}
	if got := sp.Counters().Sub(before).Puts; got != 1 {
		t.Fatalf("%d objects are written, want the root alone", got)
	}
	if got := firstColumn(t, sp, all.URL); len(got) != 0 {
		t.Fatalf("a constant marker needs no bytes: got %v, want nothing", got)
	}
	verified(t, sp, all.URL)
}
