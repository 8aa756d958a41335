// Package fault is the language in which tests report which requests to a store go wrong, and how. It is played by a
// bucket around a bucket (blobfake.Faulty) and by a proxy before a real server (faultproxy.Proxy). Players count
// requests, so that a test can break the first, the second, … until a run needs none more (Walk).
//
// A script has one rule per line, "#" begins a comment:
//
//	WHICH WHEN: WHAT
//
//	WHICH   any  get  stat  list  put  delete    the kind of request
//	        put~_jobs/                           … whose key or path holds this text
//	WHEN    3   2-5   7-   *                     which ones of the kind, counted from 1
//	WHAT    fail ANSWER [CODE] [after D]         the store answers so and does nothing; D is the wait that it requests
//	        drop                                 the connection breaks before the store hears of it
//	        lost [ANSWER]                        the store does the work; the connection breaks, or ANSWER comes instead
//	        twice                                the store gets the request twice; the second answer counts
//	        cut N                                the answer's body ends after N bytes (N < 0: before its last −N)
//	        flip N                               bit 0 of the body's byte N is flipped (N < 0: from its end)
//	        slow D                               D passes before every 4 KiB of the body
//	        stall D                              D passes before the request goes on
//	        garble                               a PUT is stored with a flipped bit, and answered as if nothing were wrong
//	        truncate                             a PUT is stored by half, and answered likewise
//	        hide                                 a list leaves out the last of its keys; a read or stat finds nothing
//	        stale                                a list is answered as it was when the script's run first requested it
//	        call NAME                            a function of the test runs, then the request goes on
//	ANSWER  notfound denied throttled exists conflict range transient unknown changed, or a status of HTTP
//
// The first rule that fits a request decides. Requests are counted before the rules are evaluated, by kind and over all
// kinds, so that "any 3: drop" means the third request of a run whatever it is.
package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
)

// Rule is what one line of a script does to a request. The zero Rule does nothing.
type Rule struct {
	// What is the first word: "fail", "cut", ….
	What string
	// Status and Class of the answer, of which each follows from the other; 0 and nil where the script names none.
	Status int
	Class  error
	// Code is the provider's own word for it, may be empty.
	Code string
	// N is the byte at which a body is cut or flipped; negative counts from its end.
	N int64
	// Wait is the wait that the store requests, or how long it takes.
	Wait time.Duration
	// Name of the function to call.
	Name string

	kind     string // "any" or one of kinds
	holds    string // text that the key holds
	from, to int    // to 0: no end
}

// At is the byte that N means in a body of a size, at most the size.
func (r *Rule) At(size int) int {
	n := r.N
	if n < 0 {
		n += int64(size)
	}
	return int(max(0, min(n, int64(size))))
}

// any is all kinds of requests.
const anyKind = "any"

var kinds = []string{anyKind, "get", "stat", "list", "put", "delete"}

// answers are the classes by name, and the statuses by which stores say them.
var answers = map[string]struct {
	class  error
	status int
}{
	"notfound": {blobio.ErrNotFound, 404}, "denied": {blobio.ErrDenied, 403}, "throttled": {blobio.ErrThrottled, 503},
	"exists": {blobio.ErrExists, 412}, "conflict": {blobio.ErrConflict, 409}, "range": {blobio.ErrRange, 416},
	"transient": {blobio.ErrTransient, 500}, "unknown": {blobio.ErrUnknown, 400}, "changed": {blobio.ErrChanged, 412},
}

// script reports which requests break, and how.
type script []Rule

func parse(text string) (s script, err error) {
	err = EachRule(text, func(l Line) error {
		r := Rule{What: l.What[0], from: l.From, to: l.To}
		r.kind, r.holds, _ = strings.Cut(l.Which, "~")
		if !slices.Contains(kinds, r.kind) {
			return fmt.Errorf("%q is not one of %v", r.kind, kinds)
		}
		if err := r.parseArguments(l.What[1:]); err != nil {
			return err
		}
		s = append(s, r)
		return nil
	})
	return s, err
}

// Line is one rule of a script, WHICH WHEN: WHAT.
type Line struct {
	Which string
	// From and To are the first and the last request that WHEN means; To is 0 for no end.
	From, To int
	// What are the words after the colon, at least one.
	What []string
}

// EachRule splits a script into its rules and calls parse for each. An error names the line.
func EachRule(text string, parse func(Line) error) error {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		l, err := parseLine(line)
		if err == nil {
			err = parse(l)
		}
		if err != nil {
			return fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	return nil
}

func parseLine(line string) (l Line, err error) {
	head, what, ok := strings.Cut(line, ":")
	which, words := strings.Fields(head), strings.Fields(what)
	if !ok || len(which) != 2 || len(words) == 0 {
		return l, fmt.Errorf("want WHICH WHEN: WHAT")
	}
	l.Which, l.What = which[0], words
	l.From, l.To, err = parseWhen(which[1])
	return l, err
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
	case !isRange:
		return from, from, nil
	case last == "":
		return from, 0, nil
	default:
		if to, err = strconv.Atoi(last); err == nil && to >= from {
			return from, to, nil
		}
	}
	return 0, 0, fmt.Errorf("%q is not one of N, N-M, N- and *", s)
}

// arguments is how many words each fault takes at least and at most.
var arguments = map[string][2]int{"fail": {1, 4}, "drop": {0, 0}, "lost": {0, 1}, "twice": {0, 0}, "cut": {1, 1},
	"flip": {1, 1}, "slow": {1, 1}, "stall": {1, 1}, "garble": {0, 0}, "truncate": {0, 0}, "hide": {0, 0}, "stale": {0, 0}, "call": {1, 1}}

func (r *Rule) parseArguments(words []string) (err error) {
	want, known := arguments[r.What]
	switch {
	case !known:
		return fmt.Errorf("no fault is called %q", r.What)
	case len(words) < want[0] || len(words) > want[1]:
		return fmt.Errorf("%s takes %d to %d arguments", r.What, want[0], want[1])
	case len(words) == 0:
		return nil
	}
	switch r.What {
	case "fail":
		return r.parseFail(words)
	case "lost":
		return r.parseAnswer(words[0])
	case "cut", "flip":
		r.N, err = strconv.ParseInt(words[0], 10, 64)
	case "slow", "stall":
		r.Wait, err = time.ParseDuration(words[0])
	case "call":
		r.Name = words[0]
	}
	return err
}

// parseFail reads ANSWER [CODE] [after D].
func (r *Rule) parseFail(words []string) (err error) {
	if err = r.parseAnswer(words[0]); err != nil {
		return err
	}
	words = words[1:]
	if len(words) == 1 || len(words) == 3 {
		r.Code, words = words[0], words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	if words[0] != "after" {
		return fmt.Errorf("want after D, not %q", words[0])
	}
	r.Wait, err = time.ParseDuration(words[1])
	return err
}

func (r *Rule) parseAnswer(word string) error {
	if a, ok := answers[word]; ok {
		r.Class, r.Status = a.class, a.status
		return nil
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 200 || n > 599 {
		return fmt.Errorf("%q is neither a class nor a status of HTTP", word)
	}
	r.Status, r.Class = n, apierror.OfStatus(n)
	return nil
}

// find is the rule for a request that is the n-th of its kind and the total-th of all.
func (s script) find(kind, key string, n, total int) *Rule {
	for i := range s {
		r := &s[i]
		at := n
		if r.kind == anyKind {
			at = total
		}
		if (r.kind == kind || r.kind == anyKind) && strings.Contains(key, r.holds) &&
			at >= r.from && (r.to == 0 || at <= r.to) {
			return r
		}
	}
	return &Rule{}
}
