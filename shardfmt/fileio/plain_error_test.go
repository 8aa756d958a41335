package fileio

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// foreignWords are names of libraries and of Go's runtime, which report nothing to the owner of the file.
var foreignWords = regexp.MustCompile(`runtime error|slice bounds|index out of range|makeslice|nil pointer|interface conversion|arrow/|[^.]arrow: |[^.]parquet: |thrift|unexpected EOF|eof exception|panic`)

// Damaged files are refused in plain words, as damaged or not supported.
func TestDamagedFilesInPlainWords(t *testing.T) {
	files, err := filepath.Glob("testdata/damaged/*")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		want := corrupt.ErrCorrupt
		if filepath.Base(file) == "encrypted.parquet" {
			want = corrupt.ErrUnsupported
		}
		rows, err := rowsIn(t, SourceOptions{}, file)
		if !errors.Is(err, want) {
			t.Errorf("%s: %q, %v", file, rows, err)
		} else if words := foreignWords.FindString(strings.TrimPrefix(err.Error(), file)); words != "" {
			t.Errorf("%s: %q in %q", file, words, err)
		}
	}
}

// A message keeps what it states about the file, and loses what it states about a library.
func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		`column "a", row group 2: parquet: deserializing page header failed`:                               `column "a", row group 2: the header of a page can't be read`,
		`column "a", row group 2: the reader gives up: runtime error: index out of range [3]`:              `column "a", row group 2: ` + contradiction,
		"arrow/ipc: unknown error while reading: runtime error: slice bounds out of range [:4112]":         contradiction,
		"parquet: uncompressed page ends: unexpected EOF":                                                  "uncompressed page ends: the bytes end too early",
		`column "b", row group 0: 24 values in 25 rows`:                                                    `column "b", row group 0: 24 values in 25 rows`,
		"parquet: could not read footer: *parquet.SchemaElement error reading struct: Unknown data type 0": badFooter,
		"could not decode schema from message schema: could not convert field 4 from flatbuf: no":          badSchema,
		`column "a", row group 0: metadata said 21 bytes uncompressed data page, got 149 bytes`:            `column "a", row group 0: ` + contradiction,
		"parquet: file is smaller than indicated metadata size":                                            "the footer that its end states is longer than the file",
		"parquet: dict unexpected EOF":                                                                     badPage,
		"arrow/ipc: unknown error while writing: arrow/array: index out of range":                          contradiction,
	} {
		if got := plainText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
