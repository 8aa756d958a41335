package tablelife

import (
	"cmp"
	"fmt"
	literalpkg "github.com/shardcat/shardcat/internal/literal"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"
)

// truth is a value of SQL's logic.
type truth int

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// condition is a filter: as shardcat reads it, as the model does, and as DuckDB does, "" if that has no such thing.
type condition struct {
	text, sql string
	eval      func(*row) truth
}

// newCondition draws a filter over columns.
func newCondition(r *rand.Rand, columns []*column, depth int) condition {
	switch n := r.IntN(10); {
	case depth > 0 && n < 2:
		a, b := newCondition(r, columns, depth-1), newCondition(r, columns, depth-1)
		return condition{"(" + a.text + " AND " + b.text + ")", joined(a.sql, " AND ", b.sql), func(w *row) truth { return min(a.eval(w), b.eval(w)) }}
	case depth > 0 && n < 4:
		a, b := newCondition(r, columns, depth-1), newCondition(r, columns, depth-1)
		return condition{"(" + a.text + " OR " + b.text + ")", joined(a.sql, " OR ", b.sql), func(w *row) truth { return max(a.eval(w), b.eval(w)) }}
	case depth > 0 && n < 5:
		a := newCondition(r, columns, depth-1)
		return condition{"NOT (" + a.text + ")", joined("", "NOT ", a.sql), func(w *row) truth { return yes - a.eval(w) }}
	}
	return atom(r, pick(r, columns))
}

func joined(a, op, b string) string {
	if b == "" || a == "" && !strings.HasPrefix(op, "NOT") {
		return ""
	}
	return "(" + a + op + b + ")"
}

// atom draws a condition on one column.
func atom(r *rand.Rand, c *column) condition {
	get := func(w *row) *value { return w.value(c.id) }
	name, sql, k := c.name, fmt.Sprintf("c%d", c.id), c.kind
	if r.IntN(6) == 0 || k == kList {
		return isNull(r, name, sql, get)
	}
	if k == kStruct {
		i := r.IntN(2)
		name, sql, k = name+"."+"ab"[i:i+1], sql+"_"+"ab"[i:i+1], []kind{kInt64, kString}[i]
		get = func(w *row) *value {
			if v := w.value(c.id); !v.null {
				return v.members[i]
			}
			return null
		}
		if r.IntN(6) == 0 {
			return isNull(r, name, sql, get)
		}
	}
	if k == kBool {
		return condition{name, sql, func(w *row) truth {
			if v := get(w); !v.null {
				return truthOf(v.b)
			}
			return unknown
		}}
	}
	if k == kString && r.IntN(4) == 0 {
		return text(r, name, sql, get)
	}
	literal := func() *value {
		for {
			v := newValue(r, k)
			if n := len(c.seen); n > 0 && k == c.kind && r.IntN(2) == 0 {
				v = c.seen[r.IntN(n)]
			}
			if !v.null && (k != kFloat || !math.IsNaN(v.f) && !math.IsInf(v.f, 0)) {
				return v
			}
		}
	}
	if r.IntN(5) == 0 {
		return in(k, name, sql, get, []*value{literal(), literal(), literal()})
	}
	return compare(k, pick(r, []string{"=", "!=", "<", "<=", ">", ">="}), name, sql, get, literal())
}

func isNull(r *rand.Rand, name, sql string, get func(*row) *value) condition {
	if r.IntN(2) == 0 {
		return condition{name + " IS NULL", sql + " IS NULL", func(w *row) truth { return truthOf(get(w).null) }}
	}
	return condition{name + " IS NOT NULL", sql + " IS NOT NULL", func(w *row) truth { return truthOf(!get(w).null) }}
}

func compare(k kind, op, name, sql string, get func(*row) *value, v *value) condition {
	c := condition{text: name + " " + op + " " + literalText(k, v), sql: sql + " " + op + " " + literalSQL(k, v), eval: func(w *row) truth {
		x := get(w)
		if x.null {
			return unknown
		}
		return truthOf(holds(k, op, x, v))
	}}
	if k == kFloat { // DuckDB has NaN equal to itself and above all others
		c.sql = fmt.Sprintf("CASE WHEN isnan(%s) THEN %v ELSE %s END", sql, op == "!=", c.sql)
	}
	return c
}

func in(k kind, name, sql string, get func(*row) *value, of []*value) condition {
	var a, b []string
	for _, v := range of {
		a, b = append(a, literalText(k, v)), append(b, literalSQL(k, v))
	}
	return condition{name + " IN (" + strings.Join(a, ", ") + ")", sql + " IN (" + strings.Join(b, ", ") + ")", func(w *row) truth {
		x := get(w)
		if x.null {
			return unknown
		}
		for _, v := range of {
			if holds(k, "=", x, v) {
				return yes
			}
		}
		return no
	}}
}

func holds(k kind, op string, x, y *value) bool {
	n := 0
	switch k {
	case kUInt64:
		n = cmp.Compare(x.u, y.u)
	case kString:
		n = strings.Compare(x.s, y.s)
	case kFloat:
		if math.IsNaN(x.f) {
			return op == "!="
		}
		n = cmp.Compare(x.f+0, y.f+0)
		if x.f == y.f {
			n = 0
		}
	default:
		n = cmp.Compare(x.i, y.i)
	}
	switch op {
	case "=":
		return n == 0
	case "!=":
		return n != 0
	case "<":
		return n < 0
	case "<=":
		return n <= 0
	case ">":
		return n > 0
	}
	return n >= 0
}

// text draws a condition on the text of a column.
func text(r *rand.Rand, name, sql string, get func(*row) *value) condition {
	on := func(holds func(s string) bool) func(*row) truth {
		return func(w *row) truth {
			if v := get(w); !v.null {
				return truthOf(holds(v.s))
			}
			return unknown
		}
	}
	if r.IntN(2) == 0 {
		word := pick(r, []string{"a", "word", "other", "text", "long"})
		return condition{name + " HAS '" + word + "'", "", on(func(s string) bool {
			for _, t := range strings.FieldsFunc(s, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) }) {
				if strings.EqualFold(t, word) {
					return true
				}
			}
			return false
		})}
	}
	prefix := pick(r, []string{"a", "ab", "long text that bounds of entries cut of", "word", "é", ""})
	return condition{name + " LIKE '" + prefix + "%'", sql + " LIKE '" + prefix + "%'", on(func(s string) bool { return strings.HasPrefix(s, prefix) })}
}

func literalText(k kind, v *value) string {
	switch k {
	case kString:
		return "'" + v.s + "'"
	case kTime:
		return "'" + string(literalpkg.AppendDateTime(nil, v.i)) + "'"
	case kUInt64:
		return strconv.FormatUint(v.u, 10)
	case kFloat:
		return strconv.FormatFloat(v.f, 'g', -1, 64)
	}
	return strconv.FormatInt(v.i, 10)
}

// literalSQL: times are ticks in DuckDB.
func literalSQL(k kind, v *value) string {
	switch k {
	case kTime:
		return strconv.FormatInt(v.i, 10)
	case kFloat:
		return strconv.FormatFloat(v.f, 'e', -1, 64) + "::DOUBLE"
	}
	return literalText(k, v)
}
