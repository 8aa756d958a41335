package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
)

// childEnv makes the test binary a writer or a service; its value are words: what, seed, folder and what else the child takes.
const childEnv = "SHARDCAT_TEST_SOAK"

// child is a process of its own; its lines of output are what it has to say.
type child struct {
	*exec.Cmd
	said   *bufio.Scanner
	errors strings.Builder
}

// start starts a child; words are those after the seed and the folder.
func (s *soak) start(what string, seed uint64, words ...any) (*child, error) {
	c := &child{Cmd: exec.Command(os.Args[0], "-test.run=^TestSoak$")}
	c.Env = append(os.Environ(), childEnv+"="+fmt.Sprintln(append([]any{what, seed, s.dir}, words...)...))
	c.Stderr = &c.errors
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.said = bufio.NewScanner(out)
	c.said.Buffer(nil, 1<<20)
	return c, c.Start()
}

// runChild is what a child does.
func runChild(t *testing.T, text string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var what, dir string
	var seed uint64
	words := strings.NewReader(text)
	if _, err := fmt.Fscan(words, &what, &seed, &dir); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	c, err := catalog.Open(ctx, disturbed(t, ctx, dir, r))
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	defer c.Close()
	switch what {
	case "writer":
		err = write(ctx, c, r, words)
	case "service":
		err = serve(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Println("failed:", err)
	}
	io.WriteString(os.Stdout, "bye\n")
}

// end kills a child in one of four ways, and waits until it is dead and all it reported was heard.
func (s *soak) end(ctx context.Context, c *child, heard <-chan struct{}, how int, r *rand.Rand) {
	signalTo := func(sig syscall.Signal) {
		if err := c.Process.Signal(sig); err != nil && err != os.ErrProcessDone {
			s.t.Error(err)
		}
	}
	switch how {
	case 0:
		s.ends.Add(1)
		signalTo(syscall.SIGTERM)
	case 1:
		s.stops.Add(1)
		signalTo(syscall.SIGSTOP)
		pause(ctx, time.Duration(r.IntN(2000))*time.Millisecond)
		signalTo(syscall.SIGCONT)
		pause(ctx, time.Second)
		signalTo(syscall.SIGKILL)
	default:
		signalTo(syscall.SIGKILL)
	}
	<-heard
	err := c.Wait()
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); err != nil && !(ok && status.Signaled()) {
		s.t.Errorf("a child ended: %v\n%s", err, c.errors.String())
	}
}
