package main

import "strings"

// splitFields splits --select into dotted paths: names separated by commas; what stands in double quotes is part of
// one name, whatever it holds ("c.d" is a column with a dot in its name).
func splitFields(s string) []string {
	if s == "" {
		return nil
	}
	var out []string
	var field strings.Builder
	quoted := false
	for _, r := range s {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted && (r == '.' || r == '\\'):
			field.WriteString(`\` + string(r))
		case r == ',' && !quoted:
			out = append(out, strings.TrimSpace(field.String()))
			field.Reset()
			continue
		default:
			field.WriteRune(r)
		}
	}
	return append(out, strings.TrimSpace(field.String()))
}
