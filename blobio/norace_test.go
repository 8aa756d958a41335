//go:build !race

package blobio_test

const raceDetector = false
