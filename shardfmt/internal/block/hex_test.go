package block

import (
	"encoding/hex"
	"strings"
	"testing"
)

// unhex reads a hex dump: bytes in file order, blanks and line ends anywhere.
func unhex(t testing.TB, dump string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(dump), ""))
	if err != nil {
		t.Fatalf("hex dump: %v", err)
	}
	return b
}
