package dataset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
)

// folders numbers the folders of the tests: the memory bucket is one for the process.
var folders atomic.Int64

// fixture is a store with what testdata/datasets.py wrote: a dataset of eleven versions and what each of them holds.
// change, if not nil, may replace objects by name; nil leaves one out.
func fixture(t testing.TB, change func(name string, data []byte) []byte) (c *blobio.Client, url string, want map[uint64][]byte) {
	t.Helper()
	f, err := os.Open("testdata/evolved.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	c, want = blobio.NewClient(blobio.ClientOptions{}), map[uint64][]byte{}
	t.Cleanup(func() { c.Close() })
	url = fmt.Sprintf("mem://dataset-test/%d", folders.Add(1))
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return c, url + "/evolved.lance", want
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Clean(h.Name)
		var version uint64
		if _, err := fmt.Sscanf(name, "evolved.%d.arrow", &version); err == nil {
			want[version] = data
			continue
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if change != nil {
			if data = change(strings.TrimPrefix(name, "evolved.lance/"), data); data == nil {
				continue
			}
		}
		if err := c.Put(context.Background(), url+"/"+name, data); err != nil {
			t.Fatal(err)
		}
	}
}

// columns reads all rows of a source as one array a column.
func columns(t testing.TB, s fileformat.Source) ([]arrow.Array, error) {
	t.Helper()
	parts := make([][]arrow.Array, s.Schema().NumFields())
	for {
		b, err := s.Next(context.Background())
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil {
			break
		}
		if !b.Schema().Equal(s.Schema()) {
			t.Fatalf("a batch of %v from a source of %v", b.Schema(), s.Schema())
		}
		for i, c := range b.Columns() {
			c.Retain()
			parts[i] = append(parts[i], c)
		}
	}
	return joined(t, s.Schema(), parts), nil
}

func joined(t testing.TB, s *arrow.Schema, parts [][]arrow.Array) (out []arrow.Array) {
	t.Helper()
	for i, p := range parts {
		if len(p) == 0 {
			out = append(out, array.MakeArrayOfNull(memory.DefaultAllocator, s.Field(i).Type, 0))
			continue
		}
		whole, err := array.Concatenate(p, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, whole)
	}
	return out
}

// expected reads an Arrow IPC file.
func expected(t testing.TB, data []byte) (*arrow.Schema, []arrow.Array) {
	t.Helper()
	r, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	parts := make([][]arrow.Array, r.Schema().NumFields())
	for i := range r.NumRecords() {
		b, err := r.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		for j, c := range b.Columns() {
			parts[j] = append(parts[j], c)
		}
	}
	return r.Schema(), joined(t, r.Schema(), parts)
}

// same compares a version of a dataset with what pylance read of it.
func same(t testing.TB, c *blobio.Client, url string, version uint64, want []byte) {
	t.Helper()
	ctx := context.Background()
	d, err := Open(ctx, c, url, fmt.Sprint(version))
	if err != nil {
		t.Errorf("version %d: %v", version, err)
		return
	}
	s, err := d.NewSource(ReadOptions{BatchRows: 700})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := columns(t, s)
	if err != nil {
		t.Errorf("version %d: %v", version, err)
		return
	}
	schema, values := expected(t, want)
	if len(got) != len(values) {
		t.Errorf("version %d: %v, want %v", version, d.Schema(), schema)
		return
	}
	for i, v := range values {
		if f, w := d.Schema().Field(i), schema.Field(i); f.Name != w.Name || !arrow.TypeEqual(f.Type, w.Type) {
			t.Errorf("version %d: field %v, want %v", version, f, w)
		} else if !array.Equal(got[i], v) {
			t.Errorf("version %d, %s:\n%v\nwant\n%v", version, f.Name, got[i], v)
		}
	}
	if n := uint64(values[0].Len()); d.Rows() != n {
		t.Errorf("version %d: %d rows, want %d", version, d.Rows(), n)
	}
	if r, err := d.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK {
		t.Errorf("version %d: %+v, %v", version, r, err)
	}
}

// Every version of a dataset that went through deletes, an update, columns added, renamed, dropped (inside a struct too) and
// of another type, and rows that lack columns, is what pylance reads.
func TestVersions(t *testing.T) {
	ctx := context.Background()
	c, url, want := fixture(t, nil)
	versions, err := Versions(ctx, c, url)
	if err != nil || len(versions) != len(want) || len(want) < 10 {
		t.Fatalf("%v, %v, want %d", versions, err, len(want))
	}
	for _, v := range versions {
		same(t, c, url, v, want[v])
	}
	newest, err := Open(ctx, c, url, "")
	if err != nil || newest.Version() != versions[len(versions)-1] {
		t.Errorf("the newest: %v, %v", newest, err)
	}
	tagged, err := Open(ctx, c, url, "cleaned")
	if err != nil || tagged.Version() != 2 {
		t.Errorf("tag: %v, %v", tagged, err)
	}
	for _, none := range []string{"99", "0", "dirty", "../x"} {
		var option *fileformat.OptionError
		if _, err := Open(ctx, c, url, none); !errors.As(err, &option) || !strings.Contains(err.Error(), "versions 1 to 11") {
			t.Errorf("%q: %v", none, err)
		}
	}
	if _, err := Open(ctx, c, "mem://dataset-test/nothing", ""); !errors.Is(err, ErrNoDataset) || !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("an empty folder: %v", err)
	}
	x, err := newest.Inspect(ctx, 2)
	if err != nil || x.Records != newest.Rows() || len(x.Parts) != 1+len(newest.m.fragments) || x.SizeBytes == 0 {
		t.Errorf("%+v, %v", x, err)
	}
}

