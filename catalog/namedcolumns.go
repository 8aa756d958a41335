package catalog

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Some properties name columns: those of indexes, of the policy of compaction, and the Arrow schema that a table was made of. A column is
// its field id, and a name may come to mean another one; so columnsProperty keeps the ids of the names in each of these properties. A
// table gives them out with the names that their columns have now (Table.Properties).

// columnsProperty is the table property that holds, as JSON by property, the field ids of the columns that it names.
const columnsProperty = "shardcat.columns"

// The properties of package compaction that name columns.
const (
	whereProperty = "shardcat.compaction.where"
	orderProperty = "shardcat.compaction.order"
)

// namedColumns are the columns that one property names.
type namedColumns struct {
	// Of is a hash of the property's text: with another text it was changed by who knows nothing of ids.
	Of  string         `json:"of"`
	IDs map[string]int `json:"ids"`
}

func textHash(text string) string { return fmt.Sprintf("%016x", xxh3.HashString(text)) }

// namings rewrite the properties that name columns.
var namings = map[string]func(text string, to *renaming) (string, error){
	IndexesProperty: renameIndexes, whereProperty: renameFilter, orderProperty: renameOrder, ArrowSchemaProperty: renameArrow,
}

// renaming gives columns by the names that a property has for them the names that they have now. The first time, ids are noted instead.
type renaming struct {
	schema *manifest.TableSchema
	ids    map[string]int
	note   bool
}

// has reports whether a path names a column.
func (r *renaming) has(path string) bool {
	if r.note {
		_, err := r.schema.Shard.Lookup(path)
		return err == nil
	}
	_, ok := r.ids[path]
	return ok
}

// now is the path of a column, false if it is gone. A path that never named one stays.
func (r *renaming) now(path string) (string, bool) {
	if r.note {
		if n, err := r.schema.Shard.Lookup(path); err == nil {
			r.ids[path] = r.schema.IDs[n.ID]
		}
		return path, true
	}
	id, ok := r.ids[path]
	if !ok {
		return path, true
	}
	found := ""
	r.schema.Shard.Walk(func(at string, n *schema.Node) bool {
		if r.schema.IDs[n.ID] == id {
			found = at
		}
		return found == ""
	})
	return found, found != ""
}

// errColumnGone: a property can't do without a column that was dropped.
var errColumnGone = errors.New("the column was dropped")

// renameIndexes leaves out indexes of which a column is gone.
func renameIndexes(text string, to *renaming) (string, error) {
	var specs shardfmt.IndexSpecs
	if err := specs.Set(text); err != nil {
		return "", err
	}
	var out shardfmt.IndexSpecs
	for _, s := range specs {
		columns, err := renameAll(s.Columns, to)
		if err == nil {
			s.Columns = columns
			out = append(out, s)
		}
	}
	return out.String(), nil
}

// renameAll renames the columns of an index, and the members of composites.
func renameAll(columns []string, to *renaming) ([]string, error) {
	out := make([]string, len(columns))
	for i, path := range columns {
		parts := []string{path}
		if !to.has(path) {
			parts = strings.Split(path, "+")
		}
		for k, p := range parts {
			now, ok := to.now(p)
			if !ok {
				return nil, errColumnGone
			}
			parts[k] = now
		}
		out[i] = strings.Join(parts, "+")
	}
	return out, nil
}

func renameFilter(text string, to *renaming) (string, error) {
	if strings.TrimSpace(text) == "" {
		return text, nil
	}
	e, err := filter.Parse(text)
	if err != nil {
		return "", err
	}
	e = filter.Rename(e, func(p filter.Path) filter.Path {
		now, ok := to.now(schema.JoinPath(p...))
		if !ok {
			err = errColumnGone
			return p
		}
		return schema.SplitPath(now)
	})
	return e.String(), err
}

