package meta

import (
	"strings"
	"testing"
)

// A node is found in the text by looking at few of its numbers, and is there for the search if and only if it is for who reads all.
func TestRequiredHas(t *testing.T) {
	const nodes = 3000
	for _, step := range []uint32{1, 2, 7, 999, nodes} {
		var ids []uint32
		for id := step / 2; id < nodes; id += step {
			ids = append(ids, id)
		}
		text := FormatRequired(ids)
		for id := range uint32(nodes) {
			want := id%step == step/2
			if got, err := requiredHas(text, id, nodes); got != want || err != nil {
				t.Fatalf("%d of every %d: %v, %v", id, step, got, err)
			}
		}
	}
	for _, bad := range []string{"x", ",", "1,,2", "1,3000", "-1", "1,4294967296,2", strings.Repeat("1", 1000), strings.Repeat(",", 1000)} {
		if _, err := requiredHas(bad, 1500, nodes); err == nil {
			t.Errorf("%.20q passes", bad)
		}
	}
}
