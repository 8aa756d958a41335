package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// cost is what building took.
type cost struct {
	Processor time.Duration `json:"processor"`
	Wall      time.Duration `json:"wall"`
	Memory    int64         `json:"memory"` // the most bytes that were resident
	Data      int64         `json:"data"`   // bytes of files without indexes
	Index     int64         `json:"index"`  // bytes of indexes
	Parts     []part        `json:"parts"`  // of which Processor consists, where it is known
	Load      string        `json:"load"`   // of the machine when it was done
	Version   string        `json:"version"`
}

// part is a step of building.
type part struct {
	What      string        `json:"what"`
	Processor time.Duration `json:"processor"`
}

// result is what a contestant did.
type result struct {
	name           string
	built          cost
	local, distant []answer
}

// report is all of a run.
type report struct {
	options *options
	log     *logOf
	results []result
	missing []string
	load    string
	began   time.Time
}

// run makes the log, lets everyone build and asks everyone.
func run(ctx context.Context, o *options) (*report, error) {
	r := &report{options: o, load: load(), began: time.Now().UTC()}
	path, l, err := makeLog(o.dir, o.lines)
	if err != nil {
		return nil, err
	}
	r.log = l
	list, missing := contestants(o)
	r.missing = missing
	for _, c := range list {
		one, err := measure(ctx, c, o, path, l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name(), err)
		}
		r.results = append(r.results, *one)
	}
	return r, nil
}

// measure lets one contestant build, unless it has done so in an earlier run, and asks it.
func measure(ctx context.Context, c contestant, o *options, path string, l *logOf) (*result, error) {
	out := &result{name: c.name()}
	dir := filepath.Join(o.dir, strings.NewReplacer(", ", "-", " ", "-").Replace(c.name()))
	note := dir + ".json"
	if err := readJSON(note, &out.built); err != nil {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if out.built, err = c.build(ctx, path, dir); err != nil {
			return nil, err
		}
		out.built.Load = load()
		if err := writeJSON(note, out.built); err != nil {
			return nil, err
		}
		log.Printf("%s: built in %.1f s of a processor (%.1f s)", c.name(), out.built.Processor.Seconds(), out.built.Wall.Seconds())
	}
	return out, out.ask(ctx, c, o, dir, l)
}

// ask asks a contestant, unless it was run in an earlier run, and checks the answers.
func (r *result) ask(ctx context.Context, c contestant, o *options, dir string, l *logOf) (err error) {
	kept := map[string]*[]answer{dir + ".local.json": &r.local, dir + ".distant.json": &r.distant}
	for note, answers := range kept {
		if err := readJSON(note, answers); err == nil {
			continue
		}
		if note == dir+".local.json" {
			*answers, err = c.ask(ctx, dir, l.Queries, o.turns)
		} else if o.remote {
			*answers, err = c.askRemote(ctx, dir, l.Queries)
		}
		if err == nil && *answers != nil {
			err = writeJSON(note, answers)
		}
		if err != nil {
			return err
		}
	}
	for _, answers := range [][]answer{r.local, r.distant} {
		for i := range answers {
			if err := l.Queries[i].check(c.name(), &answers[i]); err != nil {
				return err
			}
		}
	}
	log.Printf("%s: asked", c.name())
	return nil
}

// load is the load average of the machine.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	words := strings.Fields(string(b))
	return words[0]
}
