// Package parquetref makes shards over Parquet files that exist: a root that refers to their column chunks, with the
// statistics, Bloom filters and page maps of their values. Nothing of the files is copied.
//
// A stripe is a run of whole row groups, of one file or several. What was read of the files is read again and compared before
// the root is written. The order is as for every shard: the root is written last, and read back.
package parquetref

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetchunk"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Options of Parquet; shardfmt.ExternalOptions documents them.
type Options struct {
	Write         shardwriter.Options
	Columns       []string
	AllowExternal bool
	MaxMemory     int64
}

// build is the making of one shard.
type build struct {
	store  shardwriter.Store
	out    string
	o      Options
	budget *budget.Budget
	files  []*source
	schema *schema.Schema
	bloom  map[uint32]float64

	mu sync.Mutex
	// sums are the checksums of the column chunks of the stripe available.
	sums []meta.ObjectSum
	// claims are all checksums, of column chunks and footers, by the URLs of their objects.
	claims []claim
}

// source is one Parquet file.
type source struct {
	url, ref string
	size     int64
	footer   *parquetchunk.Footer
	fields   [][]path // of the schema: the leaves of each
	// footerSum is the checksum of the footer, its length and the magic behind it.
	footerSum meta.ObjectSum
}

// group is a row group of a file.
type group struct {
	file   *source
	number int
}

// Parquet writes the root at out of a shard whose records are those of files, in order.
func Parquet(ctx context.Context, st shardwriter.Store, out string, files []string, o Options) (*shardwriter.Written, error) {
	if len(files) == 0 {
		return nil, errors.New("a shard over Parquet files needs a file")
	}
	o.Write.Layout = shardwriter.Single // all there is to write goes into the root
	if o.Write.StripeRows <= 0 {
		o.Write.StripeRows = shardwriter.DefaultStripeRows
	}
	if o.Write.Workers <= 0 {
		o.Write.Workers = runtime.GOMAXPROCS(0)
	}
	b := &build{store: st, out: out, o: o, budget: budget.New(o.MaxMemory)}
	for _, url := range files {
		f, err := b.open(ctx, url)
		if err != nil {
			return nil, err
		}
		b.files = append(b.files, f)
	}
	if err := b.findSchema(); err != nil {
		return nil, err
	}
	w, err := shardwriter.New(ctx, st, out, b.schema, o.Write)
	if err != nil {
		return nil, err
	}
	err = b.stripes(ctx, w)
	if err == nil {
		err = b.prove(ctx)
	}
	if err != nil {
		w.Abort(ctx)
		return nil, err
	}
	written, err := w.Close(ctx)
	if err != nil {
		w.Abort(ctx)
	}
	return written, err
}

// open reads the footer of a file.
func (b *build) open(ctx context.Context, url string) (*source, error) {
	ref, err := b.reference(url)
	if err != nil {
		return nil, err
	}
	info, err := b.store.Stat(ctx, url)
	if err != nil {
		return nil, err
	}
	f := &source{url: url, ref: ref, size: info.Size}
	var tail []byte
	for need := int64(parquetchunk.TailGuess); f.footer == nil; {
		tail = make([]byte, min(need, f.size))
		if _, err := b.store.ReadRange(ctx, url, f.size-int64(len(tail)), tail); err != nil {
			return nil, err
		}
		if f.footer, need, err = parquetchunk.ParseTail(tail, f.size, b.budget.Account()); err != nil {
			return nil, corrupt.Locate(err, url, 0)
		}
	}
	const lengthAndMagic = 8
	length := lengthAndMagic + int(binary.LittleEndian.Uint32(tail[len(tail)-lengthAndMagic:])) // which ParseTail has read
	f.footerSum = b.sum(url, ref, uint64(f.size)-uint64(length), tail[len(tail)-length:])
	return f, nil
}

// reference is how the root names an object.
func (b *build) reference(url string) (string, error) {
	folder, err := urlresolve.Base(b.out)
	if err != nil {
		return "", err
	}
	if !b.o.AllowExternal && !strings.HasPrefix(url, folder) {
		return "", &urlresolve.Error{Ref: urlresolve.Redact(url), Reason: "outside the folder of the shard, allowed only with --allow-external"}
	}
	return urlresolve.Relative(b.out, url), nil
}

