package fileio

import (
	"fmt"
	"strings"
)

// plainError is an error of a library in words for whoever has the file: without the library's own names, and without those of Go's runtime.
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
	"arrow/ipc: ", "", "arrow/array: ", "", "arrow: ", "", "parquet: ", "", "parquet/compress: ", "", "unknown error while reading: ", "",
	"*parquet.", "", "unexpected EOF", "the bytes end too early", "eof exception", "the bytes end too early", "thrift", "footer",
	"deserializing page header failed", "the header of a page can't be read",
	"column in rowgroup is encrypted, but no file decryptor", "the file is encrypted, which is not read",
	"cannot decrypt column metadata. file decryption not setup correctly", "the file is encrypted, which is not read",
	"compression for <UNSET> unimplemented", "a codec that is not known",
	"magic bytes not found in footer. Either the file is corrupted or this isn't a parquet file", "it does not end as a Parquet file does",
)

func plainText(text string) string {
	for _, word := range []string{"runtime error", "interface conversion", "nil pointer", "reflect:"} {
		if strings.Contains(text, word) {
			if at := strings.Index(text, ", row group "); at > 0 && strings.HasPrefix(text, "column ") { // which column
				if end := strings.Index(text[at:], ": "); end > 0 {
					return text[:at+end] + ": " + contradiction
				}
			}
			return contradiction
		}
	}
	return libraryWords.Replace(text)
}

// panicked is what a library gave up with, in plain words.
func panicked(v any) string { return plainText(fmt.Sprint(v)) }
