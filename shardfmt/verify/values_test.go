package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	columnpkg "github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/scan"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const auditedColumns, auditedRows = 12, 30_000

// texts writes a shard of two stripes of columns of text; lie changes what is reported of some.
func texts(t *testing.T, client *blobio.Client, url string, lie func(stripe, column int, e *columnpkg.Encoded)) {
	t.Helper()
	names := make([]string, auditedColumns)
	for i := range names {
		names[i] = fmt.Sprintf("c%d: String", i)
	}
	s, err := schema.Parse(strings.Join(names, ", "))
	if err != nil {
		t.Fatal(err)
	}
	w, err := shardwriter.New(t.Context(), client, url, s, shardwriter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for stripe := range 2 {
		var all []*columnpkg.Encoded
		for i, n := range s.Fields {
			enc, err := columnpkg.NewEncoder(n, &columnpkg.Options{})
			if err != nil {
				t.Fatal(err)
			}
			b := array.NewLargeStringBuilder(memory.DefaultAllocator)
			for row := range auditedRows {
				b.Append(fmt.Sprintf("%d %d %s", i, row*row%7919, strings.Repeat("text ", row%40)))
			}
			if err := enc.Add(b.NewArray()); err != nil {
				t.Fatal(err)
			}
			if err := enc.Finish(func(e *columnpkg.Encoded) error { lie(stripe, i, e); all = append(all, e); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.AddStripe(t.Context(), auditedRows, all...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// auditOf reads the values of a shard with so many workers and so much memory, and gives what is found.
func auditOf(t *testing.T, client *blobio.Client, url string, workers int, memory int64) (found []string) {
	t.Helper()
	root, err := meta.OpenRoot(t.Context(), client, url, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := root.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q, err := audited(t.Context(), root, s, budget.New(memory))
	if err != nil {
		t.Fatal(err)
	}
	q.Workers = workers
	err = scan.Audit(t.Context(), client, q, func(err error) error {
		if err != nil {
			found = append(found, err.Error())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Columns that are read side by side are found damaged in the order of stripes and columns, and the shard after its stripes.
func TestColumnsSideBySide(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	const url = "mem://side/by-side.amudai.shard"
	texts(t, client, url, func(stripe, column int, e *columnpkg.Encoded) {
		if column%3 == stripe {
			*e.Descriptor.RawDataSize += uint64(column) + 1
		}
	})
	want := auditOf(t, client, url, 1, 0)
	if len(want) != 2*auditedColumns/3+1 || !strings.Contains(want[1], `stripe 0, field "c3"`) || !strings.Contains(want[len(want)-1], "of the shard") {
		t.Fatalf("%q", want)
	}
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		if got := auditOf(t, client, url, 8, 0); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q with 8 workers, %q with one", got, want)
		}
	}
}

// A column that is not read because others have the memory is read alone.
func TestColumnsSideBySideInLittleMemory(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	const url = "mem://little/memory.amudai.shard"
	texts(t, client, url, func(int, int, *columnpkg.Encoded) {})
	least := int64(1 << 14)
	for len(auditOf(t, client, url, 1, least)) > 0 {
		if least += least / 4; testing.Short() {
			least += least
		}
	}
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		if got := auditOf(t, client, url, 8, least); len(got) > 0 {
			t.Fatalf("%d bytes suffice for one worker, and not for eight: %q", least, got)
		}
	}
}
