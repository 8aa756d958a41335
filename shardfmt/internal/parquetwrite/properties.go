package parquetwrite

import (
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"
)

const (
	// pageBytes is the size of pages before compression: what a page goes through, from values to what is written, stays in the
	// processor's caches, and the library's memory for it is small enough to be had again. Zstd finds 1 to 2 % less than in a mebibyte.
	pageBytes = 256 << 10
	// pagesBytes is how much the pages that columns are at may take together: a page is held three times on its way, as values, one
	// behind the other and compressed, so that those of a thousand columns would take 768 MiB. They are smaller where there are more
	// than 32 columns, and have minPageBytes, which zstd still finds repetitions in.
	pagesBytes, minPageBytes = 8 << 20, 8 << 10
	// blocksOfPage: pages are written to memory in blocks of so many to a page, so that the last ones of all columns take 2 MiB at most, up to a thousand
	// columns.
	blocksOfPage = 4
	// Levels of zstd, as the library's Zstd has them. Codes gain nothing by more than the lowest, and words only if they repeat.
	codedLevel, wordsLevel, runsLevel, textsLevel = 1, 1, 3, 3
	// How many values the library takes before it looks at the size of a page.
	wordsAtOnce, textsAtOnce = 8192, 1024
)

// What is the same for all files.
var (
	arrowProperties = pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema())
	storage         = parquet.NewWriterProperties(parquet.WithVersion(parquet.V2_LATEST), parquet.WithStoreDecimalAsInteger(true))
)

// settings are how the columns of a file are written. They are only read.
type settings struct {
	page                                     int64
	block                                    int // bytes of memory that are taken at a time for pages
	coded, plainWords, plainRuns, plainTexts *parquet.WriterProperties
	// anything is for columns that are left to the library: it makes dictionaries, and drops those that get long.
	anything *parquet.WriterProperties
}

// settingsFor are those of a file of so many columns, those within others counted.
func settingsFor(columns int) *settings {
	s := &settings{page: max(min(pageBytes, pagesBytes/int64(max(columns, 1))), minPageBytes)}
	s.block = int(s.page / blocksOfPage)
	words := min(wordsAtOnce, s.page/8)
	s.coded = s.properties(true, codedLevel, words)
	s.plainWords = s.properties(false, wordsLevel, words)
	s.plainRuns = s.properties(false, runsLevel, words)
	s.plainTexts = s.properties(false, textsLevel, textsAtOnce)
	s.anything = s.properties(true, textsLevel, textsAtOnce)
	return s
}

func (s *settings) properties(dictionary bool, level int, atOnce int64, more ...parquet.WriterProperty) *parquet.WriterProperties {
	return parquet.NewWriterProperties(append([]parquet.WriterProperty{
		parquet.WithVersion(parquet.V2_LATEST), parquet.WithStoreDecimalAsInteger(true),
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(level),
		parquet.WithDictionaryDefault(dictionary), parquet.WithDataPageSize(s.page), parquet.WithBatchSize(atOnce)}, more...)...)
}

// withoutFloats are anything, without dictionaries of floats: the library takes all NaNs for one.
func (s *settings) withoutFloats(types *pqschema.Schema) *parquet.WriterProperties {
	var plain []parquet.WriterProperty
	for i := range types.NumColumns() {
		if c := types.Column(i); c.PhysicalType() == parquet.Types.Float || c.PhysicalType() == parquet.Types.Double {
			plain = append(plain, parquet.WithDictionaryFor(c.Path(), false))
		}
	}
	if plain == nil {
		return s.anything
	}
	return s.properties(true, textsLevel, textsAtOnce, plain...)
}
