package keyindex

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
)

// Property is the table property that names the table's key indexes, separated by spaces: the field ids of the columns of a key, "=", and
// the object, relative to the vault folder, that reports which rows the index is of; nothing as long as it is of none.
const Property = "shardcat.key-indexes"

// Def is what the property states about a key index.
type Def struct {
	// IDs are the field ids of the columns of the key.
	IDs []int
	// Object has the state, relative to the vault folder; empty as long as the index covers nothing.
	Object string
}

// Same reports whether two are of the same columns.
func (d Def) Same(o Def) bool { return slices.Equal(d.IDs, o.IDs) }

// ParseDefs reads the value of the property.
func ParseDefs(text string) (out []Def, err error) {
	for _, part := range strings.Fields(text) {
		columns, object, ok := strings.Cut(part, "=")
		d := Def{Object: object}
		for _, column := range strings.Split(columns, ",") {
			id, err := strconv.Atoi(column)
			ok = ok && err == nil && id > 0
			d.IDs = append(d.IDs, id)
		}
		if !ok || object != "" && (!strings.HasPrefix(object, "data/") || path.Clean(object) != object) {
			return nil, fmt.Errorf("%w: property %s: %q", caterr.ErrInvalid, Property, part)
		}
		out = append(out, d)
	}
	return out, nil
}

// FormatDefs is the value of the property.
func FormatDefs(all []Def) string {
	var parts []string
	for _, d := range all {
		var ids []string
		for _, id := range d.IDs {
			ids = append(ids, strconv.Itoa(id))
		}
		parts = append(parts, strings.Join(ids, ",")+"="+d.Object)
	}
	return strings.Join(parts, " ")
}
