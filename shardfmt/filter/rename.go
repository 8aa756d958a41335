package filter

// Rename gives the expression with other paths: what to states about each. It is for fields that have other names elsewhere.
func Rename(e Expr, to func(Path) Path) Expr {
	switch e := e.(type) {
	case And:
		return And{Rename(e.Left, to), Rename(e.Right, to)}
	case Or:
		return Or{Rename(e.Left, to), Rename(e.Right, to)}
	case Not:
		return Not{Rename(e.X, to)}
	case Compare:
		e.Field = to(e.Field)
		return e
	case In:
		e.Field = to(e.Field)
		return e
	case IsNull:
		e.Field = to(e.Field)
		return e
	case Like:
		e.Field = to(e.Field)
		return e
	case Text:
		e.Field = to(e.Field)
		return e
	case Truth:
		e.Field = to(e.Field)
		return e
	}
	return e
}
