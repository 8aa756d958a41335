package parquetref

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	columnpkg "github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetchunk"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

const (
	// runBytes and runRows bound the pages that are decoded at once, for their statistics.
	runBytes = 4 << 20
	runRows  = 256 << 10
)

// encode describes the columns of row groups, some at a time.
func (b *build) encode(ctx context.Context, groups []group) ([]*columnpkg.Encoded, error) {
	out := make([][]*columnpkg.Encoded, len(b.schema.Fields))
	err := parallel.Each(ctx, b.o.Write.Workers, len(out), func(i int) (err error) {
		mem := b.budget.Account()
		defer mem.Close()
		out[i], err = b.field(ctx, i, groups, mem)
		return err
	})
	return slices.Concat(out...), err
}

// field describes one field of row groups: its values by references, the lists and structs above them natively.
func (b *build) field(ctx context.Context, i int, groups []group, mem *budget.Account) ([]*columnpkg.Encoded, error) {
	s, leaves := &structure{of: map[uint32]*nesting{}, mem: mem}, map[uint32]*columnpkg.Encoded{}
	for k, p := range b.files[0].fields[i] {
		levels := s.collector(len(p.above))
		e, err := b.leaf(ctx, [2]int{i, k}, groups, levels, mem)
		if err != nil {
			return nil, err
		}
		if err := levels.agree(p.above); err != nil {
			return nil, corrupt.Locate(err, groups[0].file.url, 0)
		}
		leaves[e.Node.ID] = e
	}
	return s.encode(b.schema.Fields[i], leaves, &columnpkg.Options{Profile: b.o.Write.Profile, Stats: b.statistics})
}

// reading is a column that is read chunk by chunk: its levels, and the statistics of its values.
type reading struct {
	node   *schema.Node
	levels *collector
	seen   *stats.Collector
	mem    *budget.Account
}

// leaf describes one column of row groups, the leaf of a field at a place.
func (b *build) leaf(ctx context.Context, at [2]int, groups []group, levels *collector, mem *budget.Account) (*columnpkg.Encoded, error) {
	node := b.files[0].fields[at[0]][at[1]].leaf.Node
	out := &columnpkg.Encoded{Node: node, External: new(metapb.ExternalParquetDataEncoding)}
	r := &reading{node, levels, stats.NewCollector(node, b.statistics(node)), mem}
	var last *source
	for _, g := range groups {
		m, err := b.chunk(ctx, r, g, g.file.fields[at[0]][at[1]])
		if err != nil {
			return nil, err
		}
		if m.Chunk == nil {
			continue
		}
		if last != g.file {
			last = g.file
			file := &metapb.ParquetFileColumnRef{FileRef: meta.NewRef(g.file.ref, 0, uint64(g.file.size))}
			out.External.FileColumnRefs = append(out.External.FileColumnRefs, file)
		}
		file := out.External.FileColumnRefs[len(out.External.FileColumnRefs)-1]
		file.ColumnChunks = append(file.ColumnChunks, m.Chunk)
		out.Maps = append(out.Maps, m)
	}
	out.Descriptor = r.seen.Descriptor()
	return out, nil
}

// chunk reads one column chunk: where its pages are, its levels, and its values for the statistics. There is no reference to a chunk that has only
// empty lists.
func (b *build) chunk(ctx context.Context, r *reading, g group, p path) (m columnpkg.PageMap, err error) {
	node, mem := r.node, r.mem
	c, err := g.file.footer.Chunk(g.number, p.leaf.Column)
	if err != nil {
		return m, corrupt.Locate(err, g.file.url, 0)
	}
	ref := c.Reference(g.number, p.leaf.Column)
	url, err := b.place(g.file, c, ref)
	if err != nil {
		return m, err
	}
	size := c.Pages.End - c.Dictionary.Start
	if err := mem.Hold(size); err != nil {
		return m, corrupt.Locate(b.large(err, node, g, c), url, 0)
	}
	defer mem.Drop(size)
	mem.Fetched(size)
	data := make([]byte, size)
	if _, err := b.store.ReadRange(ctx, url, int64(c.Dictionary.Start), data); err != nil {
		return m, err
	}
	if err := c.FindDictionary(data); err != nil {
		return m, corrupt.Locate(b.large(err, node, g, c), url, 0)
	}
	c.SetRanges(ref)
	dict, pages := data[:c.Dictionary.Len()], data[c.Dictionary.Len():]
	rows := uint64(0)
	made, err := c.Map(pages, mem, func(page parquetchunk.Levels) error { return r.levels.add(p.above, page, &rows) })
	if want := uint64(g.file.footer.Rows(g.number)); err == nil && len(p.above) > 0 && rows != want {
		err = corrupt.At(-1, "column %q: %d records in a row group of %d", node.Name, rows, want)
	}
	if err != nil {
		return m, corrupt.Locate(b.large(err, node, g, c), url, 0)
	}
	if made.Blocks() == 0 {
		return m, nil
	}
	b.addSum(url, chunkRef(g.file, ref), c.Dictionary.Start, data)
	m.Chunk, m.Bytes, ref.DataPageCount = ref, made.Append(nil), uint64(made.Blocks())
	return m, corrupt.Locate(b.large(r.values(c, dict, pages, m.Bytes), node, g, c), url, 0)
}

