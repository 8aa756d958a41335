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

// Expr is an expression, parsed or built, or one that is bound to a schema. String prints it so that Parse reads it back.
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

// operator is a comparison operator.
type operator uint8

// The comparison operators.
const (
	opEq operator = iota
	opNe
	opLt
	opLe
	opGt
	opGe
)

var operators = [...]string{"=", "!=", "<", "<=", ">", ">="}

// String is the operator as it is written.
func (o operator) String() string { return operators[o] }

// flipped is the operator that holds with its sides exchanged.
func (o operator) flipped() operator { return [...]operator{opEq, opNe, opGt, opGe, opLt, opLe}[o] }

// holds reports whether the operator accepts a three-way comparison of value with literal.
func (o operator) holds(cmp int) bool {
	switch o {
	case opEq:
		return cmp == 0
	case opNe:
		return cmp != 0
	case opLt:
		return cmp < 0
	case opLe:
		return cmp <= 0
	case opGt:
		return cmp > 0
	default:
		return cmp >= 0
	}
}

// The nodes of an expression.
type (
	// andExpr is true where both sides are.
	andExpr struct{ Left, Right Expr }
	// orExpr is true where one side is.
	orExpr struct{ Left, Right Expr }
	// notExpr is true where X is false.
	notExpr struct{ X Expr }
	// compareExpr compares a field with a literal.
	compareExpr struct {
		Field Path
		Op    operator
		Value Literal
	}
	// inExpr is true where the field equals one of the literals.
	inExpr struct {
		Field  Path
		Values []Literal
	}
	// nullExpr is true where the field is null; it is never unknown.
	nullExpr struct{ Field Path }
	// likeExpr matches a string against a pattern: % any run, _ one character, \ takes the next as it is.
	likeExpr struct {
		Field   Path
		Pattern string
	}
	// textExpr is one of the term operators.
	textExpr struct {
		Field Path
		Kind  textKind
		Exact bool // case-sensitive
		Term  string
	}
	// truthExpr is a boolean field standing alone.
	truthExpr struct{ Field Path }
)

// textKind reports which term operator a Text is.
type textKind uint8

// The term operators.
const (
	hasTerm      textKind = iota // the term stands between characters that are not alphanumeric, or the ends
	hasPrefix                    // the same, but bounded on its left only
	containsText                 // the text occurs anywhere
)

// String is the operator as it is written, without suffix.
func (k textKind) String() string { return [...]string{"HAS", "HASPREFIX", "CONTAINS"}[k] }

func (andExpr) expr()     {}
func (orExpr) expr()      {}
func (notExpr) expr()     {}
func (compareExpr) expr() {}
func (inExpr) expr()      {}
func (nullExpr) expr()    {}
func (likeExpr) expr()    {}
func (textExpr) expr()    {}
func (truthExpr) expr()   {}

func (e andExpr) String() string { return "(" + e.Left.String() + " AND " + e.Right.String() + ")" }
func (e orExpr) String() string  { return "(" + e.Left.String() + " OR " + e.Right.String() + ")" }
func (e notExpr) String() string { return "NOT (" + e.X.String() + ")" }
func (e compareExpr) String() string {
	return e.Field.String() + " " + e.Op.String() + " " + e.Value.String()
}
func (e nullExpr) String() string  { return e.Field.String() + " IS NULL" }
func (e likeExpr) String() string  { return e.Field.String() + " LIKE " + quoteString(e.Pattern) }
func (e truthExpr) String() string { return e.Field.String() }

func (e inExpr) String() string {
	parts := make([]string, len(e.Values))
	for i, v := range e.Values {
		parts[i] = v.String()
	}
	return e.Field.String() + " IN (" + strings.Join(parts, ", ") + ")"
}

func (e textExpr) String() string {
	op := e.Kind.String()
	if e.Exact {
		op += "_CS"
	}
	return e.Field.String() + " " + op + " " + quoteString(e.Term)
}

// literalKind reports how a literal was written.
type literalKind uint8

// The kinds of literals.
const (
	nullLiteral literalKind = iota
	boolLiteral
	numberLiteral
	stringLiteral
	guidLiteral
	binaryLiteral
	timeSpanLiteral
	dateTimeLiteral
	decimalLiteral
)

// Literal is a constant as it was written; its type comes from the field it is compared with.
type Literal struct {
	kind literalKind
	// textExpr is the number or the quoted text, without quotes; "true" or "false"; empty for null.
	text string
}

// String prints the literal as it is written.
func (l Literal) String() string {
	switch l.kind {
	case nullLiteral:
		return "NULL"
	case boolLiteral:
		return strings.ToUpper(l.text)
	case numberLiteral:
		return l.text
	case stringLiteral:
		return quoteString(l.text)
	case binaryLiteral:
		return "X" + quoteString(l.text)
	}
	return map[literalKind]string{guidLiteral: "guid ", timeSpanLiteral: "timespan ",
		dateTimeLiteral: "datetime ", decimalLiteral: "decimal "}[l.kind] + quoteString(l.text)
}

func quoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func quoteName(s string) string {
	if isIdentifier(s) && !reserved[strings.ToUpper(s)] {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
