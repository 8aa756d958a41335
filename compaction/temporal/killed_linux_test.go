package temporal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.temporal.io/sdk/client"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/crash"
)

// killedEnv makes the test binary a worker that is killed at a step of its own; its value is the server, the folder and the step.
const killedEnv = "SHARDCAT_TEST_KILLED"

// A worker that is killed by SIGKILL at any of its writes loses its step to another one, and no row is lost or doubled.
func TestKilledWorker(t *testing.T) {
	if text := os.Getenv(killedEnv); text != "" {
		killedWorker(t, text)
		return
	}
	s, c := server(t)
	last := 6
	if os.Getenv("SHARDCAT_FULL") != "" {
		last = 40
	}
	stride := max(1, last/6)
	killed := 0
	for at := 1 + stride; at <= 1+last; at += stride * 2 {
		dir := tableOf(t, 4, nil)
		before := contents(t, load(t, dir))
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWorker$")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d", killedEnv, s.GetFrontendHostPort(), dir, at))
		var said strings.Builder
		child.Stdout, child.Stderr = &said, &said
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		queue := fmt.Sprint("killed-", at)
		done := make(chan error, 1)
		go func() {
			_, err := Run(ctx, c, TableInput{Table: name.String(), Queue: queue, Heartbeat: 1})
			done <- err
		}()
		exited := make(chan error, 1)
		go func() { exited <- child.Wait() }()
		var err error
		select {
		case <-exited:
			killed++
			work(t, c, dir, WorkerOptions{Queue: queue})
			err = <-done
		case err = <-done: // before that step
			child.Process.Kill()
			<-exited
		}
		if err != nil {
			t.Errorf("killed at step %d: %v\n%s", at, err, said.String())
		}
		if got := contents(t, load(t, dir)); strings.Join(got, "\n") != strings.Join(before, "\n") || load(t, dir).Describe().Shards != 1 {
			t.Errorf("killed at step %d: %d rows became %d in %d shards", at, len(before), len(got), load(t, dir).Describe().Shards)
		}
	}
	if killed == 0 {
		t.Error("no worker was killed")
	}
}

// killedWorker works until it kills itself.
func killedWorker(t *testing.T, text string) {
	var address, dir string
	var at int
	parts := strings.Split(text, "|")
	address, dir = parts[0], parts[1]
	if _, err := fmt.Sscan(parts[2], &at); err != nil {
		t.Fatal(err)
	}
	killer := crash.KillAt(at)
	killer.Kill = func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	o := optionsOf(dir)
	bucket := fileblob.Open(filepath.Join(dir, "wh"))
	for _, c := range []*blobio.Client{o.Client, o.Metadata} {
		if err := c.MountBucket("file://"+filepath.Join(dir, "wh")+"/", &crash.Bucket{Bucket: bucket, Killer: killer}); err != nil {
			t.Fatal(err)
		}
	}
	o.Wrap = func(c icecatalog.Catalog) icecatalog.Catalog { return &crash.Catalog{Catalog: c, Killer: killer} }
	tables, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	w := NewWorker(c, tables, WorkerOptions{Queue: fmt.Sprint("killed-", at), Log: quiet})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	<-t.Context().Done() // until it is killed
}
