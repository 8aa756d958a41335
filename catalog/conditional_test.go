package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// overwriting is a store that does not look at the condition of a create.
type overwriting struct{ blobio.Bucket }

func (b overwriting) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	if err := b.Bucket.Delete(ctx, key, blobio.DeleteOptions{}); err != nil && !errors.Is(err, blobio.ErrNotFound) {
		return nil, err
	}
	return b.Bucket.Create(ctx, key, o)
}

func TestWritersRefuseAStoreWithoutConditionalCreates(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct {
		bucket   blobio.Bucket
		accepted bool
		refused  bool
	}{
		"conditional": {memblob.New(), false, false},
		"overwriting": {overwriting{memblob.New()}, false, true},
		"accepted":    {overwriting{memblob.New()}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := openLocal(t)
			if err := c.client.MountBucket("s3://elsewhere/", tc.bucket); err != nil {
				t.Fatal(err)
			}
			c.vault, c.opts.UnsafeNoConditionalWrites = "s3://elsewhere/vault", tc.accepted
			_, _, err := c.IngestNew(ctx, tableName, source(rows(0, 10)), asNew, IngestOptions{})
			if errors.Is(err, ErrUnsafe) != tc.refused || err != nil && !tc.refused {
				t.Fatalf("the first writer: %v", err)
			}
			for info, err := range c.client.List(ctx, "s3://elsewhere/vault/_doctor/") {
				t.Errorf("left behind: %v, %v", info, err)
			}
			if tc.refused {
				return
			}
			// Later writers go by what the first one found, and make no object to try the store.
			c.opts.UnsafeNoConditionalWrites = false
			tbl, err := c.Load(ctx, tableName)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tbl.Ingest(ctx, source(rows(10, 5)), IngestOptions{})
			if errors.Is(err, ErrUnsafe) != tc.accepted {
				t.Errorf("a later writer: %v", err)
			}
		})
	}
}

// TestStoreIsTriedThroughFaults: what a store makes of the condition, of whole objects and of uploads in parts, is found out although
// requests fail at first; the flag accepts a store that overwrites.
func TestStoreIsTriedThroughFaults(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	for quirks, want := range map[string]struct {
		conditional bool
		err         error
	}{
		"":                    {true, nil},
		"no-multipart":        {true, nil},
		"inm=ignore":          {false, nil},
		"inm-put=ignore":      {false, nil},
		"inm-complete=ignore": {false, nil},
		"inm=501":             {false, blobio.ErrNoCondition},
		"inm=400":             {false, blobio.ErrNoCondition},
		"inm-complete=501":    {false, blobio.ErrNoCondition},
	} {
		for _, fault := range []string{"", "503", "429", "500", "reset", "lost"} {
			s := blobfake.NewS3(t, strings.TrimSuffix(quirks+" passing="+fault, " passing="))
			c, _ := openLocal(t)
			c.client = blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond, Busy: time.Millisecond}})
			c.records = records.New(c.client)
			t.Cleanup(func() { c.client.Close() })
			at, err := c.client.Mount(t.Context(), "s3://b/vault?endpoint="+s.URL)
			if err != nil {
				t.Fatal(err)
			}
			c.vault = at
			conditional, err := c.probeConditional(t.Context())
			if conditional != want.conditional || !errors.Is(err, want.err) {
				t.Errorf("%q, %q: conditional %v, %v; want %v, %v", quirks, fault, conditional, err, want.conditional, want.err)
			}
			if left := s.Keys(); len(left) > 0 && want.err == nil || s.Uploads() > 0 && fault != "lost" {
				t.Errorf("%q, %q: left behind: %v, %d uploads", quirks, fault, left, s.Uploads())
			}
		}
	}
}
