package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// options of a run.
type options struct {
	lines  int
	turns  int    // how often each query is called; the best counts
	dir    string // for the log and all files
	python string // an interpreter that has the peers, or empty
	only   string // names of contestants, separated by commas; all if empty
	remote bool   // ask through a slow store, too
}

func main() {
	if child() {
		return
	}
	var o options
	flag.IntVar(&o.lines, "lines", 10_000_000, "lines of the log")
	flag.IntVar(&o.turns, "turns", 3, "how often each query is asked; the best counts")
	flag.StringVar(&o.dir, "dir", "", "folder for the log and all files, which are kept")
	flag.StringVar(&o.python, "python", "", "a Python with what peers.txt lists; without it those are left out")
	flag.StringVar(&o.only, "only", "", "contestants to take, by the start of their names, separated by commas")
	flag.BoolVar(&o.remote, "remote", true, "ask through a store that answers after 30 ms, too")
	out := flag.String("o", "", "file that is written: the section as a fragment of the page; standard output if empty")
	flag.Parse()
	log.SetFlags(0)
	if err := write(&o, *out); err != nil {
		log.Fatal(err)
	}
}

func write(o *options, out string) error {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "search")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	o.dir = dir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r, err := run(context.Background(), o)
	if err != nil {
		return err
	}
	if out == "" {
		fmt.Print(r.render())
		return nil
	}
	return os.WriteFile(out, []byte(r.render()), 0o644)
}

// contestant is one way to store and search the log.
type contestant interface {
	name() string
	// build makes its files below a folder; it runs in a process of its own. It may be nothing more than telling how.
	build(ctx context.Context, log, dir string) (cost, error)
	// ask answers a query from the files, some turns. A query that it can't answer is unanswered.
	ask(ctx context.Context, dir string, q []query, turns int) ([]answer, error)
	// askRemote does so once each through a slow store; nil if the contestant can't.
	askRemote(ctx context.Context, dir string, q []query) ([]answer, error)
}

// contestants are those that are there, and who is missing and why.
func contestants(o *options) (list []contestant, missing []string) {
	for _, s := range []shardcat{
		{label: "shardcat, no index"},
		{label: "shardcat, text index", indexes: "text:message"},
		{label: "shardcat, text index of the shard", indexes: "text@shard:message"},
		{label: "shardcat, hash index", indexes: "hash:trace"},
	} {
		list = append(list, &s)
	}
	if o.python == "" {
		missing = append(missing, "Tantivy, Lance and DuckDB: no -python")
	} else {
		for _, kind := range []string{"tantivy", "lance", "duckdb"} {
			list = append(list, &peer{kind: kind, python: o.python})
		}
	}
	if g, err := newGrep(); err != nil {
		missing = append(missing, "ripgrep: "+err.Error())
	} else {
		list = append(list, g)
	}
	if o.only != "" {
		list = slices.DeleteFunc(list, func(c contestant) bool {
			return !slices.ContainsFunc(strings.Split(o.only, ","), func(s string) bool { return strings.HasPrefix(c.name(), s) })
		})
	}
	return list, missing
}
