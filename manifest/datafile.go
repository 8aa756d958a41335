package manifest

import (
	"bytes"
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/codec"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// FormatVersion is the Iceberg format version of tables of shards.
const FormatVersion = 2

// DataFile makes Iceberg's data file of the entry.
//
// iceberg-go builds data files of four formats only. It does encode and decode any other, so the file is built
// under a format it knows, encoded, given its true format, and decoded: what comes out is iceberg-go's own type,
// partition tuple and all. TestFormatIsPatchedInOnePlace notices when an upgrade changes the encoding.
func (e *Entry) DataFile(spec iceberg.PartitionSpec, schema *iceberg.Schema) (iceberg.DataFile, error) {
	spec = icebergaccess.AvroSpec(spec)
	native, err := e.build(spec)
	if err != nil {
		return nil, fmt.Errorf("manifest: entry of %s: %w", e.Path, err)
	}
	raw, err := codec.EncodeDataFile(native, spec, schema, FormatVersion)
	if err != nil {
		return nil, fmt.Errorf("manifest: entry of %s: %w", e.Path, err)
	}
	if raw, err = patchFormat(raw, e.Path); err != nil {
		return nil, err
	}
	f, err := codec.DecodeDataFile(raw, spec, schema, FormatVersion)
	if err != nil {
		return nil, fmt.Errorf("manifest: entry of %s: %w", e.Path, err)
	}
	return f, nil
}

func (e *Entry) build(spec iceberg.PartitionSpec) (iceberg.DataFile, error) {
	b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, e.Path, iceberg.ParquetFile,
		e.Partition, nil, nil, e.Records, e.RootBytes)
	if err != nil {
		return nil, err
	}
	sizes, values := map[int]int64{}, map[int]int64{}
	nulls, nans := map[int]int64{}, map[int]int64{}
	lower, upper := map[int][]byte{}, map[int][]byte{}
	for id, c := range e.Columns {
		sizes[id] = c.Bytes
		addCount(values, id, c.Values)
		addCount(nulls, id, c.Nulls)
		addCount(nans, id, c.NaNs)
		if c.Lower != nil {
			lower[id] = c.Lower
		}
		if c.Upper != nil {
			upper[id] = c.Upper
		}
	}
	e.Private.addTo(lower, upper)
	if e.Terms != "" && len(e.Terms) <= maxTerms {
		lower[fieldTerms] = []byte(e.Terms)
	}
	if e.Rows != "" {
		lower[fieldRows] = []byte(e.Rows)
	}
	b.ColumnSizes(sizes).ValueCounts(values).NullValueCounts(nulls).NaNValueCounts(nans)
	return b.LowerBoundValues(lower).UpperBoundValues(upper).SortOrderID(e.SortOrderID).Build(), nil
}

func addCount(counts map[int]int64, id int, n int64) {
	if n != Unknown {
		counts[id] = n
	}
}

// patchFormat replaces the format in the Avro encoding of a data file. The format is a string (a zigzag varint
// length, then the bytes) that directly follows the path.
func patchFormat(raw []byte, path string) ([]byte, error) {
	was := avroString(path, string(iceberg.ParquetFile))
	if bytes.Count(raw, was) != 1 {
		return nil, fmt.Errorf("manifest: entry of %s: unexpected encoding of data files by iceberg-go", path)
	}
	return bytes.Replace(raw, was, avroString(path, Format), 1), nil
}

// avroString is the end of path followed by a short string, as Avro encodes them.
func avroString(path, short string) []byte {
	b := append([]byte(path), byte(2*len(short)))
	return append(b, short...)
}
