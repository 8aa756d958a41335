package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/internal/parallel"
)

// A panic ends with exit code 1 and one line that names the current object.
func TestPanicIsOneLine(t *testing.T) {
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	err := a.guarded(func() error {
		if _, err := a.mount(context.Background(), "mem://hostile/s.amudai.shard"); err != nil {
			return err
		}
		panic("index\nout of range")
	})
	if code := a.finish(context.Background(), err); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if got := errs.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "mem://hostile/s.amudai.shard") || !strings.Contains(got, "out of range") {
		t.Errorf("%q", got)
	}
}

// A panic in another goroutine comes as an error, which names its object itself.
func TestPanicElsewhereIsOneLine(t *testing.T) {
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	err := a.guarded(func() error {
		return fmt.Errorf("mem://hostile/s.amudai.shard: %w", parallel.Guarded(func() error { panic("index\nout of range") }))
	})
	if code := a.finish(context.Background(), err); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if got := errs.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "mem://hostile/s.amudai.shard: internal error: index") {
		t.Errorf("%q", got)
	}
}
