package blobio_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// lax is a store that knows no conditions. after is called once, behind the first read of a range.
type lax struct {
	blobio.Bucket
	after func()
}

func without(o blobio.ReadOptions) blobio.ReadOptions { o.IfMatch = ""; return o }

func (b *lax) ReadRange(ctx context.Context, key string, off int64, dst []byte, o blobio.ReadOptions) (int, blobio.Info, error) {
	n, info, err := b.Bucket.ReadRange(ctx, key, off, dst, without(o))
	if after := b.after; after != nil {
		b.after = nil
		after()
	}
	return n, info, err
}

func (b *lax) ReadSuffix(ctx context.Context, key string, n int64, o blobio.ReadOptions) ([]byte, blobio.Info, error) {
	return b.Bucket.ReadSuffix(ctx, key, n, without(o))
}

func (b *lax) Open(ctx context.Context, key string, off int64, o blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	return b.Bucket.Open(ctx, key, off, without(o))
}

func (b *lax) Stat(ctx context.Context, key string, o blobio.ReadOptions) (blobio.Info, error) {
	return b.Bucket.Stat(ctx, key, without(o))
}

// TestPinnedViewNeverMixesVersions: whatever a pinned view read first of an object, each later read of another version ends in ErrChanged, by
// the store's condition or, where the store knows none, by the view itself. Each way of reading comes first and second.
func TestPinnedViewNeverMixesVersions(t *testing.T) {
	const url = "mem://pinned/a"
	ctx := t.Context()
	ways := map[string]func(c *blobio.Client) error{
		"range": func(c *blobio.Client) error {
			_, err := c.ReadRange(ctx, url, 1, make([]byte, 3))
			return err
		},
		"suffix": func(c *blobio.Client) error {
			_, _, err := c.ReadSuffix(ctx, url, 3)
			return err
		},
		"whole": func(c *blobio.Client) error {
			_, _, err := c.ReadAll(ctx, url, 100)
			return err
		},
		"stream": func(c *blobio.Client) error {
			r, _, err := c.Open(ctx, url, 2)
			if err != nil {
				return err
			}
			return r.Close()
		},
		"stat": func(c *blobio.Client) error {
			_, err := c.Stat(ctx, url)
			return err
		},
	}
	stores := map[string]func(*memblob.Bucket) blobio.Bucket{
		"with conditions":    func(b *memblob.Bucket) blobio.Bucket { return b },
		"without conditions": func(b *memblob.Bucket) blobio.Bucket { return &lax{Bucket: b} },
	}
	for store, over := range stores {
		for first := range maps.Keys(ways) {
			for second := range maps.Keys(ways) {
				bucket := memblob.New()
				bucket.Replace("a", []byte("0123456789"))
				c := blobio.NewClient(blobio.ClientOptions{})
				defer c.Close()
				if err := c.MountBucket("mem://pinned/", over(bucket)); err != nil {
					t.Fatal(err)
				}
				view := c.Pinned()
				for _, way := range []string{first, second} {
					if err := ways[way](view); err != nil {
						t.Errorf("%s: %s before a change: %v", store, way, err)
					}
				}
				bucket.Replace("a", []byte("9876543210"))
				if err := ways[second](view); !errors.Is(err, blobio.ErrChanged) {
					t.Errorf("%s: %s behind %s of another version: %v", store, second, first, err)
				}
				if err := ways[second](c); err != nil {
					t.Errorf("%s: %s of the client: %v", store, second, err)
				}
			}
		}
	}
}

// TestOverlappingFirstReads: two first reads of a view that overlap, of which each got another version: one of them ends in ErrChanged.
func TestOverlappingFirstReads(t *testing.T) {
	ctx, bucket := t.Context(), memblob.New()
	bucket.Replace("a", []byte("0123456789"))
	store := &lax{Bucket: bucket}
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	if err := c.MountBucket("mem://pinned/", store); err != nil {
		t.Fatal(err)
	}
	view := c.Pinned()
	read := func(dst []byte) error {
		_, err := view.ReadRange(ctx, "mem://pinned/a", 0, dst)
		return err
	}
	var inner error
	old, fresh := make([]byte, 5), make([]byte, 5)
	store.after = func() {
		bucket.Replace("a", []byte("9876543210"))
		inner = read(fresh)
	}
	outer := read(old)
	if errs := []error{inner, outer}; errors.Is(inner, blobio.ErrChanged) == errors.Is(outer, blobio.ErrChanged) || !slices.Contains(errs, nil) {
		t.Errorf("%s and %s of one view: %v", old, fresh, errs)
	}
}
