package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

func TestMain(m *testing.M) {
	if child() { // the process that builds a shard
		return
	}
	os.Exit(m.Run())
}

// Every contestant that this machine has finds as many lines as the log has, from files and through the slow store. SHARDCAT_SEARCH_PYTHON
// names an interpreter with the peers.
func TestEveryoneFindsTheSame(t *testing.T) {
	slow = blobfake.Latency{}
	r, err := run(context.Background(), &options{lines: 20_000, turns: 1, dir: t.TempDir(), python: os.Getenv("SHARDCAT_SEARCH_PYTHON"), remote: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.missing)
	for _, x := range r.results {
		if x.built.Data == 0 || x.built.Processor == 0 {
			t.Errorf("%s: building cost %+v", x.name, x.built)
		}
		for i, q := range r.log.Queries {
			if q.Want == 0 && q.Kind != allWords {
				t.Errorf("%s: nothing to find", q.Label)
			}
			if strings.HasPrefix(x.name, "shardcat") && x.distant[i].Requests == 0 && x.distant[i].Unanswered == "" {
				t.Errorf("%s: %s: no requests", x.name, q.Label)
			}
		}
	}
	if text := r.render(); !strings.Contains(text, "| shardcat, text index |") {
		t.Error(text)
	}
}

// The log is the same each time.
func TestLogRepeats(t *testing.T) {
	for range 2 {
		g := newGenerator(1000)
		b := g.batch()
		if got := b.Column(5).ValueStr(777); got != wantMessage || g.batch() != nil {
			t.Errorf("%q", got)
		}
	}
}

const wantMessage = "GET /sessions/42010 204 378ms ritenivi fela pitu fefabopo gusulevo dubereli zirconium"
