package parquetwrite

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// flat encodes a column without children. It begins with codes, which it holds, and goes on without them when the dictionary gets long.
type flat struct {
	*column
	table  table
	codes  [][]uint16 // of nulls 0, pageCodes at a time
	rows   int        // that have codes
	valid  []byte     // a bit for each code, once there was a null
	nulls  int
	plain  *pages // nil as long as there are codes
	levels []int16
	words  []uint64 // space for decimals as integers
	bytes  int64    // that were added
}

// codePages has memory for pageCodes codes each.
var codePages = sync.Pool{New: func() any { return new([pageCodes]uint16) }}

func newFlat(c *column) *flat { return &flat{column: c, table: newTable(c.kind)} }

func (f *flat) held() int64 {
	if f.plain != nil {
		return f.plain.out.Tell()
	}
	return int64(2*f.rows+len(f.valid)) + f.table.size()
}

func (f *flat) work() int64 { return f.bytes }

func (f *flat) add(a arrow.Array) error {
	values, err := f.stored(a, &f.words)
	if err != nil {
		return err
	}
	defer values.Release()
	f.bytes += int64(values.Data().SizeInBytes())
	for f.plain == nil && values.Len() > 0 {
		var step arrow.Array
		step, values = f.cut(values)
		defer values.Release()
		f.code(step)
		step.Release()
		if how := f.without(false); how != nil {
			if err := f.spell(how); err != nil {
				return err
			}
		}
	}
	if f.plain == nil || values.Len() == 0 {
		return nil
	}
	return f.plain.put(f, values)
}

// cut gives the values of a step, which don't reach beyond a page of codes, and those behind it.
func (f *flat) cut(a arrow.Array) (step, rest arrow.Array) {
	n := min(a.Len(), stepRows, pageCodes-f.rows%pageCodes)
	for step = array.NewSlice(a, 0, int64(n)); f.kind == texts && n > 1 && len(step.(array.BinaryLike).ValueBytes()) > maxDictionary; {
		n /= 2
		step.Release()
		step = array.NewSlice(a, 0, int64(n))
	}
	return step, array.NewSlice(a, int64(n), int64(a.Len()))
}

// code adds values to the codes.
func (f *flat) code(a arrow.Array) {
	n := f.rows
	if a.NullN() > 0 && f.valid == nil {
		f.valid = make([]byte, bitutil.BytesForBits(int64(n)))
		bitutil.SetBitsTo(f.valid, 0, int64(n), true)
	}
	if f.valid != nil {
		f.valid = appendValidity(f.valid, n, a)
	}
	f.nulls += a.NullN()
	if n%pageCodes == 0 {
		f.codes = append(f.codes, codePages.Get().(*[pageCodes]uint16)[:])
	}
	f.rows += a.Len()
	codes := f.codes[n/pageCodes][n%pageCodes:][:a.Len()]
	if a.NullN() == 0 {
		f.table.code(codes, a, 0)
		return
	}
	for i := range codes {
		if codes[i] = 0; a.IsValid(i) {
			f.table.code(codes[i:i+1], a, i)
		}
	}
}

// appendValidity adds the validity of values to that of n others.
func appendValidity(to []byte, n int, a arrow.Array) []byte {
	to = append(to, make([]byte, int(bitutil.BytesForBits(int64(n+a.Len())))-len(to))...)
	if a.NullN() == 0 {
		bitutil.SetBitsTo(to, int64(n), int64(a.Len()), true)
	} else {
		bitutil.CopyBitmap(a.NullBitmapBytes(), a.Data().Offset(), a.Len(), to, n)
	}
	return to
}

// without is how to write the column without a dictionary, or nil if it may still have one. At the end of the row group it has what it has.
func (f *flat) without(end bool) *parquet.WriterProperties {
	rows, entries := f.rows, f.table.len()
	perEntry, how := rowsPerWord, f.plainWords
	if f.kind == texts {
		perEntry, how = rowsPerText, f.plainTexts
	}
	switch {
	case entries > maxEntries || f.table.size() > maxDictionary:
	case rows >= stepRows && entries > rows/5*4:
		return how
	case end && f.manyNaNs():
		return how // the library takes all NaNs for one, and would give codes that its dictionary lacks
	case end && entries > max(rows/perEntry, min(rows/2, fewEntries)):
	case rows >= judgedRows && entries > rows/perEntry:
	default:
		return nil
	}
	if f.kind != texts && entries < rows/2 {
		return f.plainRuns
	}
	return how
}

// manyNaNs reports whether the dictionary has NaNs of more than one pattern of bits.
func (f *flat) manyNaNs() bool {
	t, ok := f.table.(*wordTable)
	if !ok {
		return false
	}
	n := 0
	switch f.types.Column(0).PhysicalType() {
	case parquet.Types.Float:
		for _, w := range t.words {
			if v := math.Float32frombits(uint32(w)); v != v {
				n++
			}
		}
	case parquet.Types.Double:
		for _, w := range t.words {
			if v := math.Float64frombits(w); v != v {
				n++
			}
		}
	}
	return n > 1
}

