package filter

// Rename gives the expression with other paths: what to states about each. It is for fields that have other names elsewhere.
func Rename(e Expr, to func(Path) Path) Expr {
	switch e := e.(type) {
	case *Bound:
		return Rename(e.source, to)
	case andExpr:
		return andExpr{Rename(e.Left, to), Rename(e.Right, to)}
	case orExpr:
		return orExpr{Rename(e.Left, to), Rename(e.Right, to)}
	case notExpr:
		return notExpr{Rename(e.X, to)}
	case compareExpr:
		e.Field = to(e.Field)
		return e
	case inExpr:
		e.Field = to(e.Field)
		return e
	case nullExpr:
		e.Field = to(e.Field)
		return e
	case likeExpr:
		e.Field = to(e.Field)
		return e
	case textExpr:
		e.Field = to(e.Field)
		return e
	case truthExpr:
		e.Field = to(e.Field)
		return e
	}
	return e
}
