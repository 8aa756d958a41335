package stripeindex

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Names of columns may hold what separates them: quoted, they are read back as they were, in a list of specs too.
func TestQuotedColumns(t *testing.T) {
	names := []string{"a", "user id", "a,b", "x:y", `say "hi"`, `"`, `""`, "a+b", "a b+c", "tab\there", "x@y", `s.m n`, `d\.ot`, "ä ö", "nb\u00a0sp", ":x", "unicode-log"}
	var all []Spec
	for _, kind := range []Kind{Text, Hash, Layer} {
		for _, name := range names {
			s := Spec{Kind: kind, Columns: []string{name, "plain"}}
			got, err := ParseSpec(s.String())
			if err != nil || got.Kind != kind || !slices.Equal(got.Columns, s.Columns) || got.Name() != s.Name() {
				t.Errorf("%q is written as %s and read as %q, %v", s.Columns, s, got.Columns, err)
			}
			all = append(all, s)
		}
	}
	back, err := ParseSpecs(FormatSpecs(all))
	if err != nil || len(back) != len(all) {
		t.Fatalf("%d of %d, %v", len(back), len(all), err)
	}
	for i := range all {
		if !slices.Equal(all[i].Columns, back[i].Columns) {
			t.Errorf("%q is read as %q", all[i].Columns, back[i].Columns)
		}
	}
	for text, want := range map[string][]string{
		"hash:user id":                 {"user id"}, // alone, as it is typed
		`text:"a:b":unicode-log`:       {"a:b"},
		"text:a:b:unicode-log":         {"a:b"},
		`hash:"c.d",e.f`:               {`c\.d`, "e.f"},
		`text:s."m n"+"a b"`:           {"s.m n+a b"},
		`hash:a"b`:                     {`a"b`},
		`hash:"open`:                   {`"open`},
		`layer:"a ""quoted"" b",c`:     {`a "quoted" b`, "c"},
		`text@shard:"a b":unicode-log`: {"a b"},
	} {
		if got, err := ParseSpec(text); err != nil || !slices.Equal(got.Columns, want) {
			t.Errorf("%s is read as %q, %v", text, got.Columns, err)
		}
	}
}

// What reading a long property of a catalog allocates grows with its length, not with its square.
func TestLongSpecsAreReadOnce(t *testing.T) {
	for _, text := range []string{
		"text:" + strings.Repeat(`"a""b",c:d,`, 1<<16), "hash:" + strings.Repeat("a", 1<<20), "hash:" + strings.Repeat(`"`, 1<<20), "hash:" + strings.Repeat(`,"`, 1<<19),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, word := range fields(text) {
			_, _ = ParseSpec(word)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 100*uint64(len(text)) {
			t.Errorf("%d bytes allocated for %d: %.30s…", grown, len(text), text)
		}
	}
}
