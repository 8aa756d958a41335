package bench

import (
	"runtime"
	"sync"
	"time"
)

// Result is a contestant's best turn.
type Result struct {
	Contestant
	// Seconds for one column per worker, with all workers at it.
	Seconds float64
}

// How long contestants are measured: turns of at least turn each.
const (
	turns = 15
	turn  = 20 * time.Millisecond
	// enough is the time after which a slow contestant takes no further turns.
	enough = time.Second
)

// Measure lets contestants read in turns, each with as many workers as requested, and keeps everyone's best turn.
func Measure(list []Contestant, workers int) ([]Result, error) {
	results := make([]Result, len(list))
	runs := make([][]func() error, len(list))
	for i, c := range list {
		results[i].Contestant = c
		for range workers {
			run, err := c.Open()
			if err != nil {
				return nil, err
			}
			runs[i] = append(runs[i], run)
		}
	}
	used := make([]time.Duration, len(list))
	for t := range turns {
		for i := range list {
			if used[i] > enough {
				continue
			}
			start := time.Now()
			s, err := takeTurn(runs[i])
			if err != nil {
				return nil, err
			}
			if t == 0 || s < results[i].Seconds {
				results[i].Seconds = s
			}
			used[i] += time.Since(start)
		}
	}
	return results, nil
}

// takeTurn runs every worker for the length of a turn and gives the mean time of a round of all workers: one worker's
// processor time, or the wall's time until several are done. A mean, since a clock that moves in steps makes single rounds
// look shorter than they are, or like nothing.
func takeTurn(workers []func() error) (float64, error) {
	clock := func() time.Duration { return time.Duration(time.Now().UnixNano()) }
	if len(workers) == 1 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		clock = now
	}
	for n, start := 1, clock(); ; n++ {
		if err := round(workers); err != nil {
			return 0, err
		}
		if took := clock() - start; took >= turn {
			return took.Seconds() / float64(n), nil
		}
	}
}

// ProcessorTime is what all threads of this process have taken of the processors.
func ProcessorTime() time.Duration { return processNow() }

// MeasureProcess lets contestants read in turns, alone, and keeps everyone's best turn: the processor time of the whole
// process for a column, with what its goroutines and the garbage collector take. What other processes do in between
// doesn't count.
func MeasureProcess(list []Contestant) ([]Result, error) {
	results, runs := make([]Result, len(list)), make([]func() error, len(list))
	for i, c := range list {
		run, err := c.Open()
		if err != nil {
			return nil, err
		}
		results[i].Contestant, runs[i] = c, run
	}
	for t := range turns {
		for i, run := range runs {
			runtime.GC() // nobody sweeps for the one before
			n, start := 0, processNow()
			for processNow()-start < turn {
				if err := run(); err != nil {
					return nil, err
				}
				n++
			}
			if s := (processNow() - start).Seconds() / float64(n); t == 0 || s < results[i].Seconds {
				results[i].Seconds = s
			}
		}
	}
	return results, nil
}

// round runs every worker once, side by side.
func round(workers []func() error) error {
	if len(workers) == 1 {
		return workers[0]()
	}
	errs := make([]error, len(workers))
	var all sync.WaitGroup
	for i, run := range workers {
		all.Go(func() { errs[i] = run() })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
