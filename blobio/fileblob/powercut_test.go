package fileblob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
)

// fragile is a disk whose power fails. It works on real files and remembers what of them was synced.
type fragile struct {
	osDisk
	removes bool // what was not linked can be removed even when all else fails

	left   int // operations until the cut; negative: never
	fails  error
	names  map[string]*content // what is there
	synced map[string]*content // what is there after a cut, nil for folders
}

// content is a file's bytes, and those of them that were synced.
type content struct{ live, synced []byte }

var errPower = errors.New("power cut")

func newFragile(left int, named bool) *fragile {
	return &fragile{osDisk: osDisk{named: named}, left: left, fails: errPower, names: map[string]*content{}, synced: map[string]*content{}}
}

// step is called before each operation.
func (d *fragile) step() error {
	if d.left == 0 {
		return d.fails
	}
	d.left--
	return nil
}

func (d *fragile) Create(path string) (file, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	f, err := d.osDisk.Create(path)
	if err != nil {
		return nil, err
	}
	out := &fragileFile{file: f, d: d, c: &content{}, path: path}
	if named, ok := f.(*namedFile); ok {
		out.temp = named.temp
		d.names[out.temp] = out.c
	}
	return out, nil
}

func (d *fragile) Mkdir(path string) error {
	if err := d.step(); err != nil {
		return err
	}
	d.names[path] = nil
	return d.osDisk.Mkdir(path)
}

func (d *fragile) Remove(path string) error {
	if err := d.step(); err != nil {
		return err
	}
	delete(d.names, path)
	return d.osDisk.Remove(path)
}

func (d *fragile) SyncDir(path string) error {
	if err := d.step(); err != nil {
		return err
	}
	for name := range d.synced {
		if _, there := d.names[name]; !there && filepath.Dir(name) == path {
			delete(d.synced, name)
		}
	}
	for name, c := range d.names {
		if filepath.Dir(name) == path {
			d.synced[name] = c
		}
	}
	return nil
}

type fragileFile struct {
	file
	d          *fragile
	c          *content
	path, temp string // temp is empty for a file without a name
}

func (f *fragileFile) Link() error {
	if err := f.d.step(); err != nil {
		return err
	}
	if err := f.file.Link(); err != nil {
		return err
	}
	f.d.names[f.path] = f.c
	return nil
}

// Discard is an operation if there is a name to remove.
func (f *fragileFile) Discard() {
	if f.temp == "" || f.d.removes || f.d.step() == nil {
		f.file.Discard()
		delete(f.d.names, f.temp)
	}
}

func (f *fragileFile) Write(p []byte) (int, error) {
	if err := f.d.step(); err != nil {
		return 0, err
	}
	f.c.live = append(f.c.live, p...)
	return f.file.Write(p)
}

func (f *fragileFile) Sync() error {
	if err := f.d.step(); err != nil {
		return err
	}
	f.c.synced = bytes.Clone(f.c.live)
	return nil
}

