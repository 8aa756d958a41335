package faultwalk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/testkit/catalogfault"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// command is one of the command line's, run as it runs them.
type command struct {
	name string
	run  func(r *session) error
	// prepare makes the world that it runs in of the common one, and prepared its state; nil for the common one.
	prepare  func(r *session) error
	prepared func(s state) state
	// after is the state that it leads to; nil for a command that only reads, which must print the same.
	after func(before state) state
	// between are states, besides before and after, in which a command of several steps may stop with an error.
	between func(s state) bool
	// hidden is where a list that leaves out a new file may lead: whole files are missing, nothing else.
	hidden func(before state) state
	// damaged: verification finds damage in the prepared world.
	damaged bool
	// shared: its appends share a snapshot.
	shared bool
	// deletes: it deletes or replaces what nobody can take back.
	deletes bool
	// either: an error may mean that it was done, which the next run will say.
	either bool
	// rest: only on a catalog of the REST protocol, or only on others; nil for all.
	rest *bool
	// again are errors by which a second run may report that the first was done.
	again []error
	// unlisted are errors by which it reports that a list leaves out what it looks for.
	unlisted []error
}

// commands are those of the main job.
var commands = append([]command{
	{name: "shard write", either: true, run: func(r *session) error { return writeShard(r, outputs[0], land...) },
		after: func(s state) state { s.files[outputs[0]] = landed(); return s }, again: []error{blobio.ErrExists}},
	{name: "shard write --external-parquet", either: true, run: func(r *session) error { return writeOver(r, outputs[0]) },
		after: func(s state) state { s.files[outputs[0]] = withoutTags(ingested(500)); return s }, again: []error{blobio.ErrExists}},
	{name: "shard cat", run: func(r *session) error { return catShard(r, "files/one.amudai.shard") }},
	{name: "shard cat of external Parquet", run: func(r *session) error { return catShard(r, "files/over.amudai.shard") }},
	{name: "shard inspect", run: inspectShard},
	{name: "shard verify", run: verifyShard},
	{name: "shard merge", run: mergeShards, either: true, again: []error{blobio.ErrExists},
		after: func(s state) state {
			twice := append(ingested(0), ingested(0)...)
			slices.Sort(twice)
			s.files[outputs[1]] = twice
			return s
		}},
	{name: "table create", run: createTable, again: []error{catalog.ErrExists},
		after: func(s state) state { s.tables[fresh.String()], s.shards[fresh.String()] = nil, 0; return s }},
	{name: "table list", run: listTables},
	{name: "table describe", run: describeTable},
	{name: "table history", run: tableHistory},
	{name: "table drop", deletes: true, run: func(r *session) error { return r.tables.Drop(r.ctx, flights) }, again: []error{catalog.ErrNotFound},
		after: func(s state) state {
			delete(s.tables, flights.String())
			delete(s.shards, flights.String())
			delete(s.notes, flights.String())
			return s
		}},
	{name: "ingest", run: func(r *session) error { return ingestInto(r, flights, false, land...) }, after: grown(2, landed())},
	{name: "ingest FOLDER", run: func(r *session) error { return ingestInto(r, flights, false, "land") }, after: grown(2, landed()),
		hidden: grown(1, ingested(300))},
	{name: "ingest --create", run: func(r *session) error { return ingestInto(r, fresh, true, land...) },
		after: func(s state) state { s.tables[fresh.String()], s.shards[fresh.String()] = landed(), 2; return s },
		between: func(s state) bool {
			rows, there := s.tables[fresh.String()]
			return there && len(rows) == 0
		}},
	{name: "register", run: register, after: grown(2, append(ingested(0), ingested(0)...))},
	{name: "scan", run: func(r *session) error { return scan(r, catalog.ScanOptions{}) }},
	{name: "plan", run: plan},
	{name: "compact --mode pack", run: func(r *session) error { return compactBy(r, compaction.Policy{PackAll: true}) },
		after: func(s state) state { s.shards[flights.String()] = 1; return s }},
	{name: "compact --mode rebuild", run: func(r *session) error { return compactBy(r, compaction.Policy{RebuildAll: true}) },
		after: func(s state) state { s.shards[flights.String()] = 1; return s }},
	{name: "delete", run: removeRows, after: shrunk},
	{name: "overwrite", run: overwriteRows, after: func(s state) state { return grown(2, landed())(shrunk(s)) }},
	{name: "truncate", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error {
			_, err := t.Truncate(r.ctx, catalog.DeleteOptions{JobID: r.job})
			return err
		})
	}, after: func(s state) state { s.tables[flights.String()], s.shards[flights.String()] = nil, 0; return s }},
	{name: "upsert", run: upsertRows, after: grown(2, landed())},
	{name: "alter", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error {
			if slices.ContainsFunc(t.Schema().Fields, func(n *schema.Node) bool { return n.Name == "title" }) {
				return nil
			}
			return t.RenameColumn(r.ctx, "name", "title")
		})
	}, after: renamedColumn},
	{name: "alter properties", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { return t.SetProperties(r.ctx, map[string]string{"owner": "ops"}, nil) })
	}, after: noting("owner=", "owner=ops")},
	{name: "tag", run: func(r *session) error {
		return onFlights(r, func(t *catalog.Table) error { _, err := t.CreateTag(r.ctx, "here", t.Head()); return err })
	}, again: []error{catalog.ErrExists}, after: noting("[main]", "[here main]")},
	{name: "expire", deletes: true, run: expireAll, after: noting("old=true", "old=false")},
	{name: "gc, marking", deletes: true, prepare: withGarbage, prepared: collectable, run: collect, after: collectable, either: true, again: []error{catalog.ErrConflict}},
	{name: "gc, deleting", deletes: true, prepare: func(r *session) error { return errors.Join(withGarbage(r), collect(r)) }, prepared: collectable, run: collect,
		after: collectable, either: true, again: []error{catalog.ErrConflict}, unlisted: []error{catalog.ErrConflict}}, // the end of the lease before
	{name: "index add", run: func(r *session) error { return onFlights(r, func(t *catalog.Table) error { return addIndex(r, t) }) },
		after: noting("indexes=", "indexes=hash:name"), again: []error{catalog.ErrExists}, between: hasNote("indexes=hash:name")},
	{name: "tasks", run: writeInTasks, after: grown(2, landed())},
	{name: "rollback", prepare: func(r *session) error { return ingestInto(r, flights, false, land...) }, prepared: grown(2, landed()),
		run: rollBack, after: func(s state) state {
			s.tables[flights.String()], s.shards[flights.String()] = slices.Concat(printed(0, 20), printed(100, 20), printed(200, 20)), 3
			slices.Sort(s.tables[flights.String()])
			return s
		}},
	{name: "export", run: export, again: []error{blobio.ErrExists}},
	{name: "compact", deletes: true, run: compact, after: func(s state) state { s.shards[flights.String()] = 1; return s }},
}, slices.Concat(changes, recoveries, shared)...)

