package lance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// pylance runs Lance's own library. SHARDCAT_PYLANCE names a Python that has pylance 14.0.2; .ci/run makes one.
func pylance(t *testing.T, mode, folder string) string {
	t.Helper()
	python := os.Getenv("SHARDCAT_PYLANCE")
	if python == "" {
		t.Skip("SHARDCAT_PYLANCE does not name a Python with pylance: files are not checked against it")
	}
	out, err := exec.Command(python, "testdata/pylance.py", mode, folder).CombinedOutput()
	if err != nil {
		t.Fatalf("pylance.py %s: %v\n%s", mode, err, out)
	}
	return string(out)
}

// arrowFile reads a file of Arrow IPC.
func arrowFile(name string) (*arrow.Schema, []arrow.RecordBatch, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	r, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	var out []arrow.RecordBatch
	for i := range r.NumRecords() {
		batch, err := r.RecordBatch(i)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, batch)
	}
	return r.Schema(), out, nil
}

// differs reports where a file differs from the batches that it should hold, or is empty.
func differs(f *File, schema *arrow.Schema, batches []arrow.RecordBatch, o ReadOptions) (string, error) {
	if got := f.Schema(); len(got.Fields()) != len(schema.Fields()) {
		return fmt.Sprintf("schema %v", got), nil
	}
	for i, want := range schema.Fields() {
		if got := f.Schema().Field(i); got.Name != want.Name || !arrow.TypeEqual(got.Type, want.Type) || got.Nullable != want.Nullable {
			return fmt.Sprintf("field %v, want %v", got, want), nil
		}
	}
	ctx := context.Background()
	s, err := f.NewSource(ctx, o)
	if err != nil {
		return "", err
	}
	defer s.Close()
	at := int64(0) // row of the first of batches
	for {
		got, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		for done := int64(0); done < got.NumRows(); {
			for len(batches) > 0 && batches[0].NumRows() == at {
				batches, at = batches[1:], 0
			}
			if len(batches) == 0 {
				return "more rows than there are", nil
			}
			n := min(got.NumRows()-done, batches[0].NumRows()-at)
			a, b := got.NewSlice(done, done+n), batches[0].NewSlice(at, at+n)
			for c := range a.Columns() {
				if what := unlike(a.Column(c), b.Column(c)); what != "" {
					return fmt.Sprintf("column %s: %s", a.ColumnName(c), what), nil
				}
			}
			done, at = done+n, at+n
		}
	}
	for len(batches) > 0 && batches[0].NumRows() == at {
		batches, at = batches[1:], 0
	}
	if len(batches) > 0 {
		return "fewer rows than there are", nil
	}
	return "", nil
}

// unlike reports where two arrays differ. Of dictionaries it is the values that count, and nothing of what is below a null.
func unlike(a, b arrow.Array) string {
	if a.DataType().ID() != arrow.DICTIONARY && array.Equal(a, b) {
		return ""
	}
	for i := range a.Len() {
		if arrow.IsNested(a.DataType().ID()) && reflect.DeepEqual(valueOf(a, i), valueOf(b, i)) {
			continue
		}
		if a.ValueStr(i) != b.ValueStr(i) || a.IsNull(i) != b.IsNull(i) {
			return fmt.Sprintf("value %d: %s, want %s", i, a.ValueStr(i), b.ValueStr(i))
		}
	}
	return ""
}

// Every type that pylance writes, with and without nulls, in one page and in many, is read with the same values: by our
// reader from its files, by its reader from the files that we make of the same batches.
func TestPylanceBothWays(t *testing.T) {
	ours, theirs := t.TempDir(), t.TempDir()
	pylance(t, "write", theirs)
	names, err := filepath.Glob(filepath.Join(theirs, "*.lance"))
	if err != nil || len(names) < 100 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		schema, batches, err := arrowFile(strings.TrimSuffix(name, "lance") + "arrow")
		if err != nil {
			t.Fatal(err)
		}
		checkFile(t, name, schema, batches)
		// What we write: small pages, and pages of the usual size.
		for i, o := range []WriteOptions{{PageBytes: 2000, Compression: schemeZstd}, {}, {PageBytes: 700, PlainStrings: true}, {PageBytes: 700, SharedDictionary: true}} {
			base := filepath.Join(ours, fmt.Sprintf("%d-%s", i, filepath.Base(name)))
			copyOf(t, strings.TrimSuffix(name, "lance")+"arrow", strings.TrimSuffix(base, "lance")+"arrow")
			if err := os.WriteFile(base, written(t, schema, batches, o), 0o600); err != nil {
				t.Fatal(err)
			}
			checkFile(t, base, schema, batches)
		}
	}
	t.Log(len(names), "files each way", pylance(t, "read", ours))
}

// Files of versions 2.1 and 2.2, with nulls at every level and every encoding that pylance can be made to write, are read with
// the values that were written.
func TestPylanceStructural(t *testing.T) {
	theirs := t.TempDir()
	t.Log(pylance(t, "structural", theirs))
	names, err := filepath.Glob(filepath.Join(theirs, "*.lance"))
	if err != nil || len(names) < 200 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		schema, batches, err := arrowFile(strings.TrimSuffix(name, "lance") + "arrow")
		if err != nil {
			t.Fatal(err)
		}
		checkFile(t, name, schema, batches)
	}
}

// Items of dictionaries that pages have in common, such that begin again, and levels of zstd are what pylance reads: the same rows
// as with items of each page.
func TestPylanceReadsSharedDictionaries(t *testing.T) {
	schema, batches := repetitive(t, 6000)
	dir := t.TempDir()
	for i, o := range []WriteOptions{{}, {PageBytes: 2000, SharedDictionary: true}, {SharedDictionary: true},
		{Compression: schemeZstd, CompressionLevel: 19, PlainStrings: true}} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.lance", i)), written(t, schema, batches, o), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := pylance(t, "alike", dir); !strings.HasPrefix(out, "4 files of 6000 rows") {
		t.Error(out)
	}
}

// checkFile compares a file with what it should hold, read whole and in odd steps.
func checkFile(t *testing.T, name string, schema *arrow.Schema, batches []arrow.RecordBatch) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := open(data)
	if err != nil {
		t.Errorf("%s: %v", filepath.Base(name), err)
		return
	}
	for _, o := range []ReadOptions{{}, {BatchRows: 77, WindowBytes: 3000}} {
		if what, err := differs(f, schema, batches, o); what != "" || err != nil {
			t.Errorf("%s, %+v: %s %v", filepath.Base(name), o, what, err)
			return
		}
	}
	if r, err := f.Verify(context.Background(), fileformat.VerifyOptions{}); err != nil || !r.OK {
		t.Errorf("%s: verify: %+v, %v", filepath.Base(name), r, err)
	}
}

func copyOf(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// written is the file of some batches.
func written(t testing.TB, schema *arrow.Schema, batches []arrow.RecordBatch, o WriteOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, schema, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
