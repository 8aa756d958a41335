package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// ours is a shard, through the public interface.
type ours struct {
	profile shardfmt.Profile
}

func (c *ours) name() string { return "shardcat " + c.profile.String() }

// dir is the shard's folder.
func (c *ours) dir(g *given) string { return filepath.Join(g.place, g.name+"."+c.profile.String()) }

func (c *ours) url(g *given) string { return "file://" + c.dir(g) + "/t.amudai.shard" }

func (c *ours) write(g *given) (figures, error) {
	if err := os.RemoveAll(c.dir(g)); err != nil {
		return figures{}, err
	}
	if err := os.MkdirAll(c.dir(g), 0o755); err != nil {
		return figures{}, err
	}
	f, err := timed(func() (int64, error) {
		ctx, client := context.Background(), blobio.NewClient(blobio.ClientOptions{})
		defer client.Close()
		w, err := shardfmt.NewWriter(ctx, client, c.url(g), g.schema, shardfmt.WriterOptions{Profile: c.profile, Workers: 1})
		if err != nil {
			return 0, err
		}
		for _, b := range g.batches {
			if err := w.Write(ctx, b); err != nil {
				return 0, err
			}
		}
		_, err = w.Close(ctx)
		return 0, err
	})
	if err != nil {
		return f, err
	}
	f.Stored, err = folderSize(c.dir(g))
	return f, err
}

func (c *ours) open(g *given) (figures, error) {
	return timed(func() (int64, error) {
		client := blobio.NewClient(blobio.ClientOptions{})
		defer client.Close()
		_, err := shardfmt.Open(context.Background(), client, c.url(g), shardfmt.OpenOptions{})
		return 0, err
	})
}

func (c *ours) read(g *given, t task) (figures, error) {
	return timed(func() (int64, error) {
		client := blobio.NewClient(blobio.ClientOptions{})
		defer client.Close()
		return scanShard(client, c.url(g), t, 1)
	})
}

// scanShard opens a shard and counts the rows that a scan gives.
func scanShard(client *blobio.Client, url string, t task, workers int) (rows int64, err error) {
	ctx := context.Background()
	s, err := shardfmt.Open(ctx, client, url, shardfmt.OpenOptions{})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	o := shardfmt.ScanOptions{Columns: t.Columns, Workers: workers}
	if text := t.filterText(); text != "" {
		all, err := s.Schema(ctx)
		if err != nil {
			return 0, err
		}
		e, err := filter.Parse(text)
		if err != nil {
			return 0, err
		}
		if o.Filter, err = filter.Bind(e, all); err != nil {
			return 0, err
		}
	}
	for b, err := range s.Scan(ctx, o) {
		if err != nil {
			return rows, err
		}
		rows += b.NumRows()
		b.Release() // as the peers let go of theirs
	}
	return rows, nil
}

func (c *ours) peak(g *given) (float64, error) {
	return peak(func() error { _, err := c.read(g, task{}); return err })
}

// peak is how far the process grows at its peak while something is done.
func peak(do func() error) (float64, error) {
	debug.FreeOSMemory()
	before, err := status("VmRSS")
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := status("VmHWM")
	return max(0, after-before), err
}

// status is a size in bytes that the system knows of this process.
func status(name string) (float64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, errPeer("the system doesn't tell of memory")
	}
	_, rest, _ := strings.Cut(string(b), name+":")
	var kb float64
	_, err = fmt.Sscan(rest, &kb)
	return kb * 1024, err
}

// noFilter is what arrow-go states to a filter.
const noFilter = errPeer("no filter")

// arrowGo is arrow-go's Parquet with zstd, read with buffered streams. It gives no rows by a condition.
type arrowGo struct{}

func (arrowGo) name() string { return "arrow-go on Parquet, zstd" }

func (arrowGo) path(g *given) string { return filepath.Join(g.place, g.name+".arrow-go.parquet") }

// source is the given file, as arrow-go reads it into memory.
func (c arrowGo) source(g *given) (arrow.Table, error) {
	b, err := os.ReadFile(g.Path)
	if err != nil {
		return nil, err
	}
	return pqarrow.ReadTable(context.Background(), bytes.NewReader(b), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
}

func (c arrowGo) write(g *given) (figures, error) {
	t, err := c.source(g)
	if err != nil {
		return figures{}, errPeer(err.Error())
	}
	f, err := timed(func() (int64, error) {
		out, err := os.Create(c.path(g))
		if err != nil {
			return 0, err
		}
		defer out.Close()
		props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithStoreDecimalAsInteger(true))
		return 0, pqarrow.WriteTable(t, out, 1<<20, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	})
	if err != nil {
		return f, errPeer(err.Error())
	}
	info, err := os.Stat(c.path(g))
	if err == nil {
		f.Stored = float64(info.Size())
	}
	return f, err
}

// reader opens the file over anything that reads at an offset.
func (c arrowGo) reader(r parquet.ReaderAtSeeker) (*pqarrow.FileReader, error) {
	props := parquet.NewReaderProperties(memory.DefaultAllocator)
	props.BufferedStreamEnabled = true
	f, err := file.NewParquetReader(r, file.WithReadProps(props))
	if err != nil {
		return nil, err
	}
	return pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 32 << 10}, memory.DefaultAllocator)
}

func (c arrowGo) open(g *given) (figures, error) {
	return timed(func() (int64, error) {
		f, err := os.Open(c.path(g))
		if err != nil {
			return 0, err
		}
		defer f.Close()
		_, err = c.reader(f)
		return 0, err
	})
}

func (c arrowGo) read(g *given, t task) (figures, error) {
	if t.Where != nil {
		return figures{}, noFilter
	}
	return timed(func() (int64, error) {
		f, err := os.Open(c.path(g))
		if err != nil {
			return 0, errPeer(err.Error())
		}
		defer f.Close()
		return c.scan(f, t)
	})
}

// scan reads the columns batch by batch.
func (c arrowGo) scan(r parquet.ReaderAtSeeker, t task) (rows int64, err error) {
	pf, err := c.reader(r)
	if err != nil {
		return 0, err
	}
	s := pf.ParquetReader().MetaData().Schema
	var leaves []int
	for i := range s.NumColumns() {
		top, _, _ := strings.Cut(s.Column(i).Path(), ".")
		for _, name := range t.Columns {
			if name == top {
				leaves = append(leaves, i)
			}
		}
		if t.Columns == nil {
			leaves = append(leaves, i)
		}
	}
	batches, err := pf.GetRecordReader(context.Background(), leaves, nil)
	if err != nil {
		return 0, err
	}
	defer batches.Release()
	for batches.Next() {
		rows += batches.RecordBatch().NumRows()
	}
	if err := batches.Err(); err != nil && err != io.EOF {
		return rows, err
	}
	return rows, nil
}

func (c arrowGo) peak(g *given) (float64, error) {
	return peak(func() error { _, err := c.read(g, task{}); return err })
}
