// Package demo runs the main job end to end on shipped data: a file becomes shards of a table, a filter prunes them,
// compaction merges them without moving data, and the same rows come back.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/testdata/flights"
	"github.com/shardcat/shardcat/urlresolve"
)

// DefaultDir is where a run writes by default, if tables can lie there.
const DefaultDir = "./shardcat-demo"

// Options of a run.
type Options struct {
	// Dir is the folder that gets catalog.db and warehouse/; nothing is written outside of it, unless Catalog names
	// another place. Empty is DefaultDir, or a new temporary folder where no table can lie there: in a folder with
	// blanks in its path, or one that can't be written.
	Dir string
	// Catalog is the catalog to run on. An empty URI or warehouse is the one in Dir. The counters of its client, which
	// is needed, show what the job requests from the store.
	Catalog catalog.Options
	// Out gets a description of each step, for people.
	Out io.Writer
}

// Result is what a run did; its JSON form is part of the command line's contract.
type Result struct {
	Table        string `json:"table"`
	Rows         int64  `json:"rows"`
	ShardsBefore int    `json:"shards_before"`
	ShardsAfter  int    `json:"shards_after"`
	// BytesMoved are bytes of data that compaction read or wrote.
	BytesMoved int64 `json:"bytes_moved"`
	// FilterBefore and FilterAfter are what a scan with the same filter read before and after compaction.
	FilterBefore Reads  `json:"filter_before"`
	FilterAfter  Reads  `json:"filter_after"`
	Catalog      string `json:"catalog"`
	Warehouse    string `json:"warehouse"`
	Vault        string `json:"vault"`
}

// Reads are requests for bytes of objects, and the bytes that they brought.
type Reads struct {
	Gets  int64 `json:"gets"`
	Bytes int64 `json:"bytes"`
}

const (
	// shardRows makes 28 shards of the month, about one a day.
	shardRows = 1000
	// where selects the evening of the third day's flights from one airport: two of the days' shards can hold it.
	where = "time_hour >= '2013-01-03T17:00:00Z' AND time_hour < '2013-01-04T00:00:00Z' AND origin = 'JFK' AND dep_delay > 30"
)

// Run does it all.
func Run(ctx context.Context, o Options) (*Result, error) {
	given := o.Catalog
	if given.URI == "" || given.Warehouse == "" {
		dir, err := place(o)
		if err != nil {
			return nil, err
		}
		o.Catalog.URI = cmp.Or(given.URI, "sqlite:"+filepath.Join(dir, "catalog.db"))
		o.Catalog.Warehouse = cmp.Or(given.Warehouse, filepath.Join(dir, "warehouse"))
	}
	r := &run{ctx: ctx, o: o, client: o.Catalog.Client, started: time.Now(), result: Result{Catalog: o.Catalog.URI, Warehouse: o.Catalog.Warehouse}}
	cat, err := catalog.Open(ctx, o.Catalog)
	if err != nil {
		return nil, err
	}
	if given.Warehouse != "" {
		r.result.Warehouse = cat.Warehouse() // without options
	}
	err = r.job(cat)
	if closeErr := cat.Close(); err == nil {
		err = closeErr
	}
	return &r.result, err
}

// place is the folder to write to.
func place(o Options) (string, error) {
	dir, err := filepath.Abs(cmp.Or(o.Dir, DefaultDir))
	if err != nil || o.Dir != "" {
		return dir, err
	}
	refused := catalog.CheckLocation("warehouse", "file://"+urlresolve.EscapeKey(filepath.ToSlash(dir)))
	if refused == nil {
		refused = os.MkdirAll(dir, 0o777)
	}
	if refused == nil {
		return dir, nil
	}
	if dir, err = os.MkdirTemp("", "shardcat-demo-"); err != nil {
		return "", errors.Join(refused, err)
	}
	fmt.Fprintf(o.Out, "No table can lie in %s (%v): writing to %s\n", DefaultDir, refused, dir)
	return dir, nil
}

// run is one run at work.
type run struct {
	ctx     context.Context
	o       Options
	client  *blobio.Client
	started time.Time
	table   *catalog.Table
	result  Result
}

func (r *run) say(format string, args ...any) { fmt.Fprintf(r.o.Out, format+"\n", args...) }

func (r *run) job(cat *catalog.Catalog) error {
	src, err := r.source()
	if err != nil {
		return err
	}
	defer src.Close()
	if err := r.land(cat, src); err != nil {
		return err
	}
	before, err := r.scan("before", &r.result.FilterBefore)
	if err != nil {
		return err
	}
	if err := r.compact(); err != nil {
		return err
	}
	after, err := r.scan("after", &r.result.FilterAfter)
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("the rows after compaction are not those before it: %v, %v", after, before)
	}
	r.say("   the same rows as before: %d, equal checksums of their contents", after.all.rows)
	r.history()
	r.where()
	return nil
}

