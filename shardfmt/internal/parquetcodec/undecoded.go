package parquetcodec

import "strings"

// Undecoded reports whether an error or a panic reports that an encoding is not decoded, here or by Arrow's reader, rather than that bytes are wrong.
func Undecoded(said string) bool {
	return strings.Contains(said, "unimplemented encoding") || strings.Contains(said, ErrEncoding.Error())
}