// grown is the table with more shards and rows.
func grown(shards int, rows []string) func(state) state {
	return func(s state) state {
		all := append(slices.Clone(s.tables[flights.String()]), rows...)
		slices.Sort(all)
		s.tables[flights.String()] = all
		s.shards[flights.String()] += shards
		return s
	}
}

// land are files to ingest, by name: a folder with a stale list would honestly have fewer.
var land = []string{"land/d.ndjson", "land/e.ndjson"}

// landed are the rows of land.
func landed() []string { return append(ingested(300), ingested(400)...) }

// ingested are the rows of 20 records.
func ingested(first int) []string { return printed(first, 20) }

// withoutTags are rows without their last column, as the shard over a Parquet file has them.
func withoutTags(rows []string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		before, _, _ := strings.Cut(row, `,"tags"`)
		out[i] = before + "}"
	}
	return out
}

// printed are the rows of records as the program prints them, sorted.
func printed(first, n int) []string {
	rows, ok := printedRows.Load([2]int{first, n})
	if !ok {
		rows, _ = printedRows.LoadOrStore([2]int{first, n}, print(first, n))
	}
	return slices.Clone(rows.([]string))
}

var printedRows sync.Map

func print(first, n int) []string {
	s, err := schema.Parse(columns)
	if err != nil {
		panic(err) // columns is a constant
	}
	ctx, client := context.Background(), newSpace()
	defer client.Close()
	r := &session{ctx: ctx, root: "mem://faultwalk-rows", client: client}
	name := fmt.Sprintf("%d-%d.ndjson", first, n)
	if err := client.Put(ctx, r.url(name), records(first, n)); err != nil {
		panic(err) // nothing breaks a bucket in memory
	}
	src, err := r.source(fileio.SourceOptions{Schema: s}, name)
	if err != nil {
		panic(err)
	}
	defer src.Close()
	rows, err := lines(batches(ctx, src), s)
	if err != nil {
		panic(err)
	}
	return rows
}

