package interop

import (
	"os"
	"testing"
)

func TestCases(t *testing.T) {
	cases := Cases(t)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		if _, err := os.Stat(c.Shard()); err != nil {
			t.Error(err)
		}
		rows := 0
		if c.Rows > 2000 {
			continue
		}
		c.ExpectedRows(t, func(int, []byte) { rows++ })
		if rows != c.Rows {
			t.Errorf("%s: %d rows, %d announced", c.Name, rows, c.Rows)
		}
	}
}
