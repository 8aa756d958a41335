package simulation

import (
	"syscall"
	"time"
)

// realClock measures from now on what time passes outside of a bubble of testing/synctest, by the processor time of the process.
func realClock() func() time.Duration {
	now := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			return 0
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := now()
	return func() time.Duration { return now() - began }
}
