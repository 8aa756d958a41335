package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// tally sums up cases.
type tally struct {
	kinds  map[string]*sum
	found  map[string]int
	faults int
	// The worst of all cases: memory in bytes, time, time per row.
	peak            uint64
	longest, perRow time.Duration
}

// sum is what became of the cases of a kind.
type sum struct {
	cases    int
	outcomes map[string]int
	// whole is how many verify found nothing in.
	whole int
}

// fewRows is how many rows a case must have for its time per row to say anything.
const fewRows = 100

func newTally() *tally { return &tally{kinds: map[string]*sum{}, found: map[string]int{}} }

func (t *tally) add(v verdict) {
	s := t.kinds[v.Kind]
	if s == nil {
		s = &sum{outcomes: map[string]int{}}
		t.kinds[v.Kind] = s
	}
	s.cases++
	if v.Whole {
		s.whole++
	}
	s.outcomes[v.Outcome]++
	if v.Fault != "" {
		t.found[v.Fault]++
		t.faults++
	}
	t.peak = max(t.peak, v.Peak)
	took := time.Duration(v.Nanos)
	t.longest = max(t.longest, took)
	if v.Rows >= fewRows {
		t.perRow = max(t.perRow, took/time.Duration(v.Rows))
	}
}

func (t *tally) print(w io.Writer, took time.Duration) {
	cases := 0
	fmt.Fprintf(w, "\n%-16s %8s %8s %10s %10s %8s\n", "kind", "cases", refused, sameRows, otherRows, "whole")
	for _, k := range slices.Sorted(maps.Keys(t.kinds)) {
		s := t.kinds[k]
		cases += s.cases
		fmt.Fprintf(w, "%-16s %8d %8d %10d %10d %8d\n", k, s.cases, s.outcomes[refused], s.outcomes[sameRows], s.outcomes[otherRows], s.whole)
	}
	fmt.Fprintf(w, "%d cases in %s; most memory %d MiB, longest case %s, most time per row %s (all of reading, verifying, inspecting)\n",
		cases, took.Round(time.Second), t.peak>>20, t.longest.Round(time.Millisecond), t.perRow)
	for _, f := range slices.Sorted(maps.Keys(t.found)) {
		fmt.Fprintf(w, "FOUND %d times: %s\n", t.found[f], f)
	}
	if t.faults == 0 {
		fmt.Fprintln(w, "nothing found")
	}
}