// source opens the shipped file as a stream of records.
func (r *run) source() (fileio.Source, error) {
	const url = "mem://shardcat-demo/flights-2013-01.csv.gz"
	if err := r.client.Put(r.ctx, url, flights.January2013); err != nil {
		return nil, err
	}
	return fileio.OpenSource(r.ctx, r.client, []string{url}, fileio.SourceOptions{})
}

// land makes the table and ingests the file.
func (r *run) land(cat *catalog.Catalog, src fileio.Source) error {
	r.say("1. Landing %d flights (New York, January 2013, CC0) as shards of at most %d records", flights.Records, shardRows)
	var err error
	for n := 1; ; n++ {
		name := catalog.Name{Namespace: "default", Table: "flights"}
		if n > 1 {
			name.Table = fmt.Sprintf("flights%d", n)
		}
		r.table, err = cat.Create(r.ctx, name, catalog.CreateOptions{Schema: src.Schema(), CreateNamespace: true})
		if !errors.Is(err, catalog.ErrExists) {
			break
		}
	}
	if err != nil {
		return err
	}
	in, err := r.table.Ingest(r.ctx, src, catalog.IngestOptions{ShardRows: shardRows})
	if err != nil {
		return err
	}
	r.result.Table, r.result.Rows, r.result.ShardsBefore = r.table.Name().String(), in.Rows, len(in.Shards)
	r.result.Vault = r.table.VaultFolder()
	r.say("   table %s: %s in %s, %d bytes, one snapshot", r.result.Table, plural.Count(in.Rows, "row"), plural.Count(len(in.Shards), "shard"), in.Bytes)
	return nil
}

// scanned are the checksums of both scans.
type scanned struct{ all, filtered checksum }

// scan reads the table with a filter, reports what was pruned and counts in filtered what was read, and reads it whole.
func (r *run) scan(when string, filtered *Reads) (scanned, error) {
	if err := r.table.Refresh(r.ctx); err != nil {
		return scanned{}, err
	}
	e, err := filter.Parse(where)
	if err != nil {
		return scanned{}, err
	}
	var out scanned
	var stats catalog.ScanStats
	counted := r.client.Counters()
	if out.filtered, err = r.sum(catalog.ScanOptions{Where: e}, &stats); err != nil {
		return out, err
	}
	io := r.client.Counters().Sub(counted)
	*filtered = Reads{Gets: io.Gets, Bytes: io.GetBytes}
	r.say("   scan %s compaction, WHERE %s", when, where)
	r.say("     %s; bounds in the catalog pruned %d of %s; %s, %d bytes, %s read, %d skipped", plural.Count(out.filtered.rows, "row"), stats.ShardsPrunedBounds,
		plural.Count(stats.ShardsTotal, "shard"), plural.Count(io.Gets, "GET"), io.GetBytes, plural.Count(stats.BlocksRead, "block"), stats.BlocksPruned)
	out.all, err = r.sum(catalog.ScanOptions{}, nil)
	return out, err
}

// compact merges all shards into one.
func (r *run) compact() error {
	r.say("2. Compacting")
	report, err := compaction.Compact(r.ctx, r.table, compaction.Policy{}, compaction.Options{})
	if err != nil {
		return err
	}
	for _, g := range report.Plan.Groups {
		r.say("   %s: %s → %d, %s, %d bytes of data to move, %s, %s", g.Mode, plural.Count(g.Inputs.Len(), "shard"), g.Outputs,
			plural.Count(g.Records, "record"), g.BytesMoved, plural.Count(g.Gets, "GET"), plural.Count(g.Puts, "PUT"))
	}
	r.result.ShardsAfter, r.result.BytesMoved = report.ShardsAfter, report.BytesMoved
	r.say("   %s → %d", plural.Count(r.result.ShardsBefore, "shard"), r.result.ShardsAfter)
	return nil
}

func (r *run) history() {
	r.say("3. The table's history")
	for _, s := range r.table.History() {
		r.say("   %s  %-8s %s, %s", s.Time.UTC().Format(time.RFC3339), s.Operation, plural.Count(s.Number("total-data-files"), "shard"), plural.Count(s.Number("total-records"), "record"))
	}
}

// where reports where everything lies, and what to try next.
func (r *run) where() {
	r.say("\nDone in %s. All files are in:", time.Since(r.started).Round(time.Millisecond))
	r.say("   %s   the Iceberg catalog\n   %s   Iceberg's metadata\n   %s   the shards", r.result.Catalog, r.result.Warehouse, r.result.Vault)
	options := ""
	if r.o.Catalog.Vault != "" {
		options = " --vault " + shellWord(r.o.Catalog.Vault)
	}
	r.say("Try:\n   shardcat --catalog %s --warehouse %s%s scan %s --where \"dest = 'HNL'\" --limit 5",
		shellWord(r.o.Catalog.URI), shellWord(r.o.Catalog.Warehouse), options, r.result.Table)
}

// shellWord quotes a location with options, whose ? and & a shell would take for its own.
func shellWord(s string) string {
	if strings.ContainsAny(s, "?&;*") {
		return "'" + s + "'"
	}
	return s
}
