package parquetref_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetref"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

const (
	base = "mem://prove/"
	file = base + "part.parquet"
	root = base + "over.amudai.shard"
)

// parquetFile has two columns, in row groups of at most group rows.
func parquetFile(t *testing.T, rows, group int) []byte {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i) * 7)
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("text %d", i*i))
	}
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(s, &out, parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(int64(group))), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBuffered(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// over is a client whose requests to the bucket go wrong by a script.
func over(t *testing.T, b blobio.Bucket, script string) (*blobio.Client, *blobfake.Faulty) {
	t.Helper()
	faulty := blobfake.NewFaulty(t, b, script)
	c := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { c.Close() })
	if err := c.MountBucket(base, faulty); err != nil {
		t.Fatal(err)
	}
	return c, faulty
}

// written is a bucket with a Parquet file, and what became of the root over it.
func written(t *testing.T, data []byte, script string, o parquetref.Options) (blobio.Bucket, *blobfake.Faulty, error) {
	t.Helper()
	b := memblob.New()
	straight, _ := over(t, b, "")
	if err := straight.Put(t.Context(), file, data); err != nil {
		t.Fatal(err)
	}
	c, faulty := over(t, b, script)
	o.Write.Workers, o.Write.StripeRows = max(1, o.Write.Workers), 400
	_, err := parquetref.Parquet(t.Context(), c, root, []string{file}, o)
	return b, faulty, err
}

// whole holds a root, if there is one, to its file.
func whole(t *testing.T, b blobio.Bucket) (exists bool) {
	t.Helper()
	c, _ := over(t, b, "")
	if _, err := c.Stat(t.Context(), root); errors.Is(err, blobio.ErrNotFound) {
		return false
	}
	r, err := verify.Shard(t.Context(), c, root, verify.Options{})
	if err != nil || !r.OK || r.UnprotectedBytes != 0 {
		t.Errorf("%+v %v", r, err)
	}
	return true
}

// A byte that is flipped in any answer ends in an error, or in a root that has the checksums of what is stored.
func TestFlippedOnTheWay(t *testing.T) {
	data := parquetFile(t, 1000, 400)
	_, faulty, err := written(t, data, "", parquetref.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The footer, six chunks, all of them again at once, and the root that is read back.
	gets := faulty.Requests("get")
	if gets != 1+6+1+1 {
		t.Errorf("%d requests", gets)
	}
	for _, at := range []int{0, 40, 300, -100, -1} {
		for n := 1; n <= gets; n++ {
			b, _, err := written(t, data, fmt.Sprintf("get %d: flip %d", n, at), parquetref.Options{})
			exists := whole(t, b)
			switch readBack := n == gets; {
			case err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported):
				t.Errorf("byte %d of GET %d: %v", at, n, err)
			case (err == nil) != exists && !readBack:
				t.Errorf("byte %d of GET %d: %v, and a root: %v", at, n, err, exists)
			case n == gets-1 && err != nil:
				t.Errorf("byte %d of the second reading: %v, which a third settles", at, err)
			}
		}
	}
}

// A file whose bytes come otherwise each time, or only at first, is refused by name and offset.
func TestReadOtherwise(t *testing.T) {
	data := parquetFile(t, 1000, 400)
	_, _, first := written(t, data, "get 1: flip 10", parquetref.Options{}) // before the footer: nothing of it is used
	if first != nil {
		t.Error(first)
	}
	b, _, err := written(t, data, "get 8: flip 4\nget 9: flip 0", parquetref.Options{})
	var damage *corrupt.Error
	if !errors.As(err, &damage) || damage.Object != file || damage.Offset != 4 || !strings.Contains(damage.What, "again") {
		t.Errorf("damaged twice: %v", err)
	}
	if whole(t, b) {
		t.Error("a root was written")
	}
}

// What is longer than a request may be is read again in several, and within the memory limit.
func TestProveInPieces(t *testing.T) {
	data := parquetFile(t, 100_000, 100_000)
	const most = 1 << 20 // of a request: a quarter of the memory for 16 workers
	o := parquetref.Options{MaxMemory: 64 * most}
	o.Write.Workers = 16
	b, faulty, err := written(t, data, "", o)
	if err != nil || !whole(t, b) {
		t.Error(err)
	}
	if again := faulty.Requests("get") - (1 + 2 + 1); len(data) < 2*most || again < len(data)/most || again > len(data)/most+3 {
		t.Errorf("%d bytes were read again by %d requests", len(data), again)
	}
	if b, _, err = written(t, data, "get 5: flip 7\nget 6: flip 7", o); whole(t, b) != (err == nil) {
		t.Error(err)
	}
}
