//go:build unix

package fileio_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// A named pipe is read once, and its format told by its content.
func TestNamedPipe(t *testing.T) {
	for text, want := range map[string]string{"{\"a\":1}\n": `{"a":1}`, "a,b\n1,x\n": `{"a":1,"b":"x"}`} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		go os.WriteFile(pipe, []byte(text), 0)
		got, _, err := convert(t, fileio.SourceOptions{}, fileio.NDJSON, pipe)
		if got := lines(got, err); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
