package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// dialectFlags are those of text input: the encoding, the dialect of CSV, and the types of columns.
type dialectFlags struct {
	cmd                                                  *cobra.Command
	quote, escape, comment, decimal, thousands, encoding string
	comma, header, zone                                  string
	columns, nulls, dateFormats                          []string
	skip, maxRejects, inferRows                          int
	pad, noHeader                                        bool
	rejectFile                                           string
	rejects                                              *rejectFile
	warn                                                 func(string)
}

// defaultMaxRejects is how many records may be rejected without a word on how many.
const defaultMaxRejects = 1000

// dialectNames are the flags that only text has a use for.
var dialectNames = []string{"quote", "escape", "comment", "skip", "pad", "decimal", "thousands", "encoding", "comma", "header", "no-header",
	"null", "column", "infer-rows", "date-format", "time-zone", "reject-file", "max-rejects"}

// errColumnOfSchema refuses two sources of the type of a column.
var errColumnOfSchema = usagef("--column can't be used with --schema: change the schema")

// add declares the flags, with those for rejected records where a command has use for them.
func (f *dialectFlags) add(cmd *cobra.Command, rejects bool) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.StringArrayVar(&f.columns, "column", nil, "type of a column instead of the inferred one: 'NAME: TYPE' (repeatable)")
	flags.IntVar(&f.inferRows, "infer-rows", fileio.DefaultInferRows, "number of records to infer types from; 0 reads all of them first")
	flags.StringVar(&f.header, "header", "auto", "whether CSV files have a header: auto, yes or no")
	flags.BoolVar(&f.noHeader, "no-header", false, "same as --header no")
	flags.StringVar(&f.comma, "comma", "", "CSV field separator: one character, or comma, tab, semicolon, pipe, space, colon (default: detected)")
	flags.StringArrayVar(&f.nulls, "null", nil, "CSV text that means null (repeatable; default: "+
		strings.Join(fileio.DefaultNulls, " ")+", where a column holds no text)")
	flags.StringArrayVar(&f.dateFormats, "date-format", nil, "strftime format of times in text, such as %d/%m/%Y; ISO 8601 is always accepted (repeatable)")
	flags.StringVar(&f.zone, "time-zone", "UTC", "time zone of times without one: UTC, Local or a name such as Europe/Berlin")
	flags.StringVar(&f.quote, "quote", "", `quote of CSV fields: one character, or none to read quotes as text (default: ")`)
	flags.StringVar(&f.escape, "escape", "", `CSV escape character, such as \ (default: none; quotes in quoted fields are doubled)`)
	flags.StringVar(&f.comment, "comment", "", "CSV comment character (default: none)")
	flags.IntVar(&f.skip, "skip", 0, "number of lines to skip at the start of each CSV file")
	flags.BoolVar(&f.pad, "pad", false, "read missing trailing CSV fields as null (default: reject the record)")
	flags.StringVar(&f.decimal, "decimal", "", "decimal separator of CSV numbers: . or , (default: .)")
	flags.StringVar(&f.thousands, "thousands", "", "thousands separator of CSV numbers (default: none)")
	flags.StringVar(&f.encoding, "encoding", "", "encoding of text: utf-8, utf-16le, utf-16be, latin-1 (iso-8859-1) or windows-1252 (cp1252) (default: utf-8, or utf-16 by its byte order mark)")
	if rejects {
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.finish(run(cmd, args)) }
		flags.StringVar(&f.rejectFile, "reject-file", "", "write invalid CSV records with file, line, reason and text to this file (NDJSON for .ndjson, else CSV) and continue (default: fail at the first one)")
		flags.IntVar(&f.maxRejects, "max-rejects", defaultMaxRejects, "maximum number of rejected records before the run fails")
	}
}

// unused refuses the flags for a format that is not text.
func (f *dialectFlags) unused(kind fileio.Format) error {
	for _, name := range dialectNames {
		if f.cmd.Flags().Changed(name) {
			return usagef("--%s applies to text, but the input is %s", name, kind)
		}
	}
	return nil
}

