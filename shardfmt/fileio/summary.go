package fileio

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Inference is what was found out about inputs that come without types.
type Inference struct {
	Format Format `json:"format"`
	// Comma and Header of the first CSV input.
	Comma  string `json:"comma,omitempty"`
	Header *bool  `json:"header,omitempty"`
	// Rows that were looked at.
	Rows int64 `json:"rows"`
	// Given: the types were given or came with the file.
	Given bool `json:"-"`
	// Fields in the order of the schema.
	Fields []InferredField `json:"fields"`
}

// InferredField is one column.
type InferredField struct {
	Name string `json:"name"`
	// Type in the short form of schemas.
	Type string `json:"type"`
	// Nulls among the rows looked at, and the text of the first value that is not null.
	Nulls   int64  `json:"nulls"`
	Example string `json:"example"`
	// Notes are what a reader should know: why the type is Dynamic, which texts stand for null, which zone times are in.
	Notes []string `json:"notes,omitempty"`

	// folders: the names of folders give its values, and nobody looked at how many rows have null.
	folders bool
}

// InferenceOf is what a source found out, or, where types were given or came with the file, those; Rows is 0 then, as none was looked at.
func InferenceOf(s Source) *Inference {
	if in := inferenceOf(s); in != nil {
		return in
	}
	out := &Inference{Given: true}
	for _, n := range s.Schema().Fields {
		out.Fields = append(out.Fields, InferredField{Name: n.Name, Type: shortType(n)})
	}
	return out
}

// inferenceOf is what a source found out, or nil where it did not look.
func inferenceOf(s Source) *Inference {
	if i, ok := s.(interface{ inferred() *Inference }); ok {
		return i.inferred()
	}
	return nil
}

