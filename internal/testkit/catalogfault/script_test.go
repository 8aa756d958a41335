package catalogfault

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/catalog/rest"
)

func TestScriptsThatAreRefused(t *testing.T) {
	for _, bad := range []string{
		"load 1", "load: twice", "fetch 1: twice", "load x: twice", "load 0: twice", "load 5-2: twice", "load 1: explode", "load 1: fail",
		"load 1: fail 418", "load 1: lost", "load 1: twice now", "load 1: before", "load 1: before lunch", "load 1: slow", "load 1: slow 5",
	} {
		if err := new(Play).Set("# fine\n" + bad); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v, want an error about line 2", bad, err)
		}
	}
}

func TestRulesFindTheirCall(t *testing.T) {
	rules, err := parse(`
		load 2:    fail 403      # the second one
		commit 3-: lost reset
		any 9:     twice`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind     string
		n, total int
		want     string
	}{
		{"load", 1, 1, ""}, {"load", 2, 2, "fail"}, {"load", 3, 3, ""}, {"commit", 2, 2, ""}, {"commit", 3, 3, "lost"}, {"commit", 7, 7, "lost"},
		{"drop", 1, 9, "twice"}, {"drop", 1, 10, ""},
	} {
		if got := find(rules, c.kind, c.n, c.total).what; got != c.want {
			t.Errorf("%s, %d of kind, %d of all: %q, want %q", c.kind, c.n, c.total, got, c.want)
		}
	}
	if r := find(rules, "load", 2, 2); !errors.Is(r.answer, rest.ErrForbidden) {
		t.Errorf("answer %v", r.answer)
	}
}
