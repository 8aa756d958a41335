package blobtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// Script says which requests go wrong, and how. It has one rule per line, "#" begins a comment:
//
//	WHICH WHEN: WHAT [AFTER]
//
//	WHICH   any  get  stat  list  put  delete      the kind of request; a PUT is made by Close of a writer
//	        get~_jobs/                             … whose key holds this text
//	WHEN    3   2-5   7-   *                       which ones of the kind, counted from 1
//	WHAT    fail CLASS       the store answers so and does nothing
//	        lost CLASS       the store does the work, the answer is lost
//	        twice            the request reaches the store twice; its second answer is the one that counts
//	        cut N            the body breaks after N bytes (N < 0: before its last −N)
//	        flip N           bit 0 of byte N of the body is flipped
//	        stall D          nothing happens for D (a Go duration) or until the context ends
//	        hide             a list leaves out the last of its keys; a stat or read finds nothing
//	CLASS   notfound denied throttled exists conflict range transient unknown changed
//	AFTER   after D          with "fail": how long the store asks to wait
//
// The first rule that fits a request decides. Requests are counted before the rules are asked, by kind and
// over all kinds, so that "any 3: fail transient" means the third request of a run whatever it is.
type Script struct{ rules []rule }

type rule struct {
	kind     string // "any" or one of kinds
	holds    string // text that the key holds
	from, to int    // to < 0: no end
	verb     string
	class    error
	n        int64
	wait     time.Duration
}

var kinds = []string{"any", "get", "stat", "list", "put", "delete"}

var classNames = map[string]error{
	"notfound": blobio.ErrNotFound, "denied": blobio.ErrDenied, "throttled": blobio.ErrThrottled,
	"exists": blobio.ErrExists, "conflict": blobio.ErrConflict, "range": blobio.ErrRange,
	"transient": blobio.ErrTransient, "unknown": blobio.ErrUnknown, "changed": blobio.ErrChanged,
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
			return nil, fmt.Errorf("script line %d %q: %w", i+1, line, err)
		}
		s.rules = append(s.rules, r)
	}
	return s, nil
}

func parseRule(line string) (rule, error) {
	head, action, ok := strings.Cut(line, ":")
	which := strings.Fields(head)
	words := strings.Fields(action)
	if !ok || len(which) != 2 || len(words) == 0 {
		return rule{}, fmt.Errorf("want WHICH WHEN: WHAT")
	}
	r := rule{verb: words[0]}
	r.kind, r.holds, _ = strings.Cut(which[0], "~")
	if !slices.Contains(kinds, r.kind) {
		return rule{}, fmt.Errorf("no request is called %q", r.kind)
	}
	if err := r.parseWhen(which[1]); err != nil {
		return rule{}, err
	}
	return r, r.parseWhat(words[1:])
}

func (r *rule) parseWhen(when string) (err error) {
	if when == "*" {
		r.from, r.to = 1, -1
		return nil
	}
	from, to, isRange := strings.Cut(when, "-")
	if r.from, err = strconv.Atoi(from); err != nil || r.from < 1 {
		return fmt.Errorf("%q is no number from 1 on", from)
	}
	switch {
	case !isRange:
		r.to = r.from
	case to == "":
		r.to = -1
	default:
		r.to, err = strconv.Atoi(to)
	}
	return err
}

func (r *rule) parseWhat(args []string) (err error) {
	want := 1
	switch r.verb {
	case "twice", "hide":
		want = 0
	case "fail", "lost":
		if len(args) > 0 && classNames[args[0]] != nil {
			r.class = classNames[args[0]]
		} else {
			return fmt.Errorf("%s what class?", r.verb)
		}
		if len(args) == 3 && args[1] == "after" {
			r.wait, err = time.ParseDuration(args[2])
			want = 3
		}
	case "cut", "flip":
		if len(args) > 0 {
			r.n, err = strconv.ParseInt(args[0], 10, 64)
		}
	case "stall":
		if len(args) > 0 {
			r.wait, err = time.ParseDuration(args[0])
		}
	default:
		return fmt.Errorf("nothing is called %q", r.verb)
	}
	if err == nil && len(args) != want {
		err = fmt.Errorf("%s takes %d words, not %d", r.verb, want, len(args))
	}
	return err
}

// find gives the rule for a request, nil if it is left alone.
func (s *Script) find(kind, key string, ofKind, ofAll int) *rule {
	for i := range s.rules {
		r := &s.rules[i]
		n := ofKind
		if r.kind == "any" {
			n = ofAll
		}
		fits := r.kind == "any" || r.kind == kind
		if fits && strings.Contains(key, r.holds) && n >= r.from && (r.to < 0 || n <= r.to) {
			return r
		}
	}
	return nil
}
