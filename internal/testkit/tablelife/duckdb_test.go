package tablelife

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
)

// question is a filter that DuckDB evaluates too, over the rows that main had.
type question struct {
	SQL  string  `json:"sql"`
	want []int64 // serial numbers
	text string
	rows []*row
	cols []column
}

// ask keeps some filters for DuckDB.
func (l *life) ask(c condition, want []int64) {
	if c.sql == "" || len(l.branches[mainBranch].rows) == 0 || len(l.asked) >= 20 {
		return
	}
	var cols []column
	for _, c := range l.columns {
		cols = append(cols, *c)
	}
	l.asked = append(l.asked, question{c.sql, want, c.text, l.branches[mainBranch].rows, cols})
}

// duck evaluates filters in DuckDB: SHARDCAT_PYICEBERG (.ci/run) names a Python that has it.
type duck struct{ python string }

func newDuck(t *testing.T) *duck {
	python := os.Getenv("SHARDCAT_PYICEBERG")
	if python == "" {
		t.Log("SHARDCAT_PYICEBERG names no Python with duckdb: filters are held against the model only")
	}
	return &duck{python}
}

// script answers each question by the serial numbers that DuckDB selects.
const script = `
import json, sys, duckdb
out = []
for q in json.load(sys.stdin):
    con = duckdb.connect()
    con.execute("CREATE TABLE t (" + ", ".join(n + " " + t for n, t in q["columns"]) + ")")
    floats = [t == "DOUBLE" for _, t in q["columns"]]
    rows = [[float(v) if f and v is not None else v for v, f in zip(r, floats)] for r in q["rows"]]
    con.executemany("INSERT INTO t VALUES (" + ", ".join("?" for _ in q["columns"]) + ")", rows)
    out.append([r[0] for r in con.execute("SELECT serial FROM t WHERE " + q["sql"] + " ORDER BY serial").fetchall()])
print(json.dumps(out))
`

type duckQuestion struct {
	SQL     string      `json:"sql"`
	Columns [][2]string `json:"columns"`
	Rows    [][]any     `json:"rows"`
}

// compare evaluates the filters of a life in DuckDB.
func (d *duck) compare(l *life) {
	if d.python == "" || len(l.asked) == 0 {
		return
	}
	var questions []duckQuestion
	for _, q := range l.asked {
		questions = append(questions, q.table())
	}
	in, err := json.Marshal(questions)
	if err != nil {
		l.t.Fatal(err)
	}
	cmd := exec.Command(d.python, "-c", script)
	var complaints bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &complaints
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("%v\n%s", err, complaints.String())
	}
	var got [][]int64
	if err := json.Unmarshal(out, &got); err != nil {
		l.t.Fatal(err)
	}
	for i, q := range l.asked {
		if !slices.Equal(got[i], q.want) {
			l.t.Errorf("%s: DuckDB selects %v, shardcat and the model %v", q.text, got[i], q.want)
		}
	}
}

// table is a question with a table of its own: members of structs and what is null of lists are columns, times are ticks.
func (q *question) table() duckQuestion {
	out := duckQuestion{SQL: q.SQL, Columns: [][2]string{{"serial", "BIGINT"}}}
	for _, c := range q.cols {
		name := "c" + strconv.Itoa(c.id)
		types := map[kind]string{kInt64: "BIGINT", kInt32: "BIGINT", kUInt64: "UBIGINT", kString: "VARCHAR", kTime: "BIGINT", kFloat: "DOUBLE", kBool: "BOOLEAN", kStruct: "INTEGER", kList: "INTEGER"}
		out.Columns = append(out.Columns, [2]string{name, types[c.kind]})
		if c.kind == kStruct {
			out.Columns = append(out.Columns, [2]string{name + "_a", "BIGINT"}, [2]string{name + "_b", "VARCHAR"})
		}
	}
	for _, w := range q.rows {
		cells := []any{w.serial}
		for _, c := range q.cols {
			v := w.value(c.id)
			cells = append(cells, cell(c.kind, v))
			if c.kind != kStruct {
				continue
			}
			a, b := null, null
			if !v.null {
				a, b = v.members[0], v.members[1]
			}
			cells = append(cells, cell(kInt64, a), cell(kString, b))
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

func cell(k kind, v *value) any {
	if v.null {
		return nil
	}
	switch k {
	case kUInt64:
		return v.u
	case kString:
		return v.s
	case kFloat:
		switch {
		case math.IsNaN(v.f):
			return "nan"
		case math.IsInf(v.f, 1):
			return "inf"
		case math.IsInf(v.f, -1):
			return "-inf"
		}
		return strconv.FormatFloat(v.f, 'g', -1, 64)
	case kBool:
		return v.b
	case kStruct, kList:
		return 1
	}
	return v.i
}
