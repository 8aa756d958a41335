package resthttp

import (
	"errors"
	"fmt"
)

// MaxJSONDepth is how deep JSON of a catalog may nest: a schema nests 100 types, each of them three levels of JSON.
const MaxJSONDepth = 400

// bytesPerValue is what a value of JSON takes in memory once it is decoded: three bytes, as of "{},", become a structure of up to 120 bytes
// in a slice that grows by doubling.
const bytesPerValue = 256

// ErrJSONTooLarge: JSON nests too deep, or would take more memory than there is.
var ErrJSONTooLarge = errors.New("JSON exceeds a limit")

// CheckJSON bounds the depth of a JSON text, and what its values take once they are decoded, before anything decodes it. That the text is
// JSON is not checked.
func CheckJSON(text []byte, memory int64) error {
	depth, values, quoted := 0, int64(1), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxJSONDepth {
				return fmt.Errorf("%w: it nests deeper than %d levels", ErrJSONTooLarge, MaxJSONDepth)
			}
			values++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
	}
	if need := 2*int64(len(text)) + values*bytesPerValue; need > memory {
		return fmt.Errorf("%w: %d bytes with %d values need about %d bytes of memory, more than %d (see --max-memory)", ErrJSONTooLarge, len(text), values, need, memory)
	}
	return nil
}
