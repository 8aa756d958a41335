package shardsql

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// columns are those of a scan: shown are the places, among the table's fields, of what expressions refer to by number, -1
// for parts of a column.
type columns struct {
	fields []*schema.Node
	shown  []int
}

// condition states an expression of a plan as a filter of scans that lets through all rows for which the expression is true, or
// "" if there is none.
func (t *columns) condition(x object) string {
	switch x["expression_class"] {
	case "BOUND_CONJUNCTION":
		return t.conjunction(x)
	case "BOUND_COMPARISON":
		return t.comparison(x)
	case "BOUND_BETWEEN":
		return t.between(x)
	case "BOUND_OPERATOR":
		return t.operator(x)
	case "BOUND_FUNCTION":
		return t.function(x)
	case "BOUND_REF":
		if c := t.column(x); c != nil && c.Basic == schema.Boolean {
			return name(c) + " = true"
		}
	}
	return ""
}

func (t *columns) conjunction(x object) string {
	children := list(x["children"])
	if x["type"] == "CONJUNCTION_AND" {
		if said := all(children, t); said != "" {
			return "(" + said + ")"
		}
		return ""
	}
	var said []string
	for _, child := range children {
		c := t.condition(asObject(child))
		if x["type"] != "CONJUNCTION_OR" || c == "" {
			return "" // who is not asked may say yes
		}
		said = append(said, c)
	}
	return "(" + strings.Join(said, " OR ") + ")"
}

// operators of comparisons, and what they are with sides exchanged.
var operators = map[any]struct{ text, exchanged string }{
	"COMPARE_EQUAL": {"=", "="}, "COMPARE_LESSTHAN": {"<", ">"}, "COMPARE_GREATERTHAN": {">", "<"},
	"COMPARE_LESSTHANOREQUALTO": {"<=", ">="}, "COMPARE_GREATERTHANOREQUALTO": {">=", "<="},
}

func (t *columns) comparison(x object) string {
	left, right, operator := asObject(x["left"]), asObject(x["right"]), operators[x["type"]]
	if right["expression_class"] == "BOUND_REF" {
		left, right, operator.text = right, left, operator.exchanged
	}
	return t.compare(left, operator.text, right)
}

func (t *columns) between(x object) string {
	input, low, high := asObject(x["input"]), ">=", "<="
	if x["lower_inclusive"] == false {
		low = ">"
	}
	if x["upper_inclusive"] == false {
		high = "<"
	}
	var said []string
	for _, c := range []string{t.compare(input, low, asObject(x["lower"])), t.compare(input, high, asObject(x["upper"]))} {
		if c != "" {
			said = append(said, c)
		}
	}
	return strings.Join(said, " AND ")
}

func (t *columns) operator(x object) string {
	children := list(x["children"])
	if len(children) == 0 {
		return ""
	}
	c := t.column(asObject(children[0]))
	if c == nil {
		return ""
	}
	switch x["type"] {
	case "OPERATOR_IS_NULL":
		return name(c) + " IS NULL"
	case "OPERATOR_IS_NOT_NULL":
		return name(c) + " IS NOT NULL"
	case "COMPARE_IN":
		var said []string
		for _, value := range children[1:] {
			equal := t.compare(asObject(children[0]), "=", asObject(value))
			if equal == "" {
				return ""
			}
			said = append(said, equal)
		}
		return "(" + strings.Join(said, " OR ") + ")"
	}
	return ""
}

