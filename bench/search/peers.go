package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
)

//go:embed peers.py
var script string

// peer is one that is used from Python.
type peer struct{ kind, python string }

var peerNames = map[string]string{"tantivy": "Tantivy", "lance": "Lance", "duckdb": "DuckDB, Parquet with Bloom filters"}

func (p *peer) name() string { return peerNames[p.kind] }

func (p *peer) build(ctx context.Context, path, dir string) (c cost, err error) {
	_, out, err := inProcess(exec.CommandContext(ctx, p.python, "-c", script, p.kind, "build", path, dir))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(out, &c)
}

func (p *peer) ask(ctx context.Context, dir string, list []query, turns int) ([]answer, error) {
	return p.asked(ctx, dir, list, turns, "")
}

// askRemote asks through a server of the folder; Tantivy reads local files alone.
func (p *peer) askRemote(ctx context.Context, dir string, list []query) ([]answer, error) {
	if p.kind == "tantivy" {
		return nil, nil
	}
	s := serve(dir)
	defer s.close()
	return p.asked(ctx, dir, list, 1, s.url)
}

func (p *peer) asked(ctx context.Context, dir string, list []query, turns int, url string) ([]answer, error) {
	in, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, p.python, "-c", script, p.kind, "ask", dir, strconv.Itoa(turns), url)
	cmd.Stdin = bytes.NewReader(in)
	_, out, err := inProcess(cmd)
	if err != nil {
		return nil, err
	}
	var answers []answer
	if err := json.Unmarshal(out, &answers); err != nil {
		return nil, err
	}
	if len(answers) != len(list) {
		return nil, fmt.Errorf("%d answers to %d queries", len(answers), len(list))
	}
	return answers, nil
}
