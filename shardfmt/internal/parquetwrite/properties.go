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
	// Levels of zstd, as the library's Zstd has them. Codes gain nothing by more than the lowest, and words only if they repeat.
	codedLevel, wordsLevel, runsLevel, textsLevel = 1, 1, 3, 3
	// How many values the library takes before it looks at the size of a page.
	wordsAtOnce, textsAtOnce = 8192, 1024
)

// Properties of columns: they are the same for all files, and only read.
var (
	arrowProperties = pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema())
	coded           = properties(true, codedLevel, wordsAtOnce)
	plainWords      = properties(false, wordsLevel, wordsAtOnce)
	plainRuns       = properties(false, runsLevel, wordsAtOnce)
	plainTexts      = properties(false, textsLevel, textsAtOnce)
	// anything is for columns that are left to the library: it makes dictionaries, and drops those that get long.
	anything = properties(true, textsLevel, textsAtOnce)
)

func properties(dictionary bool, level int, atOnce int64, more ...parquet.WriterProperty) *parquet.WriterProperties {
	return parquet.NewWriterProperties(append([]parquet.WriterProperty{
		parquet.WithVersion(parquet.V2_LATEST), parquet.WithStoreDecimalAsInteger(true),
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(level),
		parquet.WithDictionaryDefault(dictionary), parquet.WithDataPageSize(pageBytes), parquet.WithBatchSize(atOnce)}, more...)...)
}

// withoutFloats are anything, without dictionaries of floats: the library takes all NaNs for one.
func withoutFloats(s *pqschema.Schema) *parquet.WriterProperties {
	var plain []parquet.WriterProperty
	for i := range s.NumColumns() {
		if c := s.Column(i); c.PhysicalType() == parquet.Types.Float || c.PhysicalType() == parquet.Types.Double {
			plain = append(plain, parquet.WithDictionaryFor(c.Path(), false))
		}
	}
	if plain == nil {
		return anything
	}
	return properties(true, textsLevel, textsAtOnce, plain...)
}
