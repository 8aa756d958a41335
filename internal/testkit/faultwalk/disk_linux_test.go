package faultwalk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
)

// smallDisk names, in the environment of the test's own child, the folder that gets a disk of diskSize.
const (
	smallDisk = "SHARDCAT_TEST_SMALL_DISK"
	diskSize  = 8 << 20
)

// TestFullDisk runs again in a child with a mount namespace of its own, where it may mount a small disk.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv(smallDisk); dir != "" {
		onSmallDisk(t, dir)
		return
	}
	t.Parallel()
	path, err := build() // not on the small disk
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), smallDisk+"="+t.TempDir(), smallDisk+"_PROGRAM="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("no small disk: a mount namespace is not allowed here: %v", err)
	case err != nil:
		t.Errorf("%s", out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	default:
		t.Logf("%s", out)
	}
}

// onSmallDisk ingests and compacts with ever more space, until there is enough.
func onSmallDisk(t *testing.T, dir string) {
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no small disk: %v", err)
	}
	t.Setenv("TMPDIR", dir)
	w := newWorld(t, fileStore(t))
	full := 0
	for _, c := range commands {
		if c.name != "ingest" && c.name != "compact" && c.name != "shard write" && c.name != "register" {
			continue
		}
		after := c.after(w.state.clone())
		for room := int64(0); ; room += 8 << 10 {
			err := w.runWithin(t, &c, dir, room)
			got := w.observe(t)
			switch {
			case got.equal(after) && (err == nil || errors.Is(err, catalog.ErrUnknownOutcome)):
			case got.equal(w.state) && err != nil && roomWithin(err) && !errors.Is(err, blobio.ErrNotFound):
			default:
				t.Fatalf("%s with %d bytes: %v, left %v", c.name, room, err, got)
			}
			if err == nil {
				break
			}
			full++
			again := w.session(t, w.store.straight)
			again.job = "walk"
			if err := c.run(again); err != nil {
				t.Fatalf("%s with %d bytes: the next run: %v", c.name, room, err)
			}
			again.close()
			if got := w.observe(t); !got.equal(after) {
				t.Fatalf("%s with %d bytes: the next run left %v", c.name, room, got)
			}
		}
	}
	t.Logf("%d runs met a full disk", full)
	if full == 0 {
		t.Error("the disk was never full")
	}
	w.programWithin(t, dir)
}

// runWithin runs a command with so many bytes left on the disk.
func (w *world) runWithin(t *testing.T, c *command, dir string, room int64) error {
	t.Helper()
	w.reset(t)
	r := w.session(t, w.store.straight)
	defer r.close()
	defer fill(t, dir, room)()
	r.job = "walk"
	return c.run(r)
}

// fill leaves so many bytes of a disk free, until clear is called.
func fill(t *testing.T, dir string, room int64) (clear func()) {
	t.Helper()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "filler")
	if err := os.WriteFile(path, make([]byte, max(0, int64(disk.Bavail)*disk.Bsize-room)), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// programWithin holds the program to exit code 1 and one line that reports why.
func (w *world) programWithin(t *testing.T, dir string) {
	t.Helper()
	w.reset(t)
	file := filepath.Join(t.TempDir(), "in.ndjson")
	if err := os.WriteFile(file, records(1000, 4000), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Getenv(smallDisk+"_PROGRAM"), "ingest", flights.String(), file, "--shard-rows", "100",
		"--catalog", "sqlite:"+filepath.Join(w.catalog, "catalog.db"), "--warehouse", w.store.root+"/wh")
	clear := fill(t, dir, 96<<10) // the catalog opens, and forty shards do not fit
	out, err := cmd.CombinedOutput()
	clear()
	if cmd.ProcessState.ExitCode() != 1 || strings.Count(string(out), "\n") != 1 || !roomWithin(errors.New(string(out))) {
		t.Errorf("%v: %s", err, out)
	}
	if got := w.observe(t); !got.equal(w.state) {
		t.Errorf("the program left %v", got)
	}
}
