package fault

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

func TestScriptsThatAreRefused(t *testing.T) {
	for _, bad := range []string{
		"get 1", "get: drop", "fetch 1: drop", "get x: drop", "get 0: drop", "get 5-2: drop", "get 1: explode",
		"get 1: fail", "get 1: fail 42", "get 1: fail x", "get 1: fail 503 SlowDown later 2s", "get 1: cut", "get 1: cut x",
		"get 1: slow 5", "get 1: drop now", "get 1: lost soon", "get 1: call", "get 1: twice now", "get 1: stale",
	} {
		p := Play{Cannot: []string{"stale"}}
		err := p.Set("# fine\n" + bad)
		if err == nil || !strings.Contains(err.Error(), "line 2") && !strings.Contains(err.Error(), "can't be played") {
			t.Errorf("%s: %v, want an error about line 2", bad, err)
		}
	}
}

// TestAnswersInBothTongues: a class has its status, and a status its class.
func TestAnswersInBothTongues(t *testing.T) {
	for _, tc := range []struct {
		what string
		want Rule
	}{
		{"fail throttled after 3s", Rule{Status: 503, Class: blobio.ErrThrottled, Wait: 3 * time.Second}},
		{"fail 503 SlowDown after 3s", Rule{Status: 503, Class: blobio.ErrThrottled, Code: "SlowDown", Wait: 3 * time.Second}},
		{"lost 404", Rule{Status: 404, Class: blobio.ErrNotFound}},
		{"lost denied", Rule{Status: 403, Class: blobio.ErrDenied}},
		{"lost", Rule{}},
	} {
		p := Play{}
		if err := p.Set("any *: " + tc.what); err != nil {
			t.Fatal(err)
		}
		r := p.Next("get", "k")
		if r.Status != tc.want.Status || r.Class != tc.want.Class || r.Code != tc.want.Code || r.Wait != tc.want.Wait {
			t.Errorf("%s: %+v, want %+v", tc.what, r, tc.want)
		}
	}
}

func TestRulesFindTheirRequest(t *testing.T) {
	s, err := parse(`
		get 2:        drop          # the second one
		put 3-4:      lost
		put~_jobs/ *: twice
		any 9-:       stall 1ms`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		kind, path string
		n, total   int
		want       string
	}{
		{"get", "/b/k", 1, 1, ""}, {"get", "/b/k", 2, 2, "drop"}, {"get", "/b/k", 3, 3, ""},
		{"put", "/b/k", 3, 3, "lost"}, {"put", "/b/k", 5, 5, ""}, {"put", "/b/_jobs/1", 1, 1, "twice"},
		{"stat", "/b/k", 1, 9, "stall"}, {"delete", "/b/k", 1, 8, ""},
	} {
		if got := s.find(tc.kind, tc.path, tc.n, tc.total).What; got != tc.want {
			t.Errorf("%s %s, %d of kind, %d of all: %q, want %q", tc.kind, tc.path, tc.n, tc.total, got, tc.want)
		}
	}
}

func TestBytesOfABody(t *testing.T) {
	for _, tc := range []struct {
		n    int64
		want int
	}{{0, 0}, {3, 3}, {-1, 9}, {-20, 0}, {20, 10}} {
		if got := (&Rule{N: tc.n}).At(10); got != tc.want {
			t.Errorf("%d of 10: %d, want %d", tc.n, got, tc.want)
		}
	}
}

// TestWalk breaks each of three steps once, and a run of none more.
func TestWalk(t *testing.T) {
	var seen []int
	p := Play{}
	broken, err := Walk(func(n int) (int, error) {
		if err := p.Set(""); err != nil {
			return 0, err
		}
		seen = append(seen, n)
		for range 3 {
			p.Next("put", "k")
		}
		return p.Requests("any"), nil
	})
	if broken != 3 || err != nil || !slices.Equal(seen, []int{1, 2, 3, 4}) {
		t.Errorf("%d broken in runs %v, %v", broken, seen, err)
	}
	failed := errors.New("failed")
	if broken, err := Walk(func(n int) (int, error) { return n, failed }); broken != 0 || !errors.Is(err, failed) {
		t.Errorf("%d broken, %v", broken, err)
	}
	if _, err := Walk(func(n int) (int, error) { return n, nil }); err == nil {
		t.Error("a walk without end ended")
	}
}
