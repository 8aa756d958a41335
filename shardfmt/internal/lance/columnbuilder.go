package lance

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// builder makes what gathers the pages of a column.
func (w *Writer) builder(t arrow.DataType, n *Node) (pageBuilder, error) {
	switch t := t.(type) {
	case *arrow.NullType:
		return nullColumn{}, nil
	case *arrow.FixedSizeListType:
		items, err := w.builder(t.Elem(), &Node{})
		return &fixedLists{dimension: int(t.Len()), items: items}, err
	case *arrow.DictionaryType:
		return w.dictionary(t), nil
	case *arrow.StructType:
		return newPackedRows(t)
	case arrow.BinaryDataType:
		if n.Metadata[blobKey] == "true" && t.ID() == arrow.LARGE_BINARY {
			w.blobColumn()
			return &blobRows{out: &w.out}, nil
		}
		out := &texts{scheme: w.scheme(n), dictionary: t.ID() == arrow.STRING && !w.o.PlainStrings, most: w.o.PageBytes, shares: w.o.SharedDictionary}
		if out.scheme == schemeZstd {
			out.level = w.o.CompressionLevel
		}
		return out, nil
	case arrow.FixedWidthDataType:
		return &fixedValues{bits: t.BitWidth()}, nil
	}
	return nil, fmt.Errorf("no encoding for %s", t)
}

// scheme is the compression of a column of strings.
func (w *Writer) scheme(n *Node) string {
	switch own := n.Metadata[compressionKey]; own {
	case schemeZstd, schemeLz4:
		return own
	case "none":
		return ""
	}
	return w.o.Compression
}

// compressionKey of the metadata of a field names the compression of its strings.
const compressionKey = "lance-encoding:compression"

// blobColumn means that the column declared last holds places of blobs.
func (w *Writer) blobColumn() {
	w.out.columns[len(w.out.columns)-1].encoding = appendMessage(nil, 3, appendMessage(nil, 1, valuesEncoding))
}

func (w *Writer) dictionary(t *arrow.DictionaryType) pageBuilder {
	width := t.IndexType.(arrow.FixedWidthDataType).BitWidth() / 8
	most := uint64(1)<<(8*width-1) - 1
	if arrow.IsUnsignedInteger(t.IndexType.ID()) {
		most = most*2 + 1
	}
	d := &dictionaries{width: width, most: min(most, math.MaxUint32-1), of: t.ValueType, limit: w.o.PageBytes}
	if w.o.SharedDictionary {
		d.shared = &sharedItems{}
	}
	d.begin()
	return d
}

func newPackedRows(t *arrow.StructType) (pageBuilder, error) {
	out := &packedRows{of: t}
	for _, f := range t.Fields() {
		width, err := packedWidth(f.Type)
		if err != nil {
			return nil, err
		}
		out.widths = append(out.widths, width)
	}
	return out, nil
}
