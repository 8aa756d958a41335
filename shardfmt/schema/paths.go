package schema

import "strings"

// ParsePaths splits a selection into dotted paths, as Lookup takes them: names separated by commas; what stands in double
// quotes is part of one name, whatever it holds ("c.d" is a column with a dot in its name), and a quote in it is doubled. An empty text is nil.
func ParsePaths(s string) []string {
	if s == "" {
		return nil
	}
	var out []string
	var path strings.Builder
	quoted := false
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case quoted && r == '"' && i+1 < len(runes) && runes[i+1] == '"':
			path.WriteRune(r)
			i++
		case r == '"':
			quoted = !quoted
		case quoted && (r == '.' || r == '\\'):
			path.WriteString(`\` + string(r))
		case r == ',' && !quoted:
			out = append(out, strings.TrimSpace(path.String()))
			path.Reset()
		default:
			path.WriteRune(r)
		}
	}
	return append(out, strings.TrimSpace(path.String()))
}
