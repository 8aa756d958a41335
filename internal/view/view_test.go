package view

import (
	"slices"
	"testing"
)

func TestViews(t *testing.T) {
	b := make([]byte, 24)
	for i := range b {
		b[i] = byte(i)
	}
	if got := Of[uint32](b, 2); !slices.Equal(got, []uint32{0x03020100, 0x07060504}) {
		t.Errorf("%x", got)
	}
	if got := Of[[16]byte](b, 1); got[0][15] != 15 || len(Of[uint64](nil, 0)) != 0 {
		t.Errorf("%x", got)
	}
	if got := Load64(b, 5); got != 0x0c0b0a0908070605 {
		t.Errorf("%x", got)
	}
}