// findSchema takes the fields of the first file, or those requested, and finds their columns in the others.
func (b *build) findSchema() error {
	b.schema = new(schema.Schema)
	for i, f := range b.files {
		shapes, err := b.match(f, i == 0)
		if err != nil {
			return err
		}
		for _, s := range shapes {
			f.fields = append(f.fields, pathsOf(s, nil))
		}
	}
	if len(b.o.Columns) > len(b.schema.Fields) {
		return fmt.Errorf("%s lacks some of the columns %s", urlresolve.Redact(b.files[0].url), strings.Join(b.o.Columns, ", "))
	}
	b.schema.Number()
	b.bloom = map[uint32]float64{}
	for path, fpp := range b.o.Write.Bloom {
		n, err := b.schema.Lookup(path)
		if err != nil {
			return err
		}
		b.bloom[n.ID] = fpp
	}
	return nil
}

// match finds the fields of the schema in a file; the first file makes the schema. A field is nullable if it is in any file.
func (b *build) match(f *source, first bool) (out []*parquetchunk.Shape, err error) {
	byName, twice := map[string]int{}, map[string]bool{}
	for i := range f.footer.Fields() {
		name := f.footer.Schema().Root().Field(i).Name()
		_, there := byName[name]
		byName[name], twice[name] = i, there || twice[name]
		if !first || there || len(b.o.Columns) > 0 && !slices.Contains(b.o.Columns, name) {
			continue
		}
		s, err := f.footer.Shape(i)
		if err != nil {
			return nil, corrupt.Locate(err, f.url, 0)
		}
		b.schema.Fields = append(b.schema.Fields, s.Node)
		out = append(out, s)
	}
	for _, n := range b.schema.Fields {
		if twice[n.Name] {
			return nil, corrupt.Locate(corrupt.Unsupported(-1, "more than one column is named %q; ingest or convert the file, which renames them, or select others with --external-columns", n.Name), f.url, 0)
		}
		if first {
			continue
		}
		at, ok := byName[n.Name]
		if !ok {
			return nil, fmt.Errorf("%s has no column %q", urlresolve.Redact(f.url), n.Name)
		}
		is, err := f.footer.Shape(at)
		if err != nil {
			return nil, corrupt.Locate(err, f.url, 0)
		}
		if err := agree(n, is.Node, n.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", urlresolve.Redact(f.url), err)
		}
		out = append(out, is)
	}
	return out, nil
}

// agree compares a field of the schema with that of a file.
func agree(n, is *schema.Node, path string) error {
	if is.TypeName() != n.TypeName() {
		return fmt.Errorf("column %q has type %s, in the first file %s", path, is.TypeName(), n.TypeName())
	}
	n.Nullable = n.Nullable || is.Nullable
	if len(is.Children) != len(n.Children) {
		return fmt.Errorf("column %q has %d members, in the first file %d", path, len(is.Children), len(n.Children))
	}
	for i, c := range n.Children {
		if is.Children[i].Name != c.Name {
			return fmt.Errorf("column %q has the member %q, in the first file %q", path, is.Children[i].Name, c.Name)
		}
		if err := agree(c, is.Children[i], path+"."+c.Name); err != nil {
			return err
		}
	}
	return nil
}

// stripes adds a stripe for each run of row groups that has not too many rows.
func (b *build) stripes(ctx context.Context, w *shardwriter.Writer) error {
	var run []group
	rows := int64(0)
	flush := func() error {
		if rows == 0 {
			run = nil
			return nil
		}
		b.sums = nil
		fields, err := b.encode(ctx, run)
		if err != nil {
			return err
		}
		err = w.AddExternalStripe(ctx, uint64(rows), b.sumsOf(run), fields...)
		run, rows = nil, 0
		return err
	}
	for _, f := range b.files {
		for g := range f.footer.RowGroups() {
			n := f.footer.Rows(g)
			if n <= 0 {
				continue // a row group without rows has no values
			}
			if rows > 0 && rows+n > int64(b.o.Write.StripeRows) {
				if err := flush(); err != nil {
					return err
				}
			}
			run, rows = append(run, group{f, g}), rows+n
		}
	}
	return flush()
}

// statistics are the options of a field's statistics.
func (b *build) statistics(n *schema.Node) stats.Options {
	o := stats.Options{Plain: b.o.Write.Profile == encode.Plain}
	if fpp, ok := b.bloom[n.ID]; ok {
		o.Bloom, o.FPP = stats.BloomAlways, fpp
	}
	return o
}