func writeShard(r *session, out string, in ...string) error {
	src, err := r.source(fileio.SourceOptions{}, in...)
	if err != nil {
		return err
	}
	defer src.Close()
	w, err := shardfmt.NewWriter(r.ctx, r.client, r.url(out), src.Schema(), shardfmt.WriterOptions{StripeRows: 15})
	if err != nil {
		return err
	}
	if err := copyRows(r.ctx, w, src); err != nil {
		w.Abort(context.Background())
		return err
	}
	if _, err := w.Close(context.Background()); err != nil {
		w.Abort(context.Background())
		return err
	}
	return nil
}

func catShard(r *session, name string) (err error) {
	r.out, err = r.shard(name)
	return err
}

// over is the Parquet file of a world, of the records from 500 on.
const over = "files/over.parquet"

// writeOver writes the root of a shard over a Parquet file, of the columns that are values at the top level.
func writeOver(r *session, out string) error {
	_, err := shardfmt.WriteExternalParquet(r.ctx, r.client, r.url(out), []string{r.url(over)},
		shardfmt.ExternalOptions{Columns: []string{"id", "at", "name", "delay"}})
	return err
}

// putParquet puts the Parquet file of a world.
func putParquet(r *session) error {
	if err := r.client.Put(r.ctx, r.url("in/over.ndjson"), records(500, 20)); err != nil {
		return err
	}
	src, err := r.source(fileio.SourceOptions{}, "in/over.ndjson")
	if err != nil {
		return err
	}
	defer src.Close()
	var file bytes.Buffer
	sink, err := fileio.NewSink(fileio.Parquet, &file, src.Schema(), fileio.SinkOptions{})
	if err != nil {
		return err
	}
	for b, err := range batches(r.ctx, src) {
		if err != nil {
			return err
		}
		if err := sink.Write(b); err != nil {
			return err
		}
	}
	if err := sink.Close(); err != nil {
		return err
	}
	return r.client.Put(r.ctx, r.url(over), file.Bytes())
}

func inspectShard(r *session) error {
	x, err := inspect.Shard(r.ctx, r.client, r.url("files/one.amudai.shard"), inspect.Options{Detail: inspect.Blocks})
	if err != nil {
		return err
	}
	r.out = append(r.out, fmt.Sprint(x.Records, len(x.Stripes)))
	return nil
}

// verifyShard fails where the command would end with exit code 3.
func verifyShard(r *session) error {
	report, err := verify.Shard(r.ctx, r.client, r.url("files/one.amudai.shard"), verify.Options{})
	if err != nil {
		return err
	}
	if !report.OK {
		return fmt.Errorf("%w: %+v", errDamage, report.Errors)
	}
	r.out = append(r.out, fmt.Sprint(report.Objects, report.Bytes))
	return nil
}

// errDamage is a report of verify that found some.
var errDamage = errors.New("the shard is damaged")

func mergeShards(r *session) error {
	_, err := merge.Concat(r.ctx, r.client, r.url(outputs[1]), []merge.Input{
		{URL: r.url("files/one.amudai.shard")}, {URL: r.url("files/two.amudai.shard")}}, merge.Options{})
	return err
}

func createTable(r *session) error {
	s, err := schema.Parse(columns)
	if err != nil {
		return err
	}
	_, err = r.tables.Create(r.ctx, fresh, catalog.CreateOptions{Schema: s, CreateNamespace: true})
	return err
}

