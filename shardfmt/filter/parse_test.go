package filter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParsePrintsItself(t *testing.T) {
	for in, want := range map[string]string{
		`a = 1`:                               "a = 1",
		`1 < a`:                               "a > 1",
		`a<>-2.5e3`:                           "a != -2.5e3",
		`"7bsf-0" > 3`:                        `"7bsf-0" > 3`,
		`"and" = 'it''s'`:                     `"and" = 'it''s'`,
		`a.b."c.d" is not null`:               `NOT (a.b."c.d" IS NULL)`,
		`a = 1 or b = 2 and c = 3`:            "(a = 1 OR (b = 2 AND c = 3))",
		`not a = 1 and b = 2`:                 "(NOT (a = 1) AND b = 2)",
		`x BETWEEN 1 AND 2 AND y = 3`:         "((x >= 1 AND x <= 2) AND y = 3)",
		`x NOT BETWEEN 1 AND 2`:               "NOT ((x >= 1 AND x <= 2))",
		`x IN (1, 'b', NULL)`:                 "x IN (1, 'b', NULL)",
		`x not in (true)`:                     "NOT (x IN (TRUE))",
		`m HAS 'disk' or m HASPREFIX_CS 'Di'`: "(m HAS 'disk' OR m HASPREFIX_CS 'Di')",
		`m NOT CONTAINS 'x'`:                  "NOT (m CONTAINS 'x')",
		`url LIKE '/a%_'`:                     "url LIKE '/a%_'",
		`id = guid '00112233-4455-6677-8899-aabbccddeeff'`: "id = guid '00112233-4455-6677-8899-aabbccddeeff'",
		`b = X'00ff'`:               "b = X'00ff'",
		`d > timespan '1.00:00:00'`: "d > timespan '1.00:00:00'",
		`flag and not (other)`:      "(flag AND NOT (other))",
		`größe >= .5`:               "größe >= .5",
		`.5 < a`:                    "a > .5",
		`a9 = 1.5e-3`:               "a9 = 1.5e-3",
		`a = 1E+5`:                  "a = 1E+5",
		`a=1-2`:                     "",
		`"a""" = 1`:                 `"a""" = 1`,
		"a\t=\n1":                   "a = 1",
		`a."b".c > -.5`:             "a.b.c > -.5",
		`a.1 = 1`:                   "",
	} {
		e, err := Parse(in)
		if want == "" {
			if err == nil {
				t.Errorf("%s: got %s", in, e)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if e.String() != want {
			t.Errorf("%s: got %s, want %s", in, e, want)
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() {
			t.Errorf("%s does not read back: %v, %v", e, again, err)
		}
	}
}

func TestParseErrorsNameTheOffset(t *testing.T) {
	for in, want := range map[string]string{
		``:                "offset 0",
		`a =`:             "offset 3",
		`a = 1 b`:         "offset 6",
		`a = 1-2`:         "offset 5",
		`a IN (1e)`:       `"1e"`,
		`a = -`:           "offset 4",
		`a = -x`:          "offset 4",
		`a = -:`:          "offset 4",
		`a = -/`:          "offset 4",
		`a = -.+1`:        "offset 4",
		`a = 'x`:          "never closed",
		`a ! 1`:           `unexpected '!' at offset 2`,
		`(a = 1`:          ") was expected",
		`a IN ()`:         "a literal",
		`1.2.3 = a`:       "not a number",
		`a BETWEEN AND 2`: "a literal",
		`a = 1.2.3`:       "not a number",
		`a NOT 1`:         "IN, BETWEEN",
		`a LIKE 3`:        "single quotes",
		`1 AND 2`:         "a comparison",
		`a = 1e999999999`: "out of any column's range",
		`select = `:       "a literal",
		`NULL IS NULL`:    "a comparison",
		`NOT a =`:         "offset 7",
		`NOT (NOT a =)`:   "a literal",
		`(a =)`:           "a literal",
		`(a = 1) OR b =`:  "offset 14",
		`'a' = ''b'`:      "offset",
	} {
		_, err := Parse(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want …%s…", in, err, want)
		}
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Text != in || syntax.Offset < 0 || syntax.Offset > len(in) ||
			strings.Contains(want, "offset ") && !strings.Contains(err.Error(), fmt.Sprintf("offset %d", syntax.Offset)) {
			t.Errorf("%q: %#v", in, syntax)
		}
	}
}

func TestParseBoundsNesting(t *testing.T) {
	if _, err := Parse(strings.Repeat("(", 100000) + "a = 1"); err == nil {
		t.Error("a hundred thousand brackets were accepted")
	}
	for _, part := range []string{"(", "NOT "} {
		nested := func(n int) error {
			_, err := Parse(strings.Repeat(part, n) + "a = 1" + strings.Repeat(")", strings.Count(part, "(")*n))
			return err
		}
		if err := nested(maxDepth - 1); err != nil {
			t.Errorf("%d times %q: %v", maxDepth-1, part, err)
		}
		if nested(maxDepth) == nil {
			t.Errorf("%d times %q were accepted", maxDepth, part)
		}
	}
	if _, err := Parse(strings.Repeat("NOT ", 100000) + "a = 1"); err == nil {
		t.Error("a hundred thousand NOTs were accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`a = 1 AND "b c" LIKE 'x%' OR NOT d.e IN (1, 2.5, 'z') AND f IS NOT NULL`)
	f.Add(`m HAS_CS 'x' AND t > datetime '2020-01-01' AND b = X'00'`)
	f.Fuzz(func(t *testing.T, s string) {
		e, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(e.String())
		if err != nil {
			t.Fatalf("%q printed as %q does not read back: %v", s, e, err)
		}
		if again.String() != e.String() {
			t.Fatalf("%q changed to %q", e, again)
		}
	})
}
