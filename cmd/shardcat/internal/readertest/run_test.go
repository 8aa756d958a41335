package readertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/shardfmt/conformance"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The names of objects in the folder of a case.
const (
	rootName = "shard.amudai.shard"
	rowsName = "rows.ndjson"
)

// smallKit is a folder with a kit of a shard in a form that a reader may refuse, a whole one, and that one damaged.
func smallKit(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	k := conformance.Kit{Version: conformance.Version, Cases: []conformance.Case{
		{Level: "l5", Name: "form", Shard: "whole/" + rootName, Rows: "whole/" + rowsName, Records: 2, Optional: true},
		{Level: refuse, Name: "whole", Shard: "whole/" + rootName, Rows: "whole/" + rowsName, Records: 2},
		{Level: refuse, Name: "damaged", Shard: "damaged/" + rootName, Answer: corrupt, Sound: "whole"},
	}}
	b, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, kitName), string(b))
	put(t, filepath.Join(dir, "whole", rootName), "shard")
	put(t, filepath.Join(dir, "whole", rowsName), `{"a":1,"b":0.5}`+"\n"+`{"a":null,"b":"NaN"}`+"\n")
	put(t, filepath.Join(dir, "damaged", rootName), "damage")
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Outcomes by what a reader prints and how it ends, on a shard of a form that it may refuse, on a whole one and on the same one damaged.
func TestRun(t *testing.T) {
	dir := smallKit(t)
	const rows = `printf '{"a":1,"b":0.5}\n{"a":null,"b":"NaN"}\n'`
	whole := func(damaged string) string {
		return `case "$1" in *damaged*) ` + damaged + ` ;; *) ` + rows + ` ;; esac`
	}
	for _, c := range []struct{ name, script, form, whole, damaged string }{
		{"right", whole(`echo 'corrupt: at 5'>&2; exit 3`), Passed, Passed, Passed},
		{"names itself", whole(`echo 'my-reader: corrupt data: x at 5'>&2; exit 3`), Passed, Passed, Passed},
		{"says more before", whole(`echo 'reading x'>&2; echo 'corrupt x'>&2; exit 3`), Passed, Passed, Passed},
		{"another class", whole(`echo 'unsupported: x'>&2; exit 3`), Passed, Passed, Misnamed},
		{"another word", whole(`echo 'corrupted: x'>&2; exit 3`), Passed, Passed, Failed},
		{"a word elsewhere", whole(`echo 'the shard x is corrupt'>&2; exit 3`), Passed, Passed, Failed},
		{"another code", whole(`echo 'corrupt: x'>&2; exit 1`), Passed, Passed, Failed},
		{"the code of unsafe", whole(`echo 'corrupt: x'>&2; exit 6`), Passed, Passed, Failed},
		{"no word", whole(`exit 3`), Passed, Passed, Failed},
		{"another spelling", `printf '{"b":5e-1,"a":1}\n{"a":null,"b":"NaN"}\n'`, Passed, Passed, Accepted},
		{"wrong", `printf '{"a":1,"b":0.25}\n{"a":null,"b":"NaN"}\n'`, Wrong, Wrong, Accepted},
		{"too few", `printf '{"a":1,"b":0.5}\n'`, Wrong, Wrong, Accepted},
		{"ends", `exit 1`, Failed, Failed, Failed},
		{"refuses all as corrupt", `echo corrupt >&2; exit 3`, Failed, Failed, Failed},
		{"refuses all as unsupported", `echo unsupported >&2; exit 3`, Refused, Failed, Failed},
		{"crashes", `kill -9 $$`, Crashed, Crashed, Crashed},
		{"hangs", `exec sleep 20`, Late, Late, Late},
	} {
		script := filepath.Join(t.TempDir(), "reader.sh")
		put(t, script, c.script)
		o := RunOptions{}
		if c.name == "hangs" {
			o.Timeout = 50 * time.Millisecond
		}
		got, err := Run(t.Context(), dir, "sh "+script+" {}", o)
		if err != nil || len(got) != 3 || got[0].Outcome != c.form || got[1].Outcome != c.whole || got[2].Outcome != c.damaged {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	if got, err := Run(t.Context(), dir, "false {}", RunOptions{Levels: []string{"l5"}}); err != nil || len(got) != 1 {
		t.Errorf("one level: %+v, %v", got, err)
	}
}

// Refusals of a shard in a form that a reader need not know score neither for nor against it, whatever it calls them.
func TestDamagedForms(t *testing.T) {
	sound := map[string]string{"a": Refused, "b": Passed}
	for _, c := range []struct {
		sound, line, want string
		code              int
	}{
		{"a", "unsupported: x", Refused, 3},
		{"a", "corrupt: x", Refused, 3},
		{"a", "", Failed, 1},
		{"b", "corrupt: x", Passed, 3},
		{"b", "unsupported: x", Passed, 3},
	} {
		r := Outcome{Case: conformance.Case{Level: refuse, Answer: corrupt, Optional: true, Sound: c.sound}}
		r.refused(c.code, c.line)
		r.proven(sound)
		if r.Outcome != c.want {
			t.Errorf("%s, %q: %s, want %s", c.sound, c.line, r.Outcome, c.want)
		}
	}
	for answer, codes := range map[string]map[int]string{missing: {3: "corrupt: x"}, unsafe: {6: "unsafe reference: x"}, unsupported: {3: "unsupported data: x"}} {
		for code, line := range codes {
			r := Outcome{Case: conformance.Case{Level: refuse, Answer: answer}}
			if r.refused(code, line); r.Outcome != Passed {
				t.Errorf("%s: %s", line, r.Outcome)
			}
		}
	}
}

// Scores are by level, in their order; a refusal that is allowed conforms.
func TestScores(t *testing.T) {
	of := func(level, outcome string) Outcome {
		return Outcome{Case: conformance.Case{Level: level}, Outcome: outcome}
	}
	got := Scores([]Outcome{of("l5", Refused), of("l1", Passed), of("l1", Wrong), of("l1", Late), of("l5", Passed)})
	want := []Score{{Level: "l1", Cases: 3, Passed: 1, Others: map[string]int{Wrong: 1, Late: 1}}, {Level: "l5", Cases: 2, Passed: 1, Refused: 1}}
	if !reflect.DeepEqual(got, want) || got[0].Conforms() || !got[1].Conforms() {
		t.Errorf("%+v", got)
	}
}

// What keeps the driver from asking at all is an error.
func TestRunRefuses(t *testing.T) {
	dir := smallKit(t)
	for command, want := range map[string]string{"cat": Placeholder, "": Placeholder, "no-such-program {}": "no-such-program"} {
		if _, err := Run(t.Context(), dir, command, RunOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", command, err)
		}
	}
	if _, err := Run(t.Context(), t.TempDir(), "cat {}", RunOptions{}); err == nil || !strings.Contains(err.Error(), "no kit") {
		t.Errorf("no kit: %v", err)
	}
	put(t, filepath.Join(dir, kitName), fmt.Sprintf(`{"version":%d,"cases":[{"level":"l1","name":"x","shard":"../x","rows":"y"}]}`, conformance.Version))
	if _, err := Run(t.Context(), dir, "cat {}", RunOptions{}); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("a case outside of the kit: %v", err)
	}
}

func TestDifference(t *testing.T) {
	for _, c := range []struct{ got, want, says string }{
		{`{"a":1,"b":[1.0,null]}`, `{"b":[1,null],"a":1}`, ""},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, "9007199254740993"},
		{`{"a":-0.0}`, `{"a":0.0}`, "want 0.0"},
		{`{"a":1e2}`, `{"a":100.0}`, ""},
		{`{"a":"1"}`, `{"a":1}`, "want 1"},
		{`{"a":{"k":1}}`, `{"a":{"k":2}}`, "a, k"},
		{`{"a":1}`, `{"a":1,"b":null}`, "want"},
		{"{}\n{}\n", "{}\n", "more than 1"},
		{"", "{}\n", "0 records"},
		{"[", "{}", "not JSON"},
	} {
		if got := difference([]byte(c.got), []byte(c.want), nil); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s and %s: %q, want %q", c.got, c.want, got, c.says)
		}
	}
}

