package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// site is a place that can be mutated, and how.
type site struct {
	id         int
	file       string // relative to the module
	line       int
	last, ends int // the last line of the expression, and that of the function around it
	begins     int // the first line of that function
	rule       string
	text       string // the line
	edits      []edit
}

func (s *site) String() string { return fmt.Sprintf("%s:%d  %s", s.file, s.line, s.rule) }

// breaking is the rule of continue statements.
const breaking = "continue: break"

// edit replaces length bytes at an offset. Where several insert at one place, those with a smaller rank come first.
type edit struct {
	at, length int
	text       string
	rank       int
}

// support is the code that mutated packages get: a mutation is on if MUTATE_SITE has its number, and with MUTATE_HITS the numbers of the sites
// go to a file where a mutation would have made a difference, as a bound does for values that are equal.
const support = `package %s

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutateSite, _ = strconv.Atoi(os.Getenv("MUTATE_SITE"))
	mutateHits    = os.Getenv("MUTATE_HITS")
	mutateSeen    [%d]atomic.Bool
)

func mutateOn(id int) bool {
	if mutateHits != "" {
		mutateHit(id)
	}
	return id == mutateSite
}

func mutateHit(id int) {
	if mutateSeen[id].Swap(true) {
		return
	}
	f, err := os.OpenFile(mutateHits, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strconv.Itoa(id) + "\n"); err != nil {
		panic(err)
	}
}

func mutateLess[T cmp.Ordered](id int, x, y T) bool { return x < y || x == y && mutateOn(id) }

func mutateMore[T cmp.Ordered](id int, x, y T) bool { return x > y || x == y && mutateOn(id) }

func mutateAnd(id int, x bool, y func() bool) bool {
	if !x {
		return mutateOn(id) && y()
	}
	return y() || mutateOn(id)
}

func mutatePlus[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64](id int, x, one T) T {
	if mutateOn(id) {
		return x + one + one
	}
	return x + one
}

func mutateMinus[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64](id int, x, one T) T {
	if mutateOn(id) {
		return x - one - one
	}
	return x - one
}

func mutateErr(id int, err error) error {
	if err != nil && mutateOn(id) {
		return nil
	}
	return err
}

var _ = []any{mutateLess[int], mutateMore[int], mutateAnd, mutatePlus[int], mutateMinus[int], mutateErr}
`

// finder collects the sites of a file.
type finder struct {
	fset  *token.FileSet
	file  string
	lines []string
	next  int
	sites []*site
	// around are the nodes that hold the present one.
	around []ast.Node
}

// find returns the sites of a Go file, numbered from next on.
func find(name string, src []byte, next int) ([]*site, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(f) {
		return nil, nil
	}
	w := &finder{fset: fset, file: name, lines: strings.Split(string(src), "\n"), next: next}
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			w.around = w.around[:len(w.around)-1]
			return true
		}
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
			return false // which is not left, for Inspect calls with nil only for what it entered
		}
		w.visit(n)
		w.around = append(w.around, n)
		return true
	})
	return w.sites, nil
}

func (w *finder) offset(p token.Pos) int { return w.fset.Position(p).Offset }

func (w *finder) add(n ast.Node, rule string, make func(id int) []edit) {
	s := &site{id: w.next, file: w.file, line: w.fset.Position(n.Pos()).Line, last: w.fset.Position(n.End()).Line, rule: rule, edits: make(w.next)}
	s.begins, s.ends = s.line, s.last
	for _, a := range w.around {
		switch a.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			s.begins, s.ends = w.fset.Position(a.Pos()).Line, w.fset.Position(a.End()).Line
		}
	}
	s.text = strings.TrimSpace(w.lines[s.line-1])
	w.next++
	w.sites = append(w.sites, s)
}

// visit adds the mutations of one node.
func (w *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE && n.Label == nil {
			w.add(n, breaking, func(id int) []edit {
				return []edit{{w.offset(n.Pos()), 0, fmt.Sprintf("if mutateOn(%d) { break }; ", id), 0}}
			})
		}
	case *ast.ReturnStmt:
		switch {
		case len(n.Results) == 1 && isIdent(n.Results[0], "true"):
			w.add(n, "return true: false", func(id int) []edit {
				return []edit{{w.offset(n.Results[0].Pos()), len("true"), fmt.Sprintf("!mutateOn(%d)", id), 0}}
			})
		case len(n.Results) == 2 && isIdent(n.Results[0], "nil") && isIdent(n.Results[1], "err"):
			w.add(n, "return nil, err: nil, nil", func(id int) []edit {
				return []edit{{w.offset(n.Results[1].Pos()), len("err"), fmt.Sprintf("mutateErr(%d, err)", id), 0}}
			})
		}
	}
}

func (w *finder) binary(n *ast.BinaryExpr) {
	depth := 2 * len(w.around) // outer expressions begin first and end last
	call := func(name string) func(id int) []edit {
		return func(id int) []edit {
			return []edit{
				{w.offset(n.Pos()), 0, fmt.Sprintf("%s(%d, ", name, id), depth},
				{w.offset(n.OpPos), len(n.Op.String()), ",", 0},
				{w.offset(n.End()), 0, ")", -depth},
			}
		}
	}
	flip := func(id int) []edit {
		return []edit{{w.offset(n.Pos()), 0, "((", depth}, {w.offset(n.End()), 0, fmt.Sprintf(") != mutateOn(%d))", id), -depth}}
	}
	one := isLiteral(n.Y, "1")
	switch {
	case n.Op == token.EQL:
		w.add(n, "==: !=", flip)
	case n.Op == token.NEQ && isIdent(n.Y, "nil"):
		w.add(n, "!= nil: == nil", flip)
	case n.Op == token.LSS:
		w.add(n, "<: <=", call("mutateLess"))
	case n.Op == token.GTR:
		w.add(n, ">: >=", call("mutateMore"))
	case n.Op == token.ADD && one:
		w.add(n, "+ 1: + 2", call("mutatePlus"))
	case n.Op == token.SUB && one:
		w.add(n, "- 1: - 2", call("mutateMinus"))
	case n.Op == token.LAND:
		w.add(n, "&&: ||", func(id int) []edit {
			return append(call("mutateAnd")(id), edit{w.offset(n.Y.Pos()), 0, "func() bool { return ", depth}, edit{w.offset(n.End()), 0, "}", -depth - 1})
		})
	}
}

func isIdent(e ast.Expr, name string) bool {
	i, ok := e.(*ast.Ident)
	return ok && i.Name == name
}

func isLiteral(e ast.Expr, text string) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == text
}

// apply makes all edits of the sites of a file, each of which is off until it is chosen.
func apply(src []byte, sites []*site) []byte {
	var edits []edit
	for _, s := range sites {
		edits = append(edits, s.edits...)
	}
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank))
	})
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(out, src[at:e.at]...)
		out = append(out, e.text...)
		at = e.at + e.length
	}
	return append(out, src[at:]...)
}
