package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestApply compares what mutated code looks like, nested expressions among it.
func TestApply(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"return a == b", "return ((a == b) != mutateOn(1))"},
		{"return f() != nil", "return ((f() != nil) != mutateOn(1))"},
		{"return a < b+1", "return mutateLess(1, a , mutatePlus(2, b,1))"},
		{"return a-1 > b", "return mutateMore(1, mutateMinus(2, a,1) , b)"},
		{"return a == b && c < d", "return mutateAnd(1, ((a == b) != mutateOn(2)) , func() bool { return mutateLess(3, c , d)})"},
		{"return a && b && c", "return mutateAnd(1, mutateAnd(2, a , func() bool { return b}) , func() bool { return c})"},
		{"return a && // why\n b", "return mutateAnd(1, a , // why\n func() bool { return b})"},
		{"return true", "return !mutateOn(1)"},
		{"return nil, err", "return nil, mutateErr(1, err)"},
		{"for { continue }", "for { if mutateOn(1) { break }; continue }"},
		{"const n = m + 1", "const n = m + 1"},
		{"return x <= y || a >= b", "return x <= y || a >= b"},
	} {
		src := "package p\n\nfunc f() {\n" + c.src + "\n}\n"
		sites, err := find("p.go", []byte(src), 1)
		if err != nil {
			t.Fatalf("%s: %v", c.src, err)
		}
		got := strings.TrimSuffix(strings.TrimPrefix(string(apply([]byte(src), sites)), "package p\n\nfunc f() {\n"), "\n}\n")
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.src, got, c.want)
		}
	}
}

// TestOutcomes mutates a package of its own: one mutation of each outcome, and one that does not compile. What is in the results is not tried again.
func TestOutcomes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.24\n",
		"p.go": `package p

func Larger(a, b int) bool { return a > b }

func Yes() bool { return true }

func Equal(a, b int) bool { return a == b }

func Unused(a, b int) bool { return a == b }

func Ends(n int) int {
	for i := 0; ; {
		if i+1 == n {
			return i
		}
		i++
	}
}

func Count(n int) int {
	for {
		if n > 1 {
			n--
			continue
		}
		return n
	}
}
`,
		"p_test.go": `package p

import "testing"

func Test(t *testing.T) {
	if !Larger(2, 1) || !Yes() || !Equal(1, 1) || Equal(1, 2) || Ends(5) != 4 || Count(3) > 1 {
		t.Fail()
	}
}

func TestFailsAnyway(t *testing.T) { t.Fail() }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	file := filepath.Join(dir, "results")
	pass := func(o options) (*results, error) {
		r, err := openResults(file)
		if err != nil {
			t.Fatal(err)
		}
		o.jobs, o.only, o.results = 2, regexp.MustCompile(""), file
		p := &target{options: o, path: "./", work: t.TempDir(), results: r}
		return r, errors.Join(p.run(t.Context()), r.Close())
	}
	try := func() *results {
		r, err := pass(options{until: time.Now().Add(time.Hour), files: regexp.MustCompile("")})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// A run whose time is up before all tests have run tries no mutation; one of other files tries none of these.
	if r, err := pass(options{files: regexp.MustCompile("")}); !errors.Is(err, errTime) || len(r.known) > 0 {
		t.Errorf("without time: %v, %v", r.known, err)
	}
	if r, err := pass(options{until: time.Now().Add(time.Hour), files: regexp.MustCompile("other.go")}); err != nil || len(r.known) > 0 {
		t.Errorf("of another file: %v, %v", r.known, err)
	}
	covered, err := os.ReadFile(file + ".coverage")
	if err != nil || !regexp.MustCompile(`^\w+ \./ Test \S+( \d+)+\n$`).Match(covered) {
		t.Errorf("coverage %q, %v", covered, err)
	}
	got := map[string]string{}
	for key, outcome := range try().known {
		f := strings.Split(key, "\t")
		got[f[2]+" "+f[3]] = outcome
	}
	want := map[string]string{"3 >: >=": "unreached", "5 return true: false": "noticed", "7 ==: !=": "noticed", "9 ==: !=": "unreached", "13 ==: !=": "noticed", "13 + 1: + 2": "noticed", "22 >: >=": "survived"}
	for key, outcome := range want {
		if got[key] != outcome {
			t.Errorf("%s: %q, want %q", key, got[key], outcome)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	try()
	after, err := os.ReadFile(file)
	if err != nil || string(after) != string(before) {
		t.Errorf("a second run wrote\n%s\nbehind\n%s (%v)", after, before, err)
	}
	if again, err := os.ReadFile(file + ".coverage"); err != nil || string(again) != string(covered) {
		t.Errorf("a second run covered\n%s\nafter\n%s (%v)", again, covered, err)
	}
}
