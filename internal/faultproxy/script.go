// Package faultproxy stands between a client and an object store on loopback and breaks what a network and a
// store break: answers that get lost after the work was done, requests that arrive twice, bodies that end too
// early, flipped bits, storms of refusals, stale lists. Which request breaks, and how, is said by a script;
// the proxy counts requests, so that a test can break the first, the second, … until a run needs none more
// (see Walk).
//
// A script has one rule per line, "#" begins a comment:
//
//	WHICH WHEN: WHAT
//
//	WHICH   any  get  stat  list  put  delete    the kind of request, by the protocol of S3, Azure or GCS
//	        put~_jobs/                           … whose path holds this text
//	WHEN    3   2-5   7-   *                     which ones of the kind, counted from 1
//	WHAT    fail STATUS [CODE] [after D]         answers so and does nothing; D is for Retry-After
//	        drop                                 the connection breaks before the store hears of it
//	        lost [STATUS]                        the store does the work; the connection breaks, or the
//	                                             answer becomes STATUS
//	        twice                                the store gets the request twice; the second answer counts
//	        cut N                                the answer's body ends after N bytes (N < 0: before its last −N)
//	        flip N                               bit 0 of the body's byte N is flipped (N < 0: from its end)
//	        slow D                               D passes before every 4 KiB of the body
//	        stall D                              D passes before the request goes on
//	        stale                                a list is answered as it was when it was first asked for
//	        call NAME                            a function of the test runs, then the request goes on
//
// The first rule that fits decides. Connections that are refused: Proxy.Refuse. A name that does not resolve:
// Unresolvable.
package faultproxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardcat/shardcat/internal/storehttp"
)

// Unresolvable is an endpoint whose name is in no DNS, by RFC 6761.
const Unresolvable = "http://no-such-store.invalid"

// Script says which requests break, and how. The empty script breaks none.
type Script struct{ rules []rule }

// rule is one line.
type rule struct {
	kind     storehttp.Kind
	holds    string // text in the path
	from, to int    // to 0: no end
	what     string
	status   int
	code     string
	n        int64
	wait     time.Duration
	name     string
}

// ParseScript reads a script.
func ParseScript(text string) (*Script, error) {
	s := &Script{}
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		r, err := parseRule(line)
		if err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
		s.rules = append(s.rules, r)
	}
	return s, nil
}

func parseRule(line string) (r rule, err error) {
	head, what, ok := strings.Cut(line, ":")
	which := strings.Fields(head)
	words := strings.Fields(what)
	if !ok || len(which) != 2 || len(words) == 0 {
		return r, fmt.Errorf("want WHICH WHEN: WHAT")
	}
	name, holds, _ := strings.Cut(which[0], "~")
	r.kind, r.holds = storehttp.Kind(name), holds
	if !slices.Contains(kinds, r.kind) {
		return r, fmt.Errorf("%q is none of %v", name, kinds)
	}
	if r.from, r.to, err = parseWhen(which[1]); err != nil {
		return r, err
	}
	r.what = words[0]
	return r, r.parseArguments(words[1:])
}

// parseWhen reads 3, 2-5, 7- or *.
func parseWhen(s string) (from, to int, err error) {
	if s == "*" {
		return 1, 0, nil
	}
	first, last, isRange := strings.Cut(s, "-")
	from, err = strconv.Atoi(first)
	switch {
	case err != nil || from < 1:
		return 0, 0, fmt.Errorf("%q is none of N, N-M, N- and *", s)
	case !isRange:
		return from, from, nil
	case last == "":
		return from, 0, nil
	}
	to, err = strconv.Atoi(last)
	if err != nil || to < from {
		return 0, 0, fmt.Errorf("%q is none of N, N-M, N- and *", s)
	}
	return from, to, nil
}

// arguments is how many words each fault takes at least and at most.
var arguments = map[string][2]int{"fail": {1, 4}, "drop": {0, 0}, "lost": {0, 1}, "twice": {0, 0}, "cut": {1, 1},
	"flip": {1, 1}, "slow": {1, 1}, "stall": {1, 1}, "stale": {0, 0}, "call": {1, 1}}

func (r *rule) parseArguments(words []string) (err error) {
	want, known := arguments[r.what]
	if !known {
		return fmt.Errorf("no fault is called %q", r.what)
	}
	if len(words) < want[0] || len(words) > want[1] {
		return fmt.Errorf("%s takes %d to %d arguments", r.what, want[0], want[1])
	}
	switch r.what {
	case "fail":
		return r.parseFail(words)
	case "lost":
		if len(words) == 1 {
			r.status, err = parseStatus(words[0])
		}
	case "cut", "flip":
		r.n, err = strconv.ParseInt(words[0], 10, 64)
	case "slow", "stall":
		r.wait, err = time.ParseDuration(words[0])
	case "call":
		r.name = words[0]
	}
	return err
}

// parseFail reads STATUS [CODE] [after D].
func (r *rule) parseFail(words []string) (err error) {
	if r.status, err = parseStatus(words[0]); err != nil {
		return err
	}
	words = words[1:]
	if len(words) == 1 || len(words) == 3 {
		r.code, words = words[0], words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	if words[0] != "after" {
		return fmt.Errorf("want after D, not %q", words[0])
	}
	r.wait, err = time.ParseDuration(words[1])
	return err
}

func parseStatus(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 200 || n > 599 {
		return 0, fmt.Errorf("%q is no status of HTTP", s)
	}
	return n, nil
}

// find is the rule for a request that is the n-th of its kind and the total-th of all; nil for none.
func (s *Script) find(k storehttp.Kind, path string, n, total int) *rule {
	for i := range s.rules {
		r := &s.rules[i]
		at := n
		if r.kind == anyKind {
			at = total
		}
		if (r.kind == k || r.kind == anyKind) && strings.Contains(path, r.holds) &&
			at >= r.from && (r.to == 0 || at <= r.to) {
			return r
		}
	}
	return nil
}

// anyKind stands for all kinds of requests.
const anyKind storehttp.Kind = "any"

var kinds = []storehttp.Kind{anyKind, storehttp.Get, storehttp.Stat, storehttp.List, storehttp.Put, storehttp.Delete}
