package fileio

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestHeadOfComplaints: what a reader's process states is kept up to a bound, and the rest is taken without an error.
func TestHeadOfComplaints(t *testing.T) {
	var h head
	var w io.Writer = &h
	for i, size := range []int{10, maxHead - 12, 5, maxHead, 1 << 20, 0} {
		if n, err := fmt.Fprint(w, strings.Repeat("x", size)); n != size || err != nil {
			t.Errorf("write %d of %d bytes: %d, %v", i, size, n, err)
		}
		if h.Len() > maxHead {
			t.Fatalf("%d bytes are kept", h.Len())
		}
	}
	if h.Len() != maxHead {
		t.Errorf("%d bytes are kept, want %d", h.Len(), maxHead)
	}
}
