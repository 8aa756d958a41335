package fileio

import (
	"fmt"
	"strings"
)

// plainError is an error of a library in words for the reader of a message: without the library's own names, and without those of Go's runtime.
type plainError struct {
	text string
	err  error
}

// Error implements error.
func (e *plainError) Error() string { return e.text }

// Unwrap gives the library's error.
func (e *plainError) Unwrap() error { return e.err }

// plainly gives an error in plain words; one that has them already comes back as it is.
func plainly(err error) error {
	if text := plainText(err.Error()); text != err.Error() {
		return &plainError{text, err}
	}
	return err
}

// contradiction is what Go's runtime means when it stops a library over a file.
const contradiction = "lengths or positions in the file contradict each other"

// libraryWords are the words of libraries and what is reported instead; prefixes go.
var libraryWords = strings.NewReplacer(
	"arrow/ipc: ", "", "arrow/array: ", "", "arrow: ", "", "parquet: ", "", "parquet/compress: ", "", "unknown error while reading: ", "", "unknown error while writing: ", "",
	"error constructing variant at index 0: ", "",
	"*parquet.", "", "unexpected EOF", "the bytes end too early", "eof exception", "the bytes end too early", "thrift", "footer",
	"deserializing page header failed", "the header of a page can't be read",
	"column in rowgroup is encrypted, but no file decryptor", "the file is encrypted, which is not read",
	"cannot decrypt column metadata. file decryption not setup correctly", "the file is encrypted, which is not read",
	"compression for <UNSET> unimplemented", "a codec that is not known",
	"file is smaller than indicated metadata size", "the footer that its end states is longer than the file",
	"magic bytes not found in footer. Either the file is corrupted or this isn't a parquet file", "it does not end as a Parquet file does",
)

// sentences are what is said in place of a whole text of a library that has some words.
var sentences = []struct{ words, plain string }{
	{"runtime error", contradiction}, {"interface conversion", contradiction}, {"nil pointer", contradiction}, {"reflect:", contradiction},
	{"index out of range", contradiction}, {"no leaf column readers", contradiction}, {"metadata said", contradiction}, {"delta byte array", contradiction},
	{"invalid column chunk metadata", contradiction}, {"array should have no nulls", contradiction}, {"delta prefix", contradiction},
	{"error reading struct", badFooter}, {"Unknown data type", badFooter}, {"invalid logical type", badFooter}, {"Required field", badFooter},
	{"column chunk metadata is missing", badFooter}, {"invalid physical column type", badFooter},
	{"could not decode schema", badSchema}, {"from flatbuf", badSchema},
	{"received invalid number of bytes", badPage}, {"negative page size", badPage}, {"corrupted bit width", badPage}, {"dict unexpected EOF", badPage},
	{"invalid BYTEARRAY length", "a decimal whose length does not fit its type"},
}

const (
	badFooter = "the footer can't be read"
	badSchema = "the schema can't be read"
	badPage   = "a page can't be read"
)

func plainText(text string) string {
	for _, s := range sentences {
		if !strings.Contains(text, s.words) {
			continue
		}
		if at := strings.Index(text, ", row group "); at > 0 && strings.HasPrefix(text, "column ") { // which column
			if end := strings.Index(text[at:], ": "); end > 0 {
				return text[:at+end] + ": " + s.plain
			}
		}
		return s.plain
	}
	return libraryWords.Replace(text)
}

// panicked is what a library gave up with, in plain words.
func panicked(v any) string { return plainText(fmt.Sprint(v)) }
