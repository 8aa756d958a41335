package merge_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// Ranges that the store copies itself, here all of them, lie where they would lie had they been fetched, and are not fetched.
func TestPackCopiesInTheStore(t *testing.T) {
	ctx := context.Background()
	roots, err := filepath.Glob(filepath.Join(interop.Dir(t), "merged", "*", "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(roots) == 0 {
		t.Fatalf("roots is empty")
	}
	packed := 0
	for _, root := range roots {
		folder := filepath.Dir(root)
		sp := blobio.NewClient(blobio.ClientOptions{})
		defer sp.Close()
		at := "mem://packcopy-" + filepath.Base(folder) + "/"
		in, cases := packedCase(t, sp, folder, at)
		pack := func(name string, copyRange func(w copier, key string, off, size int64) error) (*merge.Result, []byte, blobio.Counters) {
			defer merge.SetCopyLeast(1)()
			sp := blobio.NewClient(blobio.ClientOptions{})
			defer sp.Close()
			b := &failingCopies{Bucket: memblob.Open("packcopy-" + filepath.Base(folder)), copy: copyRange, written: func(w copier) error { return w.Close() }}
			if err := sp.MountBucket(at, b); err != nil {
				t.Fatal(err)
			}
			start := sp.Counters()
			res, err := merge.Pack(ctx, sp, at+name+".amudai.shard", in, merge.PackOptions{Object: at + "data/p/" + name + ".amudai.stripe", Copy: true})
			if err != nil {
				t.Fatal(err)
			}
			used := sp.Counters().Sub(start)
			data, _, err := sp.ReadAll(ctx, res.Objects[0], 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			return res, data, used
		}
		fetched, want, all := pack("fetched", func(copier, string, int64, int64) error { return errors.ErrUnsupported })
		copied, got, few := pack("copying", func(w copier, key string, off, size int64) error { return w.CopyRange(key, off, size, "") })
		if want, got := want, got; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if want, got := fetched.BytesMoved, copied.BytesMoved; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		samples := few.GetBytes - (all.GetBytes - fetched.BytesMoved) // the rest are the roots
		if got := samples; got <= 0 {
			t.Fatalf("samples is %v", got)
		}
		if a, b := samples, int64(copied.Packed)*4<<10; a > b {
			t.Fatalf("1 KiB at both ends of each range and of its source: samples is %v, want at most %v", a, b)
		}
		packed++
		sch, rows := scan(t, sp, copied.URL)
		compareRows(t, sch, rows, cases...)
		report, err := verify.Shard(ctx, sp, copied.URL, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Errors; len(got) != 0 {
			t.Fatalf("got %v, want nothing", got)
		}
	}
	if got := packed; got <= 0 {
		t.Fatalf("packed is %v", got)
	}
}

// failingCopies is a bucket whose store does not copy ranges as it should.
type failingCopies struct {
	blobio.Bucket
	copy                    func(w copier, key string, off, size int64) error
	written                 func(w copier) error
	creates, closes, aborts int
}

type copier interface {
	blobio.Writer
	blobio.RangeCopier
}

func (b *failingCopies) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	w, err := b.Bucket.Create(ctx, key, o)
	if err != nil || !strings.Contains(key, "data/p/") {
		return w, err
	}
	b.creates++
	return &failingCopy{w.(copier), b}, nil
}

type failingCopy struct {
	copier
	b *failingCopies
}

func (w *failingCopy) CopyRange(key string, off, size int64, _ string) error {
	return w.b.copy(w.copier, key, off, size)
}

func (w *failingCopy) Close() error { w.b.closes++; return w.b.written(w.copier) }

func (w *failingCopy) Abort() { w.b.aborts++; w.copier.Abort() }

// TestPackWhereTheStoreFailsToCopy: ranges that the store refuses to copy, or copies incorrectly, are fetched; an error that says nothing about
// copies ends the packing. An object that was there before is never touched, and an upload that is not completed is given up.
func TestPackWhereTheStoreFailsToCopy(t *testing.T) {
	ctx := context.Background()
	defer merge.SetCopyLeast(1)()
	right := func(w copier, key string, off, size int64) error { return w.CopyRange(key, off, size, "") }
	done := func(w copier) error { return w.Close() }
	failed := func(kind error) error { return blobio.NewError("copy", "mem://", kind, errors.New("the store fails")) }
	for name, c := range map[string]struct {
		copy           func(w copier, key string, off, size int64) error
		written        func(w copier) error
		exists         bool
		err            error
		closes, aborts int // of uploads of the object
	}{
		"not at all": {copy: right, written: done, closes: 1},
		"other bytes": {copy: func(w copier, key string, off, size int64) error {
			_, err := w.Write(make([]byte, size))
			return err
		}, written: done, closes: 2},
		"other bytes at the end": {copy: func(w copier, key string, off, size int64) error {
			if err := w.CopyRange(key, off, size-1, ""); err != nil {
				return err
			}
			_, err := w.Write([]byte{0xA5})
			return err
		}, written: done, closes: 2},
		"too few bytes":           {copy: func(w copier, key string, off, size int64) error { return w.CopyRange(key, off, size-1, "") }, written: done, closes: 2},
		"refused":                 {copy: func(copier, string, int64, int64) error { return failed(blobio.ErrDenied) }, written: done, closes: 1, aborts: 1},
		"not supported":           {copy: func(copier, string, int64, int64) error { return errors.ErrUnsupported }, written: done, closes: 1},
		"a source that is gone":   {copy: func(copier, string, int64, int64) error { return failed(blobio.ErrNotFound) }, written: done, err: blobio.ErrNotFound, aborts: 1},
		"no answer, then refused": {copy: right, written: func(w copier) error { w.Abort(); return failed(blobio.ErrTransient) }, err: blobio.ErrTransient, closes: 1, aborts: 1},
		"the object exists":       {copy: right, written: done, exists: true, err: blobio.ErrExists, closes: 1, aborts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			sp := blobio.NewClient(blobio.ClientOptions{})
			defer sp.Close()
			const at = "mem://copies/"
			b := &failingCopies{Bucket: memblob.New(), copy: right, written: done}
			if err := sp.MountBucket(at, b); err != nil {
				t.Fatal(err)
			}
			var in []merge.Input
			for _, name := range []string{"a", "b"} {
				in = append(in, writeNumbers(t, sp, at+name+".amudai.shard", "a: Int64, s: String", []int{1, 2}, 100, shardfmt.TwoLevel))
			}
			object, before := at+"data/p/0.amudai.stripe", []byte("what was there before")
			if c.exists {
				if err := sp.Put(ctx, object, before); err != nil {
					t.Fatal(err)
				}
			}
			b.copy, b.written, b.creates, b.closes, b.aborts = c.copy, c.written, 0, 0, 0
			res, err := merge.Pack(ctx, sp, at+"out.amudai.shard", in, merge.PackOptions{Object: object, All: true})
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if b.closes != c.closes || b.aborts != c.aborts {
				t.Errorf("%d of %d uploads were completed, %d given up, want %d and %d", b.closes, b.creates, b.aborts, c.closes, c.aborts)
			}
			if c.exists {
				if got, _, err := sp.ReadAll(ctx, object, 1<<20); err != nil || !bytes.Equal(got, before) {
					t.Errorf("%q, %v, want %q", got, err, before)
				}
			}
			if err != nil {
				if _, err := sp.Stat(ctx, at+"out.amudai.shard"); !errors.Is(err, blobio.ErrNotFound) {
					t.Errorf("a root was written: %v", err)
				}
				return
			}
			verified(t, sp, res.URL)
			if got := firstColumn(t, sp, res.URL); len(got) != 200 {
				t.Errorf("%d records, want 200", len(got))
			}
		})
	}
}
