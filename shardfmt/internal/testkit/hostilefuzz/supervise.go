package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// The faults that only whoever watches the process can tell.
const (
	faultCrash  = "the process ended"
	faultHang   = "a case does not end"
	faultMemory = "more memory than the guard allows"
)

// supervise runs the cases in workers, one after the other: a case that ends its worker is a fault, and the next worker
// goes on behind it.
func supervise(ctx context.Context, o options) (int, error) {
	dir, err := os.MkdirTemp("", "shardcat-attack")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	a, err := newAttack(ctx, o, dir)
	if err != nil {
		return 0, err
	}
	fmt.Printf("seed %d, %d shards, %d files\n", o.seed, len(a.shards), len(a.inputs))
	t := newTally()
	started := time.Now()
	next := o.first
	for o.length > time.Since(started) && ctx.Err() == nil && (o.cases == 0 || next < o.first+o.cases) {
		rest := o
		rest.first, rest.length = next, o.length-time.Since(started)
		if o.cases > 0 {
			rest.cases = o.first + o.cases - next
		}
		w := &workerProcess{options: rest, report: func(n int64, v verdict) error { return a.report(t, n, v) }}
		if next, err = w.run(ctx); err != nil {
			return t.faults, err
		}
	}
	t.print(os.Stdout, time.Since(started))
	return t.faults, nil
}

// report counts a case, and writes down one with a fault.
func (a *attack) report(t *tally, n int64, v verdict) error {
	if int64(v.Peak) > a.guard {
		v.fault(faultMemory, "%d MiB", v.Peak>>20)
	}
	t.add(v)
	if v.Fault == "" {
		return nil
	}
	s, err := a.subject(n)
	if err != nil {
		return err
	}
	dir := filepath.Join(a.out, fmt.Sprintf("%d-%d", a.seed, n))
	if err := s.save(dir); err != nil {
		return err
	}
	fmt.Printf("\nFAULT %s\n  %s\n  %s\n  again: go run ./shardfmt/internal/testkit/hostilefuzz -seed %d -case %d; saved in %s\n", v.Fault, s, v.Detail, a.seed, n, dir)
	return nil
}

// workerProcess is a process that runs cases.
type workerProcess struct {
	options
	report func(n int64, v verdict) error
}

// startTime is how long a worker may take to load the corpus.
const startTime = time.Minute

// run starts the process and follows it to its end. It gives the number of the case to go on with.
func (w *workerProcess) run(ctx context.Context) (next int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, "-worker", "-seed", strconv.FormatUint(w.seed, 10), "-time", w.length.String(),
		"-first", strconv.FormatInt(w.first, 10), "-cases", strconv.FormatInt(w.cases, 10), "-corpus", w.corpus, "-module", w.module, "-max-memory", strconv.FormatInt(w.memory, 10))
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	hung := false
	alarm := time.AfterFunc(startTime, func() { hung = true; cancel() })
	defer alarm.Stop()
	at, open := w.first-1, false
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var p progress
		if err := json.Unmarshal(line, &p); err != nil {
			return 0, fmt.Errorf("a worker says %q", line)
		}
		at, open = p.Case, p.Verdict == nil
		alarm.Reset(w.slow)
		if p.Verdict != nil {
			if err := w.report(p.Case, *p.Verdict); err != nil {
				return 0, err
			}
		}
	}
	err = cmd.Wait()
	return at + 1, w.ended(ctx, workerEnd{err, at, open, hung, failed.Bytes()})
}

// workerEnd is how a process ended, and what it had come to: a case, open if there was no verdict.
type workerEnd struct {
	err        error
	at         int64
	open, hung bool
	stderr     []byte
}

// ended judges how a worker ended.
func (w *workerProcess) ended(ctx context.Context, e workerEnd) error {
	switch {
	case e.hung && e.open:
		return w.report(e.at, verdict{Kind: "any", Fault: faultHang, Outcome: refused, Nanos: int64(w.slow)})
	case e.open && e.err != nil && ctx.Err() == nil:
		return w.report(e.at, verdict{Kind: "any", Fault: faultCrash, Outcome: refused, Detail: string(e.stderr[:min(len(e.stderr), 4000)])})
	case e.err == nil || ctx.Err() != nil:
		return nil
	}
	var exit *exec.ExitError
	if errors.As(e.err, &exit) && exit.ExitCode() == 1 {
		return nil // it found something, and told
	}
	return fmt.Errorf("a worker failed: %w\n%s", e.err, e.stderr)
}
