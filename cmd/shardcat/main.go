// Command shardcat writes, reads, merges and catalogues Amudai shards on object storage.
//
// It is a thin cover over the packages of this module: each command is one file that parses its flags, calls the
// library and prints what came back. docs/cli.md lists every command; exit codes are in exit.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/shardcat/shardcat/shardfmt/fileio"

	// The stores that URLs may name.
	_ "github.com/shardcat/shardcat/blobio/azblob"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/gcsblob"
	_ "github.com/shardcat/shardcat/blobio/httpsblob"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"

	// Starts without what no command needs.
	_ "github.com/shardcat/shardcat/cmd/shardcat/internal/startup"
)

func main() {
	fileio.ServeReader()
	os.Exit(run(os.Args[1:]))
}

// run executes one command line and returns its exit code.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := newApp(&input{ctx: ctx, from: os.Stdin}, os.Stdout, os.Stderr)
	a.setMemoryLimit, a.setGCPercent = debug.SetMemoryLimit, debug.SetGCPercent
	err := a.guarded(func() error { return a.execute(ctx, args) })
	return a.finish(ctx, err)
}
