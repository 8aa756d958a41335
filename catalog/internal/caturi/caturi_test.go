package caturi

import (
	"strings"
	"testing"
)

// TestRedactURI: no secret of a catalog's URI reaches a message, in whatever form it was given.
func TestRedactURI(t *testing.T) {
	for uri, want := range map[string]string{
		"postgres://u:X@h/db?sslpassword=X":   "postgres://h/db",
		"postgres:user=u password=X dbname=d": "",
		"postgres:password='a X'":             "",
		"postgres:PGPASSWORD=X":               "",
		"rest+https://h/p?token=X#X":          "rest+https://h/p",
	} {
		got := Redact(uri)
		if strings.Contains(got, "X") || want != "" && got != want {
			t.Errorf("%s: %s, want %q", uri, got, want)
		}
	}
}

// TestOwnersCompareCanonically: a catalog under two spellings of its URI is one owner.
func TestOwnersCompareCanonically(t *testing.T) {
	for _, same := range [][2]string{
		{"rest+http://h:8181", "rest+http://h:8181/"}, {"rest+http://H/x/", "rest+http://h:80/x"},
		{"rest+https://h:443", "rest+https://h"}, {"postgresql://h:5432/db", "postgres://h/db"}, {"sqlite:/a/b", "sqlite:/a/b"},
	} {
		if a, b := Canonical(same[0]), Canonical(same[1]); a != b {
			t.Errorf("%s is %s, %s is %s", same[0], a, same[1], b)
		}
	}
	for _, other := range [][2]string{{"rest+http://h", "rest+https://h"}, {"rest+http://h/a", "rest+http://h/b"}, {"sqlite:/a", "sqlite:/A"}} {
		if Canonical(other[0]) == Canonical(other[1]) {
			t.Errorf("%s and %s are two catalogs", other[0], other[1])
		}
	}
}
