package literal

import (
	"bytes"
	"encoding/json"
)

// DynamicText is the text of a Dynamic value, which is stored as JSON: the characters of a JSON string, without its quotes and escapes,
// and of any other value what is stored.
func DynamicText(raw []byte) []byte {
	b := bytes.TrimSpace(raw)
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return raw
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return b[1 : len(b)-1]
	}
	var s string
	if json.Unmarshal(b, &s) != nil {
		return raw
	}
	return []byte(s)
}