// after makes a folder as it may be found after the cut. Names that were not synced may be there or not, with
// what was synced of their content, or with as many zeros as it had bytes.
func (d *fragile) after(t *testing.T, live string, allNames, zeros bool) *bucket {
	t.Helper()
	names := d.synced
	if allNames {
		names = d.names
	}
	dir := t.TempDir()
	paths := make([]string, 0, len(names))
	for name := range names {
		paths = append(paths, name)
	}
	slices.Sort(paths) // folders before what is in them
	for _, name := range paths {
		path := filepath.Join(dir, strings.TrimPrefix(name, live))
		c := names[name]
		if c == nil {
			if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			continue
		}
		b := bytes.Clone(c.synced)
		if zeros {
			b = append(b, make([]byte, len(c.live)-len(c.synced))...)
		}
		// A file whose folder's own name was not synced is lost with it.
		if err := os.WriteFile(path, b, 0o644); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return Open(dir).(*bucket)
}

// TestPowerCut cuts the power before each operation of a write of several objects. Whatever the disk then
// holds, each object is whole or absent, and whole if its Close succeeded.
func TestPowerCut(t *testing.T) {
	for _, named := range []bool{true, false} {
		t.Run(fmt.Sprintf("named=%v", named), func(t *testing.T) { cutPower(t, named) })
	}
}

func cutPower(t *testing.T, named bool) {
	data := []byte("the whole content")
	keys := []string{"x", "a/b/y", "a/z"}
	for n := 0; ; n++ {
		live := t.TempDir()
		disk := newFragile(n, named)
		b := &bucket{dir: live, disk: disk}
		done := map[string]bool{}
		for _, key := range keys {
			done[key] = createIn(b, key, data) == nil
		}
		for variant := range 4 {
			found := disk.after(t, live, variant&1 != 0, variant&2 != 0)
			checkAfterCut(t, found, keys, data, done, fmt.Sprintf("cut before operation %d, variant %d", n+1, variant))
		}
		if disk.left > 0 {
			t.Logf("%d operations, each cut", n)
			return
		}
	}
}

func createIn(b *bucket, key string, data []byte) error {
	w, err := b.Create(context.Background(), key, blobio.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Abort()
	for i := range data {
		if i%6 == 0 {
			if _, err := w.Write(data[i:min(i+6, len(data))]); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

func checkAfterCut(t *testing.T, b *bucket, keys []string, data []byte, done map[string]bool, when string) {
	t.Helper()
	for _, key := range keys {
		got, _, err := b.ReadSuffix(t.Context(), key, 1000, blobio.ReadOptions{})
		switch {
		case err == nil && !bytes.Equal(got, data):
			t.Errorf("%s: %s holds %q", when, key, got)
		case err != nil && blobio.Class(err) != blobio.ErrNotFound:
			t.Errorf("%s: %s: %v", when, key, err)
		case err != nil && done[key]:
			t.Errorf("%s: %s is gone although it was committed", when, key)
		case err != nil:
			if err := createIn(b, key, data); err != nil {
				t.Errorf("%s: %s can't be created again: %v", when, key, err)
			}
		}
	}
	for info, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
		if err != nil || !slices.Contains(keys, info.Key) {
			t.Errorf("%s: listed %q, %v", when, info.Key, err)
		}
	}
}

// TestFullDisk fills the disk at each operation: the error reports it, no object is there, and nothing is left of
// the attempt.
func TestFullDisk(t *testing.T) {
	for _, named := range []bool{true, false} {
		t.Run(fmt.Sprintf("named=%v", named), func(t *testing.T) { fillDisk(t, named) })
	}
}

func fillDisk(t *testing.T, named bool) {
	for n := 0; ; n++ {
		dir := t.TempDir()
		disk := newFragile(n, named)
		disk.removes = true
		disk.fails = &os.PathError{Op: "write", Path: "secret-name", Err: syscall.ENOSPC}
		err := createIn(&bucket{dir: dir, disk: disk}, "a/x", []byte("some data"))
		if err == nil {
			t.Logf("%d operations, each on a full disk", n)
			return
		}
		if blobio.Class(err) != blobio.ErrDenied || !strings.Contains(err.Error(), "no space left on device") ||
			strings.Contains(err.Error(), "secret-name") {
			t.Errorf("operation %d: %v", n+1, err)
		}
		left, globErr := filepath.Glob(filepath.Join(dir, "a", ".~*"))
		if globErr != nil || len(left) > 0 {
			t.Errorf("operation %d left %q behind, %v", n+1, left, globErr)
		}
	}
}

// TestNamedConforms runs the suite where files can't be written without a name.
func TestNamedConforms(t *testing.T) {
	dir := t.TempDir()
	blobtest.Run(t, blobtest.Store{Big: 4 << 20, Parts: 1 << 18, Open: func(*testing.T) blobio.Bucket {
		return &bucket{dir: dir, disk: osDisk{named: true}}
	}})
}
