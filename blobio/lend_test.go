package blobio_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// What is lent is what is read, counts as that does, is refused as that is, and is copied nowhere.
func TestLend(t *testing.T) {
	const url = "mem://lend/a"
	ranges := []blobio.Range{{Start: 70, End: 80}, {Start: 3, End: 9}, {Start: 5, End: 5}, {Start: 4 << 20, End: 4<<20 + 7}, {Start: 8, End: 12}}
	data := bytes.Repeat([]byte("0123456789abcdef-"), 300_000)
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	if err := client.MountBucket("mem://lend/", memblob.New()); err != nil {
		t.Fatal(err)
	}
	if err := client.Put(t.Context(), url, data); err != nil {
		t.Fatal(err)
	}
	before := client.Counters()
	want, err := client.ReadRanges(t.Context(), url, ranges)
	if err != nil {
		t.Fatal(err)
	}
	read := client.Counters().Sub(before)
	before = client.Counters()
	got, lent, err := client.LendRanges(t.Context(), url, ranges)
	if err != nil || !lent {
		t.Fatal(lent, err)
	}
	if c := client.Counters().Sub(before); c != read {
		t.Errorf("lending counts as %+v, reading as %+v", c, read)
	}
	for i := range ranges {
		if !bytes.Equal(got[i], want[i]) || cap(got[i]) != len(got[i]) {
			t.Errorf("range %d: %q of capacity %d, want %q", i, got[i], cap(got[i]), want[i])
		}
	}
	for _, r := range ranges {
		b, info, lent, err := client.LendRange(t.Context(), url, r)
		if err != nil || !lent || info.Size != int64(len(data)) || !bytes.Equal(b, data[r.Start:r.End]) {
			t.Errorf("%v: %q of %+v, %v", r, b, info, err)
		}
	}
	a, _, _, _ := client.LendRange(t.Context(), url, blobio.Range{Start: 8, End: 9})
	b, _, _, _ := client.LendRange(t.Context(), url, blobio.Range{Start: 9, End: 10})
	if &a[:2][1] != &b[0] {
		t.Error("neighbours are not side by side")
	}
}

func TestLendRefuses(t *testing.T) {
	const url = "mem://lend/a"
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	bucket := memblob.New()
	if err := client.MountBucket("mem://lend/", bucket); err != nil {
		t.Fatal(err)
	}
	bucket.Replace("a", []byte("0123456789"))
	for _, r := range []blobio.Range{{Start: 5, End: 11}, {Start: 11, End: 11}, {Start: -1, End: 3}, {Start: 3, End: 2}, {Start: 0, End: 1 << 62}} {
		if _, _, lent, err := client.LendRange(t.Context(), url, r); !lent || !errors.Is(err, blobio.ErrRange) {
			t.Errorf("%v: %v, %v", r, lent, err)
		}
		if _, lent, err := client.LendRanges(t.Context(), url, []blobio.Range{r, r}); r.Len() != 0 && (!lent || !errors.Is(err, blobio.ErrRange)) {
			t.Errorf("%v twice: %v, %v", r, lent, err)
		}
	}
	first := blobio.Range{Start: 0, End: 1}
	if _, _, _, err := client.LendRange(t.Context(), "mem://lend/none", first); !errors.Is(err, blobio.ErrNotFound) {
		t.Error(err)
	}
	pinned := client.Pinned()
	if _, _, _, err := pinned.LendRange(t.Context(), url, first); err != nil {
		t.Fatal(err)
	}
	bucket.Replace("a", []byte("9876543210"))
	if _, _, _, err := pinned.LendRange(t.Context(), url, first); !errors.Is(err, blobio.ErrChanged) {
		t.Errorf("of another object: %v", err)
	}
}

// A store that copies, and one with a cache in front, lends nothing, and gets no request.
func TestLendNothing(t *testing.T) {
	for name, client := range map[string]*blobio.Client{
		"file": blobio.NewClient(blobio.ClientOptions{}), "cache": blobio.NewClient(blobio.ClientOptions{Cache: blobio.CacheOptions{Memory: 1 << 20}}),
	} {
		defer client.Close()
		var bucket blobio.Bucket = memblob.New()
		if name == "file" {
			bucket = fileblob.Open(t.TempDir())
		}
		if err := client.MountBucket("mem://lend/", bucket); err != nil {
			t.Fatal(err)
		}
		if err := client.Put(t.Context(), "mem://lend/a", []byte("0123456789")); err != nil {
			t.Fatal(err)
		}
		before := client.Counters()
		r := blobio.Range{Start: 1, End: 4}
		if b, _, lent, err := client.LendRange(t.Context(), "mem://lend/a", r); b != nil || lent || err != nil {
			t.Errorf("%s: %q, %v, %v", name, b, lent, err)
		}
		if b, lent, err := client.LendRanges(t.Context(), "mem://lend/a", []blobio.Range{r}); b != nil || lent || err != nil {
			t.Errorf("%s: %q, %v, %v", name, b, lent, err)
		}
		if c := client.Counters().Sub(before); c != (blobio.Counters{}) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