// Both schemes of names: the versions of one are the other's.
func TestNames(t *testing.T) {
	for _, v := range []uint64{1, 7, 12345678901} {
		for _, name := range manifestNames(v) {
			if got, ok := versionOf(path.Base(name)); !ok || got != v {
				t.Errorf("%s is version %d", name, got)
			}
		}
	}
	for _, name := range []string{"d12.manifest", "7.manifest-9e", "latest_version_hint.json", ".manifest", "-1.manifest"} {
		if v, ok := versionOf(name); ok {
			t.Errorf("%s is version %d", name, v)
		}
	}
	c, url, want := fixture(t, nil)
	ctx := context.Background()
	old := "mem://dataset-test/oldnames.lance"
	for info, err := range c.List(ctx, url+"/") {
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := c.ReadAll(ctx, info.URL, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(info.URL, url+"/")
		if v, ok := versionOf(path.Base(name)); ok {
			name = manifestNames(v)[1]
		}
		if err := c.Put(ctx, old+"/"+name, data); err != nil {
			t.Fatal(err)
		}
	}
	for v, data := range want {
		same(t, c, old, v, data)
	}
}

// Columns and rows that are not wanted cost nothing: data files without them are not opened, and a count reads none.
func TestProjectionAndRanges(t *testing.T) {
	ctx := context.Background()
	c, url, want := fixture(t, nil)
	read := func(o ReadOptions) ([]arrow.Array, int64, int64) {
		t.Helper()
		d, err := Open(ctx, c, url, "7") // id, name, at, tags in one file of a fragment, double in another
		if err != nil {
			t.Fatal(err)
		}
		before := c.Counters()
		s, err := d.NewSource(o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got, err := columns(t, s)
		if err != nil {
			t.Fatal(err)
		}
		used := c.Counters().Sub(before)
		return got, used.Gets, used.GetBytes
	}
	_, values := expected(t, want[7])
	d, _ := Open(ctx, c, url, "7")
	double := d.Schema().FieldIndices("double")[0]
	fragments := int64(len(d.m.fragments))
	deleted := int64(0)
	for _, f := range d.m.fragments {
		if f.deleted != nil {
			deleted++
		}
	}
	_, gets, all := read(ReadOptions{})
	got, fewer, bytes := read(ReadOptions{Columns: []int{double}})
	if len(got) != 1 || !array.Equal(got[0], values[double]) || fewer > 2*fragments+deleted || fewer >= gets || bytes >= all*3/4 {
		t.Errorf("one column: %d requests of %d, %d bytes of %d, for %d fragments", fewer, gets, bytes, all, fragments)
	}
	for _, r := range []lance.Rows{{Start: 0, End: 1}, {Start: 20, End: 23}, {Start: 5, End: 40}, {Start: 53, End: 54}} {
		got, some, _ := read(ReadOptions{Rows: []lance.Rows{r}, Columns: []int{0, double}})
		for i, column := range []int{0, double} {
			if part := array.NewSlice(values[column], int64(r.Start), int64(r.End)); !array.Equal(got[i], part) {
				t.Errorf("rows %v: %v, want %v", r, got[i], part)
			}
		}
		if r.End-r.Start == 1 && some > 5 {
			t.Errorf("rows %v: %d requests", r, some)
		}
	}
	if got, gets, _ := read(ReadOptions{Columns: []int{}}); len(got) != 0 || gets > deleted {
		t.Errorf("no columns: %d requests", gets)
	}
	if _, err := d.NewSource(ReadOptions{Rows: []lance.Rows{{Start: 3, End: 1000}}}); err == nil {
		t.Error("rows beyond the end")
	}
}