func listTables(r *session) error {
	names, err := r.tables.Tables(r.ctx, flights.Namespace)
	for _, n := range names {
		r.out = append(r.out, n.String())
	}
	return err
}

func describeTable(r *session) error {
	t, err := r.tables.Load(r.ctx, flights)
	if err != nil {
		return err
	}
	d := t.Describe()
	d.MetadataLocation = "" // another one after each change of another client
	delete(d.Properties, catalogfault.Changed)
	text, err := json.Marshal(d)
	r.out = append(r.out, string(text))
	return err
}

func tableHistory(r *session) error {
	t, err := r.tables.Load(r.ctx, flights)
	if err != nil {
		return err
	}
	for _, s := range t.History() {
		r.out = append(r.out, fmt.Sprint(s.ID, s.Operation))
	}
	return nil
}

// ingestInto lands files; with create a table that is not there is made by their schema.
func ingestInto(r *session, name catalog.Name, create bool, files ...string) error {
	t, err := r.tables.Load(r.ctx, name)
	missing := errors.Is(err, catalog.ErrNotFound)
	if err != nil && !(create && missing) {
		return err
	}
	var o fileio.SourceOptions
	if !missing {
		o.Schema = t.Schema()
	}
	src, err := r.source(o, files...)
	if err != nil {
		return err
	}
	defer src.Close()
	if missing {
		t, err = r.tables.Create(r.ctx, name, catalog.CreateOptions{Schema: src.Schema(), CreateNamespace: true})
		if err != nil {
			return err
		}
	}
	_, err = t.Ingest(r.ctx, src, catalog.IngestOptions{JobID: r.job, ShardRows: 20, StripeRows: 15})
	return err
}

func register(r *session) error {
	t, err := r.tables.Load(r.ctx, flights)
	if err != nil {
		return err
	}
	_, err = t.Register(r.ctx, []string{r.url("files/one.amudai.shard"), r.url("files/two.amudai.shard")},
		catalog.RegisterOptions{JobID: r.job})
	return err
}

func scan(r *session, o catalog.ScanOptions) error {
	t, err := r.tables.Load(r.ctx, flights)
	if err != nil {
		return err
	}
	r.out, err = lines(t.Scan(r.ctx, o, nil), t.Schema())
	return err
}

func plan(r *session) error {
	t, err := r.tables.Load(r.ctx, flights)
	if err != nil {
		return err
	}
	p, err := compaction.NewPlan(r.ctx, t, compaction.Policy{})
	if err != nil {
		return err
	}
	for _, g := range p.Groups {
		r.out = append(r.out, fmt.Sprint(g.Mode, g.Inputs.Paths(), g.Records))
	}
	return nil
}

func compact(r *session) error { return compactBy(r, compaction.Policy{}) }

func compactBy(r *session, p compaction.Policy) error {
	t, err := r.tables.Load(r.ctx, flights)
	if err != nil {
		return err
	}
	_, err = compaction.Compact(r.ctx, t, p, compaction.Options{})
	return err
}

// onFlights does something to the table.
func onFlights(r *session, do func(*catalog.Table) error) error {
	t, err := r.tables.Load(r.ctx, flights)
	if err != nil {
		return err
	}
	return do(t)
}

// noting is a change of what is noted of the table.
func noting(old, changed string) func(state) state {
	return func(s state) state {
		s.notes[flights.String()] = strings.Replace(s.notes[flights.String()], old, changed, 1)
		return s
	}
}

// hasNote reports whether the table is as noted.
func hasNote(text string) func(state) bool {
	return func(s state) bool { return strings.Contains(s.notes[flights.String()], text) }
}

// goes are the rows that delete and overwrite take away: one shard, and a part of another.
const goes = "id < 5 or id >= 200"

// shrunk is the table without these rows.
func shrunk(s state) state {
	s.tables[flights.String()] = slices.Concat(printed(5, 15), printed(100, 20))
	slices.Sort(s.tables[flights.String()])
	s.shards[flights.String()] = 2
	return s
}

