// Command testservers starts the object stores that shardcat is tested with, on loopback and without docker:
// versitygw (S3), Azurite (Azure Blob), fake-gcs-server (GCS), and MinIO if requested.
//
//	go run -C deploy/testservers .                     prints the environment to export, runs until Ctrl-C
//	go run -C deploy/testservers . -- go test ./...    runs a command with that environment, then stops
//
// It installs the servers by itself, at the versions of servers.go, with go install and npm into a cache
// folder, gives each a free port and an empty folder, makes a bucket, and stops them by their process ids.
// The command ends with the exit code of the one it ran.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	runtime.LockOSThread() // the servers end with the thread that started them, see processAttributes
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testservers:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// request is what the command line requests.
type request struct {
	only    []string
	cache   string
	data    string
	cwd     string
	install bool
	command []string
}

func parse() request {
	var r request
	names := flag.String("only", "s3,azure,gcs", "which stores, of: s3 azure gcs minio")
	flag.StringVar(&r.cache, "cache", defaultCache(), "folder for the installed servers")
	flag.StringVar(&r.data, "data", "", "folder for their data, kept afterwards; empty: a temporary one")
	flag.StringVar(&r.cwd, "dir", "", "folder in which the command runs; empty: this one")
	flag.BoolVar(&r.install, "install", false, "install the servers and stop")
	flag.Parse()
	r.only, r.command = strings.Split(*names, ","), flag.Args()
	return r
}

func defaultCache() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "shardcat-testservers")
}

func run() (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := parse()
	chosen, err := choose(r.only)
	if err != nil {
		return 2, err
	}
	for _, s := range chosen {
		if err := s.install(ctx, r.cache); err != nil {
			return 1, fmt.Errorf("install %s: %w", s.name, err)
		}
	}
	if r.install {
		return 0, nil
	}
	data, remove, err := dataFolder(r.data)
	if err != nil {
		return 1, err
	}
	defer remove()
	env, stopAll, err := startAll(ctx, chosen, r.cache, data)
	defer stopAll()
	if err != nil {
		return 1, err
	}
	if len(r.command) == 0 {
		return 0, serve(ctx, env)
	}
	return execute(ctx, r, env)
}

// choose finds the servers by name, in the order of the table.
func choose(names []string) ([]server, error) {
	var chosen []server
	for _, s := range servers {
		if slices.Contains(names, s.name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) != len(names) {
		return nil, fmt.Errorf("-only %s: there are s3, azure, gcs and minio", strings.Join(names, ","))
	}
	return chosen, nil
}

// dataFolder makes the folder the servers keep their data in, absolute because versitygw wants it so.
func dataFolder(named string) (dir string, remove func(), err error) {
	if named == "" {
		dir, err = os.MkdirTemp("", "shardcat-testservers-")
		return dir, func() { os.RemoveAll(dir) }, err
	}
	dir, err = filepath.Abs(named)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	return dir, func() {}, err
}

// startAll starts the servers one by one. Stop ends those that were started, whatever the error.
func startAll(ctx context.Context, chosen []server, cache, data string) (env []string, stop func(), err error) {
	var running []*process
	stop = func() {
		for _, p := range slices.Backward(running) {
			p.stop()
		}
	}
	for _, s := range chosen {
		p, err := start(ctx, s, cache, filepath.Join(data, s.name))
		if p != nil {
			running = append(running, p)
		}
		if err != nil {
			return nil, stop, fmt.Errorf("start %s: %w", s.name, err)
		}
		fmt.Fprintf(os.Stderr, "testservers: %-5s %s, process %d\n", s.name, p.address, p.cmd.Process.Pid)
		env = append(env, s.environment(p.address)...)
		if s.name == "s3" { // for tests that kill one of their own
			env = append(env, "SHARDCAT_TEST_S3_SERVER="+filepath.Join(cache, "bin", "versitygw"))
		}
	}
	return env, stop, nil
}

// serve prints the environment and waits to be interrupted.
func serve(ctx context.Context, env []string) error {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		fmt.Printf("export %s='%s'\n", name, value)
	}
	fmt.Fprintln(os.Stderr, "testservers: Ctrl-C stops them")
	<-ctx.Done()
	return nil
}

// execute runs the command to its end and gives its exit code.
func execute(ctx context.Context, r request, env []string) (int, error) {
	cmd := exec.CommandContext(ctx, r.command[0], r.command[1:]...)
	cmd.Dir, cmd.Env = r.cwd, append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