// spell writes what the codes stand for, and ends the time of codes.
func (f *flat) spell(how *parquet.WriterProperties) (err error) {
	if f.plain, err = newPages(f.column, how); err != nil {
		return err
	}
	for from := 0; from < f.rows; from += stepRows {
		to := min(f.rows, from+stepRows)
		at := from % pageCodes
		values := f.table.values(f.column, f.codes[from/pageCodes][at:at+to-from])
		if f.nulls > 0 {
			values = withNulls(values, f.valid, from)
		}
		err := f.plain.put(f, values)
		values.Release()
		if err != nil {
			return err
		}
	}
	f.drop()
	return nil
}

// drop lets go of codes and dictionary.
func (f *flat) drop() {
	for _, codes := range f.codes {
		codePages.Put((*[pageCodes]uint16)(codes))
	}
	f.codes, f.valid = nil, nil
	f.table.drop()
}

// withNulls gives values the validity that begins somewhere among others.
func withNulls(a arrow.Array, valid []byte, from int) arrow.Array {
	defer a.Release()
	bits := make([]byte, bitutil.BytesForBits(int64(a.Len())))
	bitutil.CopyBitmap(valid, from, a.Len(), bits, 0)
	buffers := slices.Clone(a.Data().Buffers())
	buffers[0] = memory.NewBufferBytes(bits)
	data := array.NewData(a.DataType(), a.Len(), buffers, nil, array.UnknownNullCount, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func (f *flat) finish() (chunk, error) {
	if f.plain == nil {
		if how := f.without(true); how != nil {
			if err := f.spell(how); err != nil {
				return chunk{}, err
			}
		}
	}
	if f.plain != nil {
		return f.plain.finish()
	}
	p, err := newPages(f.column, f.coded)
	if err != nil {
		return chunk{}, err
	}
	if err := p.putCodes(f); err != nil {
		return chunk{}, err
	}
	done, err := p.finish()
	f.drop()
	return done, err
}

// defined gives the definition levels of rows, nil if their column has none. They are valid until the next call.
func (f *flat) defined(rows int, valid func(i int) bool) []int16 {
	if !f.nullable() {
		return nil
	}
	f.levels = slices.Grow(f.levels[:0], rows)[:rows]
	for i := range f.levels {
		if f.levels[i] = 1; valid != nil && !valid(i) {
			f.levels[i] = 0
		}
	}
	return f.levels
}

// pages are the pages of a column on their way to memory.
type pages struct {
	out   *spool
	about *metadata.ColumnChunkMetaDataBuilder
	w     file.ColumnChunkWriter
}

// newSpool gives memory for pages, which begins with what a file begins with: the library takes a dictionary at 0 for none.
func newSpool(how *settings) *spool {
	s := &spool{block: how.block}
	_, _ = s.Write([]byte(magic))
	return s
}

func newPages(c *column, how *parquet.WriterProperties) (*pages, error) {
	p := &pages{out: newSpool(c.settings), about: metadata.NewColumnChunkMetaDataBuilder(how, c.types.Column(0))}
	pager, err := file.NewPageWriter(p.out, compress.Codecs.Zstd, how.CompressionLevel(), p.about, 0, 0, how.Allocator(), false, nil, nil)
	if err != nil {
		return nil, err
	}
	p.w = file.NewColumnChunkWriter(p.about, compressing{pager, how.CompressionLevel()}, how)
	return p, nil
}

// put writes values one by one.
func (p *pages) put(f *flat, a arrow.Array) error {
	var valid func(i int) bool
	if a.NullN() > 0 {
		valid = a.IsValid
	}
	ctx := pqarrow.NewArrowWriteContext(context.Background(), &arrowProperties)
	return pqarrow.WriteArrowToColumn(ctx, p.w, a, f.defined(a.Len(), valid), nil, f.nullable())
}

// putCodes writes the codes of a column and their dictionary.
func (p *pages) putCodes(f *flat) error {
	entries := f.table.entries(f.column)
	defer entries.Release()
	if err := p.w.CurrentEncoder().(interface{ PutDictionary(arrow.Array) error }).PutDictionary(entries); err != nil {
		return err
	}
	for from := 0; from < f.rows; from += pageCodes {
		to := min(f.rows, from+pageCodes)
		codes, levels := f.part(from, to)
		describe(p.w.PageStatistics(), entries, int64(to-from), int64(codes.NullN()))
		err := p.w.WriteDictIndices(codes, levels, nil)
		codes.Release()
		if err == nil && to < f.rows {
			err = p.w.(interface{ FlushCurrentPage() error }).FlushCurrentPage()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// part gives a page of the codes as an array, and their definition levels.
func (f *flat) part(from, to int) (codes arrow.Array, levels []int16) {
	codes = assemble(arrow.PrimitiveTypes.Uint16, to-from, memory.NewBufferBytes(arrow.Uint16Traits.CastToBytes(f.codes[from/pageCodes][:to-from])))
	var valid func(i int) bool
	if f.nulls > 0 {
		codes = withNulls(codes, f.valid, from)
		valid = codes.IsValid
	}
	return codes, f.defined(to-from, valid)
}

func (p *pages) finish() (chunk, error) {
	if err := p.w.Close(); err != nil {
		return chunk{}, err
	}
	return chunk{p.out, []*metadata.ColumnChunkMetaDataBuilder{p.about}}, nil
}
