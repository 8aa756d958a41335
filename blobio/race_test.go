//go:build race

package blobio_test

// The race detector's own allocations are counted with those of the code.
const raceDetector = true