// large adds to the error of a chunk that does not fit into the memory of the run what would help.
func (b *build) large(err error, node *schema.Node, g group, c *parquetchunk.Chunk) error {
	if !errors.Is(err, budget.ErrExceeded) {
		return err
	}
	return &corrupt.Error{Kind: corrupt.ErrUnsupported, Offset: int64(c.Dictionary.Start), Err: err,
		What: fmt.Sprintf("column %q of row group %d: to decode a page needs more than %d bytes of memory, or work in proportion; raise the limit with --max-memory, "+
			"for reading the shard needs it too, or ingest the file", node.Name, g.number, b.budget.Limit())}
}

// chunkRef is how the root names the object that holds a chunk.
func chunkRef(f *source, c *metapb.ParquetColumnChunkRef) string {
	if c.FileUrl != nil {
		return *c.FileUrl
	}
	return f.ref
}

// sum is the checksum of data, which starts at a byte of the object at url; the root names it ref. It has to be proved.
func (b *build) sum(url, ref string, start uint64, data []byte) meta.ObjectSum {
	s := meta.ObjectSum{Ref: meta.NewRef(ref, start, start+uint64(len(data))), Sum: xxh3.Hash(data)}
	b.claimed(claim{url: url, start: int64(start), end: int64(start) + int64(len(data)), sum: s.Sum})
	return s
}

// addSum notes the checksum of a column chunk of the stripe available.
func (b *build) addSum(url, ref string, start uint64, data []byte) {
	sum := b.sum(url, ref, start, data)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sums = append(b.sums, sum)
}

// sumsOf are the checksums of the stripe available, of its chunks and of the footers of its files, in the order of objects and ranges.
func (b *build) sumsOf(groups []group) []meta.ObjectSum {
	for k, g := range groups {
		if k == 0 || groups[k-1].file != g.file {
			b.sums = append(b.sums, g.file.footerSum)
		}
	}
	slices.SortFunc(b.sums, func(x, y meta.ObjectSum) int {
		return cmp.Or(cmp.Compare(x.Ref.GetUrl(), y.Ref.GetUrl()), cmp.Compare(x.Ref.GetRange().GetStart(), y.Ref.GetRange().GetStart()))
	})
	return b.sums
}

// place gives the object that holds a chunk, and names it in the reference where it is another than the footer's.
func (b *build) place(f *source, c *parquetchunk.Chunk, ref *metapb.ParquetColumnChunkRef) (string, error) {
	if c.File == "" {
		return f.url, nil
	}
	url, err := urlresolve.Resolve(f.url, urlresolve.EscapeKey(c.File), urlresolve.Policy{})
	if err != nil {
		return "", err
	}
	stored, err := b.reference(url)
	ref.FileUrl = &stored
	return url, err
}

// values decodes the pages of a chunk, some at a time, and adds them to the statistics.
func (r *reading) values(c *parquetchunk.Chunk, dict, pages, pageMap []byte) error {
	m, err := colstream.ParseMap(pageMap)
	if err != nil {
		return err
	}
	d, err := parquetchunk.NewDecoder(c, r.node, r.mem)
	if err != nil {
		return err
	}
	defer d.Release()
	for first := 0; first < m.Blocks(); {
		from, start := position(m, first)
		end := first + 1
		for end < m.Blocks() {
			to, stop := position(m, end+1)
			if to-from > runRows || stop-start > runBytes {
				break
			}
			end++
		}
		to, stop := position(m, end)
		r.mem.NextBatch(true)
		a, err := d.Decode(dict, pages[start:stop], int(to-from), c.Pages.Start+start)
		if err != nil {
			return err
		}
		if a.NullN() > 0 && !r.node.Nullable {
			return corrupt.At(int64(c.Pages.Start+start), "column %q is required, and has nulls", r.node.Name)
		}
		r.mem.Delivered(to - from)
		r.seen.Add(a)
		first = end
	}
	return nil
}

// position gives the position and the byte at which page i starts, or the last one ends.
func position(m *colstream.Map, i int) (position, at uint64) {
	if i < m.Blocks() {
		position, _ = m.Span(i)
		at, _ = m.Range(i)
		return position, at
	}
	return m.Values(), m.Bytes()
}
