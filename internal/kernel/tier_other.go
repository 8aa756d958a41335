//go:build !amd64 || purego

package kernel

import "errors"

// assembled: only amd64 has a tier in assembly.
func assembled() (*tier, error) {
	return nil, errors.New("this build has no assembly: that is for amd64, without the tag purego")
}
