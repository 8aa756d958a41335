package parquetwrite

import (
	"bytes"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/klauspost/compress/zstd"
)

// windowBytes is how far back Zstd looks: beyond that there is nothing in a page, unless one value is larger. The library's encoders look back
// 4 and 8 MiB, and take twice as much memory each.
const windowBytes = 2 * pageBytes

// encoders has encoders of Zstd by the level that they are for, of which there are two.
var encoders = map[int]*sync.Pool{wordsLevel: encodersOf(wordsLevel), textsLevel: encodersOf(textsLevel)}

func encodersOf(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithWindowSize(windowBytes),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true), zstd.WithAllLitEntropyCompression(true))
		if err != nil {
			panic(err) // only of an option
		}
		return e
	}}
}

// compressing is a writer of pages that compresses data pages by encoders that take less memory than the library's.
type compressing struct {
	file.PageWriter
	level int
}

// Compress gives src compressed, in the memory of buf, which is empty.
func (c compressing) Compress(buf *bytes.Buffer, src []byte) []byte {
	e := encoders[c.level].Get().(*zstd.Encoder)
	defer encoders[c.level].Put(e)
	buf.Grow(e.MaxEncodedSize(len(src)))
	return e.EncodeAll(src, buf.AvailableBuffer())
}
