package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// All tests of this package scan with memory that is spoiled when scans or batches give it back.
func init() { bufpool.Spoil(0xA5) }

func TestMain(m *testing.M) {
	fileio.ServeReader()
	testscript.Main(m, map[string]func(){"shardcat": func() { os.Exit(run(os.Args[1:])) }})
}

// TestScripts runs the command line as a person would; each script shows one capability.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"flip":    flip,
			"rowsame": rowSame,
			"jsonat":  jsonAt,
		},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "HOME="+e.WorkDir)
			return nil
		},
	})
}

// TestDocs holds docs/cli.md to the commands; "shardcat docs > docs/cli.md" writes it again.
func TestDocs(t *testing.T) {
	want, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, errs bytes.Buffer
	if err := newApp(strings.NewReader(""), &got, &errs).execute(context.Background(), []string{"docs"}); err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Error("docs/cli.md is not what the commands say of themselves")
	}
}
