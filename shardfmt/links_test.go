package shardfmt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/urlresolve"
)

// TestLinksDoNotLeadOut: a stripe that is a symbolic link is read where it leads to the shard's folder or to what is allowed.
func TestLinksDoNotLeadOut(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "file://"+dir+"/shard/s.amudai.shard", 60, WriterOptions{StripeRows: 40})
	stripe := w.Objects[0].URL[len("file://"):]
	read := func(url string, allow ...urlresolve.Prefix) error {
		s, err := Open(context.Background(), sp, url, OpenOptions{Allow: allow})
		if err != nil {
			return err
		}
		for _, err := range s.Scan(context.Background(), ScanOptions{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	move := func(to string) {
		t.Helper()
		target := filepath.Join(dir, to)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.Rename(stripe, target), os.Symlink(target, stripe)); err != nil {
			t.Fatal(err)
		}
		stripe = target
	}
	move("shard/deeper/o")
	if err := read(w.URL); err != nil {
		t.Errorf("a link within the folder: %v", err)
	}
	move("elsewhere/o")
	if err := read(w.URL); !errors.Is(err, urlresolve.ErrRefused) {
		t.Errorf("a link out of the folder: %v", err)
	}
	allowed, err := urlresolve.ParsePrefix("file://" + dir + "/elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if err := read(w.URL, allowed); err != nil {
		t.Errorf("a link to an allowed folder: %v", err)
	}
	// The folder itself may be reached through a link.
	if err := errors.Join(os.Remove(filepath.Join(dir, "shard/deeper/o")), os.Rename(stripe, w.Objects[0].URL[len("file://"):]+"~")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(w.Objects[0].URL[len("file://"):]+"~", w.Objects[0].URL[len("file://"):]), os.Symlink(dir+"/shard", dir+"/link")); err != nil {
		t.Fatal(err)
	}
	if err := read("file://" + dir + "/link/s.amudai.shard"); err != nil {
		t.Errorf("a folder that is a link: %v", err)
	}
}
