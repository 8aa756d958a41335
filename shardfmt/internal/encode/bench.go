package encode

import (
	"sync"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// bench is the working memory of an encoder. It is the larger part by far, and holds nothing that matters
// from one call to the next; so encoders borrow it, and a writer of ten thousand fields needs a few.
type bench struct {
	arena arena
	plans slab
	// sub, presence and valid hold the current block while Cut… hands it out.
	sub, presence, valid []byte
	// values are those of the current block, last the sizes of the last blocks.
	values   []byte
	last     []int
	lz4      lz4Encoder
	records  lz4Records
	denseLZ4 lz4.CompressorHC
	zstd     [zstd.SpeedBestCompression + 1]*zstd.Encoder
	huffman  huff0.Scratch
	frame    wordFrame
	// table is set up with the symbols that tableFor has.
	table    symbolTable
	tableFor *symbols
	trainer  trainer
	lefts    simd.Lefts
	// narrow is of numberNarrow, empty between its uses; nil before the first one.
	narrow *[1 << 16]uint32
}

var benches = sync.Pool{New: func() any { return new(bench) }}

// borrow makes sure that there is a bench, and frees what an earlier block has left on it.
func (e *Encoder) borrow() {
	if e.bench == nil {
		e.bench = benches.Get().(*bench)
		e.tableFor = nil
	}
	e.arena.release(0)
	e.plans.used = 0
	e.chosen = nil
}

// giveBack returns the bench.
func (e *Encoder) giveBack() {
	if e.bench != nil {
		e.values = nil
		benches.Put(e.bench)
		e.bench, e.chosen = nil, nil
	}
}

func zstdOptions(level zstd.EncoderLevel) []zstd.EOption {
	return []zstd.EOption{zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithAllLitEntropyCompression(true)}
}

// zstdAt is the Zstd encoder of a level.
func (b *bench) zstdAt(level zstd.EncoderLevel) *zstd.Encoder {
	if b.zstd[level] == nil {
		z, err := zstd.NewWriter(nil, zstdOptions(level)...)
		if err != nil {
			panic(err) // the options are constants
		}
		b.zstd[level] = z
	}
	return b.zstd[level]
}