// renameOrder leaves out columns that are gone.
func renameOrder(text string, to *renaming) (string, error) {
	if strings.TrimSpace(text) == "" {
		return text, nil
	}
	keys, err := ParseOrder(text)
	if err != nil {
		return "", err
	}
	var out []OrderKey
	for _, k := range keys {
		if now, ok := to.now(k.Column); ok {
			k.Column = now
			out = append(out, k)
		}
	}
	return formatOrder(out), nil
}

// renameArrow renames fields, and leaves out those that are gone.
func renameArrow(text string, to *renaming) (string, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", err
	}
	s, err := arrowtype.UnmarshalSchema(b)
	if err != nil {
		return "", err
	}
	var fields []arrow.Field
	for _, f := range s.Fields() {
		now, ok := to.now(schema.JoinPath(f.Name))
		if path := schema.SplitPath(now); ok && len(path) == 1 {
			f.Type = renamedMembers(f.Type, schema.JoinPath(f.Name), to)
			f.Name = path[0]
			fields = append(fields, f)
		}
	}
	meta := s.Metadata()
	if b, err = arrowtype.MarshalSchema(arrow.NewSchema(fields, &meta)); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

// renamedMembers renames the members of structs in structs.
func renamedMembers(t arrow.DataType, path string, to *renaming) arrow.DataType {
	s, ok := t.(*arrow.StructType)
	if !ok {
		return t
	}
	var fields []arrow.Field
	for _, f := range s.Fields() {
		at := path + "." + schema.JoinPath(f.Name)
		if now, ok := to.now(at); ok {
			f.Type = renamedMembers(f.Type, at, to)
			names := schema.SplitPath(now)
			f.Name = names[len(names)-1]
			fields = append(fields, f)
		}
	}
	return arrow.StructOf(fields...)
}

// columnIDs are the ids that properties have noted.
func columnIDs(properties iceberg.Properties) map[string]namedColumns {
	all := map[string]namedColumns{}
	if json.Unmarshal([]byte(properties[columnsProperty]), &all) != nil {
		return map[string]namedColumns{}
	}
	maps.DeleteFunc(all, func(key string, n namedColumns) bool { return n.Of != textHash(properties[key]) })
	return all
}

// noteColumns is columnsProperty for properties of a table, of which those that have no ids yet name columns of s.
func noteColumns(properties iceberg.Properties, s *manifest.TableSchema) string {
	all := columnIDs(properties)
	for key, rename := range namings {
		text, set := properties[key]
		if _, noted := all[key]; !set || noted {
			continue
		}
		r := &renaming{schema: s, ids: map[string]int{}, note: true}
		if _, err := rename(text, r); err == nil && len(r.ids) > 0 {
			all[key] = namedColumns{textHash(text), r.ids}
		}
	}
	if len(all) == 0 {
		return ""
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "" // strings and numbers: can't happen
	}
	return string(text)
}

// currentNames are the properties of a table with the names that columns have in s.
func currentNames(properties iceberg.Properties, s *manifest.TableSchema) iceberg.Properties {
	all := columnIDs(properties)
	if len(all) == 0 {
		return properties
	}
	out := maps.Clone(properties)
	for key, named := range all {
		rename, known := namings[key]
		if !known {
			continue
		}
		text, err := rename(properties[key], &renaming{schema: s, ids: named.IDs})
		switch {
		case err != nil: // it stays, and names what is gone
		case text == "":
			delete(out, key)
		default:
			out[key] = text
		}
	}
	return out
}

// checkUnnamed refuses to drop a column that the policy of compaction names.
func (t *Table) checkUnnamed(n *schema.Node, below []int) error {
	for _, key := range []string{whereProperty, orderProperty} {
		text, set := t.Properties()[key]
		if !set {
			continue
		}
		r := &renaming{schema: t.schema, ids: map[string]int{}, note: true}
		if _, err := namings[key](text, r); err != nil {
			continue
		}
		for _, id := range r.ids {
			if slices.Contains(below, id) {
				return fmt.Errorf("%w: column %q can't be dropped: the property %s names it (%s); change the policy first", ErrInvalid, n.Name, key, text)
			}
		}
	}
	return nil
}
