package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/internal/didyoumean"
)

// ErrNoField is the error of a name that no field has.
var ErrNoField = errors.New("no such field")

// SplitPath splits a dotted path into names: "a.b" into a and b. A dot or backslash that belongs to a name
// has a backslash before it.
func SplitPath(path string) []string {
	var names []string
	var name strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path) && (path[i+1] == '.' || path[i+1] == '\\'):
			i++
			name.WriteByte(path[i])
		case c == '.':
			names = append(names, name.String())
			name.Reset()
		default:
			name.WriteByte(c)
		}
	}
	return append(names, name.String())
}

var escaper = strings.NewReplacer(`\`, `\\`, `.`, `\.`)

// JoinPath is the dotted path of names, the reverse of SplitPath.
func JoinPath(names ...string) string {
	escaped := make([]string, len(names))
	for i, n := range names {
		escaped[i] = escaper.Replace(n)
	}
	return strings.Join(escaped, ".")
}

// Lookup finds the node at a dotted path. At each level a name is looked for first, then an alias. The child
// of a List or FixedSizeList answers to any name; those of a Map to key (or keys) and value (or values) where
// they have no names. The error matches ErrNoField and names the nearest fields there are.
func (s *Schema) Lookup(path string) (*Node, error) {
	at := &Node{Basic: Struct, Children: s.Fields}
	for _, name := range SplitPath(path) {
		next := at.Child(name)
		if next == nil {
			return nil, noField(path, name, at)
		}
		at = next
	}
	return at, nil
}

// Child finds the child of n that answers to name, as Lookup does, nil if none does.
func (n *Node) Child(name string) *Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	for _, c := range n.Children {
		if slices.Contains(c.Aliases, name) {
			return c
		}
	}
	if i := impliedChild(n.Basic, len(n.Children), name); i >= 0 {
		if n.Basic != Map || n.Children[i].Name == "" {
			return n.Children[i]
		}
	}
	return nil
}

// impliedChild is the index of the child that answers to name because of the type it lies in, -1 if none.
func impliedChild(b Basic, children int, name string) int {
	switch {
	case (b == List || b == FixedSizeList) && children == 1:
		return 0
	case b == Map && children == 2 && (name == "key" || name == "keys"):
		return 0
	case b == Map && children == 2 && (name == "value" || name == "values"):
		return 1
	}
	return -1
}

func noField(path, name string, at *Node) error {
	names := make([]string, len(at.Children))
	for i := range at.Children {
		names[i] = at.ChildName(i)
	}
	if path == name {
		return fmt.Errorf("%w: %q%s", ErrNoField, path, nearest(name, names))
	}
	return fmt.Errorf("%w: %q: unknown name %q%s", ErrNoField, path, name, nearest(name, names))
}

// ChildName is what child i of n is called when printed: its name, or item, key and value for the unnamed
// children of lists and maps.
func (n *Node) ChildName(i int) string {
	if name := n.Children[i].Name; name != "" {
		return name
	}
	switch {
	case n.Basic == List || n.Basic == FixedSizeList:
		return "item"
	case n.Basic == Map && i == 0:
		return "key"
	case n.Basic == Map && i == 1:
		return "value"
	}
	return ""
}

// Walk calls visit for every node in pre-order with its dotted path. It stops where visit states false.
func (s *Schema) Walk(visit func(path string, n *Node) bool) {
	var walk func(path string, n *Node) bool
	walk = func(path string, n *Node) bool {
		if !visit(path, n) {
			return false
		}
		for i, c := range n.Children {
			if !walk(path+"."+JoinPath(n.ChildName(i)), c) {
				return false
			}
		}
		return true
	}
	for _, f := range s.Fields {
		if !walk(JoinPath(f.Name), f) {
			return
		}
	}
}

// Node is the node with number id, nil if there is none.
func (s *Schema) Node(id uint32) *Node {
	var found *Node
	s.Walk(func(_ string, n *Node) bool {
		if n.ID == id {
			found = n
		}
		return found == nil
	})
	return found
}

// maxNames is among how many names a nearest one is looked for.
const maxNames = 10_000

// nearest is a hint that names the few names nearest to name, or "".
func nearest(name string, names []string) string {
	if len(names) > maxNames {
		return ""
	}
	distances := make(map[string]int, len(names))
	candidates := names[:0:0]
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); n != "" && d <= max(2, len(name)/3) {
			distances[n] = d
			candidates = append(candidates, n)
		}
	}
	if len(candidates) == 0 {
		if len(names) == 0 || len(names) > 8 {
			return ""
		}
		return " (available: " + strings.Join(names, ", ") + ")"
	}
	slices.SortStableFunc(candidates, func(a, b string) int { return distances[a] - distances[b] })
	return " (did you mean " + strings.Join(candidates[:min(3, len(candidates))], ", ") + "?)"
}

// distance is the Levenshtein distance of two short names, a large number for long ones.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 1 << 16
	}
	return didyoumean.Distance(a, b)
}
