package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// landings are the formats that tables are landed from, by table. The task of the first is "landing", those of others name them.
var landings = []struct{ table, format, task string }{
	{"lineitem", "Parquet", "landing"}, {"lineitem", "CSV", "landing CSV"}, {"log", "NDJSON", "landing NDJSON"},
}

// lander is the peer of a landing.
const lander = "DuckDB on Parquet, zstd"

// landing measures the command, built as releases are: to start (P13), and to land files of a table with one processor against
// DuckDB's COPY (P11).
func landing(r *run, p *peers, g *given) error {
	program := ""
	for _, l := range landings {
		if l.table != g.name {
			continue
		}
		if program == "" {
			var err error
			if program, err = startOf(r, g); err != nil {
				return err
			}
		}
		if err := land(r, p, g, program, l.format, l.task); err != nil {
			return err
		}
	}
	if program == "" {
		return nil
	}
	return export(r, p, g, program)
}

// startOf builds the command, and measures how it starts unless that is done.
func startOf(r *run, g *given) (program string, err error) {
	program = filepath.Join(g.place, "shardcat")
	build := exec.Command("go", "build", "-trimpath", "-tags=disable_grpc_modules", "-ldflags=-s -w", "-o", program, "./cmd/shardcat")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Dir = ".." // the module beside this one, where the command is run
	if err := show(build); err != nil {
		return "", err
	}
	if _, done := r.find("files", "command", "start", ""); done {
		return program, nil
	}
	starts := 1e9
	for range 10 {
		s, err := processSeconds(exec.Command(program, "--version"))
		if err != nil {
			return "", err
		}
		starts = min(starts, s)
	}
	r.add(Row{Part: "files", Subject: "command", Task: "start", V: map[string]float64{"seconds": starts}})
	return program, nil
}

// land measures a landing from one format.
func land(r *run, p *peers, g *given, program, format, task string) error {
	source := struct {
		Path  string
		Bytes float64
	}{Path: g.Path}
	if err := p.ask(request{"do": "text", "name": g.name, "path": g.Path, "form": strings.ToLower(format), "scale": r.scale}, &source); err != nil {
		return err
	}
	landed, copied := figures{Seconds: 1e9}, figures{Seconds: 1e9}
	for i := range fileTurns {
		log.Print("files: ", task, ", turn ", i+1)
		f, err := ingested(program, filepath.Join(g.place, "lake"), source.Path)
		if err != nil {
			return err
		}
		if f.Seconds < landed.Seconds {
			landed = f
		}
		if err := p.ask(request{"do": "copy", "source": source.Path, "target": filepath.Join(g.place, "copied.parquet"), "form": "parquet"}, &f); err != nil {
			return err
		}
		if f.Seconds < copied.Seconds {
			copied = f
		}
	}
	for i, f := range []figures{landed, copied} {
		v := map[string]float64{"seconds": f.Seconds, "stored": f.Stored, "bytes": source.Bytes}
		r.add(Row{Part: "files", Subject: g.name, Task: task, Who: []string{contestants[0], lander}[i], V: v})
	}
	if format == "Parquet" {
		return nil
	}
	return os.Remove(source.Path)
}

// onLake is the command with one processor, on a lake.
func onLake(program, lake string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, append(args, "--catalog", "sqlite:"+lake+".db", "--warehouse", lake)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return cmd
}

// ingested lands a file in a table of a new lake, with one processor.
func ingested(program, lake, source string) (f figures, err error) {
	if f.Seconds, err = processSeconds(onLake(program, lake, "ingest", "t", source, "--create")); err != nil {
		return f, err
	}
	if f.Stored, err = folderSize(filepath.Join(lake, "vault")); err != nil {
		return f, err
	}
	return f, errors.Join(os.RemoveAll(lake), os.Remove(lake+".db"))
}

// processSeconds runs a command and gives its processor time.
func processSeconds(cmd *exec.Cmd) (float64, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, errors.Join(fmt.Errorf("%s", out), err)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

// landed is what a landing took, ours and the peer's.
func (v *view) landed(table, task string) (ours, peer Row, ok bool) {
	ours, ok1 := v.r.find("files", table, task, contestants[0])
	peer, ok2 := v.r.find("files", table, task, lander)
	return ours, peer, ok1 && ok2
}

// landings is the table of landings. It is empty where none but that from Parquet was measured.
func (v *view) landings() string {
	t, texts := newTable("data", "from", ">its MB", ">ours, s", ">DuckDB's `COPY`, s", ">ratio", ">ours, MB", ">DuckDB's, MB", ">ratio"), false
	for _, l := range landings {
		ours, peer, ok := v.landed(l.table, l.task)
		if !ok {
			continue
		}
		texts = texts || l.format != "Parquet"
		t.add(l.table, l.format, figure(ours, "bytes", 1e6, 1), figure(ours, "seconds", 1, 2), figure(peer, "seconds", 1, 2), two(ours.V["seconds"]/peer.V["seconds"]),
			figure(ours, "stored", 1e6, 2), figure(peer, "stored", 1e6, 2), two(ours.V["stored"]/peer.V["stored"]))
	}
	if !texts {
		return ""
	}
	return t.String()
}

// judgeLanding requests lineitem from each format that was measured.
func judgeLanding(v *view) judged {
	worst, figure := 0.0, ""
	for _, l := range landings {
		ours, duck, ok := v.landed(l.table, l.task)
		if !ok || l.table != "lineitem" {
			continue
		}
		time, size := ours.V["seconds"]/duck.V["seconds"], ours.V["stored"]/duck.V["stored"]
		worst = max(worst, time, size)
		if figure != "" {
			figure += "; from CSV "
		}
		figure += fmt.Sprintf("%.2f × the time, %.2f × the size", time, size)
		if l.format == "Parquet" {
			figure += " (balanced, from Parquet; a commit included)"
		}
	}
	return most(worst, 1, figure)
}
