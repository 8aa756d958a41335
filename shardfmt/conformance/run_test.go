package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// smallKit is a folder with a kit of one whole and one damaged shard.
func smallKit(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	k := Kit{Version: Version, Cases: []Case{
		{Level: "l1", Name: "whole", Shard: "whole/" + RootName, Rows: "whole/" + RowsName, Records: 2},
		{Level: Refuse, Name: "damaged", Shard: "damaged/" + RootName, Answer: corrupt},
	}}
	b, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, kitName), string(b))
	put(t, filepath.Join(dir, "whole", RootName), "shard")
	put(t, filepath.Join(dir, "whole", RowsName), `{"a":1,"b":0.5}`+"\n"+`{"a":null,"b":"NaN"}`+"\n")
	put(t, filepath.Join(dir, "damaged", RootName), "damage")
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

// What readers do is told apart.
func TestRun(t *testing.T) {
	dir := smallKit(t)
	for _, c := range []struct{ name, script, whole, damaged string }{
		{"right", `cd "$(dirname "$1")"; if [ -f rows.ndjson ]; then cat rows.ndjson; else echo corrupt >&2; exit 3; fi`, Passed, Passed},
		{"other spelling", `printf '{"b":5e-1,"a":1}\n{"a":null,"b":"NaN"}\n'`, Passed, Accepted},
		{"wrong", `printf '{"a":1,"b":0.25}\n{"a":null,"b":"NaN"}\n'`, Wrong, Accepted},
		{"too few", `printf '{"a":1,"b":0.5}\n'`, Wrong, Accepted},
		{"refuses all", `exit 1`, Failed, Passed},
		{"crashes", `kill -9 $$`, Crashed, Crashed},
		{"hangs", `exec sleep 20`, Late, Late},
	} {
		script := filepath.Join(t.TempDir(), "reader.sh")
		put(t, script, c.script)
		o := RunOptions{}
		if c.name == "hangs" {
			o.Timeout = 50 * time.Millisecond
		}
		got, err := Run(t.Context(), dir, "sh "+script+" {}", o)
		if err != nil || len(got) != 2 || got[0].Outcome != c.whole || got[1].Outcome != c.damaged {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	if got, err := Run(t.Context(), dir, "false {}", RunOptions{Levels: []string{"l1"}}); err != nil || len(got) != 1 {
		t.Errorf("one level: %+v, %v", got, err)
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
	put(t, filepath.Join(dir, kitName), `{"version":5,"cases":[{"level":"l1","name":"x","shard":"../x","rows":"y"}]}`)
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
		{"[", "{}", "no JSON"},
	} {
		if got := difference([]byte(c.got), []byte(c.want)); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s and %s: %q, want %q", c.got, c.want, got, c.says)
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
