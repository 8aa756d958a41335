package readertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// difference reports where the lines of JSON differ, nothing if they are the same records of a schema. The order of the keys of an
// object does not count, nor how a number is spelled: integers are the same if they are equal, floats if they are the same float of
// the column's type. Without a schema, numbers are integers or float64 by how they are spelled.
func difference(got, want []byte, s *schema.Schema) string {
	types := fieldTypes(s)
	n := 0
	next := func(b *[]byte) ([]byte, bool) {
		line, rest, found := bytes.Cut(*b, []byte("\n"))
		*b = rest
		return line, found || len(line) > 0
	}
	for ; ; n++ {
		g, more := next(&got)
		w, wanted := next(&want)
		switch {
		case !more && !wanted:
			return ""
		case !more:
			return fmt.Sprintf("%d records, more are there", n)
		case !wanted:
			return fmt.Sprintf("more than %d records", n)
		case bytes.Equal(g, w):
			continue
		}
		x, err := decode(g)
		if err != nil {
			return fmt.Sprintf("record %d is not JSON: %v", n, err)
		}
		y, err := decode(w)
		if err != nil {
			return fmt.Sprintf("record %d of the kit is not JSON: %v", n, err)
		}
		if path := membersDiffer(x, y, types); path != "" {
			return fmt.Sprintf("record %d%s", n, path)
		}
	}
}

// fieldTypes are the fields of a schema by name.
func fieldTypes(s *schema.Schema) func(name string) *schema.Node {
	return func(name string) *schema.Node {
		if s == nil {
			return nil
		}
		return named(s.Fields, name)
	}
}

// named is the node of a name, nil if there is none.
func named(nodes []*schema.Node, name string) *schema.Node {
	for _, n := range nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

func decode(line []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = fmt.Errorf("more than one value in a line")
	}
	return v, err
}

// differs gives where two values of a node differ and how, nothing if they are the same. The node is nil where values have no type.
func differs(got, want any, n *schema.Node) string {
	if n != nil && n.Basic == schema.Union {
		for _, variant := range n.Children { // the value alone does not report which one it is
			if differs(got, want, variant) == "" {
				return ""
			}
		}
		return unequal(got, want)
	}
	switch w := want.(type) {
	case map[string]any:
		return membersDiffer(got, w, membersOf(n))
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return unequal(got, want)
		}
		for i := range w {
			if at := differs(g[i], w[i], itemOf(n)); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
		return ""
	case json.Number:
		if g, ok := got.(json.Number); ok && sameNumber(g, w, n) {
			return ""
		}
		return unequal(got, want)
	}
	if got != want {
		return unequal(got, want)
	}
	return ""
}

// membersDiffer is differs of two objects.
func membersDiffer(got, want any, typeOf func(name string) *schema.Node) string {
	g, ok := got.(map[string]any)
	w, wanted := want.(map[string]any)
	if !ok || !wanted || len(g) != len(w) {
		return unequal(got, want)
	}
	names := make([]string, 0, len(w))
	for name := range w {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		v, there := g[name]
		if !there {
			return fmt.Sprintf(", no %q", name)
		}
		if at := differs(v, w[name], typeOf(name)); at != "" {
			return fmt.Sprintf(", %s%s", name, at)
		}
	}
	return ""
}

// itemOf is the type of the items of a list; those of a map are entries, of the map's own node.
func itemOf(n *schema.Node) *schema.Node {
	switch {
	case n == nil:
		return nil
	case n.Basic == schema.Map:
		return n
	case (n.Basic == schema.List || n.Basic == schema.FixedSizeList) && len(n.Children) == 1:
		return n.Children[0]
	}
	return nil
}

// membersOf gives the types of the members of an object: the fields of a struct, or key and value of an entry.
func membersOf(n *schema.Node) func(name string) *schema.Node {
	return func(name string) *schema.Node {
		switch {
		case n == nil:
			return nil
		case n.Basic == schema.Map && len(n.Children) == 2 && name == "key":
			return n.Children[0]
		case n.Basic == schema.Map && len(n.Children) == 2 && name == "value":
			return n.Children[1]
		case n.Basic == schema.Struct:
			return named(n.Children, name)
		}
		return nil
	}
}

func unequal(got, want any) string { return fmt.Sprintf(": %v, want %v", got, want) }

// sameNumber compares floats as floats of their width, with the sign of zero, and integers as integers. A number without a type is an
// integer if both are spelled as one.
func sameNumber(a, b json.Number, n *schema.Node) bool {
	if a == b {
		return true
	}
	bits := 64
	switch {
	case n == nil || n.Basic == schema.Binary: // the JSON of a dynamic value has no types
		if !strings.ContainsAny(string(a)+string(b), ".eE") && !strings.HasPrefix(string(a), "-0") && !strings.HasPrefix(string(b), "-0") {
			return false
		}
	case n.Basic == schema.Float32:
		bits = 32
	case n.Basic != schema.Float64:
		return false // integers have one spelling
	}
	x, err := strconv.ParseFloat(string(a), bits)
	y, err2 := strconv.ParseFloat(string(b), bits)
	return err == nil && err2 == nil && math.Float64bits(x) == math.Float64bits(y)
}
