// Package catalogfault is the language in which tests state which calls of an Iceberg catalog fail, and how; and a catalog around
// another one that plays it. It is what package fault is for stores.
//
// A script has one rule per line, "#" begins a comment:
//
//	WHICH WHEN: WHAT
//
//	WHICH   any  load  commit  create  drop  rename          the kind of call
//	        list  register  namespace
//	WHEN    3   2-5   7-   *                                 which ones of the kind, counted from 1
//	WHAT    fail ANSWER      the catalog does nothing and returns the error
//	        lost ANSWER      the catalog does the work, and the caller gets the error
//	        twice            the catalog gets the call twice; the second answer counts
//	        stale            a load returns the state before the last change
//	        slow D           D passes before the call
//	        before EVENT     another client does something, then the call goes on
//	        after EVENT      the call is made, then another client does something before the answer arrives
//	ANSWER  400 401 403 404 409 500 503 reset                as iceberg-go's REST client reports them, and a broken connection
//	EVENT   rename           the table gets the name with "-moved" behind it
//	        recover          the table is dropped, and registered again from its last metadata file
//	        change           another writer sets a property of the table
//
// The first rule that fits a call decides.
package catalogfault

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"

	"github.com/shardcat/shardcat/internal/testkit/fault"
)

// anyKind is all kinds of calls.
const anyKind = "any"

var (
	kinds  = []string{anyKind, "load", "commit", "create", "drop", "rename", "list", "register", "namespace"}
	events = []string{"rename", "recover", "change"}
)

// answers are the errors, and the statuses of HTTP, by name.
var answers = map[string]struct {
	err    error
	status int
}{
	"400": {rest.ErrBadRequest, 400}, "401": {rest.ErrUnauthorized, 401}, "403": {rest.ErrForbidden, 403}, "404": {icecatalog.ErrNoSuchTable, 404},
	"409": {rest.ErrCommitFailed, 409}, "500": {rest.ErrCommitStateUnknown, 500}, "503": {rest.ErrServiceUnavailable, 503},
	"reset": {syscall.ECONNRESET, 0},
}

// rule is one line of a script. The zero rule does nothing.
type rule struct {
	kind     string
	from, to int // to 0: no end
	what     string
	answer   error
	status   int // 0: the connection breaks
	event    string
	wait     time.Duration
}

func parse(text string) (rules []rule, err error) {
	err = fault.EachRule(text, func(l fault.Line) error {
		r, err := parseRule(l)
		rules = append(rules, r)
		return err
	})
	return rules, err
}

func parseRule(l fault.Line) (r rule, err error) {
	r.kind, r.from, r.to = l.Which, l.From, l.To
	if !slices.Contains(kinds, r.kind) {
		return r, fmt.Errorf("unknown kind of call %q", r.kind)
	}
	words := l.What
	r.what = words[0]
	want := 2
	switch r.what {
	case "twice", "stale":
		want = 1
	case "fail", "lost", "before", "after", "slow":
	default:
		return r, fmt.Errorf("unknown fault %q", r.what)
	}
	if len(words) != want {
		return r, fmt.Errorf("%s: %d words, want %d", r.what, len(words), want)
	}
	switch r.what {
	case "fail", "lost":
		a, known := answers[words[1]]
		if r.answer, r.status = a.err, a.status; !known {
			err = fmt.Errorf("unknown answer %q", words[1])
		}
	case "before", "after":
		if r.event = words[1]; !slices.Contains(events, r.event) {
			err = fmt.Errorf("unknown event %q", words[1])
		}
	case "slow":
		r.wait, err = time.ParseDuration(words[1])
	}
	return r, err
}

// find is the rule of a call: the n-th of its kind, the total-th of all.
func find(rules []rule, kind string, n, total int) rule {
	for _, r := range rules {
		k := n
		if r.kind == anyKind {
			k = total
		}
		if (r.kind == kind || r.kind == anyKind) && k >= r.from && (r.to == 0 || k <= r.to) {
			return r
		}
	}
	return rule{}
}