// summary describes an inference; s is its schema, after columns with given types.
func (in *inference) summary(o SourceOptions, s *schema.Schema) *Inference {
	out := &Inference{Format: o.Format, Rows: in.rows}
	for _, n := range s.Fields {
		f := InferredField{Name: n.Name, Type: shortType(n), Nulls: in.rows}
		if g := in.root.members[n.Name]; g != nil {
			f.Nulls, f.Example = in.rows-g.values, g.example
			if o.Nulls == nil && holdsText(n) { // there they are text
				f.Nulls -= g.nullTexts
				f.Example = cmp.Or(f.Example, g.nullText)
			}
			f.Notes = in.notesOf(g, n, o)
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

// notesOf reports what is worth knowing of a field and of those in it.
func (in *inference) notesOf(g *guess, n *schema.Node, o SourceOptions) []string {
	var notes []string
	var walk func(g *guess, prefix string)
	walk = func(g *guess, prefix string) {
		for _, note := range g.notes {
			if g.path == n.Name && !n.IsDynamic() {
				continue // another type was given
			}
			notes = append(notes, prefix+"Dynamic, because "+note)
		}
		if g.kind == kindNumber && g.beyondDecimal && !g.fraction && !g.special {
			notes = append(notes, prefix+"integers of more than 34 digits, which no numeric type holds exactly, are kept as text")
		}
		if g.kind == kindNumber && g.beyondInt64 && (g.fraction || g.special) {
			notes = append(notes, prefix+"integers of 19 digits and more are rounded to Float64 (a column of type Decimal holds 34 digits)")
		}
		if g.isTime() && g.dateOnly {
			notes = append(notes, prefix+in.times.notes[literal.DateOnly])
		}
		if g.isTime() && g.zoneless {
			notes = append(notes, prefix+in.times.notes[literal.Zoneless])
		}
		if g.item != nil {
			walk(g.item, prefix)
		}
		for _, name := range g.names {
			walk(g.members[name], name+": ")
		}
	}
	walk(g, "")
	switch {
	case g.nullText == "":
	case o.Nulls != nil || !holdsText(n):
		notes = append(notes, fmt.Sprintf("%q is read as null (--null)", g.nullText))
	default:
		notes = append(notes, fmt.Sprintf("%q is kept as text (--null '%s' reads it as null)", g.nullText, g.nullText))
	}
	const most = 5
	if len(notes) > most {
		notes = append(notes[:most], "and "+plural.Count(len(notes)-most, "more note"))
	}
	return notes
}

// shortType is a type in the short form of schemas, nested types to their second level.
func shortType(n *schema.Node) string { return shortTypeTo(n, 2) }

func shortTypeTo(n *schema.Node, depth int) string {
	if len(n.Children) == 0 {
		return n.TypeName()
	}
	if depth == 0 {
		return n.TypeName() + "<…>"
	}
	var parts []string
	for i, c := range n.Children {
		if i == 8 {
			parts = append(parts, "…")
			break
		}
		part := shortTypeTo(c, depth-1)
		if n.Basic == schema.Struct {
			part = c.Name + ": " + part
		}
		parts = append(parts, part)
	}
	return n.TypeName() + "<" + strings.Join(parts, ", ") + ">"
}

// Lines prints an inference for people: a line on the input, and one for each of the first fields; max < 0 prints all.
func (in *Inference) Lines(max int) []string {
	if in.Format == "" {
		return in.fieldLines("types as given:", max)
	}
	head := string(in.Format)
	if in.Header != nil {
		header := "no header line (--header)"
		if *in.Header {
			header = "the first line is the header"
		}
		head += fmt.Sprintf(", separator '%s', %s", in.Comma, header)
	}
	return in.fieldLines(fmt.Sprintf("types inferred from %s of %s:", plural.Count(in.Rows, "row"), head), max)
}

// fieldLines prints a heading and the first fields.
func (in *Inference) fieldLines(heading string, max int) []string {
	lines, name, typ := []string{heading}, 0, 0
	fields := in.Fields
	if max >= 0 && len(fields) > max {
		fields = fields[:max]
	}
	const widest = 40
	for _, f := range fields {
		name, typ = min(widest, longer(name, f.Name)), min(widest, longer(typ, f.Type))
	}
	for _, f := range fields {
		line := fmt.Sprintf("  %-*s  %-*s  %s  e.g. %s", name, f.Name, typ, f.Type, plural.Count(f.Nulls, "null"), f.Example)
		switch {
		case in.Format == "":
			line = fmt.Sprintf("  %-*s  %s", name, f.Name, f.Type)
		case f.folders && f.Example != "":
			line = fmt.Sprintf("  %-*s  %-*s  e.g. %s", name, f.Name, typ, f.Type, f.Example)
		case f.Example == "":
			line = fmt.Sprintf("  %-*s  %-*s  only nulls", name, f.Name, typ, f.Type)
		}
		if len(f.Notes) > 0 {
			line += "  (" + strings.Join(f.Notes, "; ") + ")"
		}
		lines = append(lines, line)
	}
	if n := len(in.Fields) - len(fields); n > 0 {
		lines = append(lines, fmt.Sprintf("  … and %s (--dry-run shows all)", plural.Count(n, "more field")))
	}
	return lines
}

// longer is n, or the length of a text that is longer.
func longer(n int, text string) int {
	if w := utf8.RuneCountInString(text); w > n {
		return w
	}
	return n
}

// override replaces the types of columns that were given.
func override(s *schema.Schema, columns []*schema.Node) (*schema.Schema, error) {
	if len(columns) == 0 {
		return s, nil
	}
	out := &schema.Schema{}
	given := map[string]*schema.Node{}
	for _, c := range columns {
		given[c.Name] = c
	}
	for _, f := range s.Fields {
		if c := given[f.Name]; c != nil {
			f = cloneNode(c)
			delete(given, f.Name)
		}
		out.Fields = append(out.Fields, f)
	}
	for _, c := range columns {
		if given[c.Name] != nil {
			return nil, fmt.Errorf("%w %q: the inputs have no such column", ErrColumn, c.Name)
		}
	}
	out.Number()
	return out, nil
}

// overrideNew gives columns that extend the schema of the options the types of the options; those of the schema have theirs.
func overrideNew(s *schema.Schema, o SourceOptions) (*schema.Schema, error) {
	for _, c := range o.Types {
		for _, f := range o.Schema.Fields {
			if f.Name == c.Name && f.TypeName() != c.TypeName() {
				return nil, fmt.Errorf("%w %q: the table has it with type %s, which is used", ErrColumn, c.Name, f.TypeName())
			}
		}
	}
	types := slices.DeleteFunc(slices.Clone(o.Types), func(c *schema.Node) bool {
		return slices.ContainsFunc(o.Schema.Fields, func(f *schema.Node) bool { return f.Name == c.Name })
	})
	return override(s, types)
}
