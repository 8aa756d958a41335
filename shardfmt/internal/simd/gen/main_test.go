package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// The files in the repository are what this generator writes.
func TestGenerated(t *testing.T) {
	for _, bits := range []int{8, 16, 32, 64} {
		want, err := File(bits)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("../unpack_u%d.go", bits)
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go generate ./shardfmt/internal/simd", name)
		}
	}
}
