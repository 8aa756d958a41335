package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/internal/testkit/seed"
)

// shape is the type of a field of a table that grows: a scalar by its name, or what has members or items.
type shape struct {
	kind     string // "Struct", "List", "Map", or a scalar type
	members  []fieldOf
	item     *shape
	required bool
}

type fieldOf struct {
	name  string
	shape *shape
}

// growing is a table whose files have more fields than it does.
type growing struct {
	t    *testing.T
	r    *rand.Rand
	root *shape
	// within is a struct in a list or a map.
	within *shape
	names  int
	rows   map[int]map[string]any // by id
	id     int
	steps  []string
}

func (g *growing) fail(format string, args ...any) {
	g.t.Helper()
	g.t.Fatalf("%s\nafter\n%s", fmt.Sprintf(format, args...), strings.Join(g.steps, "\n"))
}

// shardcat runs a command.
func (g *growing) shardcat(args ...string) string {
	g.t.Helper()
	g.steps = append(g.steps, strings.Join(args, " "))
	var out, errs bytes.Buffer
	if err := newApp(strings.NewReader(""), &out, &errs).execute(context.Background(), args); err != nil {
		g.fail("%v\n%s", err, errs.String())
	}
	return out.String()
}

// newShape draws a type; one that inference finds from values if inferred, else also those that it would not choose.
func (g *growing) newShape(depth int, inferred bool) *shape {
	scalars := []string{"Int64", "Float64", "String", "Boolean"}
	if !inferred {
		scalars = append(scalars, "Int8", "Int16", "Int32", "Float32", "Decimal")
	}
	kinds := []string{"Struct", "Struct", "List", "Map"}
	if depth == 0 || g.r.IntN(2) == 0 {
		return &shape{kind: scalars[g.r.IntN(len(scalars))]}
	}
	s := &shape{kind: kinds[g.r.IntN(len(kinds))]}
	switch {
	case s.kind == "Map" && inferred: // an object is a struct
		s.kind = "Struct"
		fallthrough
	case s.kind == "Struct":
		for range 1 + g.r.IntN(3) {
			m := g.newMember(depth-1, inferred)
			m.shape.required = !inferred && m.shape.item == nil && m.shape.members == nil && g.r.IntN(4) == 0
			s.members = append(s.members, m)
		}
	default:
		s.item = g.newShape(depth-1, inferred)
	}
	return s
}

func (g *growing) newMember(depth int, inferred bool) fieldOf {
	g.names++
	return fieldOf{"f" + strconv.Itoa(g.names), g.newShape(depth, inferred)}
}

func (s *shape) String() string {
	switch s.kind {
	case "Struct":
		return "Struct<" + membersText(s.members) + ">"
	case "List":
		return "List<" + s.item.String() + ">"
	case "Map":
		return "Map<String, " + s.item.String() + ">"
	}
	return s.kind
}

func membersText(members []fieldOf) string {
	var out []string
	for _, m := range members {
		text := m.name + ": " + m.shape.String()
		if m.shape.required {
			text += " not null"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// structs are the structs in a type at all depths.
func (s *shape) structs() (out []*shape) {
	if s.kind == "Struct" {
		out = append(out, s)
	}
	for _, m := range s.members {
		out = append(out, m.shape.structs()...)
	}
	if s.item != nil {
		out = append(out, s.item.structs()...)
	}
	return out
}

// value draws a value, null or left out one time of five. What is in whole has all that it can have.
func (g *growing) value(s *shape, whole bool) any {
	if !whole && !s.required && g.r.IntN(5) == 0 {
		return nil
	}
	switch s.kind {
	case "Struct":
		out := map[string]any{}
		for _, m := range s.members {
			if v := g.value(m.shape, whole); v != nil {
				out[m.name] = v
			}
		}
		return out
	case "List":
		out := []any{}
		for range 1 + g.r.IntN(3) {
			out = append(out, g.value(s.item, whole))
		}
		return out
	case "Map":
		out := []any{}
		for k := range 1 + g.r.IntN(2) {
			entry := map[string]any{"key": "k" + strconv.Itoa(k)}
			if v := g.value(s.item, whole); v != nil {
				entry["value"] = v
			}
			out = append(out, entry)
		}
		return out
	case "String":
		return "word" + strconv.Itoa(g.r.IntN(100))
	case "Boolean":
		return g.r.IntN(2) == 0
	case "Float32", "Float64":
		return float64(g.r.IntN(100)) + 0.25
	case "Decimal":
		return fmt.Sprintf("%d.%02d", g.r.IntN(100), 1+g.r.IntN(99))
	}
	return float64(g.r.IntN(100))
}

// bare takes nulls out of structs: a member that is missing is null.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if x = bare(x); x != nil {
				out[k] = x
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = bare(v[i])
		}
		return out
	}
	return v
}

