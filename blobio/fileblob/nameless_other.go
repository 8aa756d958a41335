//go:build !linux

package fileblob

import "errors"

// createNameless needs a file system call that Linux alone has.
func createNameless(string) (file, error) { return nil, errors.ErrUnsupported }
