package main

import "strings"

// splitFields splits --select: names separated by commas, with commas inside double quotes kept.
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
