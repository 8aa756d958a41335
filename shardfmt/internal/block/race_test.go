//go:build race

package block

// raceDetector: this test binary runs under the race detector.
const raceDetector = true
