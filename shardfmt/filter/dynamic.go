package filter

import (
	"bytes"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A Dynamic value is stored as JSON text. A string literal is compared with the text of the value: the characters of a
// JSON string, without its quotes and escapes, and of any other value its JSON. A number is compared with JSON numbers
// by value, TRUE and FALSE with JSON booleans; values of other kinds are not equal to them, and neither below nor
// above. Indexes and statistics hold the stored bytes, so these tests never use them.

// textOf is the node as which the text of Dynamic values is compared.
var textOf = &schema.Node{Basic: schema.String, Nullable: true}

// dynamicTest applies a test of strings to the text of Dynamic values.
type dynamicTest struct{ text test }

// onText makes a test of the text of a node's values: of a Dynamic node's, a dynamicTest.
func onText(n *schema.Node, build func(n *schema.Node) (test, error)) (test, error) {
	if !n.IsDynamic() {
		return build(n)
	}
	named := *textOf
	named.Name = n.Name
	t, err := build(&named)
	return &dynamicTest{t}, err
}

func (t *dynamicTest) unknown() bool { return t.text.unknown() }

func (t *dynamicTest) holds(v *Value) bool {
	return t.text.holds(&Value{Bytes: literal.DynamicText(v.Bytes)})
}

func (t *dynamicTest) possible(*Stats) outcomes { return anything }

// dynamicCompare compares Dynamic values with a number or a boolean.
type dynamicCompare struct {
	op  operator
	lit Literal
	// number is the literal as a decimal.
	number decimal.Value
}

func (t *dynamicCompare) unknown() bool { return false }

func (t *dynamicCompare) possible(*Stats) outcomes { return anything }

func (t *dynamicCompare) holds(v *Value) bool {
	result, ordered := t.compare(bytes.TrimSpace(v.Bytes))
	if !ordered {
		return t.op == opNe
	}
	return t.op.holds(result)
}

func (t *dynamicCompare) compare(json []byte) (result int, ordered bool) {
	if t.lit.kind == boolLiteral {
		if s := string(json); s != "true" && s != "false" {
			return 0, false
		}
		return boolRank(string(json) == "true") - boolRank(t.lit.text == "true"), true
	}
	if len(json) == 0 || json[0] != '-' && (json[0] < '0' || json[0] > '9') {
		return 0, false
	}
	number, err := decimal.ParseRounded(string(json))
	if err != nil || number.IsNaN() {
		return 0, false
	}
	return decimal.Compare(number, t.number), true
}

// newDynamicCompare makes the test of one literal on a Dynamic node.
func newDynamicCompare(n *schema.Node, op operator, l Literal) (test, error) {
	switch l.kind {
	case stringLiteral:
		return onText(n, func(n *schema.Node) (test, error) {
			lit, err := bindLiteral(n, l)
			return &compareTest{classOf(n), op, lit}, err
		})
	case numberLiteral:
		number, err := decimal.ParseRounded(l.text)
		return &dynamicCompare{op: op, lit: l, number: number}, err
	case boolLiteral:
		return &dynamicCompare{op: op, lit: l}, nil
	}
	lit, err := bindLiteral(n, l)
	return &compareTest{classOf(n), op, lit}, err
}

// dynamicIn is IN for Dynamic values.
type dynamicIn struct {
	any     []test
	hasNull bool
}

func newDynamicIn(n *schema.Node, values []Literal) (test, error) {
	t := &dynamicIn{}
	for _, l := range values {
		if l.kind == nullLiteral {
			t.hasNull = true
			continue
		}
		one, err := newDynamicCompare(n, opEq, l)
		if err != nil {
			return nil, err
		}
		t.any = append(t.any, one)
	}
	return t, nil
}

func (t *dynamicIn) unknown() bool { return t.hasNull }

func (t *dynamicIn) holds(v *Value) bool {
	for _, one := range t.any {
		if one.holds(v) {
			return true
		}
	}
	return false
}

func (t *dynamicIn) possible(*Stats) outcomes { return anything }
