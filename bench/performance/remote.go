package main

import (
	"io"
	"os"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
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
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	if err := client.MountBucket("mem://slow/", blobfake.NewSlow(fileblob.Open(c.dir(g)), blobfake.Cloud)); err != nil {
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

// slowFile is a file that answers as blobfake.Cloud does.
type slowFile struct {
	f           io.ReaderAt
	gets, bytes float64
}

// ReadAt implements io.ReaderAt, one caller at a time.
func (s *slowFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.f.ReadAt(p, off)
	s.gets++
	s.bytes += float64(n)
	time.Sleep(blobfake.Cloud.FirstByte + time.Duration(float64(n)/float64(blobfake.Cloud.Rate)*float64(time.Second)))
	return n, err
}
