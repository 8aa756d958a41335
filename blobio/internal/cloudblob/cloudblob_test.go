package cloudblob_test

import (
	"errors"
	"slices"
	"testing"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
)

// bare is a gocloud bucket without hooks, and without anything by which its driver could be known.
func bare(bucket *blob.Bucket) *cloudblob.Bucket {
	return cloudblob.FromBucket("mem://gocloud/", bucket, cloudblob.Options{KeepOpen: true})
}

// strangers are buckets of gocloud's whose drivers have no hooks.
func strangers() map[string]*blob.Bucket {
	return map[string]*blob.Bucket{
		"memory": memblob.OpenBucket(nil),
		"prefix": blob.PrefixedBucket(memblob.OpenBucket(nil), "below/this/"),
	}
}

// TestBareBucketsConform: gocloud's bucket in memory, and one below a prefix, pass the suite without hooks. What
// they lack all the same is what TestLimits lists.
func TestBareBucketsConform(t *testing.T) {
	for name, bucket := range strangers() {
		t.Run(name, func(t *testing.T) {
			blobtest.Run(t, blobtest.Store{Big: 4 << 20, Parts: 1 << 20, PageKeys: 2100,
				NoReadETags: "gocloud's readers have none",
				Open:        func(*testing.T) blobio.Bucket { return bare(bucket) }})
		})
	}
}

// TestLimits: what a bucket without hooks can't promise is named, and is so.
func TestLimits(t *testing.T) {
	want := []string{
		"replacing an object during a read is not detected: the driver's reads have no conditions and return no ETag",
		"reading the end of an object of unknown size costs a second request",
		"conditional creation depends on the driver's IfNotExist",
		"an aborted multipart upload may leave its parts in the store",
		"the condition of a delete is compared before it, not in one step with it",
	}
	for name, stranger := range strangers() {
		t.Run(name, func(t *testing.T) {
			if got := bare(stranger).Limits(); !slices.Equal(got, want) {
				t.Errorf("limits %q, want %q", got, want)
			}
			limitsHold(t, bare(stranger))
		})
	}
}

// limitsHold shows the costs that Limits names, and that no provider's client can be reached.
func limitsHold(t *testing.T, bucket *cloudblob.Bucket) {
	ctx := t.Context()
	var none *storage.Client
	if bucket.As(&none) {
		t.Error("a bucket in memory hands out a client of GCS")
	}
	client := blobio.NewClient(blobio.ClientOptions{})
	if err := client.MountBucket("mem://gocloud/", bucket); err != nil {
		t.Fatal(err)
	}
	if err := client.Put(ctx, "mem://gocloud/x", []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	before := client.Counters()
	tail, info, err := client.ReadSuffix(ctx, "mem://gocloud/x", 3)
	if err != nil || string(tail) != "789" || info.Size != 10 {
		t.Errorf("%q of %d bytes, %v", tail, info.Size, err)
	}
	if c := client.Counters().Sub(before); c.Gets != 1 || c.Heads != 1 || c.Depth != 2 {
		t.Errorf("%+v, want a HEAD and a GET, one after the other", c)
	}
	if info, err := client.ReadRange(ctx, "mem://gocloud/x", 0, make([]byte, 1)); err != nil || info.ETag != "" {
		t.Errorf("a bare read tells the ETag %q, %v", info.ETag, err)
	}
}

// TestClosing: a bucket closes the one below, unless it is to be kept.
func TestClosing(t *testing.T) {
	for _, keep := range []bool{true, false} {
		below := memblob.OpenBucket(nil)
		b := cloudblob.FromBucket("mem://gocloud/", below, cloudblob.Options{KeepOpen: keep})
		if err := errors.Join(b.Close(), b.Close()); err != nil {
			t.Fatal(err)
		}
		_, err := below.Exists(t.Context(), "x")
		if open := err == nil; open != keep {
			t.Errorf("KeepOpen %v: open %v", keep, open)
		}
	}
}
