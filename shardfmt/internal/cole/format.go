package cole

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Format is the format as the other packages see it.
var Format = &fileformat.Format{
	Name:     "cole",
	Suffixes: []string{".col", ".cole"},
	Options: []fileformat.Option{
		{Name: optionGroupRows, Write: true, Doc: "COLE: number of rows per row group (default 65536)"},
		{Name: optionPageRows, Write: true, Doc: "COLE: number of rows per page; other readers read the first page of a chunk only (default: one page)"},
		{Name: optionEncoding, Write: true, Doc: "COLE: encodings, COL=plain|rle|delta|dictionary,… (default: by the first row group)"},
		{Name: optionNull, Write: true, Doc: "COLE: values in place of nulls, COL=VALUE,… (default: nulls are refused)"},
		{Name: optionCast, Write: true, Doc: "COLE: columns of other types, COL=text (as text) or COL=bits (floats as their bits) (default: they are refused)"},
		{Name: optionBinary, Read: true, Bool: true, Doc: "COLE: read strings as bytes that need not be UTF-8 (default false)"},
		{Name: optionStrict, Read: true, Bool: true, Doc: "COLE: true refuses pages with spare bytes or with an uncompressed size other than that of their data (default false)"},
	},
	Sniff: func(head, tail []byte) bool {
		return len(tail) >= footerSize && len(head) >= 4 && string(head[:4]) == headerMagic &&
			string(tail[len(tail)-footerSize:len(tail)-8]) == footerMagic
	},
	Open: func(ctx context.Context, st fileformat.Store, url string, o fileformat.OpenOptions) (fileformat.File, error) {
		read, err := readSettings(o.Settings)
		if err != nil {
			return nil, err
		}
		return Open(ctx, st, url, read)
	},
	NewSink: newSink,
}

// The names of the settings.
const (
	optionGroupRows = "row-group-rows"
	optionPageRows  = "page-rows"
	optionEncoding  = "cole-encoding"
	optionNull      = "null-value"
	optionCast      = "cast"
	optionBinary    = "binary-strings"
	optionStrict    = "strict-pages"
)

// readSettings turns settings into options.
func readSettings(s fileformat.Settings) (o Options, err error) {
	if o.BinaryStrings, err = s.Bool(optionBinary); err == nil {
		o.StrictPages, err = s.Bool(optionStrict)
	}
	return o, err
}
