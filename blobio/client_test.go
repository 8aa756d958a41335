package blobio_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/blobio/memblob"
)

func TestSpaceReadsBackWhatItPut(t *testing.T) {
	dir := t.TempDir()
	sp := blobio.NewClient(blobio.ClientOptions{})
	root, err := sp.Mount(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := "file://" + filepath.ToSlash(dir); root != want {
		t.Errorf("Mount(%q) = %q, want %q", dir, root, want)
	}
	for _, url := range []string{root + "/a/x", "mem://" + t.Name() + "/a/x"} {
		data := []byte("0123456789")
		if err := sp.Put(t.Context(), url, data); err != nil {
			t.Fatal(err)
		}
		if err := sp.Put(t.Context(), url, data); err != nil {
			t.Errorf("putting the same again: %v", err)
		}
		if err := sp.Put(t.Context(), url, []byte("other")); !errors.Is(err, blobio.ErrExists) {
			t.Errorf("putting other content: %v", err)
		}
		got, err := sp.ReadRanges(t.Context(), url, []blobio.Range{{8, 10}, {2, 4}, {3, 3}, {3, 6}})
		if err != nil {
			t.Fatal(err)
		}
		if want := [][]byte{[]byte("89"), []byte("23"), nil, []byte("345")}; !bytes.Equal(bytes.Join(got, []byte("|")), bytes.Join(want, []byte("|"))) {
			t.Errorf("ranges are %q, want %q", got, want)
		}
		for info, err := range sp.List(t.Context(), url) {
			if err != nil || info.URL != url {
				t.Errorf("list: %+v, %v", info, err)
			}
		}
	}
}

func TestCounters(t *testing.T) {
	sp, ctx := blobio.NewClient(blobio.ClientOptions{}), t.Context()
	url := "mem://" + t.Name() + "/x"
	step := func(name string, want blobio.Counters, do func() error) {
		t.Helper()
		before := sp.Counters()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := sp.Counters().Sub(before); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	step("put", blobio.Counters{Puts: 1, PutBytes: 100, Depth: 1}, func() error {
		return sp.Put(ctx, url, make([]byte, 100))
	})
	step("stat", blobio.Counters{Heads: 1, Depth: 1}, func() error {
		_, err := sp.Stat(ctx, url)
		return err
	})
	step("read twice", blobio.Counters{Gets: 2, GetBytes: 30, Depth: 2}, func() error {
		_, err := sp.ReadRange(ctx, url, 0, make([]byte, 20))
		if err != nil {
			return err
		}
		_, _, err = sp.ReadSuffix(ctx, url, 10)
		return err
	})
	step("read all", blobio.Counters{Gets: 1, GetBytes: 100, Depth: 1}, func() error {
		_, _, err := sp.ReadAll(ctx, url, 1000)
		return err
	})
	step("nested parallel reads", blobio.Counters{Gets: 80, GetBytes: 80, Depth: 2}, func() error {
		return sp.Each(ctx, 40, func(ctx context.Context, branch *blobio.Client, i int) error {
			for range 2 {
				if _, err := branch.ReadRange(ctx, url, int64(i), make([]byte, 1)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	step("list", blobio.Counters{Lists: 1, Depth: 1}, func() error {
		for _, err := range sp.List(ctx, url) {
			return err
		}
		return errors.New("nothing listed")
	})
	step("delete", blobio.Counters{Deletes: 1, Depth: 1}, func() error { return sp.Delete(ctx, url, "") })
}

func TestWhatCannotBeMounted(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	if err := sp.MountBucket("mem://m/", memblob.New()); err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		"nosuch://bucket/x?a=b": `open nosuch://bucket/x?…: no driver for scheme "nosuch"; available:`,
		"file://host/x":         "open file://host/x: a file URL with a host",
		"mem://m/#x":            "open mem://m/?…: a fragment in the URL",
		"mem://m/?other=option": "open mem://m/: the bucket is already open with other options",
		"mem://%zz/":            "open mem://%zz/: malformed URL",
	} {
		_, err := sp.Mount(t.Context(), raw)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
	if err := sp.MountBucket("mem://m/folder", memblob.New()); err == nil {
		t.Error("a folder is mounted as a bucket")
	}
	for range 2 {
		if at, err := sp.Mount(t.Context(), "mem://m/folder"); err != nil || at != "mem://m/folder" {
			t.Errorf("%q, %v", at, err)
		}
	}
}
