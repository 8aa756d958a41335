//go:build checked

package view

import "testing"

// Lengths that memory does not have are found: one too many, no multiple, negative, huge, and misaligned memory.
func TestCheckedViews(t *testing.T) {
	b := make([]byte, 24)
	for name, bad := range map[string]func(){
		"one more":   func() { Of[uint64](b, 4) },
		"a part":     func() { Of[[16]byte](b, 2) },
		"negative":   func() { Of[uint8](b, -1) },
		"huge":       func() { Of[uint64](b, 1<<61) },
		"of nothing": func() { Of[uint16](nil, 1) },
		"misaligned": func() { Of[uint64](b[1:], 1) },
		"a load":     func() { Load64(b, 17) },
		"before":     func() { Load64(b, -1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			bad()
		}()
	}
}
