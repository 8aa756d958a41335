package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// readyWithin bounds the start of a server; Azurite takes 3 s on an idle core.
	readyWithin = 60 * time.Second
	// stopWithin is how long a server may take to end by itself.
	stopWithin = 5 * time.Second
)

// process is a server that runs.
type process struct {
	cmd     *exec.Cmd
	address string // host:port
	logFile string
	ended   chan struct{}
}

// start starts a server in its own folder and waits until it answers and has its bucket. If it does not, the
// process is returned with the error, to be stopped.
func start(ctx context.Context, s server, cache, data string) (*process, error) {
	for _, dir := range []string{"iam", "bucket", "data"} {
		if err := os.MkdirAll(filepath.Join(data, dir), 0o755); err != nil {
			return nil, err
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := s.command(cache, data, port)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, cmd.Env...)
	cmd.SysProcAttr = processAttributes()
	p := &process{cmd: cmd, address: "127.0.0.1:" + port, logFile: filepath.Join(data, "log"), ended: make(chan struct{})}
	log, err := os.Create(p.logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		cmd.Wait()
		close(p.ended)
	}()
	return p, p.await(ctx, func(ctx context.Context) error { return s.ready(ctx, p.address, data) })
}

// await asks until the server answers, has ended, or took too long.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("it ended at once: %s", p.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w; %s", readyWithin, err, p.lastWords())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lastWords is the end of the server's log.
func (p *process) lastWords() string {
	log, _ := os.ReadFile(p.logFile)
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return strings.ToValidUTF8(string(bytes.Join(lines[max(0, len(lines)-5):], []byte("; "))), "?")
}

// stop ends the process by its id: asked first, killed if it does not listen.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopWithin):
		p.cmd.Process.Kill()
		<-p.ended
	}
}

// freePort is a port of loopback that was free a moment ago.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
