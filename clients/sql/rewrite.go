package shardsql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog"
)

// object is a node of DuckDB's trees.
type object = map[string]any

// named gives every table of the catalog that a SELECT names a number of its own, by which its conditions can be found in
// the plan: the name becomes a call of the function planned. scans is how many there are: 0 for what is not a SELECT, or
// names none, which stays as it is.
func (e *Engine) named(q *query, statement string) (rewritten string, scans int64) {
	text, err := e.text(q.ctx, "SELECT json_serialize_sql("+literal(statement)+")")
	if err != nil {
		return statement, 0
	}
	tree, err := decode(text)
	if err != nil || tree["error"] != false {
		return statement, 0 // DuckDB will report what is wrong when it runs
	}
	if statements, _ := tree["statements"].([]any); len(statements) != 1 {
		return statement, 0
	}
	own, err := e.ownNames(q.ctx)
	if err != nil {
		return statement, 0
	}
	walk(tree, func(o object) { // expressions of WITH hide tables of their name, wherever they are
		if m, ok := o["cte_map"].(object); ok {
			for _, entry := range list(m["map"]) {
				if key, ok := object(asObject(entry))["key"].(string); ok {
					own[strings.ToLower(key)] = true
				}
			}
		}
	})
	walk(tree, func(o object) {
		if name, ok := e.tableOf(q, o, own); ok {
			scans++
			call(o, name, scans)
		}
	})
	if scans == 0 {
		return statement, 0
	}
	b, err := json.Marshal(tree)
	if err == nil {
		rewritten, err = e.text(q.ctx, "SELECT json_deserialize_sql("+literal(string(b))+"::JSON)")
	}
	if err != nil {
		return statement, 0
	}
	return rewritten, scans
}

// ownNames are the tables and views that DuckDB has itself, which come first.
func (e *Engine) ownNames(ctx context.Context) (map[string]bool, error) {
	text, err := e.text(ctx, "SELECT to_json(list(lower(name))) FROM (SELECT table_name AS name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views())")
	if err != nil {
		return nil, err
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for _, n := range names {
		own[n] = true
	}
	return own, nil
}

// tableOf is the table of the catalog that a node names.
func (e *Engine) tableOf(q *query, o object, own map[string]bool) (string, bool) {
	name, _ := o["table_name"].(string)
	if o["type"] != "BASE_TABLE" || name == "" || o["at_clause"] != nil || own[strings.ToLower(name)] {
		return "", false
	}
	if parent, _ := o["catalog_name"].(string); parent != "" && parent != catalog.CatalogName {
		return "", false
	}
	if namespace, _ := o["schema_name"].(string); namespace != "" {
		name = namespace + "." + name
	}
	_, err := q.table(name)
	return name, err == nil
}

// call makes the reference to a table one to the function planned.
func call(o object, table string, number int64) {
	alias, _ := o["alias"].(string)
	if alias == "" {
		alias = o["table_name"].(string)
	}
	at := o["query_location"]
	constant := func(kind string, value any) object {
		return object{"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "query_location": at,
			"value": object{"type": object{"id": kind, "type_info": nil}, "is_null": false, "value": value}}
	}
	kept := object{"alias": alias, "sample": o["sample"], "query_location": at, "column_name_alias": o["column_name_alias"]}
	clear(o)
	for key, value := range kept {
		o[key] = value
	}
	o["type"], o["with_ordinality"] = "TABLE_FUNCTION", "WITHOUT_ORDINALITY"
	o["function"] = object{
		"class": "FUNCTION", "type": "FUNCTION", "alias": "", "query_location": at, "function_name": planned, "schema": "", "catalog": "",
		"children": []any{constant("VARCHAR", table), constant("BIGINT", number)}, "filter": nil, "distinct": false, "is_operator": false,
		"export_state": false, "order_bys": object{"type": "ORDER_MODIFIER", "orders": []any{}},
	}
}

// text is the only value of a query that the engine makes itself.
func (e *Engine) text(ctx context.Context, statement string) (string, error) {
	q := &query{engine: e, ctx: ctx}
	if current := e.current(); current != nil {
		q = current
	}
	r, err := e.run(q, statement)
	if err != nil {
		return "", err
	}
	defer func() { r.stop(); r.drop(); r.free() }()
	if !r.Next() {
		return "", r.Err()
	}
	column, ok := r.RecordBatch().Column(0).(array.StringLike)
	if !ok {
		return "", errors.New("duckdb: expected text")
	}
	if column.IsNull(0) {
		return "null", nil
	}
	return strings.Clone(column.Value(0)), nil
}

// literal is a text in SQL.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// decode reads a tree; its numbers stay as they are written, for some are those that stand for none of 64 bits.
func decode(text string) (object, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var tree object
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("duckdb: its plan is not JSON: %w", err)
	}
	return tree, nil
}

// walk visits all objects of a tree, in the order of their keys as far as there is one.
func walk(v any, visit func(object)) {
	switch v := v.(type) {
	case object:
		visit(v)
		for _, child := range v {
			walk(child, visit)
		}
	case []any:
		for _, child := range v {
			walk(child, visit)
		}
	}
}

func list(v any) []any {
	out, _ := v.([]any)
	return out
}

func asObject(v any) object {
	out, _ := v.(object)
	return out
}