// fit refuses the flags that input of a format does not have.
func (f *dialectFlags) fit(kind fileio.Format, o fileio.SourceOptions) error {
	if kind != fileio.NDJSON && kind != fileio.CSV {
		return f.unused(kind)
	}
	o.Format = kind
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// options turns the flags into options of a source.
func (f *dialectFlags) options(a *app, o *fileio.SourceOptions) error {
	for _, c := range []struct {
		name, text string
		to         *byte
	}{
		{"quote", f.quote, &o.Quote}, {"escape", f.escape, &o.Escape}, {"comment", f.comment, &o.Comment},
		{"decimal", f.decimal, &o.Decimal}, {"thousands", f.thousands, &o.Thousands},
	} {
		switch {
		case c.text == "" && !f.cmd.Flags().Changed(c.name):
		case c.name == "quote" && (c.text == "none" || c.text == ""):
			o.Quote = fileio.NoQuote
		case len(c.text) != 1:
			return usagef("invalid argument %q for --%s: one ASCII character", c.text, c.name)
		default:
			*c.to = c.text[0]
		}
	}
	o.Skip, o.Pad, o.Encoding = f.skip, f.pad, encodingOf(f.encoding)
	if err := f.columnOptions(o); err != nil {
		return err
	}
	if f.rejectFile == "" {
		if f.cmd.Flags().Changed("max-rejects") {
			return usagef("--max-rejects needs --reject-file")
		}
		return nil
	}
	if f.maxRejects < 0 {
		return usagef("invalid argument %d for --max-rejects", f.maxRejects)
	}
	if _, err := os.Lstat(f.rejectFile); err == nil {
		return fmt.Errorf("%s: %w", f.rejectFile, blobio.ErrExists)
	}
	f.rejects, f.warn = &rejectFile{path: f.rejectFile, most: f.maxRejects}, a.warn
	o.Reject = f.rejects.add
	return nil
}

// encodingNames are other names of encodings.
var encodingNames = map[string]fileio.Encoding{
	"utf8": fileio.UTF8, "utf16le": fileio.UTF16LE, "utf16be": fileio.UTF16BE, "latin1": fileio.Latin1, "iso-8859-1": fileio.Latin1,
	"iso8859-1": fileio.Latin1, "iso_8859-1": fileio.Latin1, "cp1252": fileio.Windows1252,
}

// encodingOf is the encoding of a name, in upper or lower case.
func encodingOf(name string) fileio.Encoding {
	name = strings.ToLower(name)
	if e, ok := encodingNames[name]; ok {
		return e
	}
	return fileio.Encoding(name)
}

// columnOptions turns the flags for fields and their types into options of a source.
func (f *dialectFlags) columnOptions(o *fileio.SourceOptions) (err error) {
	o.InferRows, o.Nulls, o.DateFormats, o.Header = f.inferRows, f.nulls, f.dateFormats, fileio.Header(f.header)
	switch {
	case f.inferRows < 0:
		return usagef("invalid argument %d for --infer-rows", f.inferRows)
	case f.inferRows == 0:
		o.InferRows = fileio.AllRows
	}
	if f.noHeader {
		if o.Header == fileio.WithHeader {
			return usagef("--no-header contradicts --header yes")
		}
		o.Header = fileio.NoHeader
	}
	if f.comma != "" {
		if o.Comma, err = parseComma(f.comma); err != nil {
			return usagef("invalid argument for --comma: %w", err)
		}
	}
	if o.TimeZone, err = time.LoadLocation(f.zone); err != nil {
		return usagef("--time-zone: %w", err)
	}
	for _, column := range f.columns {
		s, err := schema.Parse(column)
		if err != nil {
			return usagef("--column %s: %w", column, err)
		}
		o.Types = append(o.Types, s.Fields...)
	}
	return nil
}

// finish closes the file of rejected records, and reports how many there are; err is what the run ended with.
func (f *dialectFlags) finish(err error) error {
	if f.rejects == nil {
		return err
	}
	err = errors.Join(err, f.rejects.close())
	if n := f.rejects.n; n > 0 && err == nil {
		f.warn(fmt.Sprintf("rejected %s: %s", plural.Count(n, "record"), f.rejectFile))
	}
	return err
}

// rejectFile takes rejected records; the file is made with the first one. Safe for concurrent use.
type rejectFile struct {
	path string
	most int

	mu   sync.Mutex
	n    int
	file *os.File
	csv  *csv.Writer
	json *json.Encoder
}

// rejectedJSON is a rejected record in a file of NDJSON.
type rejectedJSON struct {
	File   string `json:"file"`
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

func (r *rejectFile) add(x fileio.Rejected) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == r.most {
		err := fmt.Errorf("%s: more than %s (--max-rejects)", x.Reason, plural.Count(r.most, "invalid record"))
		return &fileio.RecordError{Input: x.Input, Line: x.Line, Err: err}
	}
	if r.file == nil {
		if err := r.create(); err != nil {
			return err
		}
	}
	r.n++
	if r.json != nil {
		return r.json.Encode(rejectedJSON{x.Input, x.Line, x.Reason, x.Text})
	}
	return r.csv.Write([]string{x.Input, strconv.FormatInt(x.Line, 10), x.Reason, x.Text})
}

func (r *rejectFile) create() (err error) {
	if r.file, err = os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return err
	}
	switch filepath.Ext(r.path) {
	case ".ndjson", ".jsonl", ".json":
		r.json = json.NewEncoder(r.file)
		r.json.SetEscapeHTML(false)
		return nil
	}
	r.csv = csv.NewWriter(r.file)
	return r.csv.Write([]string{"file", "line", "reason", "text"})
}

func (r *rejectFile) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	var err error
	if r.csv != nil {
		r.csv.Flush()
		err = r.csv.Error()
	}
	err = errors.Join(err, r.file.Close())
	r.file = nil
	return err
}

// commaNames are the separators of CSV fields that have a name.
var commaNames = map[string]byte{"comma": ',', "tab": '\t', `\t`: '\t', "semicolon": ';', "pipe": '|', "space": ' ', "colon": ':'}

// parseComma reads a separator of CSV fields: one of commaNames, or the byte itself.
func parseComma(text string) (byte, error) {
	if c, ok := commaNames[text]; ok {
		return c, nil
	}
	if len(text) != 1 {
		return 0, fmt.Errorf("%q: one byte, or comma, tab, semicolon, pipe, space, colon", text)
	}
	return text[0], nil
}
