package fileio

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// unpackFixture unpacks a small archive of testdata/files.
func unpackFixture(t *testing.T, name, dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/files", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else {
			data, readErr := io.ReadAll(r)
			err = errors.Join(readErr, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// rowsIn returns all rows of inputs as NDJSON.
func rowsIn(t *testing.T, o SourceOptions, args ...string) (string, error) {
	t.Helper()
	src, err := OpenSource(t.Context(), blobio.NewClient(blobio.ClientOptions{}), args, o)
	if err != nil {
		return "", err
	}
	defer src.Close()
	var out strings.Builder
	sink, err := NewSink(NDJSON, &out, src.Schema(), SinkOptions{})
	if err != nil {
		return "", err
	}
	for {
		b, err := src.Next(t.Context())
		if err == io.EOF {
			return out.String(), sink.Close()
		}
		if err != nil {
			return "", err
		}
		err = sink.Write(b)
		b.Release()
		if err != nil {
			return "", err
		}
	}
}

// A folder that has _versions is a Lance dataset, whatever it is called: what lies in it is not read file by file, which would bring
// back rows that were deleted or overwritten.
func TestDatasetOfAnyName(t *testing.T) {
	for _, name := range []string{"old_ov", "plain", "data.csv", "a.parquet", "x.lance", "lake/deep/set", "v1.2"} {
		dir := t.TempDir()
		unpackFixture(t, "lance_overwritten_without_suffix.tar.gz", dir)
		at := filepath.Join(dir, "in", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Rename(filepath.Join(dir, "old_ov"), at)); err != nil {
			t.Fatal(err)
		}
		args := []string{at, at + "/", filepath.Join(dir, "in"), filepath.Join(dir, "in") + "/", filepath.Join(filepath.Dir(at), "*")}
		for _, arg := range args {
			if got, err := rowsIn(t, SourceOptions{}, arg); err != nil || got != "{\"id\":7}\n" {
				t.Errorf("%s: %q, %v", strings.TrimPrefix(arg, dir), got, err)
			}
		}
		if strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".parquet") {
			continue
		}
		if f, err := Detect(t.Context(), blobio.NewClient(blobio.ClientOptions{}), "file://"+filepath.ToSlash(at)); err != nil || f != Lance {
			t.Errorf("%s is %q, %v", name, f, err)
		}
	}
}

// Inputs beside a dataset stay inputs of their own.
func TestDatasetBesideFiles(t *testing.T) {
	dir := t.TempDir()
	unpackFixture(t, "lance_overwritten_without_suffix.tar.gz", dir)
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "a.ndjson"), []byte("{\"id\":1}\n"), 0o644),
		os.Mkdir(filepath.Join(dir, "old_ov_2"), 0o755),
		os.WriteFile(filepath.Join(dir, "old_ov_2", "b.ndjson"), []byte("{\"id\":2}\n"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	found, ok, err := FindInputs(t.Context(), blobio.NewClient(blobio.ClientOptions{}), []string{dir})
	if err != nil || !ok || len(found) != 3 {
		t.Fatalf("%v, %v, %v", found, ok, err)
	}
	for i, want := range []string{"/a.ndjson", "/old_ov", "/old_ov_2/b.ndjson"} {
		if !strings.HasSuffix(found[i].URL, want) {
			t.Errorf("input %d is %s, not %s", i, found[i].URL, want)
		}
	}
	if got, err := rowsIn(t, SourceOptions{}, filepath.Join(dir, "old_ov_2")); err != nil || got != "{\"id\":2}\n" {
		t.Errorf("%q, %v", got, err)
	}
}
