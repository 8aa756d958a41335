package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob" // where input files lie
	_ "github.com/shardcat/shardcat/blobio/memblob"  // where what is made of them goes
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/mutant"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// inputRows is how many records the files have that are changed.
const inputRows = 200

// input is a whole file to be changed.
type input struct {
	name string
	data []byte
}

// fileCorpus are files of formats that have a package of their own, below the folder of the module.
var fileCorpus = []string{"shardfmt/internal/lance/testdata/vectors/*.lance", "shardfmt/internal/cole/testdata/*.col", "shardfmt/internal/layer/testdata/*.feldera"}

// settingsOf are the types of a layer file of the corpus, which does not tell them.
func settingsOf(name string) fileformat.Settings {
	switch {
	case !strings.HasSuffix(name, ".feldera"):
		return nil
	case strings.HasPrefix(name, "writer1"):
		return fileformat.Settings{"types": "opaque(80),i64"}
	}
	return fileformat.Settings{"types": "i64,()/opaque(80),i64"}
}

// filesBelow reads them.
func filesBelow(module string) (out []input, err error) {
	for _, pattern := range fileCorpus {
		paths, err := filepath.Glob(filepath.Join(module, pattern))
		if err != nil || len(paths) == 0 {
			return nil, fmt.Errorf("no files %s in %s: %w", pattern, module, errors.Join(err, os.ErrNotExist))
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			out = append(out, input{filepath.Base(path), data})
		}
	}
	return out, nil
}

// inputs writes the records of a shard in each format of records.
func inputs(s *mutant.Shard) ([]input, error) {
	out := []input{{"in.ndjson", []byte(mutant.Text(inputRows))}}
	for _, f := range []struct {
		name   string
		format fileio.Format
	}{{"in.csv", fileio.CSV}, {"in.arrow", fileio.Arrow}, {"in.arrows", fileio.ArrowStream}, {"in.parquet", fileio.Parquet}} {
		data, err := exported(s, f.format)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		out = append(out, input{f.name, data})
	}
	return out, nil
}

func exported(s *mutant.Shard, f fileio.Format) ([]byte, error) {
	ctx := context.Background()
	shard, err := shardfmt.Open(ctx, s.Store(), mutant.URL, shardfmt.OpenOptions{})
	if err != nil {
		return nil, err
	}
	columns := []string{"id", "u8", "f64", "flag", "t", "name", "city", "blob", "guid", "price", "same"}
	if f != fileio.CSV {
		columns = append(columns, "tags", "pos", "attrs", "pair")
	}
	types, err := shard.Project(ctx, columns, false)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	sink, err := fileio.NewSink(f, &out, types, fileio.SinkOptions{})
	if err != nil {
		return nil, err
	}
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{Columns: columns, End: inputRows}) {
		if err == nil {
			err = sink.Write(b)
		}
		if err != nil {
			return nil, err
		}
	}
	err = sink.Close()
	return out.Bytes(), err
}

// tokens are put into text files: what parsers are wrong about.
var tokens = []string{
	"null", "NaN", "1e999", "-0", "9223372036854775808", "\"", "{", "}", "[", "]", ",", "\n", "\x00", "\xff\xfe",
	"\\ud800", "2024-02-30T25:61:61Z", strings.Repeat("[", 2000), strings.Repeat("9", 400), strings.Repeat("x", 70000),
}

// changeInput changes a file and reports how.
func changeInput(r *rand.Rand, in input) (data []byte, what string) {
	b := bytes.Clone(in.data)
	switch n := r.IntN(6); {
	case n == 0:
		at := r.IntN(len(b))
		return b[:at], fmt.Sprintf("cut at %d", at)
	case n == 1:
		at, to, size := r.IntN(len(b)), r.IntN(len(b)), 1+r.IntN(64)
		copy(b[at:], in.data[to:min(to+size, len(b))])
		return b, fmt.Sprintf("%d bytes of %d at %d", size, to, at)
	case n < 4 && (strings.HasSuffix(in.name, "json") || strings.HasSuffix(in.name, "csv")):
		at, token := r.IntN(len(b)), tokens[r.IntN(len(tokens))]
		return append(append(bytes.Clone(b[:at]), token...), b[at:]...), fmt.Sprintf("%.20q at %d", token, at)
	}
	var at []int
	for range 1 + r.IntN(4) {
		i := r.IntN(len(b))
		if r.IntN(3) == 0 {
			i = max(0, len(b)-1-r.IntN(min(len(b), 1024)))
		}
		b[i] ^= 1 << r.IntN(8)
		at = append(at, i)
	}
	return b, fmt.Sprintf("bits at %v", at)
}

// judgeInput writes a changed file as a shard, which must be whole if that works.
func (a *attack) judgeInput(name string, data []byte) (v verdict) {
	v.Kind, v.Outcome = "input "+strings.TrimPrefix(filepath.Ext(name), "."), refused
	var made *mutant.Shard
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				v.fault(faultPanic, "%v", p)
			}
		}()
		made, v.Rows, err = a.ingest(name, data)
		return err
	}()
	v.checkFile(filepath.Join(a.work, name), err)
	if err != nil || made == nil {
		return v
	}
	v.Outcome = otherRows
	got, err := cat(made, a.memory)
	if err != nil {
		v.fault(faultUnusable, "%v", err)
		return v
	}
	if got.n != v.Rows && !got.capped {
		v.fault(faultUnusable, "%d rows came, %d are there", v.Rows, got.n)
	}
	report, err := verify.Shard(context.Background(), made.Store(), mutant.URL, verify.Options{MaxMemory: a.memory})
	if err != nil || !report.OK {
		v.fault(faultUnusable, "verify: %v %v", err, report)
	}
	return v
}

// ingest reads a file and writes it as a shard in memory.
func (a *attack) ingest(name string, data []byte) (*mutant.Shard, int64, error) {
	ctx := context.Background()
	path := filepath.Join(a.work, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, 0, err
	}
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	src, err := fileio.OpenSource(ctx, c, []string{"file://" + path}, fileio.SourceOptions{Settings: settingsOf(name)})
	if err != nil {
		return nil, 0, err
	}
	defer src.Close()
	w, err := shardfmt.NewWriter(ctx, c, "mem://ingested/"+mutant.RootName, src.Schema(), shardfmt.WriterOptions{Layout: shardfmt.Single, DataPrefix: "d"})
	if err != nil {
		return nil, 0, err
	}
	rows, err := copyRows(ctx, src, w)
	if err != nil {
		w.Abort(ctx)
		return nil, 0, err
	}
	written, err := w.Close(ctx)
	if err != nil {
		return nil, 0, err
	}
	s, err := mutant.Fetch(ctx, c, name, written)
	return s, rows, err
}

// errTooLong ends the copying of a file that honestly stands for more rows than anyone wants to wait for.
var errTooLong = errors.New("more rows than a case may have")

func copyRows(ctx context.Context, src fileio.Source, w *shardfmt.Writer) (rows int64, err error) {
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if rows += b.NumRows(); rows > rowLimit {
			return rows, errTooLong
		}
		err = w.Write(ctx, b)
		b.Release()
		if err != nil {
			return rows, err
		}
	}
}
