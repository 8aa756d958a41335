package filter

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// test evaluates one non-null value; constant truths are distinguished by unknown.
type test interface {
	// holds evaluates a value.
	holds(v *Value) bool
	// unknown: the test is unknown for every value for which it does not hold (a NULL among its literals).
	unknown() bool
	// possible reports what a range leaves open; see Stats.
	possible(s *Stats) outcomes
}

// compareTest compares a value with one literal.
type compareTest struct {
	c   class
	op  operator
	lit operand
}

func newCompareTest(n *schema.Node, op operator, l Literal) (test, error) {
	if n.IsDynamic() {
		return newDynamicCompare(n, op, l)
	}
	lit, err := bindLiteral(n, l)
	return &compareTest{classOf(n), op, lit}, err
}

func (t *compareTest) unknown() bool { return t.lit.null }

func (t *compareTest) holds(v *Value) bool {
	if t.lit.null {
		return false
	}
	c, ordered := t.lit.compare(t.c, v)
	if !ordered {
		return t.op == opNe
	}
	return t.op.holds(c)
}

// compare is the three-way comparison of a value with the literal; a NaN on either side is not ordered.
func (o *operand) compare(c class, v *Value) (result int, ordered bool) {
	if o.beyond != 0 {
		return -o.beyond, true
	}
	switch c {
	case intClass:
		result = cmp.Compare(v.Int, o.Int)
	case uintClass:
		result = cmp.Compare(v.Uint, o.Uint)
	case floatClass:
		if v.Float != v.Float || o.Float != o.Float {
			return 0, false
		}
		return cmp.Compare(v.Float, o.Float), true
	case boolClass:
		return cmp.Compare(boolRank(v.Bool), boolRank(o.Bool)), true
	case decimalClass:
		return compareDecimal(v.Bytes, o.Bytes)
	default:
		return bytes.Compare(v.Bytes, o.Bytes), true
	}
	if result == 0 && o.fraction {
		result = -1
	}
	return result, true
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareDecimal compares two decimal128 numbers by value; a NaN, or what is not a decimal at all, is not ordered.
func compareDecimal(a, b []byte) (result int, ordered bool) {
	if len(a) != decimal.Size || len(b) != decimal.Size {
		return 0, false
	}
	x, y := decimal.Value(a), decimal.Value(b)
	if x.IsNaN() || y.IsNaN() {
		return 0, false
	}
	return decimal.Compare(x, y), true
}

// bindDecimal reads a decimal literal into its 16 bytes.
func bindDecimal(l Literal) ([]byte, error) {
	if l.kind != numberLiteral && l.kind != stringLiteral && l.kind != decimalLiteral {
		return nil, fmt.Errorf("it is a decimal")
	}
	d, err := decimal.Parse(l.text)
	return d[:], err
}

// inTest compares a value with a list of literals.
type inTest struct {
	c       class
	any     []operand
	hasNull bool
}

func newInTest(n *schema.Node, values []Literal) (test, error) {
	if n.IsDynamic() {
		return newDynamicIn(n, values)
	}
	t := &inTest{c: classOf(n)}
	for _, l := range values {
		lit, err := bindLiteral(n, l)
		if err != nil {
			return nil, err
		}
		if lit.null {
			t.hasNull = true
			continue
		}
		t.any = append(t.any, lit)
	}
	return t, nil
}

func (t *inTest) unknown() bool { return t.hasNull }

func (t *inTest) holds(v *Value) bool {
	for i := range t.any {
		if c, ordered := t.any[i].compare(t.c, v); ordered && c == 0 {
			return true
		}
	}
	return false
}
