package filter

import (
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// And is true where all of the expressions are. Those that are nil are left out; it is nil if all are.
func And(all ...Expr) Expr { return joined(all, func(l, r Expr) Expr { return andExpr{l, r} }) }

// Or is true where one of the expressions is. Those that are nil are left out; it is nil if all are.
func Or(all ...Expr) Expr { return joined(all, func(l, r Expr) Expr { return orExpr{l, r} }) }

func joined(all []Expr, join func(l, r Expr) Expr) (out Expr) {
	for _, x := range all {
		switch {
		case x == nil:
		case out == nil:
			out = x
		default:
			out = join(out, x)
		}
	}
	return out
}

// Not is true where x is false.
func Not(x Expr) Expr { return notExpr{x} }

// IsNull is true where the field is null; it is never unknown.
func IsNull(field Path) Expr { return nullExpr{field} }

// Compare compares a field with a literal by one of the operators = != < <= > >=; it panics on another one.
func Compare(field Path, op string, value Literal) Expr {
	at := slices.Index(operators[:], op)
	if at < 0 {
		panic(fmt.Sprintf("filter: %q is no operator", op))
	}
	return compareExpr{field, operator(at), value}
}

// In is true where the field equals one of the literals.
func In(field Path, values ...Literal) Expr { return inExpr{field, values} }

// LiteralOf is a value of a field as a literal. It is false for values that no literal has, which are NaN, infinities, and times that
// text does not state to the tick, and for types that only IS NULL applies to.
func LiteralOf(n *schema.Node, v Value) (Literal, bool) {
	switch classOf(n) {
	case boolClass:
		return Literal{boolLiteral, strconv.FormatBool(v.Bool)}, true
	case intClass:
		return integerLiteral(n, v.Int)
	case uintClass:
		return Literal{numberLiteral, strconv.FormatUint(v.Uint, 10)}, true
	case floatClass:
		bits := 64
		if n.Basic == schema.Float32 {
			bits = 32
		}
		return Literal{numberLiteral, strconv.FormatFloat(v.Float, 'g', -1, bits)}, !math.IsNaN(v.Float) && !math.IsInf(v.Float, 0)
	case decimalClass:
		d := decimal.From(v.Bytes)
		return Literal{decimalLiteral, d.String()}, !d.IsNaN() && !d.IsInfinite()
	case bytesClass:
		switch n.Basic {
		case schema.String:
			return Literal{stringLiteral, string(v.Bytes)}, true
		case schema.Guid:
			return Literal{guidLiteral, string(literal.AppendGuid(nil, v.Bytes))}, true
		}
		return Literal{binaryLiteral, hex.EncodeToString(v.Bytes)}, true
	}
	return Literal{}, false
}

func integerLiteral(n *schema.Node, v int64) (Literal, bool) {
	switch {
	case n.Basic == schema.DateTime:
		text := string(literal.AppendDateTime(nil, v))
		back, _, cut, err := literal.ParseISO(text)
		return Literal{dateTimeLiteral, text}, err == nil && !cut && back == v
	case n.IsTimeSpan():
		return Literal{timeSpanLiteral, string(literal.AppendTimeSpan(nil, v))}, true
	}
	return Literal{numberLiteral, strconv.FormatInt(v, 10)}, true
}
