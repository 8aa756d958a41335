package catalog

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/shardcat/shardcat/internal/didyoumean"
)

// DefaultNamespace is the namespace of a name that gives none.
const DefaultNamespace = "default"

// Name is a table's name in its catalog. An empty namespace is the default one.
type Name struct{ Namespace, Table string }

// ParseName reads `[namespace.]name`. The last dot parts the two; namespaces may have dots of their own.
func ParseName(s string) (Name, error) {
	n := Name{DefaultNamespace, s}
	if dot := strings.LastIndexByte(s, '.'); dot >= 0 {
		n = Name{s[:dot], s[dot+1:]}
	}
	if n.Namespace == "" {
		return Name{}, errName(s)
	}
	return n, n.check()
}

// check refuses what can't be a name, or a folder.
func (n Name) check() error {
	for _, part := range n.identifier() {
		if !validPart(part) {
			return errName(n.String())
		}
	}
	return nil
}

func errName(text string) error {
	return fmt.Errorf("%w: table name %q: use letters, digits, '_' and '-', with an optional namespace before a dot", ErrInvalid, text)
}

func validPart(s string) bool {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return false
		}
	}
	return s != "" && len(s) <= maxNameLength
}

// maxNameLength keeps folder names below what file systems take (255), suffix included.
const maxNameLength = 200

// LogValue is the name as it is typed, also in logs of JSON.
func (n Name) LogValue() slog.Value { return slog.StringValue(n.String()) }

// String is the name as it is typed.
func (n Name) String() string { return join(n.identifier()) }

func (n Name) identifier() []string { return append(n.namespace(), n.Table) }

func (n Name) namespace() []string {
	if n.Namespace == "" {
		return []string{DefaultNamespace}
	}
	return strings.Split(n.Namespace, ".")
}

// suggestNames lists the names closest to what was requested, as words for an error.
func suggestNames[T fmt.Stringer](asked string, there []T) string {
	names := make([]string, len(there))
	for i, n := range there {
		names[i] = n.String()
	}
	return didyoumean.Names(asked, names)
}
