package stripeindex

import (
	"strings"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// parseColumns reads the paths of a spec, separated by commas, and behind the last colon, if tokens has it, the name of a tokenizer.
func parseColumns(text string, tokens bool) (columns []string, token string) {
	separators := ","
	if tokens {
		separators = ",:"
	}
	var path []byte
	colon := -1 // where the path of the last column has its last colon
	for begin := true; text != ""; {
		if begin && text[0] == '"' {
			if name, rest, ok := cutQuoted(text); ok {
				path, text, begin = append(path, schema.JoinPath(name)...), rest, false
				continue
			}
		}
		c := text[0]
		text = text[1:]
		begin = strings.IndexByte(",.+", c) >= 0
		if c == ',' {
			columns, path, colon = append(columns, string(path)), path[:0], -1
			continue
		}
		if strings.IndexByte(separators, c) >= 0 && len(path) > 0 {
			colon = len(path)
		}
		path = append(path, c)
	}
	if colon >= 0 {
		path, token = path[:colon], string(path[colon+1:])
	}
	return append(columns, string(path)), token
}

// cutQuoted cuts off a name in double quotes, in which a quote is doubled. It is false if there is none, or no end of it.
func cutQuoted(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		if !strings.HasPrefix(text[i+1:], `"`) {
			return strings.ReplaceAll(text[1:i], `""`, `"`), text[i+1:], true
		}
		i++
	}
	return "", text, false
}

// formatColumns is the text that parseColumns reads.
func formatColumns(columns []string) string {
	out := make([]string, len(columns))
	for i, path := range columns {
		names := schema.SplitPath(path)
		for k, name := range names {
			if strings.ContainsAny(name, " \t\r\n\v\f\u0085\u00a0\",:") {
				names[k] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
			} else {
				names[k] = schema.JoinPath(name)
			}
		}
		out[i] = strings.Join(names, ".")
	}
	return strings.Join(out, ",")
}

// fields cuts text where there are spaces outside of quoted names.
func fields(text string) (out []string) {
	const spaces = " \t\r\n"
	begin := 0
	for i := 0; i < len(text); {
		if text[i] == '"' && i > begin && strings.IndexByte(":,.+", text[i-1]) >= 0 {
			if _, rest, ok := cutQuoted(text[i:]); ok {
				i = len(text) - len(rest)
				continue
			}
		}
		if strings.IndexByte(spaces, text[i]) >= 0 {
			if i > begin {
				out = append(out, text[begin:i])
			}
			begin = i + 1
		}
		i++
	}
	if begin < len(text) {
		out = append(out, text[begin:])
	}
	return out
}
