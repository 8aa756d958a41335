package parquetcodec

import "strings"

// Undecoded reports whether an error or a panic of Arrow's reader reports that it does not decode an encoding, rather than that bytes are wrong.
func Undecoded(said string) bool { return strings.Contains(said, "unimplemented encoding") }
