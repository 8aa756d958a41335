package main

import (
	"fmt"
	"time"
)

// kind is what a query requests.
type kind string

const (
	word      kind = "word"      // lines with a word
	allWords  kind = "all"       // lines with all words, which are separated by a space
	prefix    kind = "prefix"    // lines with a word that starts so
	traceID   kind = "trace"     // lines with a trace id
	substring kind = "substring" // lines whose message has a text anywhere
)

// enough is the processor time of a turn after which a query is not run again.
const enough = time.Second

// query is one that everyone gets.
type query struct {
	Label string `json:"label"`
	Kind  kind   `json:"kind"`
	Text  string `json:"text"`
	// Rows requests the first rows, all columns, up to so many; else for the number of lines.
	Rows int `json:"rows"`
	// Want is how many lines or rows there are.
	Want int `json:"want"`
}

// answer is what asking cost, in the best turn.
type answer struct {
	Got       int           `json:"got"`
	Processor time.Duration `json:"processor"`
	Wall      time.Duration `json:"wall"`
	// Requests, Bytes and Steps (those that had to wait for one another) are of the slow store; Steps is 0 where they aren't known.
	Requests, Bytes, Steps int64
	// Unanswered is why there is no answer.
	Unanswered string `json:"unanswered"`
}

// queries are those of a log.
func queries(g *generator) []query {
	f := g.found
	share := func(n int) string { return fmt.Sprintf("%.3g %%", 100*float64(n)/float64(max(1, g.lines))) }
	return []query{
		{"a word that one line has", word, once, 0, f.once},
		{"a word of " + share(f.rare), word, rare, 0, f.rare},
		{"a word of " + share(f.percent), word, percent, 0, f.percent},
		{"a word of " + share(f.half), word, half, 0, f.half},
		{"two words of 1 %, both", allWords, percent + " " + percentToo, 0, f.both},
		{"a prefix of 26 words", prefix, stem, 0, f.stem},
		{"a trace id", traceID, traceOf(g.needleLine()), 0, f.trace},
		{"a text within a word", substring, inner, 0, f.inner},
		{"100 rows with a word of " + share(f.percent), word, percent, 100, min(100, f.percent)},
	}
}

// check compares an answer with what the log has.
func (q *query) check(who string, a *answer) error {
	if a.Unanswered == "" && a.Got != q.Want {
		return fmt.Errorf("%s: %s: %d lines, and the log has %d", who, q.Label, a.Got, q.Want)
	}
	return nil
}
