package filter

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// maxNumber bounds the digits and the exponent of a number, since exact arithmetic is as long as they say.
const maxNumber = 400

// checkNumber refuses what only looks like a number.
func checkNumber(t token) error {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(t.text), "e")
	digits := strings.TrimLeft(mantissa, "+-")
	_, err := strconv.ParseFloat(t.text, 64)
	tooLong := len(t.text) > maxNumber
	if e, eErr := strconv.Atoi(exponent); exponent != "" && (eErr != nil || e > maxNumber || e < -maxNumber) {
		tooLong = true
	}
	if tooLong {
		return badSyntax(t.at, "the number at offset %d is out of any column's range", t.at)
	}
	if err != nil && !isRangeError(err) || digits == "" {
		return badSyntax(t.at, "%q at offset %d is not a number", t.text, t.at)
	}
	return nil
}

func isRangeError(err error) bool {
	ne, ok := err.(*strconv.NumError)
	return ok && ne.Err == strconv.ErrRange
}

// Value is a value of a column in the form in which comparisons are made. Which member counts is decided by
// the node it belongs to: Int for signed integers, DateTime and TimeSpan (ticks); Uint for unsigned integers;
// Float for floats; Bool for Boolean; Bytes for strings, binaries, guids and decimals (16 bytes).
type Value struct {
	Int   int64
	Uint  uint64
	Float float64
	Bool  bool
	Bytes []byte
}

// class groups the types whose values compare in one way.
type class uint8

const (
	noClass class = iota
	boolClass
	intClass
	uintClass
	floatClass
	bytesClass
	decimalClass
)

// classOf is the comparison class of a node's values; noClass where only IS NULL applies.
func classOf(n *schema.Node) class {
	switch n.Basic {
	case schema.Boolean:
		return boolClass
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64:
		if n.Signed {
			return intClass
		}
		return uintClass
	case schema.DateTime:
		return intClass
	case schema.Float32, schema.Float64:
		return floatClass
	case schema.String, schema.Binary, schema.Guid:
		return bytesClass
	case schema.FixedSizeBinary:
		if n.IsDecimal() {
			return decimalClass
		}
		return bytesClass
	}
	return noClass
}

// operand is a literal bound to a node. For integer classes a literal that is not an integer, or lies outside the
// 64-bit range, is kept as its floor and a remark, so that comparisons stay exact.
type operand struct {
	Value
	null     bool // the literal NULL: every comparison is unknown
	fraction bool // the literal lies above Int or Uint and below the next integer
	beyond   int  // -1, +1: below or above every value of the class
}

// bindLiteral converts a literal to the type of a node.
func bindLiteral(n *schema.Node, l Literal) (operand, error) {
	if l.kind == nullLiteral {
		return operand{null: true}, nil
	}
	var op operand
	var err error
	switch c := classOf(n); c {
	case boolClass:
		op.Bool, err = bindBool(l)
	case intClass, uintClass:
		op, err = bindInteger(n, c, l)
	case floatClass:
		op.Float, err = bindFloat(n, l)
	case decimalClass:
		op.Bytes, err = bindDecimal(l)
	case bytesClass:
		op.Bytes, err = bindBytes(n, l)
	default:
		err = fmt.Errorf("only IS NULL applies to it")
	}
	if err != nil {
		return op, &BindError{literal: &l, err: fmt.Errorf("filter: can't compare %s with column %q: %w", l, n.Name, err)}
	}
	return op, nil
}

func bindBool(l Literal) (bool, error) {
	if l.kind != boolLiteral {
		return false, fmt.Errorf("it is a Boolean: expected TRUE or FALSE")
	}
	return l.text == "true", nil
}

func bindInteger(n *schema.Node, c class, l Literal) (operand, error) {
	switch {
	case n.Basic == schema.DateTime && (l.kind == stringLiteral || l.kind == dateTimeLiteral):
		ticks, err := parseDateTime(l.text)
		return operand{Value: Value{Int: ticks}}, err
	case n.IsTimeSpan() && (l.kind == stringLiteral || l.kind == timeSpanLiteral):
		ticks, err := literal.ParseTimeSpan(l.text)
		return operand{Value: Value{Int: ticks}}, err
	case l.kind != numberLiteral || n.Basic == schema.DateTime:
		return operand{}, fmt.Errorf("the literal has another type")
	}
	rat, ok := new(big.Rat).SetString(strings.TrimPrefix(l.text, "+"))
	if !ok {
		return operand{}, fmt.Errorf("it is not a number")
	}
	floor := new(big.Int).Div(rat.Num(), rat.Denom())
	op := operand{fraction: !rat.IsInt()}
	switch {
	case c == intClass && floor.IsInt64():
		op.Int = floor.Int64()
	case c == uintClass && floor.IsUint64():
		op.Uint = floor.Uint64()
	case floor.Sign() < 0:
		op.beyond = -1
	default:
		op.beyond = 1
	}
	return op, nil
}

func bindFloat(n *schema.Node, l Literal) (float64, error) {
	bits := 64
	if n.Basic == schema.Float32 {
		bits = 32
	}
	text := l.text
	if l.kind == stringLiteral {
		switch text {
		case "NaN":
			return math.NaN(), nil
		case "Infinity", "+Infinity":
			return math.Inf(1), nil
		case "-Infinity":
			return math.Inf(-1), nil
		}
	}
	if l.kind != numberLiteral {
		return 0, fmt.Errorf("it is a float")
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil && !isRangeError(err) {
		return 0, err
	}
	return f, nil
}

func bindBytes(n *schema.Node, l Literal) ([]byte, error) {
	switch {
	case n.Basic == schema.Guid && (l.kind == stringLiteral || l.kind == guidLiteral):
		g, err := literal.ParseGuid(l.text)
		return g[:], err
	case l.kind == binaryLiteral && n.Basic != schema.String && n.Basic != schema.Guid:
		return hex.DecodeString(l.text)
	case l.kind == stringLiteral && (n.Basic == schema.String || n.IsDynamic()):
		return []byte(l.text), nil
	}
	return nil, fmt.Errorf("the literal has another type")
}

// parseDateTime reads RFC 3339, or the same without zone (UTC then), without seconds, or a date alone.
func parseDateTime(s string) (int64, error) {
	for _, suffix := range []string{"", "Z", ":00Z", "T00:00:00Z"} {
		if ticks, _, err := literal.ParseDateTime(s + suffix); err == nil {
			return ticks, nil
		}
	}
	_, _, err := literal.ParseDateTime(s)
	return 0, err
}
