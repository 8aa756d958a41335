//go:build !amd64 || purego

package simd

import "errors"

// assembled: only amd64 has tiers in assembly.
func assembled(string) (*tier, error) {
	return nil, errors.New("this build has no assembly: that is for amd64, without the tag purego")
}
