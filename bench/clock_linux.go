package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// now is the processor time of this thread: what others do on the machine in between doesn't count.
func now() time.Duration { return processorTime(unix.CLOCK_THREAD_CPUTIME_ID) }

// processNow is the processor time of all threads of this process.
func processNow() time.Duration { return processorTime(unix.CLOCK_PROCESS_CPUTIME_ID) }

func processorTime(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // the clock is there since Linux 2.6
	}
	return time.Duration(t.Nano())
}
