package schema

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
)

// ErrInvalid is the error of a schema that is not well formed, as text or as a tree.
var ErrInvalid = errors.New("invalid schema")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// Validate checks what a writer must hold to: names of fields and of a Struct's children are there and
// unique (an internal field may lack one), those of a Union unique where they are there; every type has the
// children it needs, a Union at least one; sizes, depth and number of nodes are within limits. The error matches ErrInvalid and
// names the node.
func (s *Schema) Validate() error {
	v := validator{}
	if err := v.names(s.Fields, "the schema", true); err != nil {
		return err
	}
	for _, f := range s.Fields {
		if err := v.node(f, 1); err != nil {
			return err
		}
	}
	return nil
}

type validator struct{ nodes int }

func (v *validator) node(n *Node, depth int) error {
	if depth > schemafb.MaxDepth {
		return invalid("nodes nest deeper than %d levels", schemafb.MaxDepth)
	}
	if v.nodes++; v.nodes > schemafb.MaxNodes {
		return invalid("more than %d nodes", schemafb.MaxNodes)
	}
	if err := v.own(n); err != nil {
		return err
	}
	if want := schemafb.ChildCount(schemafb.BasicType(n.Basic)); want >= 0 && len(n.Children) != want {
		return invalid("%q: %v has %d children, not %d", n.Name, n.Basic, want, len(n.Children))
	}
	if n.Basic == Struct || n.Basic == Union {
		if err := v.names(n.Children, fmt.Sprintf("%q", n.Name), n.Basic == Struct); err != nil {
			return err
		}
	}
	if n.Basic == Union && (len(n.Children) == 0 || len(n.Children) > schemafb.MaxVariants) {
		return invalid("%q: a Union of %d variants; there must be one to %d", n.Name, len(n.Children), schemafb.MaxVariants)
	}
	for _, c := range n.Children {
		if c.Internal != "" {
			return invalid("%q: only a top-level field can be internal", c.Name)
		}
		if err := v.node(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// own checks the node itself.
func (v *validator) own(n *Node) error {
	texts := append([]string{n.Name, n.Internal}, n.Aliases...)
	if n.Ext != nil {
		texts = append(texts, n.Ext.Label)
		for _, p := range n.Ext.Properties {
			texts = append(texts, p.Name)
		}
	}
	for _, s := range texts {
		if !utf8.ValidString(s) || len(s) > schemafb.MaxName {
			return invalid("%q is not UTF-8, or longer than %d bytes", s, schemafb.MaxName)
		}
	}
	if n.Basic > Union {
		return invalid("%q: %v", n.Name, n.Basic)
	}
	sized := n.Basic == FixedSizeBinary || n.Basic == FixedSizeList
	switch {
	case sized && (n.FixedSize == 0 || n.FixedSize > math.MaxInt32):
		return invalid("%q: %v of size %d", n.Name, n.Basic, n.FixedSize)
	case n.Basic == Guid && n.FixedSize != 16:
		return invalid("%q: a Guid has 16 bytes, not %d", n.Name, n.FixedSize)
	case !sized && n.Basic != Guid && n.FixedSize != 0:
		return invalid("%q: %v has no fixed size", n.Name, n.Basic)
	case n.Signed && !n.Basic.IsInteger():
		return invalid("%q: %v can't be signed", n.Name, n.Basic)
	}
	return nil
}

// names checks that the names of siblings are unique, and there if they must be.
func (v *validator) names(all []*Node, where string, needed bool) error {
	seen := make(map[string]bool, len(all))
	for i, n := range all {
		if n.Name == "" {
			if needed && n.Internal == "" {
				return invalid("child %d of %s has no name", i, where)
			}
			continue
		}
		if seen[n.Name] {
			return invalid("%s has two children called %q", where, n.Name)
		}
		seen[n.Name] = true
	}
	return nil
}

// Equal reports that s and o are the same on the wire: names, aliases, types, extensions, internal kinds and
// the order of all nodes.
func (s *Schema) Equal(o *Schema) bool {
	if s.Count != o.Count || len(s.Fields) != len(o.Fields) {
		return false
	}
	for i := range s.Fields {
		if !s.Fields[i].Equal(o.Fields[i]) {
			return false
		}
	}
	return true
}

// Equal reports that n and o are the same on the wire, with everything below them, their numbers aside.
func (n *Node) Equal(o *Node) bool {
	if n.Name != o.Name || len(n.Aliases) != len(o.Aliases) || !n.SameType(o) || n.Internal != o.Internal {
		return false
	}
	for i := range n.Aliases {
		if n.Aliases[i] != o.Aliases[i] {
			return false
		}
	}
	if len(n.Children) != len(o.Children) {
		return false
	}
	for i := range n.Children {
		if !n.Children[i].Equal(o.Children[i]) {
			return false
		}
	}
	return true
}

// SameType reports whether n and o have the same basic type, size and extension; children are not looked at.
func (n *Node) SameType(o *Node) bool {
	return n.Basic == o.Basic && n.Signed == o.Signed && n.FixedSize == o.FixedSize && sameExtension(n.Ext, o.Ext)
}

// WidensTo reports whether every value of the type of n is a value of the type of o: the types are equal, or o's is a wider
// integer or float.
func (n *Node) WidensTo(o *Node) bool {
	switch {
	case n.Basic.IsInteger() && o.Basic.IsInteger():
		if n.IsTimeSpan() || o.IsTimeSpan() {
			return n.IsTimeSpan() && o.IsTimeSpan() || n.Ext == nil
		}
		wider := o.Basic > n.Basic
		if n.Signed == o.Signed {
			return wider || o.Basic == n.Basic
		}
		return wider && o.Signed
	case n.Basic == Float32 && o.Basic == Float64:
		return true
	}
	return n.Basic == o.Basic && n.IsDecimal() == o.IsDecimal() && n.IsDynamic() == o.IsDynamic() && (n.Basic == Guid || n.FixedSize == o.FixedSize)
}

// Hashable reports whether equal values of n have equal bytes and different ones different bytes, as a key needs: not floats (NaN, and
// zeros of both signs), decimals (1.0 and 1.00) and containers.
func (n *Node) Hashable() bool {
	switch n.Basic {
	case Boolean, Int8, Int16, Int32, Int64, DateTime, String, Binary, Guid, FixedSizeBinary:
		return !n.IsDecimal()
	}
	return false
}

func sameExtension(a, b *Extension) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Label != b.Label || len(a.Properties) != len(b.Properties) {
		return false
	}
	for i, p := range a.Properties {
		q := b.Properties[i]
		if p.Name != q.Name || p.Kind != q.Kind || string(p.Data) != string(q.Data) {
			return false
		}
	}
	return true
}