// Values are compared by the types of their columns.
func TestDifferenceByType(t *testing.T) {
	for _, c := range []struct {
		typ, got, want string
		same           bool
	}{
		{"Float32", "0.1", "0.10000000149011612", true},
		{"Float32", "16777217", "16777216.0", true},
		{"Float32", "0.1", "0.1000001", false},
		{"Float32", "-0.0", "0", false},
		{"Float64", "0.1", "0.10000000149011612", false},
		{"Float64", "1e2", "100", true},
		{"Float64", "9007199254740993", "9007199254740992", true},
		{"Int64", "9007199254740993", "9007199254740992", false},
		{"Int64", "1e2", "100", false},
		{"List<Float32>", "[0.1,null]", "[0.10000000149011612,null]", true},
		{"Map<String, Float32>", `[{"key":"a","value":0.1}]`, `[{"key":"a","value":0.10000000149011612}]`, true},
		{"Struct<a: Float32, b: Float64>", `{"b":1.0,"a":0.1}`, `{"a":0.10000000149011612,"b":1}`, true},
		{"Struct<a: Float32, b: Float64>", `{"b":0.1,"a":0.1}`, `{"a":0.1,"b":0.10000000149011612}`, false},
		{"Union<Int64, Float32>", "0.1", "0.10000000149011612", true},
		{"Dynamic", `{"a":1.0}`, `{"a":1}`, true},
		{"Decimal", `"1.0"`, `"1.00"`, false},
	} {
		s, err := schema.Parse(`{"fields":[{"name":"v","type":"` + c.typ + `"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		got := difference([]byte(`{"v":`+c.got+`}`), []byte(`{"v":`+c.want+`}`), s)
		if (got == "") != c.same {
			t.Errorf("%s: %s and %s: %q", c.typ, c.got, c.want, got)
		}
	}
}

// Answers of lookups are held to the records that match: none may lack, and only approximate ranges may name others.
func TestAnswers(t *testing.T) {
	const want = `{"rows":[1,2,5]}` + "\n" + `{"rows":[]}` + "\n"
	const none = "\n" + `{"postings":[]}` + "\n"
	for said, right := range map[string]bool{
		`{"postings":[{"repr":"positions","positions":[1,2,5]}]}` + none:                                      true,
		`{"postings":[{"repr":"exact_ranges","ranges":[[1,3]]},{"repr":"positions","positions":[5]}]}` + none: true,
		`{"postings":[{"repr":"approximate_ranges","ranges":[[0,7]]}]}` + none:                                true,
		`{"positions":[5,1,2]}` + "\n" + `{"positions":[]}`:                                                   true,
		`{"postings":[{"repr":"exact_ranges","ranges":[[0,7]]}]}` + none:                                      false,
		`{"postings":[{"repr":"approximate_ranges","ranges":[[2,7]]}]}` + none:                                false,
		`{"postings":[{"repr":"positions","positions":[1,2]}]}` + none:                                        false,
		`{"postings":[{"repr":"positions","positions":[1,2,5]}]}` + "\n":                                      false,
		`{"postings":[{"repr":"exact_ranges","ranges":[[9,3]]}]}` + none:                                      false,
		`{"positions":[1,2,5]}` + "\n" + `{"positions":[4]}` + "\n":                                           false,
		"no JSON" + none: false,
	} {
		if got := answered([]byte(said), []byte(want)); (got == "") != right {
			t.Errorf("%s: %q", said, got)
		}
	}
}
