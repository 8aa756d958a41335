// Package filter is the expression language of scans: parse, bind to a schema, prune by statistics, select rows.
//
// The language is SQL's WHERE with the operators
//
//	=  !=  <>  <  <=  >  >=  AND  OR  NOT  IN (…)  BETWEEN x AND y  IS [NOT] NULL  LIKE 'a%_'
//	HAS 'term'  HASPREFIX 'ter'  CONTAINS 'text'        (each also case-sensitive, with the suffix _CS)
//
// Strings stand in single quotes (” is a quote), names that are not identifiers in double quotes, nested fields
// are dotted. Literals besides numbers, strings, TRUE, FALSE and NULL: guid '…', X'…' (binary), timespan '…',
// datetime '…', decimal '…'. Logic is three-valued. Floats compare as IEEE 754 states: NaN equals nothing, and a
// literal is rounded to the width of its column first.
package filter

import (
	"fmt"
	"strings"
)

// Expr is a parsed expression, not yet bound to a schema. String prints it so that Parse reads it back.
type Expr interface {
	fmt.Stringer
	expr()
}

// Path names a field: top-level name first, then names of struct members.
type Path []string

// String prints the path with quotes where a name is not an identifier.
func (p Path) String() string {
	parts := make([]string, len(p))
	for i, n := range p {
		parts[i] = quoteName(n)
	}
	return strings.Join(parts, ".")
}

// Op is a comparison operator.
type Op uint8

// The comparison operators.
const (
	Eq Op = iota
	Ne
	Lt
	Le
	Gt
	Ge
)

// String is the operator as it is written.
func (o Op) String() string { return [...]string{"=", "!=", "<", "<=", ">", ">="}[o] }

// flipped is the operator that holds with its sides exchanged.
func (o Op) flipped() Op { return [...]Op{Eq, Ne, Gt, Ge, Lt, Le}[o] }

// holds reports whether the operator accepts a three-way comparison of value with literal.
func (o Op) holds(cmp int) bool {
	switch o {
	case Eq:
		return cmp == 0
	case Ne:
		return cmp != 0
	case Lt:
		return cmp < 0
	case Le:
		return cmp <= 0
	case Gt:
		return cmp > 0
	default:
		return cmp >= 0
	}
}

// The nodes of an expression.
type (
	// And is true where both sides are.
	And struct{ Left, Right Expr }
	// Or is true where one side is.
	Or struct{ Left, Right Expr }
	// Not is true where X is false.
	Not struct{ X Expr }
	// Compare compares a field with a literal.
	Compare struct {
		Field Path
		Op    Op
		Value Literal
	}
	// In is true where the field equals one of the literals.
	In struct {
		Field  Path
		Values []Literal
	}
	// IsNull is true where the field is null; it is never unknown.
	IsNull struct{ Field Path }
	// Like matches a string against a pattern: % any run, _ one character, \ takes the next as it is.
	Like struct {
		Field   Path
		Pattern string
	}
	// Text is one of the term operators.
	Text struct {
		Field Path
		Kind  TextKind
		Exact bool // case-sensitive
		Term  string
	}
	// Truth is a boolean field standing alone.
	Truth struct{ Field Path }
)

// TextKind reports which term operator a Text is.
type TextKind uint8

// The term operators.
const (
	Has       TextKind = iota // the term stands between characters that are not alphanumeric, or the ends
	HasPrefix                 // the same, but bounded on its left only
	Contains                  // the text occurs anywhere
)

// String is the operator as it is written, without suffix.
func (k TextKind) String() string { return [...]string{"HAS", "HASPREFIX", "CONTAINS"}[k] }

func (And) expr()     {}
func (Or) expr()      {}
func (Not) expr()     {}
func (Compare) expr() {}
func (In) expr()      {}
func (IsNull) expr()  {}
func (Like) expr()    {}
func (Text) expr()    {}
func (Truth) expr()   {}

func (e And) String() string { return "(" + e.Left.String() + " AND " + e.Right.String() + ")" }
func (e Or) String() string  { return "(" + e.Left.String() + " OR " + e.Right.String() + ")" }
func (e Not) String() string { return "NOT (" + e.X.String() + ")" }
func (e Compare) String() string {
	return e.Field.String() + " " + e.Op.String() + " " + e.Value.String()
}
func (e IsNull) String() string { return e.Field.String() + " IS NULL" }
func (e Like) String() string   { return e.Field.String() + " LIKE " + quoteString(e.Pattern) }
func (e Truth) String() string  { return e.Field.String() }

func (e In) String() string {
	parts := make([]string, len(e.Values))
	for i, v := range e.Values {
		parts[i] = v.String()
	}
	return e.Field.String() + " IN (" + strings.Join(parts, ", ") + ")"
}

func (e Text) String() string {
	op := e.Kind.String()
	if e.Exact {
		op += "_CS"
	}
	return e.Field.String() + " " + op + " " + quoteString(e.Term)
}

// LiteralKind reports how a literal was written.
type LiteralKind uint8

// The kinds of literals.
const (
	NullLiteral LiteralKind = iota
	BoolLiteral
	NumberLiteral
	StringLiteral
	GuidLiteral
	BinaryLiteral
	TimeSpanLiteral
	DateTimeLiteral
	DecimalLiteral
)

// Literal is a constant as it was written; its type comes from the field it is compared with.
type Literal struct {
	Kind LiteralKind
	// Text is the number or the quoted text, without quotes; "true" or "false"; empty for null.
	Text string
}

// String prints the literal as it is written.
func (l Literal) String() string {
	switch l.Kind {
	case NullLiteral:
		return "NULL"
	case BoolLiteral:
		return strings.ToUpper(l.Text)
	case NumberLiteral:
		return l.Text
	case StringLiteral:
		return quoteString(l.Text)
	case BinaryLiteral:
		return "X" + quoteString(l.Text)
	}
	return map[LiteralKind]string{GuidLiteral: "guid ", TimeSpanLiteral: "timespan ",
		DateTimeLiteral: "datetime ", DecimalLiteral: "decimal "}[l.Kind] + quoteString(l.Text)
}

func quoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func quoteName(s string) string {
	if isIdentifier(s) && !reserved[strings.ToUpper(s)] {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
