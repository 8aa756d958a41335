package resthttp

import (
	"errors"
	"strings"
	"testing"
)

// TestCheckJSON bounds depth and values, and looks for neither in strings.
func TestCheckJSON(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name, text string
		memory     int64
		want       error
	}{
		{"nothing", "", 1 << 10, nil},
		{"as deep as a schema nests", deep(MaxJSONDepth), 1 << 20, nil},
		{"deeper", deep(MaxJSONDepth + 1), 1 << 20, ErrJSONTooLarge},
		{"deep in turn", strings.Repeat(deep(MaxJSONDepth), 10), 10 << 20, nil},
		{"deep in a string", `{"a":"` + strings.Repeat("[", 1000) + `"}`, 1 << 20, nil},
		{"behind a quote in a string", `["\"` + strings.Repeat("{", 1000) + `"]`, 1 << 20, nil},
		{"behind a string that ends in a backslash", `["\\",` + deep(MaxJSONDepth) + `]`, 1 << 20, ErrJSONTooLarge},
		{"unbalanced", strings.Repeat("]", 1000) + deep(3), 1 << 20, nil},
		{"three bytes a structure", `{"snapshots":[` + strings.Repeat("{},", 10_000) + `{}]}`, 1 << 20, ErrJSONTooLarge},
		{"commas in a string", `["` + strings.Repeat("{},", 10_000) + `"]`, 1 << 20, nil},
		{"a long string", `["` + strings.Repeat("x", 1<<20) + `"]`, 1 << 20, ErrJSONTooLarge},
	} {
		if err := CheckJSON([]byte(c.text), c.memory); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
