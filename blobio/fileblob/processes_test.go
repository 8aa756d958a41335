package fileblob_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
)

// The environment of a process that a test started.
const (
	envDir  = "FILEBLOB_TEST_DIR"  // what the processes share
	envName = "FILEBLOB_TEST_NAME" // its name; none has the name of another
)

const (
	processes = 4
	raceKeys  = 50
)

// start runs a test of this file in processes of their own, all at once, and gives their output.
func start(t *testing.T, test, dir string) []string {
	t.Helper()
	out := make([]string, processes)
	var all sync.WaitGroup
	for i := range out {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$")
			cmd.Env = append(os.Environ(), envDir+"="+dir, fmt.Sprintf("%s=p%d", envName, i))
			b, err := cmd.CombinedOutput()
			if out[i] = string(b); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, b)
			}
		})
	}
	all.Wait()
	return out
}

// TestProcessesConform runs the suite in four processes on one folder.
func TestProcessesConform(t *testing.T) {
	start(t, "TestConformance", t.TempDir())
}

// TestProcessesRace lets four processes create the same objects: each object has one winner, whose content it
// has.
func TestProcessesRace(t *testing.T) {
	dir := t.TempDir()
	winners := map[string]string{}
	for i, out := range start(t, "TestRacer", dir) {
		for line := range strings.Lines(out) {
			key, won := strings.CutPrefix(strings.TrimSpace(line), "won ")
			if !won {
				continue
			}
			if other, twice := winners[key]; twice {
				t.Errorf("%s was won by %s and p%d", key, other, i)
			}
			winners[key] = fmt.Sprintf("p%d", i)
		}
	}
	if len(winners) != raceKeys {
		t.Errorf("%d of %d objects have a winner", len(winners), raceKeys)
	}
	b, n := fileblob.Open(dir), 0
	for info, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := b.ReadSuffix(t.Context(), info.Key, 1<<20, blobio.ReadOptions{})
		if err != nil || !bytes.Equal(got, racerData(winners[info.Key])) {
			t.Errorf("%s, won by %s, has other content: %v", info.Key, winners[info.Key], err)
		}
		n++
	}
	if n != raceKeys {
		t.Errorf("%d objects in the folder, want %d", n, raceKeys)
	}
}

// TestRacer is one of the processes of TestProcessesRace.
func TestRacer(t *testing.T) {
	dir, name := os.Getenv(envDir), os.Getenv(envName)
	if dir == "" {
		t.Skip("runs as a process of TestProcessesRace only")
	}
	b := fileblob.Open(dir)
	for i := range raceKeys {
		key := fmt.Sprintf("folder-%d/object-%d", i/5, i)
		switch err := create(b, key, string(racerData(name))); blobio.Class(err) {
		case nil:
			fmt.Println("won", key)
		case blobio.ErrExists:
			// What is there must be whole already.
			if got, _, err := b.ReadSuffix(context.Background(), key, 1<<20, blobio.ReadOptions{}); err != nil || len(got) != len(racerData(name)) {
				t.Errorf("%s: %d bytes, %v", key, len(got), err)
			}
		default:
			t.Errorf("%s: %v", key, err)
		}
	}
}

func racerData(name string) []byte { return bytes.Repeat([]byte(name), 10_000) }

// TestKilledWriterLeavesNoObject kills a process in the middle of a write: there is no object, and its key is
// free.
func TestKilledWriterLeavesNoObject(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), envDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "writing\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	b := fileblob.Open(dir)
	for info, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
		t.Errorf("listed %q, %v", info.Key, err)
	}
	if err := create(b, "a/victim", "the next attempt"); err != nil {
		t.Error(err)
	}
}

// TestVictim is the process of TestKilledWriterLeavesNoObject.
func TestVictim(t *testing.T) {
	dir := os.Getenv(envDir)
	if dir == "" {
		t.Skip("runs as the process of TestKilledWriterLeavesNoObject only")
	}
	w, err := fileblob.Open(dir).Create(context.Background(), "a/victim", blobio.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	fmt.Println("writing")
	time.Sleep(time.Minute)
}
