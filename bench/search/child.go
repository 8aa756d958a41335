package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// childVariable holds, in the environment of a process that is to build a shard, how.
const childVariable = "SHARDCAT_BENCH_SEARCH"

// task is what such a process does.
type task struct{ Log, Dir, Indexes string }

// child does the work of a process that builds a shard; false if this is none.
func child() bool {
	text := os.Getenv(childVariable)
	if text == "" {
		return false
	}
	var t task
	err := json.Unmarshal([]byte(text), &t)
	if err == nil {
		err = buildShard(context.Background(), t.Log, t.Dir, t.Indexes)
	}
	if err != nil {
		log.Fatal(err)
	}
	return true
}

// inProcess runs a command and reports its cost, those of its children included, and what it printed.
func inProcess(cmd *exec.Cmd) (cost, []byte, error) {
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, nil, fmt.Errorf("%s: %w: %s", cmd.Args[0], err, bytes.TrimSpace(complaints.Bytes()))
	}
	c := cost{Wall: time.Since(start), Processor: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.Memory = use.Maxrss << 10 // Linux counts KiB
	}
	return c, out.Bytes(), nil
}

// processor is the processor time of this process so far.
func processor() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err) // of no argument of ours
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
