package fileblob

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// A view that keeps files open reads the file that was there at first, refuses one that somebody writes into, and opens each once.
func TestKeepOpen(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	name := filepath.Join(t.TempDir(), "a")
	write := func(to, text string) {
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(name, "first one")
	view, done := client.Pinned().KeepOpen()
	read := func(off int64) (string, error) {
		b := make([]byte, 3)
		_, err := view.ReadRange(t.Context(), "file://"+name, off, b)
		return string(b), err
	}
	if got, err := read(0); err != nil || got != "fir" {
		t.Fatalf("%q, %v", got, err)
	}
	write(name+".new", "second one")
	if err := os.Rename(name+".new", name); err != nil {
		t.Skip("this system replaces no open file: ", err)
	}
	if got, err := read(6); err != nil || got != "one" {
		t.Fatalf("after the file was replaced: %q, %v", got, err)
	}
	if _, err := read(7); !errors.Is(err, blobio.ErrRange) {
		t.Errorf("beyond the end: %v", err)
	}
	done()
	if _, err := read(0); !errors.Is(err, blobio.ErrChanged) {
		t.Errorf("after the end of the view: %v", err)
	}
	view, done = client.Pinned().KeepOpen()
	defer done()
	if got, err := read(0); err != nil || got != "sec" {
		t.Fatalf("%q, %v", got, err)
	}
	write(name, "written in place")
	if _, err := read(0); !errors.Is(err, blobio.ErrChanged) {
		t.Errorf("after somebody wrote into the file: %v", err)
	}
}

// What is kept open is bounded, and closed at the end.
func TestOpenFilesAreBounded(t *testing.T) {
	b, open := Open(t.TempDir()).(*bucket), &blobio.OpenFiles{}
	var kept []*keptFile
	for i := range 40 {
		key := string(rune('a' + i))
		if err := os.WriteFile(filepath.Join(b.dir, key), []byte("12345678"), 0o644); err != nil {
			t.Fatal(err)
		}
		for again := range 2 {
			f, _, held, err := b.openKept(t.Context(), key, blobio.ReadOptions{Open: open})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !held:
				f.Close()
			case again == 0:
				kept = append(kept, f)
			case f != kept[i]:
				t.Errorf("%s was opened again", key)
			}
		}
	}
	if len(kept) == 0 || len(kept) > 20 {
		t.Errorf("%d of 40 files are kept open", len(kept))
	}
	open.Close()
	for _, f := range kept {
		if _, err := f.state(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a file is open: %v", err)
		}
	}
}

// Views that keep files open together open each once, and close it when the last is done; reads of nobody who keeps files open leave none.
func TestOpenTogether(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	bucket := &opens{bucket: Open(t.TempDir()).(*bucket)}
	if err := client.MountBucket("mem://opens/", bucket); err != nil {
		t.Fatal(err)
	}
	if err := client.Put(t.Context(), "mem://opens/a", []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	together := client.OpenTogether()
	read := func(c *blobio.Client) *keptFile {
		t.Helper()
		if _, err := c.ReadRange(t.Context(), "mem://opens/a", 2, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		return bucket.kept("a")
	}
	if f := read(together); f != nil {
		t.Error("a file is kept open by a read")
	}
	first, firstDone := together.KeepOpen()
	f := read(first)
	second, secondDone := together.Pinned().KeepOpen()
	if g := read(second); f == nil || g != f {
		t.Errorf("the second view reads %v, the first %v", g, f)
	}
	firstDone()
	if g := read(together); g != f {
		t.Errorf("a read beside the second view reads %v", g)
	}
	secondDone()
	if _, err := f.state(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is open: %v", err)
	}
	if f := read(together); f != nil {
		t.Error("a file is kept open by a read")
	}
	third, thirdDone := together.KeepOpen()
	defer thirdDone()
	if g := read(third); g == nil || g == f {
		t.Errorf("the third view reads %v", g)
	}
}

// opens is a folder that knows what was open in the last read.
type opens struct {
	*bucket
	open *blobio.OpenFiles
}

func (b *opens) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	b.open = opts.Open
	return b.bucket.ReadRange(ctx, key, off, dst, opts)
}

// kept is the file of a key that is open after the last read, nil if there is none.
func (b *opens) kept(key string) *keptFile {
	if k, ok := b.open.Get(b.bucket, key).(*keptFile); ok {
		return k
	}
	return nil
}
