//go:build !linux

package fileio

import (
	"errors"
	"os"
)

// makeSlots knows no memory that can't be made shorter while it is mapped.
func makeSlots() (*os.File, slots, error) { return nil, nil, errors.ErrUnsupported }

// mapSlots maps nothing.
func mapSlots(f *os.File) (slots, error) { return nil, errors.Join(errors.ErrUnsupported, f.Close()) }

func (s slots) unmap() {}