func removeRows(r *session) error {
	where, err := filter.Parse(goes)
	if err != nil {
		return err
	}
	return onFlights(r, func(t *catalog.Table) error {
		_, err := t.Delete(r.ctx, where, catalog.DeleteOptions{JobID: r.job})
		return err
	})
}

// landing does something to the table with the files of land.
func landing(r *session, do func(*catalog.Table, fileio.Source) error) error {
	return onFlights(r, func(t *catalog.Table) error {
		src, err := r.source(fileio.SourceOptions{Schema: t.Schema()}, land...)
		if err != nil {
			return err
		}
		defer src.Close()
		return do(t, src)
	})
}

func overwriteRows(r *session) error {
	where, err := filter.Parse(goes)
	if err != nil {
		return err
	}
	return landing(r, func(t *catalog.Table, src fileio.Source) error {
		_, err := t.Overwrite(r.ctx, where, src, catalog.IngestOptions{JobID: r.job, ShardRows: 20, StripeRows: 15})
		return err
	})
}

func upsertRows(r *session) error {
	return landing(r, func(t *catalog.Table, src fileio.Source) error {
		_, err := t.Ingest(r.ctx, src, catalog.IngestOptions{JobID: r.job, ShardRows: 20, StripeRows: 15, UpsertBy: []string{"id"}})
		return err
	})
}

func writeInTasks(r *session) error {
	return landing(r, func(t *catalog.Table, src fileio.Source) error {
		run, err := t.WriteShards(r.ctx, src, "part", catalog.IngestOptions{JobID: r.job, ShardRows: 20, StripeRows: 15})
		if err != nil || run.Committed != nil {
			return err
		}
		_, err = t.CommitShards(r.ctx, "", r.job, []string{run.Run})
		return err
	})
}

func expireAll(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		p, err := t.PlanExpire(catalog.ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
		if err != nil {
			return err
		}
		return p.Execute(r.ctx)
	})
}

// withGarbage leaves objects that no snapshot needs.
func withGarbage(r *session) error { return errors.Join(removeRows(r), expireAll(r)) }

func collectable(s state) state { return noting("old=true", "old=false")(shrunk(s)) }

func collect(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		_, err := t.Collect(r.ctx, catalog.CollectOptions{Execute: true, MinAge: time.Nanosecond, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1})
		return err
	})
}

// rollBack goes back to the table of three shards.
func rollBack(r *session) error {
	return onFlights(r, func(t *catalog.Table) error {
		h := t.History()
		i := slices.IndexFunc(h, func(s catalog.Snapshot) bool { return s.Number("total-records") == 60 })
		if i < 0 {
			return fmt.Errorf("%w: no snapshot of 60 rows", catalog.ErrNotFound)
		}
		return t.Rollback(r.ctx, h[i].ID)
	})
}

// renamedColumn is the table whose column name is title.
func renamedColumn(s state) state {
	rows := slices.Clone(s.tables[flights.String()])
	for i, row := range rows {
		rows[i] = strings.Replace(row, `"name":`, `"title":`, 1)
	}
	s.tables[flights.String()] = rows
	return noting(" name ", " title ")(s)
}

// export writes a file and prints how many rows it has; a file of an earlier run is deleted.
func export(r *session) error {
	out := r.url("files/out.csv")
	if err := r.client.Delete(r.ctx, out, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
		return err
	}
	return onFlights(r, func(t *catalog.Table) error {
		done, err := t.Export(r.ctx, out, catalog.ExportOptions{Format: fileio.CSV})
		if err != nil {
			return err
		}
		text, _, err := r.client.ReadAll(r.ctx, out, 1<<20)
		rows := strings.Split(string(text), "\n")
		slices.Sort(rows) // without Ordered, shards come as they are read
		r.out = append(append(r.out, fmt.Sprint(done.Rows)), rows...)
		return err
	})
}

func addIndex(r *session, t *catalog.Table) error {
	var index shardfmt.IndexSpec
	if err := index.Set("hash:name"); err != nil {
		return err
	}
	_, err := t.AddIndex(r.ctx, index, catalog.IndexOptions{})
	return err
}