// function states beginnings and parts of texts, which DuckDB makes of LIKE.
func (t *columns) function(x object) string {
	children := list(x["children"])
	if len(children) != 2 {
		return ""
	}
	c, value := t.column(asObject(children[0])), constantOf(asObject(children[1]))
	text, ok := value["value"].(string)
	if c == nil || c.Basic != schema.String || c.Ext != nil || !ok || text == "" || typeID(value) != "VARCHAR" {
		return ""
	}
	switch {
	case (x["name"] == "prefix" || x["name"] == "starts_with") && !strings.ContainsAny(text, `%_\`):
		return name(c) + " LIKE " + literal(text+"%")
	case x["name"] == "contains":
		return name(c) + " CONTAINS_CS " + literal(text)
	}
	return ""
}

// column is the field that an expression is, nil if it is none.
func (t *columns) column(x object) *schema.Node {
	if x["expression_class"] != "BOUND_REF" {
		return nil
	}
	at, ok := index(x["index"])
	if !ok || at >= len(t.shown) || t.shown[at] < 0 {
		return nil
	}
	return t.fields[t.shown[at]]
}

// compare states a comparison of a column with a constant of a type that means the same here and in DuckDB.
func (t *columns) compare(x object, operator string, constant object) string {
	c, value := t.column(x), constantOf(constant)
	if c == nil || value == nil || operator == "" {
		return ""
	}
	kind := typeID(value)
	switch {
	case c.Basic == schema.DateTime:
		return compareTimes(name(c), operator, kind, value["value"])
	case c.Basic.IsInteger() && c.Ext == nil && integers[kind]:
		if n, ok := value["value"].(json.Number); ok {
			return name(c) + " " + operator + " " + n.String()
		}
	case c.IsDecimal() && kind == "DECIMAL":
		if text := decimal(value); text != "" {
			return name(c) + " " + operator + " " + text
		}
	case (c.Basic == schema.Float64 || c.Basic == schema.Float32) && (operator == "<" || operator == "<="):
		// DuckDB's NaN is greater than all numbers, and no comparison is true of one here: what is less is the same in both.
		if n, ok := value["value"].(json.Number); ok && (kind == "DOUBLE" && c.Basic == schema.Float64 || kind == "FLOAT" && c.Basic == schema.Float32) {
			return name(c) + " " + operator + " " + n.String()
		}
	case c.Basic == schema.String && c.Ext == nil && kind == "VARCHAR":
		if s, ok := value["value"].(string); ok && !strings.ContainsRune(s, 0) {
			return name(c) + " " + operator + " " + literal(s)
		}
	case c.Basic == schema.Boolean && kind == "BOOLEAN" && operator == "=":
		if b, ok := value["value"].(bool); ok {
			return fmt.Sprintf("%s = %t", name(c), b)
		}
	}
	return ""
}

var integers = map[string]bool{
	"TINYINT": true, "SMALLINT": true, "INTEGER": true, "BIGINT": true, "UTINYINT": true, "USMALLINT": true, "UINTEGER": true, "UBIGINT": true,
}

// constantOf is the value of a constant that is not null.
func constantOf(x object) object {
	value := asObject(x["value"])
	if x["expression_class"] != "BOUND_CONSTANT" || value == nil || value["is_null"] != false {
		return nil
	}
	return value
}

func typeID(value object) string {
	id, _ := asObject(value["type"])["id"].(string)
	return id
}

// compareTimes is a comparison that is wider by the microsecond within which DuckDB sees no difference.
func compareTimes(column, operator, kind string, value any) string {
	n, ok := value.(json.Number)
	if !ok {
		return ""
	}
	i, err := n.Int64()
	if err != nil {
		return ""
	}
	var at time.Time
	switch kind {
	case "DATE":
		at = time.Unix(0, 0).UTC().AddDate(0, 0, int(i))
	case "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
		at = time.UnixMicro(i).UTC()
	default:
		return ""
	}
	if at.Year() < 2 || at.Year() > 9998 {
		return "" // near the ends of what the format holds, or infinity
	}
	low, high := literal(at.Add(-time.Microsecond).Format(time.RFC3339Nano)), literal(at.Add(time.Microsecond).Format(time.RFC3339Nano))
	switch operator {
	case "=":
		return column + " BETWEEN " + low + " AND " + high
	case "<", "<=":
		return column + " <= " + high
	default:
		return column + " >= " + low
	}
}

// decimal is the text of a constant that the plan holds as a whole number with a scale.
func decimal(value object) string {
	scale, ok := index(asObject(asObject(value["type"])["type_info"])["scale"])
	n, isNumber := value["value"].(json.Number)
	if !ok || !isNumber {
		return "" // wider than 64 bits
	}
	digits, ok := new(big.Int).SetString(n.String(), 10)
	if !ok {
		return ""
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return new(big.Rat).SetFrac(digits, ten).FloatString(scale)
}

// name is a column in a filter.
func name(c *schema.Node) string { return `"` + strings.ReplaceAll(c.Name, `"`, `""`) + `"` }
