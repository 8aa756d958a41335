package metapb_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

var update = flag.Bool("update", false, "write the table of directory.md anew")

const (
	page  = "../../../docs/format/directory.md"
	begin = "<!-- fields: from amudai.proto, by go test ./shardfmt/internal/metapb -update -->\n"
	end   = "<!-- /fields -->\n"
)

// kindName is the type of a field as the page has it.
func kindName(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return string(f.Message().Name())
	case protoreflect.EnumKind:
		return string(f.Enum().Name())
	}
	return f.Kind().String()
}

// tableOf is the rows of the messages of amudai.proto.
func tableOf() string {
	var b strings.Builder
	b.WriteString("| message | fields |\n|---|---|\n")
	file := metapb.File_amudai_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		var fields []string
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			text := fmt.Sprintf("%d %s *%s*", f.Number(), f.Name(), kindName(f))
			switch {
			case f.IsList():
				text += " …"
			case f.ContainingOneof() != nil && !f.ContainingOneof().IsSynthetic():
				text += " ¹"
			case f.HasOptionalKeyword():
				text += " ?"
			}
			fields = append(fields, text)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", m.Name(), strings.Join(fields, " · "))
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		var values []string
		for j := range e.Values().Len() {
			values = append(values, fmt.Sprintf("%d %s", e.Values().Get(j).Number(), e.Values().Get(j).Name()))
		}
		fmt.Fprintf(&b, "| %s (enum) | %s |\n", e.Name(), strings.Join(values, " · "))
	}
	return b.String()
}

// The page has every field of every message, with its number and type.
func TestPageHasAllFields(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table of fields", page)
	}
	want := tableOf()
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the table of fields in %s is not that of amudai.proto: go test ./shardfmt/internal/metapb -update", page)
	}
}
