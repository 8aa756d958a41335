package fileio

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ErrColumn is a column of SourceOptions.Types that the inputs don't have.
var ErrColumn = errors.New("column")

// advised adds to an error of a record's content what would take it; found is what was inferred, if anything was.
func advised(err error, found *Inference, o SourceOptions) error {
	var f *fieldError
	if !errors.As(err, &f) {
		return err
	}
	var advice []string
	switch {
	case f.unknown:
		if found != nil {
			advice = append(advice, "it does not occur in the first "+plural.Count(found.Rows, "record"))
		}
		advice = append(advice, "--unknown-fields extend adds it, --unknown-fields drop omits it")
	case f.wants != "":
		name, _, _ := strings.Cut(f.path, ".")
		if f.path == name {
			advice = append(advice, fmt.Sprintf("%s holds it", f.wants))
			if o.Schema == nil {
				advice[0] = fmt.Sprintf("--column '%s: %s' holds it", quotedName(name), f.wants)
			}
		} else {
			advice = append(advice, fmt.Sprintf("--column '%s: Dynamic' holds it", quotedName(name)))
		}
		if o.Format == CSV && f.text != "" {
			advice = append(advice, fmt.Sprintf("--null '%s' reads it as null", f.text))
		}
		if found != nil {
			advice = append(advice, fmt.Sprintf("--infer-rows 0 infers types from all records instead of the first %d", found.Rows))
		}
	default:
		return err
	}
	return &fieldError{path: f.path, err: fmt.Errorf("%w: %s", f.err, strings.Join(advice, "; "))}
}

// quotedName is a column's name as the short form of schemas wants it.
func quotedName(name string) string {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return `"` + strings.ReplaceAll(name, `"`, `\"`) + `"`
		}
	}
	return name
}

// wanting is an error of a value that another type would hold.
func wanting(path string, holder string, text []byte, format string, args ...any) error {
	e := &fieldError{path: path, err: fmt.Errorf(format, args...), wants: holder}
	if len(text) <= maxExample {
		e.text = string(text)
	}
	return e
}

// numberHolder is a type that holds a number which another type of numbers doesn't.
func numberHolder(token []byte) string {
	g := guess{}
	g.number(token)
	if _, err := strconv.ParseFloat(string(token), 64); g.fraction && err != nil {
		if _, err := decimal.Parse(string(token)); err == nil {
			return "Decimal"
		}
		return "Dynamic"
	}
	n := &schema.Node{}
	g.numeric(n)
	return n.TypeName()
}

// textHolder is a type that holds the text of a CSV field.
func textHolder(text []byte) string {
	switch k, token := (&numberText{point: '.'}).kind(text); k {
	case kindNumber:
		return numberHolder(token)
	case kindBoolean:
		return "Boolean"
	}
	return "String"
}
