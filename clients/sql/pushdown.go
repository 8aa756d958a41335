package shardsql

import (
	"context"
	"encoding/json"
	"strings"
)

// conditions finds, in DuckDB's plan of a rewritten query, the filter of each of its scans by number. A scan that is not found, or
// stands in the plan more than once, has none: reading more is always right.
func (e *Engine) conditions(ctx context.Context, statement string) map[int64]string {
	text, err := e.text(ctx, "SELECT json_serialize_plan("+literal(statement)+", optimize := true)")
	if err != nil {
		return nil
	}
	tree, err := decode(text)
	if err != nil || tree["error"] != false {
		return nil // a plan with parts that DuckDB can't write down
	}
	filters, seen := map[int64]string{}, map[int64]int{}
	walk(tree["plans"], func(o object) {
		if number, ok := scanNumber(o); ok {
			seen[number]++
		}
		children := list(o["children"])
		if o["type"] != "LOGICAL_FILTER" || len(children) != 1 {
			return
		}
		get := asObject(children[0])
		if number, ok := scanNumber(get); ok {
			if table := e.tableOfGet(get); table != nil {
				filters[number] = all(list(o["expressions"]), table)
			}
		}
	})
	for number, times := range seen {
		if times > 1 {
			delete(filters, number)
		}
	}
	return filters
}

// scanNumber is the number of the scan that a node of a plan is.
func scanNumber(o object) (int64, bool) {
	if o["type"] != "LOGICAL_GET" || o["name"] != planned {
		return 0, false
	}
	parameters := list(o["parameters"])
	if len(parameters) != 2 {
		return 0, false
	}
	n, ok := asObject(parameters[1])["value"].(json.Number)
	if !ok {
		return 0, false
	}
	number, err := n.Int64()
	return number, err == nil
}

// tableOfGet knows the columns of a scan as the expressions above it refer to them.
func (e *Engine) tableOfGet(get object) *columns {
	q := e.current()
	name, _ := asObject(list(get["parameters"])[0])["value"].(string)
	t, err := q.table(name)
	if err != nil {
		return nil
	}
	original, err := t.ArrowSchema(timeUnit)
	if err != nil {
		return nil
	}
	out := &columns{fields: t.Schema().Fields}
	if len(out.fields) != original.NumFields() {
		return nil
	}
	var read []int
	for _, c := range list(get["column_indexes"]) {
		at, ok := index(asObject(c)["index"])
		if !ok || at >= len(out.fields) || asObject(c)["index_type"] != "FULL_READ" {
			at = -1
		}
		read = append(read, at)
	}
	out.shown = read
	if projected := list(get["projection_ids"]); len(projected) > 0 {
		out.shown = nil
		for _, p := range projected {
			at, ok := index(p)
			if !ok || at >= len(read) {
				return nil
			}
			out.shown = append(out.shown, read[at])
		}
	}
	return out
}

// index is a small number of a tree.
func index(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return int(i), err == nil && i >= 0 && i < 1<<31
}

// all joins conditions of which each must hold; what can't be reported here is left out.
func all(expressions []any, t *columns) string {
	var said []string
	for _, x := range expressions {
		if c := t.condition(asObject(x)); c != "" {
			said = append(said, c)
		}
	}
	return strings.Join(said, " AND ")
}
