// Command attack throws hostile shards and files at the library and reports what hurts: panics, crashes, hangs, memory,
// work out of proportion, shards that verify passes and a reader refuses, rows that differ without an error, statistics
// that lose rows.
//
//	go run ./shardfmt/internal/testkit/hostilefuzz -time 1m [-seed N] [-corpus DIR] [-out DIR]
//	go run ./shardfmt/internal/testkit/hostilefuzz -seed N -case M      # one case again
//
// Cases are numbered; a seed and a number settle everything about a case. They run in a process of their own, which is
// started again when one ends it. Whatever is found is written to a folder below -out, and ends the run with exit code 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
)

// options of a run.
type options struct {
	seed   uint64
	length time.Duration
	// first case, and how many: all that the time allows if 0.
	first, cases int64
	corpus, out  string
	// module is the folder of the module, below which files of some formats lie.
	module string
	// memory is what a scan may take; guard what the process may; slow what a case may take.
	memory, guard int64
	slow          time.Duration
	worker        bool
}

func main() {
	fileio.ServeReader()
	var o options
	one := flag.Int64("case", -1, "run this `number` only")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().Unix()), "settles all cases (default: the time)")
	flag.DurationVar(&o.length, "time", time.Minute, "how long to attack")
	flag.Int64Var(&o.first, "first", 0, "number of the first case")
	flag.Int64Var(&o.cases, "cases", 0, "how many cases at most; 0 is as many as the time allows")
	flag.StringVar(&o.corpus, "corpus", os.Getenv(interop.Variable), "`folder` of folders with a shard each, besides those of our own (default: $"+interop.Variable+")")
	flag.StringVar(&o.out, "out", filepath.Join(os.TempDir(), "shardcat-attack"), "`folder` for what is found")
	flag.StringVar(&o.module, "module", ".", "`folder` of the module, for the files of its tests")
	flag.Int64Var(&o.memory, "max-memory", 256<<20, "memory of a scan, in bytes")
	flag.Int64Var(&o.guard, "guard", 2<<30, "memory in use that is a fault, in bytes")
	flag.DurationVar(&o.slow, "slow", 30*time.Second, "time of a case that is a fault")
	flag.BoolVar(&o.worker, "worker", false, "run the cases in this process and write what becomes of them as JSON lines")
	flag.Parse()
	if *one >= 0 {
		o.first, o.cases = *one, 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := supervise
	if o.worker {
		run = work
	}
	faults, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(2)
	}
	if faults > 0 {
		os.Exit(1)
	}
}