// file writes some rows, the first of which has all fields, and returns its path.
func (g *growing) file(rows []map[string]any) string {
	var text bytes.Buffer
	for _, row := range rows {
		line, err := json.Marshal(row)
		if err != nil {
			g.t.Fatal(err)
		}
		text.Write(append(line, '\n'))
		g.steps = append(g.steps, "    "+string(line))
	}
	path := fmt.Sprintf("in%d.ndjson", g.id)
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		g.t.Fatal(err)
	}
	if g.r.IntN(3) == 0 {
		parquet := fmt.Sprintf("in%d.parquet", g.id)
		g.shardcat("convert", path, parquet, "--schema", membersText(g.root.members))
		return parquet
	}
	return path
}

// step grows the type somewhere, or not, and delivers rows of it.
func (g *growing) step() {
	if g.r.IntN(3) > 0 {
		all := g.root.structs()
		s := all[g.r.IntN(len(all))]
		if g.r.IntN(3) == 0 {
			s = g.within
		}
		s.members = append(s.members, g.newMember(1, true))
	}
	var rows []map[string]any
	for i := range 1 + g.r.IntN(3) {
		row := g.value(&shape{kind: "Struct", members: g.root.members[1:], required: true}, i == 0).(map[string]any)
		g.id++
		row["id"] = float64(g.id)
		rows = append(rows, row)
	}
	path := g.file(rows)
	switch g.r.IntN(4) {
	case 0:
		gone := 1 + g.r.IntN(g.id)
		g.shardcat("overwrite", "t", path, "--where", fmt.Sprintf("id = %d", gone), "--unknown-fields", "extend")
		delete(g.rows, gone)
	case 1:
		folder := fmt.Sprintf("parts%d", g.id)
		if err := os.Mkdir(folder, 0o700); err != nil {
			g.t.Fatal(err)
		}
		if err := os.Rename(path, filepath.Join(folder, path)); err != nil {
			g.t.Fatal(err)
		}
		g.shardcat("ingest", "t", folder+"/", "--unknown-fields", "extend", "--commit-files", "1")
	default:
		g.shardcat("ingest", "t", path, "--unknown-fields", "extend")
	}
	for _, row := range rows {
		g.rows[int(row["id"].(float64))] = row
	}
}

func (g *growing) check() {
	got := map[int]map[string]any{}
	for line := range strings.Lines(g.shardcat("scan", "t")) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			g.fail("%s: %v", line, err)
		}
		got[int(row["id"].(float64))] = row
	}
	if len(got) != len(g.rows) {
		g.fail("%d rows, want %d", len(got), len(g.rows))
	}
	for id, want := range g.rows {
		if !reflect.DeepEqual(bare(got[id]), bare(want)) {
			is, _ := json.Marshal(bare(got[id]))
			ought, _ := json.Marshal(bare(want))
			g.fail("row %d is\n%s\nwant\n%s", id, is, ought)
		}
	}
}

// TestExtendLives delivers files with ever more members to tables of random types: new ones at any depth, in lists and maps too, by ingest,
// overwrite and files in parts, as NDJSON and Parquet. The tables hold what the files have. SHARDCAT_SEED lives one life again, and
// SHARDCAT_TABLE_LIFE states for how long lives are tried.
func TestExtendLives(t *testing.T) {
	lives, until := 6, time.Time{}
	seed, one := seed.Of(t)
	if one {
		lives = 1
	}
	if text := os.Getenv("SHARDCAT_TABLE_LIFE"); text != "" && !one {
		during, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		until = time.Now().Add(during)
	}
	for n := uint64(0); n < uint64(lives) || time.Now().Before(until); n++ {
		t.Run(fmt.Sprintf("SHARDCAT_SEED=%d", seed+n), func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			t.Setenv("HOME", dir)
			g := &growing{t: t, r: rand.New(rand.NewPCG(seed+n, 3)), rows: map[int]map[string]any{}}
			g.root = &shape{kind: "Struct", members: []fieldOf{{"id", &shape{kind: "Int64"}}}}
			for range 2 + g.r.IntN(4) {
				g.root.members = append(g.root.members, g.newMember(2, false))
			}
			// Most that went wrong lay in lists and maps.
			name := g.newMember(0, false).name
			g.within = &shape{kind: "Struct", members: []fieldOf{g.newMember(0, false), g.newMember(1, false)}}
			kind := []string{"List", "Map"}[g.r.IntN(2)]
			g.root.members = append(g.root.members, fieldOf{name, &shape{kind: kind, item: g.within}})
			g.shardcat("table", "create", "t", "--schema", membersText(g.root.members))
			for range 5 {
				g.step()
				g.check()
			}
			g.shardcat("verify", "t")
		})
		if t.Failed() {
			return
		}
	}
}
