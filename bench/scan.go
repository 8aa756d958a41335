package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"

	_ "github.com/shardcat/shardcat/blobio/fileblob" // shards lie in files
)

// FileColumn is a shard of one column in a folder.
type FileColumn struct {
	Name string
	// Rows and Bytes are the column's values, and their size in memory.
	Rows, Bytes int
	// Kind is how the column is stored, as the bare loop found it.
	Kind string

	dir    string
	client *blobio.Client
	shard  *shardfmt.Shard
}

// FileColumns writes the columns of n values into shards below dir: those of Columns, of TextColumns and decimals.
func FileColumns(dir string, n int) (list []*FileColumn, err error) {
	for _, c := range append(Columns(n), TextColumns(n)...) {
		typ, a := c.arrow()
		if list, err = addFile(list, dir, c.Name, typ, a, c.Bytes(), shardfmt.Balanced); err != nil {
			return nil, err
		}
	}
	for _, distinct := range []int{100, 1 << 40} {
		b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: decimal.Size})
		for i := range n {
			v, _ := decimal.FromInt64(int64(i)*0x9E3779B97F4A7>>8%int64(distinct), 2)
			b.Append(v[:])
		}
		name := fmt.Sprintf("decimals, %d distinct", min(n, distinct))
		if list, err = addFile(list, dir, name, "Decimal", b.NewArray(), decimal.Size*n, shardfmt.Balanced); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// OpenColumn writes a column into a shard below dir.
func OpenColumn(dir string, c *Column, p shardfmt.Profile) (*FileColumn, error) {
	typ, a := c.arrow()
	list, err := addFile(nil, dir, "shardcat "+p.String(), typ, a, c.Bytes(), p)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// Reused is the column through the public interface, each batch released before the next one, as peers read.
func (f *FileColumn) Reused() (Contestant, error) {
	c := f.Scan(f.Name, shardfmt.ScanOptions{Workers: 1}, true)
	err := filepath.WalkDir(f.dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			c.Size += int(info.Size())
		}
		return err
	})
	return c, err
}

// arrow gives the column as an array, and the name of its type.
func (c *Column) arrow() (string, arrow.Array) {
	switch {
	case c.Ints != nil:
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues(c.Ints, nil)
		return "Int64", b.NewArray()
	case c.Floats != nil:
		b := array.NewFloat64Builder(memory.DefaultAllocator)
		b.AppendValues(c.Floats, nil)
		return "Float64", b.NewArray()
	}
	b := array.NewLargeStringBuilder(memory.DefaultAllocator)
	b.AppendValues(c.Strings, nil)
	return "String", b.NewArray()
}

// addFile writes a shard of one column and opens it.
func addFile(list []*FileColumn, dir, name, typ string, a arrow.Array, size int, p shardfmt.Profile) ([]*FileColumn, error) {
	ctx := context.Background()
	s, err := schema.Parse("v: " + typ)
	if err != nil {
		return nil, err
	}
	f := &FileColumn{Name: name, Rows: a.Len(), Bytes: size, dir: filepath.Join(dir, fmt.Sprint(len(list))), client: blobio.NewClient(blobio.ClientOptions{})}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return nil, err
	}
	w, err := shardfmt.NewWriter(ctx, f.client, "file://"+f.dir+"/s.amudai.shard", s, shardfmt.WriterOptions{Profile: p})
	if err != nil {
		return nil, err
	}
	types := arrowtype.Schema(s)
	if ext, ok := types.Field(0).Type.(arrow.ExtensionType); ok {
		a = array.NewExtensionArrayWithStorage(ext, a)
	}
	if err := w.Write(ctx, array.NewRecordBatch(types, []arrow.Array{a}, int64(a.Len()))); err != nil {
		return nil, err
	}
	written, err := w.Close(ctx)
	if err != nil {
		return nil, err
	}
	f.shard, err = shardfmt.Open(ctx, f.client, written.URL, shardfmt.OpenOptions{})
	return append(list, f), err
}

// Scan is the column through the public interface: every scan reads the file again. With release each batch is released before the
// next one.
func (f *FileColumn) Scan(name string, o shardfmt.ScanOptions, release bool) Contestant {
	return Contestant{Name: name, Open: func() (func() error, error) {
		return func() error {
			rows := 0
			for b, err := range f.shard.Scan(context.Background(), o) {
				if err != nil {
					return err
				}
				rows += int(b.NumRows())
				if release {
					b.Release()
				}
			}
			if rows != f.Rows {
				return fmt.Errorf("%s: %d rows of %d", f.Name, rows, f.Rows)
			}
			return nil
		}, nil
	}}
}

// Scans are the ways to read a column whose costs are compared: the bare loop, the same with a read of the file, and scans by
// the public interface.
func Scans(f *FileColumn) []Contestant {
	return []Contestant{
		f.Bare("bare loop", false, false),
		f.Bare("bare loop and read", true, false),
		f.Bare("bare loop and read, fresh memory", true, true),
		f.Scan("Scan", shardfmt.ScanOptions{Workers: 1}, false),
		f.Scan("Scan, released", shardfmt.ScanOptions{Workers: 1}, true),
	}
}

// Bare is the loop over the blocks of the column's buffers, each decoded into the same memory, or into fresh memory. With read it
// reads the buffers from the file each time, else they lie in memory.
func (f *FileColumn) Bare(name string, read, fresh bool) Contestant {
	return Contestant{Name: name, Open: func() (func() error, error) {
		l, err := openLoop(f.shard)
		if err != nil {
			return nil, err
		}
		if err := l.read(); err != nil {
			return nil, err
		}
		if f.Kind, err = l.kind(); err != nil {
			return nil, err
		}
		l.fresh = fresh
		return func() error {
			if read {
				if err := l.read(); err != nil {
					return err
				}
			}
			return l.run()
		}, nil
	}}
}

// path of an object of a file:// URL.
func path(url string) string { return strings.TrimPrefix(url, "file://") }
