package temporal

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/server/temporaltest"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
)

// killedEnv makes the test binary a worker that is killed at a step of its own; its value is the server, its namespace, the folder, the queue and the step.
const killedEnv = "SHARDCAT_TEST_KILLED"

// A worker that is killed by SIGKILL at any of its writes loses its step to another one, and no row is lost or doubled: concatenating,
// packing and rebuilding. SHARDCAT_FULL takes every write, else one of each.
func TestKilledWorker(t *testing.T) {
	if text := os.Getenv(killedEnv); text != "" {
		killedWorker(t, text)
		return
	}
	s, c := server(t)
	for i, k := range kinds {
		t.Run(string(k.mode), func(t *testing.T) {
			if os.Getenv("SHARDCAT_FULL") == "" {
				if at := 4 * (i + 1); !killedAt(t, s, c, k, at) {
					t.Errorf("no worker was killed at step %d", at)
				}
				return
			}
			steps := 0
			for killedAt(t, s, c, k, steps+1) {
				steps++
				t.Logf("killed at step %d", steps)
			}
			if t.Logf("%d steps", steps); steps < 8 {
				t.Errorf("only %d steps were killed", steps)
			}
		})
	}
}

// killedAt compacts a table by a worker that kills itself at a step and, if it does, by a second one.
func killedAt(t *testing.T, s *temporaltest.TestServer, c client.Client, k kind, at int) (killed bool) {
	t.Helper()
	dir := k.table(t, 4)
	before := contents(t, load(t, dir))
	queue := fmt.Sprintf("killed-%s-%d", k.mode, at)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWorker$")
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%s|%s|%d", killedEnv, s.GetFrontendHostPort(), s.GetDefaultNamespace(), dir, queue, at))
	var said strings.Builder
	child.Stdout, child.Stderr = &said, &said
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, c, TableInput{Table: name.String(), Queue: queue, Heartbeat: 1})
		done <- err
	}()
	exited := make(chan error, 1)
	go func() { exited <- child.Wait() }()
	var err error
	select {
	case how := <-exited:
		if how == nil || !strings.Contains(how.Error(), "killed") {
			t.Fatalf("the worker to be killed at step %d ended: %v\n%s", at, how, said.String())
		}
		killed = true
		w := work(t, c, dir, WorkerOptions{Queue: queue})
		err = <-done
		w.Stop()
	case err = <-done: // before that step
		child.Process.Kill()
		<-exited
	}
	if err != nil {
		t.Errorf("killed at step %d: %v\n%s", at, err, said.String())
	}
	if got := contents(t, load(t, dir)); !slices.Equal(got, before) || load(t, dir).Describe().Shards != 1 {
		t.Errorf("killed at step %d: %d rows became %d in %d shards", at, len(before), len(got), load(t, dir).Describe().Shards)
	}
	return killed
}

// killedWorker works until it kills itself.
func killedWorker(t *testing.T, text string) {
	parts := strings.Split(text, "|")
	address, namespace, dir, queue := parts[0], parts[1], parts[2], parts[3]
	at, err := strconv.Atoi(parts[4])
	if err != nil {
		t.Fatal(err)
	}
	killer := crashtest.KillAt(at)
	killer.Kill = func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	o := optionsOf(dir)
	bucket := fileblob.Open("/")
	for _, c := range []*blobio.Client{o.Client, o.Metadata} {
		if err := c.MountBucket("file:///", &crashtest.Bucket{Bucket: bucket, Killer: killer}); err != nil {
			t.Fatal(err)
		}
	}
	icebergaccess.Wrap(&o, func(c icecatalog.Catalog) icecatalog.Catalog { return &crashtest.Catalog{Catalog: c, Killer: killer} })
	tables, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	w := NewWorker(c, tables, WorkerOptions{Queue: queue, Log: quiet})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	<-t.Context().Done() // until it is killed
}
