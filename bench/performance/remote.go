package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt"
)

// remoteTasks are what is read of a store that takes 30 ms to the first byte and sends 50 MiB/s a stream.
var remoteTasks = []string{"scan", "two columns", "filter 1 %", "lookup"}

// remote reads a table that everyone has stored through such a store. Requests and bytes are exact; seconds are on the wall.
func remote(r *run, p *peers, g *given) error {
	for _, name := range remoteTasks {
		t, ok := g.Tasks[name]
		if !ok {
			continue
		}
		v, err := remoteShard(g, t)
		if err != nil {
			return err
		}
		r.add(Row{Part: "files", Subject: g.name, Task: "remote " + name, Who: "shardcat balanced", V: v})
		if t.Where != nil {
			continue // their filters would read the columns whole
		}
		if v, err = remoteArrowGo(g, t); err != nil {
			return err
		}
		r.add(Row{Part: "files", Subject: g.name, Task: "remote " + name, Who: "arrow-go on Parquet, zstd", V: v})
		v = map[string]float64{}
		who := "pyarrow on Parquet, zstd"
		if err := p.ask(request{"do": "remote", "table": g.name, "who": who, "columns": t.Columns}, &v); err != nil {
			return err
		}
		r.add(Row{Part: "files", Subject: g.name, Task: "remote " + name, Who: who, V: v})
	}
	return nil
}

func remoteShard(g *given, t task) (map[string]float64, error) {
	c := &ours{profile: shardfmt.Balanced}
	client := blobio.NewClient()
	defer client.Close()
	if err := client.MountBucket("mem://slow/", blobtest.NewSlow(fileblob.Open(c.dir(g)), blobtest.Cloud)); err != nil {
		return nil, err
	}
	began := time.Now()
	if _, err := scanShard(client, "mem://slow/t.amudai.shard", t, 0); err != nil {
		return nil, err
	}
	n := client.Counters()
	return map[string]float64{"seconds": time.Since(began).Seconds(), "gets": float64(n.Gets + n.Heads), "bytes": float64(n.GetBytes), "depth": float64(n.Depth)}, nil
}

func remoteArrowGo(g *given, t task) (map[string]float64, error) {
	f, err := os.Open(arrowGo{}.path(g))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	slow := &slowFile{f: f}
	began := time.Now()
	if _, err := (arrowGo{}).scan(struct {
		io.ReaderAt
		io.Seeker
	}{slow, io.NewSectionReader(f, 0, info.Size())}, t); err != nil {
		return nil, err
	}
	return map[string]float64{"seconds": time.Since(began).Seconds(), "gets": slow.gets, "bytes": slow.bytes}, nil
}

// slowFile is a file that answers as blobtest.Cloud does.
type slowFile struct {
	f           io.ReaderAt
	gets, bytes float64
}

// ReadAt implements io.ReaderAt, one caller at a time.
func (s *slowFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.f.ReadAt(p, off)
	s.gets++
	s.bytes += float64(n)
	time.Sleep(blobtest.Cloud.FirstByte + time.Duration(float64(n)/float64(blobtest.Cloud.Rate)*float64(time.Second)))
	return n, err
}

// landing measures the command, built as releases are: to land a Parquet file with one processor against DuckDB's COPY (P11), and to start (P13).
func landing(r *run, p *peers, g *given) error {
	program := filepath.Join(g.place, "shardcat")
	build := exec.Command("go", "build", "-trimpath", "-tags=disable_grpc_modules", "-ldflags=-s -w", "-o", program, "./cmd/shardcat")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Dir = ".." // the module beside this one, where the command is run
	if err := show(build); err != nil {
		return err
	}
	starts, land, copied := 1e9, 1e9, figures{Seconds: 1e9}
	for range 10 {
		s, err := processSeconds(exec.Command(program, "--version"))
		if err != nil {
			return err
		}
		starts = min(starts, s)
	}
	r.add(Row{Part: "files", Subject: "command", Task: "start", V: map[string]float64{"seconds": starts}})
	for i := range fileTurns {
		log.Print("files: landing, turn ", i+1)
		lake := filepath.Join(g.place, fmt.Sprint("lake", i))
		cmd := exec.Command(program, "ingest", "t", g.Path, "--create", "--catalog", "sqlite:"+lake+".db", "--warehouse", lake)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		s, err := processSeconds(cmd)
		if err != nil {
			return err
		}
		land = min(land, s)
		var f figures
		if err := p.ask(request{"do": "copy", "source": g.Path, "target": filepath.Join(g.place, "copied.parquet")}, &f); err != nil {
			return err
		}
		if f.Seconds < copied.Seconds {
			copied = f
		}
	}
	stored, err := folderSize(filepath.Join(g.place, "lake0", "vault"))
	r.add(Row{Part: "files", Subject: g.name, Task: "landing", Who: "shardcat balanced", V: map[string]float64{"seconds": land, "stored": stored}})
	r.add(Row{Part: "files", Subject: g.name, Task: "landing", Who: "DuckDB on Parquet, zstd", V: map[string]float64{"seconds": copied.Seconds, "stored": copied.Stored}})
	return err
}

// processSeconds runs a command and gives its processor time.
func processSeconds(cmd *exec.Cmd) (float64, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, errors.Join(fmt.Errorf("%s", out), err)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}
