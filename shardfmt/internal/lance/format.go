package lance

import (
	"context"
	"math"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Format is the format as the other packages see it.
var Format = &fileformat.Format{
	Name:     "lance",
	Suffixes: []string{".lance"},
	Options: []fileformat.Option{
		{Name: optionPageBytes, Write: true, Doc: "Lance: maximum size of a page of a column in bytes (default 8388608)"},
		{Name: optionCompression, Write: true, Doc: "Lance: compression of strings and binary values, none, zstd or lz4 (default none)"},
		{Name: optionLevel, Write: true, Doc: "Lance: level of --lance-compression zstd, 1 to 22, stored with the data (default: the fastest, not stored)"},
		{Name: optionPlain, Write: true, Bool: true, Doc: "Lance: true stores strings without dictionaries, even if few are distinct (default false)"},
		{Name: optionShared, Write: true, Bool: true, Doc: "Lance: true stores dictionary items once per column (default false: once per page)"},
		{Name: optionNullStructs, Write: true, Doc: "Lance: null structs, refuse or push-down (default refuse; --allow-lossy pushes down and counts)"},
		{Name: optionZones, Write: true, Doc: "Lance: columns of numbers, separated by commas, that get a zone map, by which --where leaves rows out; other readers refuse these columns (default none)"},
		{Name: optionZoneRows, Write: true, Doc: "Lance: rows of a zone of --zone-index (default 8192)"},
	},
	Sniff: func(_, tail []byte) bool {
		return len(tail) >= 4 && string(tail[len(tail)-4:]) == magic
	},
	Open: func(ctx context.Context, st fileformat.Store, url string, _ fileformat.OpenOptions) (fileformat.File, error) {
		return Open(ctx, st, url)
	},
	NewSink: newSink,
}

// The names of the settings, and of what null structs become.
const (
	optionPageBytes   = "page-bytes"
	optionCompression = "lance-compression"
	optionLevel       = "lance-compression-level"
	optionPlain       = "plain-strings"
	optionShared      = "shared-dictionary"
	optionNullStructs = "null-structs"
	optionZones       = "zone-index"
	optionZoneRows    = "zone-rows"
	refuse            = "refuse"
	pushDown          = "push-down"
)

// WriteSettings turns settings into options.
func WriteSettings(o fileformat.SinkOptions) (out WriteOptions, err error) {
	s := o.Settings
	bytes, err := s.Int(optionPageBytes, DefaultPageBytes, 64, math.MaxInt32)
	if err != nil {
		return out, err
	}
	out.PageBytes = int(bytes)
	if out.Compression, err = s.OneOf(optionCompression, "none", schemeZstd, schemeLz4); err != nil {
		return out, err
	}
	if out.Compression == "none" {
		out.Compression = ""
	}
	if text, given := s[optionLevel]; given && out.Compression != schemeZstd {
		return out, &fileformat.OptionError{Name: optionLevel, Value: text, What: "it needs --" + optionCompression + " " + schemeZstd}
	}
	level, err := s.Int(optionLevel, 0, 1, 22)
	if err != nil {
		return out, err
	}
	out.CompressionLevel = int(level)
	if out.PlainStrings, err = s.Bool(optionPlain); err != nil {
		return out, err
	}
	if out.SharedDictionary, err = s.Bool(optionShared); err != nil {
		return out, err
	}
	nulls, err := s.OneOf(optionNullStructs, refuse, pushDown)
	if err != nil {
		return out, err
	}
	out.PushDownNulls, out.AllowLossy = nulls == pushDown, o.AllowLossy
	if columns := s[optionZones]; columns != "" {
		out.ZoneColumns = strings.Split(columns, ",")
	}
	rows, err := s.Int(optionZoneRows, DefaultZoneRows, 1, math.MaxUint32)
	out.ZoneRows = int(rows)
	return out, err
}
