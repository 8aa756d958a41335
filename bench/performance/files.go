package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/bench"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// given is a table that everyone stores, and the requests to it.
type given struct {
	Path  string
	Tasks map[string]task
	Rows  float64
	Bytes float64

	name    string
	place   string
	schema  *schema.Schema
	batches []arrow.RecordBatch
}

// task is a read: columns (all if there are none) of the rows for which a column compares with a value.
type task struct {
	Columns []string `json:"columns,omitempty"`
	Where   []any    `json:"where,omitempty"`
}

// filterText is the condition as our filters have it; empty if there is none.
func (t task) filterText() string {
	if t.Where == nil {
		return ""
	}
	value := fmt.Sprint(t.Where[2])
	switch v := t.Where[2].(type) {
	case string:
		value = "'" + v + "'"
	case float64:
		value = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(t.Where[0], " ", t.Where[1], " ", value)
}

// taskNames are the reads in the order of the tables on the page.
var taskNames = []string{"scan", "two columns", "filter 0.01 %", "filter 1 %", "filter 50 %", "lookup"}

// figures is what one turn of a task took.
type figures struct {
	Seconds, Stored, Rows float64
}

// contestant stores a table in a file and reads it. What it can't do is an errPeer.
type contestant interface {
	name() string
	write(g *given) (figures, error)
	open(g *given) (figures, error)
	read(g *given, t task) (figures, error)
	peak(g *given) (float64, error)
}

// python is a contestant of peers.py.
type python struct {
	who string
	p   *peers
}

func (c python) name() string { return c.who }

func (c python) ask(do string, g *given, t task) (f figures, err error) {
	r := request{"do": do, "table": g.name, "who": c.who}
	if t.Columns != nil {
		r["columns"] = t.Columns
	}
	if t.Where != nil {
		r["where"] = t.Where
	}
	err = c.p.ask(r, &f)
	return f, err
}

func (c python) write(g *given) (figures, error)        { return c.ask("write", g, task{}) }
func (c python) open(g *given) (figures, error)         { return c.ask("open", g, task{}) }
func (c python) read(g *given, t task) (figures, error) { return c.ask("read", g, t) }

func (c python) peak(g *given) (float64, error) {
	var v struct{ Bytes float64 }
	err := c.p.ask(request{"do": "peak", "table": g.name, "who": c.who}, &v)
	return v.Bytes, err
}

// tables that are measured, with the rows they have by default; lineitem has as many as its scale states.
var tables = []struct {
	name string
	rows int
}{{"lineitem", 0}, {"flights", 336_776}, {"log", 200_000}, {"spans", 50_000}, {"embeddings", 20_000}, {"nulls", 500_000}}

// files measures whole files: every contestant stores each table and reads it in turns.
func files(r *run) error {
	return r.withTables(func(p *peers, g *given, list []contestant) error {
		if err := r.turns(g, "write", list, func(c contestant) (figures, error) { return c.write(g) }); err != nil {
			return err
		}
		g.forget() // who reads has no table in memory beside, by which garbage would be collected later
		if err := r.turns(g, "open", list, func(c contestant) (figures, error) { return c.open(g) }); err != nil {
			return err
		}
		for _, name := range taskNames {
			t, ok := g.Tasks[name]
			if !ok {
				continue
			}
			if err := r.turns(g, name, list, func(c contestant) (figures, error) { return c.read(g, t) }); err != nil {
				return err
			}
		}
		if g.name == "lineitem" {
			if err := remote(r, p, g); err != nil {
				return err
			}
		}
		if err := landing(r, p, g); err != nil {
			return err
		}
		for _, c := range list {
			grown, err := c.peak(g)
			var can errPeer
			if errors.As(err, &can) {
				continue
			} else if err != nil {
				return err
			}
			r.add(Row{Part: "files", Subject: g.name, Task: "memory", Who: c.name(), V: map[string]float64{"bytes": grown}})
		}
		return nil
	}, "files")
}

// withTables makes each table and does something with it.
func (r *run) withTables(do func(*peers, *given, []contestant) error, part string) error {
	dir, err := os.MkdirTemp("", "shardcat-files")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := startPeers(r.python, dir)
	if err != nil {
		return err
	}
	defer p.close()
	m := Measured{}
	if err := p.ask(request{"do": "versions"}, &m.Versions); err != nil {
		return err
	}
	m.Versions["arrow-go"] = moduleVersion("github.com/apache/arrow-go/v18")
	r.Parts[part] = m
	for _, t := range tables {
		rows := t.rows
		if t.name == "flights" {
			rows = max(rows, r.flights)
		}
		g := &given{name: t.name, place: dir}
		log.Print(part, ": ", t.name)
		if err := p.ask(request{"do": "make", "name": t.name, "place": dir, "scale": r.scale, "rows": rows}, g); err != nil {
			return err
		}
		if err := g.load(); err != nil {
			return err
		}
		r.add(Row{Part: part, Subject: g.name, Task: "given", V: map[string]float64{"rows": g.Rows, "bytes": g.Bytes}})
		list := []contestant{&ours{profile: shardfmt.Balanced}, &ours{profile: shardfmt.HighCompression}, &arrowGo{}}
		for _, who := range []string{"DuckDB on Parquet, zstd", "pyarrow on Parquet, zstd", "Lance", "Vortex"} {
			list = append(list, python{who, p})
		}
		if err := do(p, g, list); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return nil
}

// load reads the table's batches into memory, in our canonical types.
func (g *given) load() error {
	ctx := context.Background()
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	src, err := fileio.OpenSource(ctx, c, []string{"file://" + g.Path}, fileio.SourceOptions{Format: fileio.Parquet, InProcess: true})
	if err != nil {
		return err
	}
	defer src.Close()
	g.schema = src.Schema()
	g.schema.Number()
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b.Retain()
		g.batches = append(g.batches, b)
	}
}

// forget lets go of the table's batches.
func (g *given) forget() {
	for _, b := range g.batches {
		b.Release()
	}
	g.batches = nil
}

// How often each contestant writes a table, and how often it reads one, which may take no more than a millisecond; the best turn counts.
const (
	fileTurns = 3
	readTurns = 7
)

// turns lets contestants do a task in turns.
func (r *run) turns(g *given, name string, list []contestant, do func(contestant) (figures, error)) error {
	best := make([]figures, len(list))
	notes := make([]string, len(list))
	allocated := make([]runtime.MemStats, 2)
	var objects, bytes = make([]float64, len(list)), make([]float64, len(list))
	turns := fileTurns
	if name != "write" {
		turns = readTurns
	}
	for t := range turns {
		for i, c := range list {
			if notes[i] != "" {
				continue
			}
			runtime.GC()
			runtime.ReadMemStats(&allocated[0])
			f, err := do(c)
			runtime.ReadMemStats(&allocated[1])
			var can errPeer
			if errors.As(err, &can) {
				notes[i] = can.Error()
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %s: %w", c.name(), name, err)
			}
			if t == 0 || f.Seconds < best[i].Seconds {
				best[i] = f
			}
			objects[i], bytes[i] = float64(allocated[1].Mallocs-allocated[0].Mallocs), float64(allocated[1].TotalAlloc-allocated[0].TotalAlloc)
		}
	}
	rows := -1.0
	for i, c := range list {
		row := Row{Part: "files", Subject: g.name, Task: name, Who: c.name(), Note: notes[i]}
		if notes[i] == "" {
			row.V = map[string]float64{"seconds": best[i].Seconds, "rows": best[i].Rows}
			if best[i].Stored > 0 {
				row.V["stored"] = best[i].Stored
			}
			if _, other := c.(python); !other {
				row.V["allocations"], row.V["allocated"] = objects[i], bytes[i]
			}
			if slices.Contains(taskNames, name) {
				if rows >= 0 && rows != best[i].Rows {
					return fmt.Errorf("%s: %s gives %.0f rows, others %.0f", name, c.name(), best[i].Rows, rows)
				}
				rows = best[i].Rows
			}
		}
		r.add(row)
	}
	return nil
}

// timed measures the processor time of this process.
func timed(do func() (rows int64, err error)) (figures, error) {
	start := bench.ProcessorTime()
	rows, err := do()
	return figures{Seconds: (bench.ProcessorTime() - start).Seconds(), Rows: float64(rows)}, err
}

// size of all files below a folder.
func folderSize(dir string) (n float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += float64(info.Size())
		return err
	})
	return n, err
}
