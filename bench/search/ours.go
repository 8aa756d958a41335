package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const (
	logSchema = "t: DateTime, level: String, service: String, host: String, trace: String, message: String"
	shardName = "log.amudai.shard"
	// ticksBefore is 1970 in ticks of 100 ns since year 1.
	ticksBefore = 621_355_968_000_000_000
)

// shardcat stores the log as one shard.
type shardcat struct{ label, indexes string }

func (s *shardcat) name() string { return s.label }

// build lets this program build the shard in a process of its own.
func (s *shardcat) build(_ context.Context, path, dir string) (cost, error) {
	self, err := os.Executable()
	if err != nil {
		return cost{}, err
	}
	text, err := json.Marshal(task{path, dir, s.indexes})
	if err != nil {
		return cost{}, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	c, _, err := inProcess(cmd)
	if err != nil {
		return cost{}, err
	}
	isIndex := func(name string) bool { return strings.Contains(name, ".text") || strings.Contains(name, ".hash") }
	if c.Index, err = sizeOf(dir, isIndex); err != nil {
		return c, err
	}
	c.Data, err = sizeOf(dir, func(name string) bool { return !isIndex(name) })
	return c, err
}

// buildShard writes the log as a shard into a folder, with one worker.
func buildShard(ctx context.Context, path, dir, indexes string) error {
	runtime.GOMAXPROCS(1)
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s, err := schema.Parse(logSchema)
	if err != nil {
		return err
	}
	var specs shardfmt.IndexSpecs
	if err := specs.Set(indexes); err != nil {
		return err
	}
	w, err := shardfmt.NewWriter(ctx, c, "file://"+dir+"/"+shardName, s, shardfmt.WriterOptions{Indexes: specs, Workers: 1})
	if err != nil {
		return err
	}
	defer w.Abort(ctx)
	types := arrowtype.Schema(s)
	for b, err := range readLog(path) {
		if err != nil {
			return err
		}
		if err := w.Write(ctx, canonical(types, b)); err != nil {
			return err
		}
		b.Release()
	}
	_, err = w.Close(ctx)
	return err
}

// canonical gives a batch of the log the types of a shard.
func canonical(types *arrow.Schema, b arrow.RecordBatch) arrow.RecordBatch {
	ticks := array.NewInt64Builder(memory.DefaultAllocator)
	ticks.Reserve(int(b.NumRows()))
	for _, v := range b.Column(0).(*array.Timestamp).TimestampValues() {
		ticks.UnsafeAppend(int64(v)*10 + ticksBefore)
	}
	columns := append([]arrow.Array{array.NewExtensionArrayWithStorage(types.Field(0).Type.(arrow.ExtensionType), ticks.NewArray())}, b.Columns()[1:]...)
	return array.NewRecordBatch(types, columns, b.NumRows())
}

// ask reopens the shard for each query and turn.
func (s *shardcat) ask(ctx context.Context, dir string, list []query, turns int) ([]answer, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var out []answer
	for _, q := range list {
		best := answer{Unanswered: s.passes(&q)}
		for turn := 0; turn < turns && best.Unanswered == "" && best.Processor < enough; turn++ {
			c := blobio.NewClient(blobio.ClientOptions{})
			a, err := s.once(ctx, c, "file://"+filepath.Join(dir, shardName), &q)
			c.Close()
			if err != nil {
				return nil, err
			}
			if turn == 0 || a.Processor < best.Processor {
				best = *a
			}
		}
		out = append(out, best)
	}
	return out, nil
}

// askRemote puts the folder behind a slow bucket.
func (s *shardcat) askRemote(ctx context.Context, dir string, list []query) ([]answer, error) {
	var out []answer
	for _, q := range list {
		if why := s.passes(&q); why != "" {
			out = append(out, answer{Unanswered: why})
			continue
		}
		c := blobio.NewClient(blobio.ClientOptions{})
		if err := c.MountBucket("mem://log/", blobfake.NewSlow(fileblob.Open(dir), slow)); err != nil {
			return nil, err
		}
		a, err := s.once(ctx, c, "mem://log/"+shardName, &q)
		if err != nil {
			return nil, err
		}
		n := c.Counters()
		a.Requests, a.Bytes, a.Steps = n.Gets+n.Heads, n.GetBytes, n.Depth
		c.Close()
		out = append(out, *a)
	}
	return out, nil
}

// passes is what is printed for a query that an index has no part in, which is answered as without it.
func (s *shardcat) passes(q *query) string {
	ofTrace := q.Kind == traceID
	switch {
	case s.indexes == "":
		return ""
	case ofTrace != strings.HasPrefix(s.indexes, "hash"), q.Kind == substring:
		return "as without"
	}
	return ""
}

// once opens the shard and answers a query.
func (s *shardcat) once(ctx context.Context, c *blobio.Client, url string, q *query) (*answer, error) {
	runtime.GC()
	used, start := processor(), time.Now()
	shard, err := shardfmt.Open(ctx, c, url, shardfmt.OpenOptions{})
	if err != nil {
		return nil, err
	}
	sch, err := shard.Schema(ctx)
	if err != nil {
		return nil, err
	}
	where, err := filter.Parse(condition(q))
	if err != nil {
		return nil, err
	}
	bound, err := filter.Bind(where, sch)
	if err != nil {
		return nil, err
	}
	o := shardfmt.ScanOptions{Filter: bound, Columns: []string{}, Workers: 1, ReuseBatches: true}
	if q.Rows > 0 {
		o.Columns = nil
	}
	a := new(answer)
	for b, err := range shard.Scan(ctx, o) {
		if err != nil {
			return nil, err
		}
		if a.Got += int(b.NumRows()); q.Rows > 0 && a.Got >= q.Rows {
			a.Got = q.Rows
			break
		}
	}
	a.Processor, a.Wall = processor()-used, time.Since(start)
	return a, nil
}

// condition is the filter of a query.
func condition(q *query) string {
	switch q.Kind {
	case allWords:
		return "message HAS '" + strings.ReplaceAll(q.Text, " ", "' AND message HAS '") + "'"
	case prefix:
		return "message HASPREFIX '" + q.Text + "'"
	case traceID:
		return "trace = '" + q.Text + "'"
	case substring:
		return "message LIKE '%" + q.Text + "%'"
	}
	return fmt.Sprintf("message HAS '%s'", q.Text)
}
