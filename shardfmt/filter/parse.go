package filter

import (
	"errors"
	"strings"
)

// maxDepth bounds the nesting of brackets and NOTs.
const maxDepth = 200

// Parse reads an expression. Its errors are of type *SyntaxError and name the offset in s.
func Parse(s string) (Expr, error) {
	e, err := parse(s)
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		syntax.Text = s
	}
	return e, err
}

func parse(s string) (Expr, error) {
	tokens, err := lex(s)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != endToken {
		return nil, p.unexpected("AND, OR or the end")
	}
	return e, nil
}

// parser is a recursive descent over tokens, one method a level of precedence.
type parser struct {
	tokens []token
	pos    int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.pos] }

// accept takes the next token if it is this keyword or symbol.
func (p *parser) accept(word string) bool {
	t := p.peek()
	if t.is(word) || t.kind == symbolToken && t.text == word {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(word string) error {
	if !p.accept(word) {
		return p.unexpected(word)
	}
	return nil
}

func (p *parser) unexpected(wanted string) error {
	t := p.peek()
	return badSyntax(t.at, "%q at offset %d, where %s was expected", t.text, t.at, wanted)
}

func (p *parser) or() (Expr, error) {
	left, err := p.and()
	for err == nil && p.accept("OR") {
		var right Expr
		if right, err = p.and(); err == nil {
			left = orExpr{left, right}
		}
	}
	return left, err
}

func (p *parser) and() (Expr, error) {
	left, err := p.not()
	for err == nil && p.accept("AND") {
		var right Expr
		if right, err = p.not(); err == nil {
			left = andExpr{left, right}
		}
	}
	return left, err
}

func (p *parser) not() (Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, badSyntax(p.peek().at, "nested deeper than %d levels at offset %d", maxDepth, p.peek().at)
	}
	defer func() { p.depth-- }()
	if p.accept("NOT") {
		x, err := p.not()
		if err != nil {
			return nil, err
		}
		return notExpr{x}, nil
	}
	if p.accept("(") {
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	}
	return p.predicate()
}

// predicate reads "field operator literal", "literal operator field", or a boolean field alone.
func (p *parser) predicate() (Expr, error) {
	if lit, ok, err := p.literal(); err != nil {
		return nil, err
	} else if ok {
		return p.literalFirst(lit)
	}
	field, err := p.path()
	if err != nil {
		return nil, err
	}
	if op, ok := p.compareOp(); ok {
		lit, err := p.mustLiteral()
		return compareExpr{field, op, lit}, err
	}
	if p.accept("IS") {
		negated := p.accept("NOT")
		return negate(nullExpr{field}, negated), p.expect("NULL")
	}
	negated := p.accept("NOT")
	e, err := p.wordOperator(field)
	if err != nil {
		return nil, err
	}
	if e == nil {
		if negated {
			return nil, p.unexpected("IN, BETWEEN, LIKE, HAS or CONTAINS")
		}
		return truthExpr{field}, nil
	}
	return negate(e, negated), nil
}

func (p *parser) literalFirst(lit Literal) (Expr, error) {
	op, ok := p.compareOp()
	if !ok {
		return nil, p.unexpected("a comparison")
	}
	field, err := p.path()
	return compareExpr{field, op.flipped(), lit}, err
}

// wordOperator reads an operator that is a word, or returns nil if there is none.
func (p *parser) wordOperator(field Path) (Expr, error) {
	switch {
	case p.accept("IN"):
		return p.in(field)
	case p.accept("BETWEEN"):
		low, err := p.mustLiteral()
		if err != nil {
			return nil, err
		}
		if err := p.expect("AND"); err != nil {
			return nil, err
		}
		high, err := p.mustLiteral()
		return andExpr{compareExpr{field, opGe, low}, compareExpr{field, opLe, high}}, err
	case p.accept("LIKE"):
		text, err := p.text()
		return likeExpr{field, text}, err
	}
	for _, kind := range []textKind{hasTerm, hasPrefix, containsText} {
		for _, exact := range []bool{false, true} {
			word := kind.String()
			if exact {
				word += "_CS"
			}
			if p.accept(word) {
				text, err := p.text()
				return textExpr{field, kind, exact, text}, err
			}
		}
	}
	return nil, nil
}

func (p *parser) in(field Path) (Expr, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	in := inExpr{Field: field}
	for {
		lit, err := p.mustLiteral()
		if err != nil {
			return nil, err
		}
		in.Values = append(in.Values, lit)
		if p.accept(")") {
			return in, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

func (p *parser) compareOp() (operator, bool) {
	t := p.peek()
	if t.kind != symbolToken {
		return 0, false
	}
	op, ok := map[string]operator{"=": opEq, "==": opEq, "!=": opNe, "<>": opNe, "<": opLt, "<=": opLe, ">": opGt, ">=": opGe}[t.text]
	if ok {
		p.pos++
	}
	return op, ok
}

// path reads a dotted name.
func (p *parser) path() (Path, error) {
	var path Path
	for {
		t := p.peek()
		switch {
		case t.kind == quotedToken, t.kind == nameToken && !reserved[strings.ToUpper(t.text)]:
			p.pos++
			path = append(path, t.text)
		default:
			return nil, p.unexpected("a field name")
		}
		if !p.accept(".") {
			return path, nil
		}
	}
}

// typedLiterals are the words that give the string after them a type.
var typedLiterals = map[string]literalKind{
	"GUID": guidLiteral, "X": binaryLiteral, "TIMESPAN": timeSpanLiteral, "DATETIME": dateTimeLiteral,
	"TIMESTAMP": dateTimeLiteral, "DECIMAL": decimalLiteral,
}

// literal reads a literal if one stands here.
func (p *parser) literal() (Literal, bool, error) {
	t := p.peek()
	switch {
	case t.kind == numberToken:
		p.pos++
		return Literal{numberLiteral, t.text}, true, checkNumber(t)
	case t.kind == stringToken:
		p.pos++
		return Literal{stringLiteral, t.text}, true, nil
	case t.is("NULL"):
		p.pos++
		return Literal{kind: nullLiteral}, true, nil
	case t.is("TRUE"), t.is("FALSE"):
		p.pos++
		return Literal{boolLiteral, strings.ToLower(t.text)}, true, nil
	case t.kind == nameToken && p.tokens[p.pos+1].kind == stringToken:
		kind, ok := typedLiterals[strings.ToUpper(t.text)]
		if !ok {
			return Literal{}, false, nil
		}
		p.pos += 2
		return Literal{kind, p.tokens[p.pos-1].text}, true, nil
	}
	return Literal{}, false, nil
}

func (p *parser) mustLiteral() (Literal, error) {
	lit, ok, err := p.literal()
	if err == nil && !ok {
		err = p.unexpected("a literal")
	}
	return lit, err
}

func (p *parser) text() (string, error) {
	t := p.peek()
	if t.kind != stringToken {
		return "", p.unexpected("a string in single quotes")
	}
	p.pos++
	return t.text, nil
}

func negate(e Expr, yes bool) Expr {
	if yes {
		return notExpr{e}
	}
	return e
}
