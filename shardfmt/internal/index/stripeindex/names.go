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
	path, colon := "", -1 // where the path of the last column has its last colon
	for begin := true; text != ""; {
		if name, rest, ok := cutQuoted(text); begin && ok {
			path, text, begin = path+schema.JoinPath(name), rest, false
			continue
		}
		c := text[0]
		text = text[1:]
		switch begin = strings.IndexByte(",.+", c) >= 0; {
		case strings.IndexByte(separators, c) < 0, c == ':' && path == "":
			path += string(c)
		case c == ',':
			columns, path, colon = append(columns, path), "", -1
		default:
			colon = len(path)
			path += ":"
		}
	}
	if colon >= 0 {
		path, token = path[:colon], path[colon+1:]
	}
	return append(columns, path), token
}

// cutQuoted cuts off a name in double quotes, in which a quote is doubled. It is false if there is none, or no end of it.
func cutQuoted(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	for rest = text[1:]; ; {
		part, behind, ended := strings.Cut(rest, `"`)
		if !ended {
			return "", text, false
		}
		name += part
		if !strings.HasPrefix(behind, `"`) {
			return name, behind, true
		}
		name, rest = name+`"`, behind[1:]
	}
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
	word := ""
	for text = strings.TrimSpace(text); text != ""; {
		if _, rest, ok := cutQuoted(text); ok && word != "" && strings.IndexByte(":,.+", word[len(word)-1]) >= 0 {
			word, text = word+text[:len(text)-len(rest)], rest
			continue
		}
		if rest := strings.TrimLeft(text, " \t\r\n"); len(rest) < len(text) {
			out, word, text = append(out, word), "", rest
			continue
		}
		word, text = word+text[:1], text[1:]
	}
	if word != "" {
		out = append(out, word)
	}
	return out
}
