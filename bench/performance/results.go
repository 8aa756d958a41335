package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Results is what was measured: the file that the page is rendered from.
type Results struct {
	// Parts reports about each part when and where it was measured.
	Parts map[string]Measured
	Rows  []Row
}

// Measured is when, where and how a part was measured.
type Measured struct {
	At      time.Time
	Machine string // processor, processors, system
	Go      string
	Command string
	// Load is the machine's load average over a minute before and after.
	Load [2]float64
	// Seconds on the wall.
	Seconds float64
	// Versions of the peers, by name.
	Versions map[string]string `json:",omitempty"`
}

// Row is one measurement: what was done with what by whom.
type Row struct {
	Part string
	// Subject is the data: a column, a table.
	Subject string
	// Task is what was done with it; empty where a part has one task only.
	Task string `json:",omitempty"`
	// Who did it: a contestant.
	Who string `json:",omitempty"`
	// Note is what there is to know, as a tree of encodings.
	Note string `json:",omitempty"`
	// V is the figures: seconds, bytes, gets, …
	V map[string]float64
}

// add notes figures of a part.
func (r *Results) add(row Row) { r.Rows = append(r.Rows, row) }

// of gives the rows of a part, in the order of their measurement.
func (r *Results) of(part string) (rows []Row) {
	for _, row := range r.Rows {
		if row.Part == part {
			rows = append(rows, row)
		}
	}
	return rows
}

// find gives one row.
func (r *Results) find(part, subject, task, who string) (Row, bool) {
	i := slices.IndexFunc(r.Rows, func(row Row) bool {
		return row.Part == part && row.Subject == subject && row.Task == task && row.Who == who
	})
	if i < 0 {
		return Row{}, false
	}
	return r.Rows[i], true
}

// drop forgets a part, which is measured again.
func (r *Results) drop(part string) {
	delete(r.Parts, part)
	r.Rows = slices.DeleteFunc(r.Rows, func(row Row) bool { return row.Part == part })
}

// load reads a file of results; one that isn't there is empty.
func load(name string) (*Results, error) {
	r := &Results{Parts: map[string]Measured{}}
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// save writes a file of results, a line for each row, so that a difference shows what changed.
func (r *Results) save(name string) error {
	var out bytes.Buffer
	parts, err := json.MarshalIndent(r.Parts, " ", " ")
	if err != nil {
		return err
	}
	fmt.Fprintf(&out, "{\n \"Parts\": %s,\n \"Rows\": [", parts)
	slices.SortStableFunc(r.Rows, func(a, b Row) int { return strings.Compare(a.Part, b.Part) })
	for i, row := range r.Rows {
		b, err := json.Marshal(row)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s\n  %s", strings.Repeat(",", min(i, 1)), b)
	}
	out.WriteString("\n ]\n}\n")
	return os.WriteFile(name, out.Bytes(), 0o644)
}
