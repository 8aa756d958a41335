package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// difference says where the lines of JSON differ, nothing if they are the same records. The order of the keys of an object does not
// count, nor how a number is spelled: integers are the same if they are equal, floats if they are the same float64.
func difference(got, want []byte) string {
	n := 0
	next := func(b *[]byte) ([]byte, bool) {
		line, rest, found := bytes.Cut(*b, []byte("\n"))
		*b = rest
		return line, found || len(line) > 0
	}
	for ; ; n++ {
		g, more := next(&got)
		w, wanted := next(&want)
		switch {
		case !more && !wanted:
			return ""
		case !more:
			return fmt.Sprintf("%d records, more are there", n)
		case !wanted:
			return fmt.Sprintf("more than %d records", n)
		case bytes.Equal(g, w):
			continue
		}
		x, err := decode(g)
		if err != nil {
			return fmt.Sprintf("record %d is no JSON: %v", n, err)
		}
		y, err := decode(w)
		if err != nil {
			return fmt.Sprintf("record %d of the kit is no JSON: %v", n, err)
		}
		if path := differs(x, y); path != "" {
			return fmt.Sprintf("record %d%s", n, path)
		}
	}
}

func decode(line []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = fmt.Errorf("more than one value in a line")
	}
	return v, err
}

// differs gives where two values differ and how, nothing if they are the same.
func differs(got, want any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return unequal(got, want)
		}
		names := make([]string, 0, len(w))
		for name := range w {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			v, there := g[name]
			if !there {
				return fmt.Sprintf(", no %q", name)
			}
			if at := differs(v, w[name]); at != "" {
				return fmt.Sprintf(", %s%s", name, at)
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return unequal(got, want)
		}
		for i := range w {
			if at := differs(g[i], w[i]); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
		return ""
	case json.Number:
		if g, ok := got.(json.Number); ok && sameNumber(g, w) {
			return ""
		}
		return unequal(got, want)
	}
	if got != want {
		return unequal(got, want)
	}
	return ""
}

func unequal(got, want any) string { return fmt.Sprintf(": %v, want %v", got, want) }

// sameNumber: integers are compared digit by digit, all else as float64, with the sign of zero.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(string(a)+string(b), ".eE") && !strings.HasPrefix(string(a), "-0") && !strings.HasPrefix(string(b), "-0") {
		return false
	}
	x, err := strconv.ParseFloat(string(a), 64)
	y, err2 := strconv.ParseFloat(string(b), 64)
	return err == nil && err2 == nil && math.Float64bits(x) == math.Float64bits(y)
}
