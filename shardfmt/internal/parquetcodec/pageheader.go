package parquetcodec

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// PageHeader is the header of a page that is not compressed: its type, the size behind the header, and the numbers of the header of that type.
type PageHeader struct {
	Type    file.PageType
	Size    int
	Numbers []int
}

// Append appends the header in Thrift's compact protocol.
func (h PageHeader) Append(b []byte) []byte {
	const (
		i32       = 0x15 // of the field behind the last
		structure = 0x0C // so many fields further, times 16
		no        = 0x12
	)
	number := func(v int) { b = binary.AppendUvarint(append(b, i32), uint64(v)<<1) }
	number(int(h.Type))
	number(h.Size)
	number(h.Size)
	further := map[file.PageType]byte{file.PageTypeDataPage: 2, file.PageTypeDictionaryPage: 4, file.PageTypeDataPageV2: 5}[h.Type]
	b = append(b, further<<4|structure)
	for _, v := range h.Numbers {
		number(v)
	}
	if h.Type == file.PageTypeDataPageV2 {
		b = append(b, no) // not compressed
	}
	return append(b, 0, 0)
}
