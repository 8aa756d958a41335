package layer

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/fileformat"
)

// Format is the format as the other packages see it.
var Format = &fileformat.Format{
	Name:     "layer",
	Suffixes: []string{".feldera", ".layer"},
	Options: []fileformat.Option{
		{Name: optionTypes, Read: true, Write: true, Doc: "layer: key and aux of each column, as in i64,string/u64,() (names i8…i64 u8…u64 i128 u128 bool char f32 f64 string bytes () opt<…> opaque(BYTES); default when writing: by columns called k0, a0, k1 …)"},
		{Name: optionFilter, Write: true, Doc: "layer: filter over the keys of the first column: none, bloom or roaring (default none)"},
		{Name: optionCompression, Write: true, Doc: "layer: compression of blocks: none, snappy, lz4 or zstd (default none)"},
		{Name: optionBlock, Write: true, Doc: "layer: bytes that blocks are filled to (default 8192, 65536 where the file will be read over a network)"},
		{Name: optionBranch, Write: true, Doc: "layer: fewest values or children of a block, however large they are (default 32)"},
		{Name: optionSorted, Write: true, Doc: "layer: true says that rows come in order of their keys; they are written as they come (default: they are sorted first)"},
		{Name: optionMemory, Write: true, Doc: "layer: MiB of rows that sorting holds before it spills to temporary files (default 64)"},
	},
	Sniff: func(_, tail []byte) bool {
		return len(tail) >= trailerSize && string(tail[len(tail)-trailerSize+4:len(tail)-trailerSize+8]) == magicTrailer
	},
	Open: func(ctx context.Context, st fileformat.Store, url string, o fileformat.OpenOptions) (fileformat.File, error) {
		var types []Pair
		if text, ok := o.Settings[optionTypes]; ok {
			var err error
			if types, err = ParseTypes(text); err != nil {
				return nil, &fileformat.OptionError{Name: optionTypes, Value: text, What: err.Error()}
			}
		}
		return Open(ctx, st, url, types)
	},
	NewSink: newSink,
}

// The names of the settings.
const (
	optionTypes       = "types"
	optionFilter      = "filter"
	optionCompression = "block-compression"
	optionBlock       = "block-bytes"
	optionBranch      = "min-branch"
	optionSorted      = "sorted"
	optionMemory      = "sort-memory"
)

// remoteBlock is what blocks are filled to where each costs a request, in bytes.
const remoteBlock = 64 << 10

// writeSettings turns settings into options.
func writeSettings(o fileformat.SinkOptions) (out WriteOptions, err error) {
	block := int64(DefaultBlock)
	if o.Remote {
		block = remoteBlock
	}
	if block, err = o.Settings.Int(optionBlock, block, blockUnit, maxBlock); err != nil {
		return out, err
	}
	branch, err := o.Settings.Int(optionBranch, DefaultBranch, 2, 1<<16-1)
	if err != nil {
		return out, err
	}
	filter, err := o.Settings.OneOf(optionFilter, string(NoFilter), string(Bloom), string(Roaring))
	if err != nil {
		return out, err
	}
	name, err := o.Settings.OneOf(optionCompression, compressionNames...)
	if err != nil {
		return out, err
	}
	for i, known := range compressionNames {
		if known == name {
			out.Compression = Compression(i)
		}
	}
	out.MinDataBlock, out.MinIndexBlock, out.MinBranch, out.Filter = int(block), int(block), int(branch), FilterKind(filter)
	return out, nil
}
