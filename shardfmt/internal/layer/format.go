package layer

import (
	"context"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Format is the format as the other packages see it.
var Format = &fileformat.Format{
	Name:     "layer",
	Suffixes: []string{".feldera", ".layer"},
	Options: []fileformat.Option{
		{Name: optionTypes, Read: true, Write: true, Doc: "layer: key and aux of each column, as in i64,string/u64,() (names i8…i64 u8…u64 i128 u128 bool char f32 f64 string bytes () opt<…> list<KEY,AUX> opaque(BYTES); default: from the file when reading, from columns named k0, a0, k1 … when writing)"},
		{Name: optionFilter, Write: true, Doc: "layer: filter over the keys of the first column: none, bloom, roaring or partitioned (default none)"},
		{Name: optionFilterBits, Write: true, Doc: "layer: bits of a partitioned filter for each key, 8 to 16 (default 10)"},
		{Name: optionFilterMinKey, Write: true, Doc: "layer: minimum length in bytes of the keys in a partitioned filter (default 0: all keys)"},
		{Name: optionKeyless, Write: true, Doc: "layer: columns, as in 0 or 0,1, without keys in their index: smaller, but not searchable by value and unreadable by other readers (default: none)"},
		{Name: optionSelf, Write: true, Bool: true, Doc: "layer: false omits the record with the types of the columns (default true; other readers ignore it)"},
		{Name: optionName, Write: true, Doc: "layer: a descriptive name stored in the file (default: none)"},
		{Name: optionSettings, Write: true, Doc: "layer: settings stored in the file, as in KEY=VALUE,KEY=VALUE (default: none)"},
		{Name: optionCompression, Write: true, Doc: "layer: compression of blocks: none, snappy, lz4 or zstd (default none)"},
		{Name: optionBlock, Write: true, Doc: "layer: target size of blocks in bytes (default 8192, 65536 if the file is read over a network)"},
		{Name: optionBranch, Write: true, Doc: "layer: minimum number of values or children per block, regardless of their size (default 32)"},
		{Name: optionSorted, Write: true, Bool: true, Doc: "layer: true writes rows in input order, which must be the order of their keys (default: sort them)"},
		{Name: optionMemory, Write: true, Doc: "layer: memory for sorting in MiB before it spills to temporary files (default 64)"},
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
	optionTypes        = "types"
	optionFilter       = "filter"
	optionCompression  = "block-compression"
	optionBlock        = "block-bytes"
	optionBranch       = "min-branch"
	optionSorted       = "sorted"
	optionFilterBits   = "filter-bits"
	optionFilterMinKey = "filter-min-key-bytes"
	optionKeyless      = "no-value-index"
	optionSelf         = "self-describing"
	optionName         = "layer-name"
	optionSettings     = "layer-settings"
	optionMemory       = "sort-memory"
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
	filter, err := o.Settings.OneOf(optionFilter, string(NoFilter), string(Bloom), string(Roaring), string(Partitioned))
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
	return out, out.extend(o.Settings)
}

// extend takes those settings in that version 5 has no space for.
func (o *WriteOptions) extend(s fileformat.Settings) error {
	bits, err := s.Int(optionFilterBits, DefaultFilterBits, 8, 16)
	if err != nil {
		return err
	}
	minKey, err := s.Int(optionFilterMinKey, 0, 0, maxBlock)
	if err != nil {
		return err
	}
	o.FilterBits, o.FilterMinKey, o.Name = int(bits), int(minKey), s[optionName]
	o.SelfDescribing = true
	if _, given := s[optionSelf]; given {
		if o.SelfDescribing, err = s.Bool(optionSelf); err != nil {
			return err
		}
	}
	if text, given := s[optionKeyless]; given {
		for _, column := range strings.Split(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(column))
			if err != nil {
				return &fileformat.OptionError{Name: optionKeyless, Value: text, What: "numbers of columns, as in 0,1"}
			}
			o.NoValueIndex = append(o.NoValueIndex, n)
		}
	}
	if text, given := s[optionSettings]; given {
		for _, pair := range strings.Split(text, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return &fileformat.OptionError{Name: optionSettings, Value: text, What: "settings, as in KEY=VALUE,KEY=VALUE"}
			}
			o.Settings = append(o.Settings, Setting{key, value})
		}
	}
	return nil
}
