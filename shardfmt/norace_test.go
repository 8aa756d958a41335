//go:build !race

package shardfmt

// raceDetector: this test binary runs under the race detector.
const raceDetector = false
