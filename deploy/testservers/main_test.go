package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestChooseKnowsItsNames(t *testing.T) {
	chosen, err := choose([]string{"gcs", "s3"})
	if err != nil || len(chosen) != 2 || chosen[0].name != "s3" || chosen[1].name != "gcs" {
		t.Errorf("chose %d servers, %v; want s3 and gcs in this order", len(chosen), err)
	}
	if _, err := choose([]string{"s3", "ftp"}); err == nil {
		t.Error("ftp was accepted")
	}
}

// broken is a server that ends before it answers.
func broken(script string) server {
	return server{name: "broken",
		command: func(string, string, string) *exec.Cmd { return exec.Command("sh", "-c", script) },
		ready:   folderBucket("data"),
	}
}

func TestServerThatEndsIsReported(t *testing.T) {
	p, err := start(t.Context(), broken("echo no room for me >&2; exit 3"), t.TempDir(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "no room for me") {
		t.Fatalf("%v, want an error with the server's last words", err)
	}
	p.stop()
}

func TestServerIsStoppedById(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // do not wait for an answer that will not come
	p, err := start(ctx, broken("exec sleep 600"), t.TempDir(), t.TempDir())
	if err == nil {
		t.Fatal("sleep answered")
	}
	p.stop()
	if p.cmd.ProcessState == nil {
		t.Error("the process was not waited for")
	}
}

// TestEveryServerAnswers installs and starts the three servers of the main job.
func TestEveryServerAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the servers are not installed; .ci/servers starts them in CI")
	}
	chosen, err := choose([]string{"s3", "azure", "gcs"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range chosen {
		if err := s.install(t.Context(), defaultCache()); err != nil {
			t.Fatal(err)
		}
	}
	env, stop, err := startAll(t.Context(), chosen, defaultCache(), t.TempDir())
	defer stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SHARDCAT_TEST_S3", "SHARDCAT_TEST_S3_SERVER", "SHARDCAT_TEST_AZURE", "SHARDCAT_TEST_GCS"} {
		if !strings.Contains("\n"+strings.Join(env, "\n"), "\n"+name+"=") {
			t.Errorf("the environment lacks %s", name)
		}
	}
}

func TestExitCodeIsTheCommands(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 1} {
		code, err := execute(t.Context(), request{command: []string{"sh", "-c", script}}, nil)
		if err != nil || code != want {
			t.Errorf("%s: code %d, %v; want %d", script, code, err, want)
		}
	}
}

func TestOnceLeavesAMarkOnSuccessOnly(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "installed", "x")
	fail := func() error { return os.ErrPermission }
	if once(mark, fail) == nil {
		t.Fatal("the error was lost")
	}
	done := 0
	for range 2 {
		if err := once(mark, func() error { done++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if done != 1 {
		t.Errorf("done %d times, want once", done)
	}
}
