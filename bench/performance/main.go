// Command performance makes docs/performance.md and bench/results.md. It measures, in parts, and keeps what it measured in a file of results; then it
// renders the pages from the results and from the fragments in summary/ and page/. A run of all parts takes half an hour on two cores.
//
//	go run ./performance                 # from bench/: measure everything, render
//	go run ./performance -parts files    # measure one part again
//	go run ./performance -render         # render only
package main

import (
	"flag"
	"fmt"
	"log"
	"runtime"
	"slices"
	"strings"
	"time"
)

// run is one run of the command.
type run struct {
	*Results
	cpus   int
	python string
	// scale of lineitem, and the rows of flights.
	scale   float64
	flights int
}

// part is something to measure, which adds rows under its own name.
type part struct {
	name    string
	measure func(*run) error
}

var parts = []part{
	{"kernels", kernels},
	{"memcpy", memcpy},
	{"scans", scans},
	{"columns", columns},
	{"encoding", encoding},
	{"sizes", sizes},
	{"files", files},
}

func main() {
	page := flag.String("o", "../docs/performance.md", "the page; its plots lie beside it")
	record := flag.String("record", "results.md", "the record behind the page")
	results := flag.String("results", "performance/results.json", "what was measured, kept from run to run")
	only := flag.Bool("render", false, "measure nothing, render the page from the results")
	names := flag.String("parts", "", "measure these parts only, by comma, and keep the others' results: "+partNames())
	var r run
	flag.IntVar(&r.cpus, "cpu", runtime.NumCPU(), "measure columns against memcpy with one worker, and with this many")
	flag.StringVar(&r.python, "python", "", "a Python with the peers that are no Go; without it, one is made with pip for this run")
	flag.Float64Var(&r.scale, "scale", 1, "scale of TPC-H's lineitem; 1 are 6 million rows")
	flag.IntVar(&r.flights, "flights", 3_000_000, "rows of the table of flights, repeated from 336,776")
	flag.Parse()
	log.SetFlags(log.Ltime)
	if err := r.all(*page, *record, *results, *names, *only); err != nil {
		log.Fatal(err)
	}
}

func partNames() string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return strings.Join(names, ",")
}

// all measures the parts that are requested and renders the page. Each part is saved when it is done.
func (r *run) all(page, record, results, names string, only bool) (err error) {
	if r.Results, err = load(results); err != nil {
		return err
	}
	wanted := strings.Split(names, ",")
	for _, name := range wanted {
		if name != "" && !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return fmt.Errorf("no part %q; there are %s", name, partNames())
		}
	}
	for _, p := range parts {
		if only || names != "" && !slices.Contains(wanted, p.name) {
			continue
		}
		if err := r.part(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := r.save(results); err != nil {
			return err
		}
	}
	if err := r.save(results); err != nil {
		return err
	}
	out, err := render(r.Results)
	if err != nil {
		return err
	}
	return out.write(page, record)
}

// part measures a part again, and notes when and where.
func (r *run) part(p part) error {
	log.Print(p.name)
	r.drop(p.name)
	m := Measured{At: time.Now().UTC().Truncate(time.Second), Machine: machine(), Go: runtime.Version(), Command: command()}
	m.Load[0] = loadAverage()
	if err := p.measure(r); err != nil {
		return err
	}
	m.Load[1], m.Seconds = loadAverage(), time.Since(m.At).Round(time.Second).Seconds()
	m.Versions = r.Parts[p.name].Versions
	r.Parts[p.name] = m
	return nil
}

// command is how this program was called; where its files lie is left out.
func command() string {
	text := "go run ./performance"
	flag.Visit(func(f *flag.Flag) {
		if !slices.Contains([]string{"o", "record", "results", "python"}, f.Name) {
			text += " -" + f.Name + " " + f.Value.String()
		}
	})
	return text
}
