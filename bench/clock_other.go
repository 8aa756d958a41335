//go:build !linux

package bench

import "time"

var begin = time.Now()

// now is the time on the wall.
func now() time.Duration { return time.Since(begin) }

// processNow is the wall's time, too.
func processNow() time.Duration { return now() }
