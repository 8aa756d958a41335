package faultwalk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/testkit/catalogfault"
	"github.com/shardcat/shardcat/internal/testkit/sharedappends"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
	"github.com/shardcat/shardcat/urlresolve"
)

// world is what every run of a walk starts from: a catalog, a table of three shards, two shards beside it and a
// file to ingest.
type world struct {
	store *store
	// catalog is the folder of the SQLite file. The file's path is part of a catalog's identity.
	catalog string
	saved   int // snapshots so far
	// common is the state of every walk, start the one that a reset returns to: common, or what a command prepared in it.
	common, start *snapshot
	// etags are those of the last list, known the objects whose bytes are.
	etags map[string]string
	known map[string]stored
	// verified are the shards that were, as long as no object of etags is deleted or replaced.
	verified map[string]bool
	// copied, if not nil, is observed in place of the store.
	copied *memblob.Bucket
	// damaged: what verification finds is part of the state, and no error.
	damaged bool
	// shared: appends of a session share a snapshot.
	shared bool
	state  state
}

// The names in a world.
var (
	flights = catalog.Name{Namespace: "default", Table: "flights"}
	fresh   = catalog.Name{Namespace: "default", Table: "fresh"}
)

const columns = "id: int64, at: datetime, name: string, delay: double, tags: list<string>"

// records are n lines of NDJSON with ids from first on.
func records(first, n int) []byte {
	var b bytes.Buffer
	for i := first; i < first+n; i++ {
		delay := fmt.Sprint(float64(i%7) / 4)
		if i%5 == 0 {
			delay = "null"
		}
		fmt.Fprintf(&b, `{"id":%d,"at":"2013-01-%02dT10:%02d:00Z","name":"flight %d","delay":%s,"tags":["a","t%d"]}`+"\n",
			i, 1+i%28, i%60, i, delay, i%3)
	}
	return b.Bytes()
}

// newWorld builds one on a store.
func newWorld(t *testing.T, at *store) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{store: at, catalog: filepath.Join(dir, "catalog")}
	if err := os.Mkdir(w.catalog, 0o755); err != nil {
		t.Fatal(err)
	}
	r := w.session(t, at.straight)
	s, err := schema.Parse(columns)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.tables.Create(r.ctx, flights, catalog.CreateOptions{Schema: s, CreateNamespace: true}); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"in/a.ndjson", "in/b.ndjson", "in/c.ndjson", "land/d.ndjson", "land/e.ndjson"} {
		if err := r.client.Put(r.ctx, r.url(name), records(100*i, 20)); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			r.job = fmt.Sprint("first-", i)
			if err := ingestInto(r, flights, false, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"one", "two"} {
		if err := writeShard(r, "files/"+name+".amudai.shard", "in/a.ndjson"); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(putParquet(r), writeOver(r, "files/over.amudai.shard")); err != nil {
		t.Fatal(err)
	}
	r.close()
	if at.keep != nil {
		at.keep(t)
	}
	w.common = w.save(t)
	w.state = w.observe(t)
	w.common.verified = maps.Clone(w.verified)
	return w
}

// session is one run of the program, as far as a command sees it.
type session struct {
	ctx    context.Context
	root   string
	client *blobio.Client
	meta   *blobio.Client
	tables *catalog.Catalog
	job    string
	out    []string // lines that it printed
	// hold is that of a world whose appends share a snapshot, added the rows that such appends have reported as added.
	hold  *sharedappends.Hold
	added []string
}

// session opens the catalog over spaces that mount prepares.
func (w *world) session(t *testing.T, mount func(*testing.T, *blobio.Client)) *session {
	t.Helper()
	r := &session{ctx: t.Context(), root: w.store.root, client: newSpace(), meta: newSpace()}
	mount(t, r.client)
	mount(t, r.meta)
	o := catalog.Options{
		URI: cmp.Or(w.store.uri, "sqlite:"+filepath.Join(w.catalog, "catalog.db")), Warehouse: cmp.Or(w.store.warehouse, r.url("wh")), Vault: w.store.vault, Client: r.client, Metadata: r.meta,
		Log: slog.New(slog.DiscardHandler), RetryBudget: 20 * time.Millisecond, CommitAttempts: 5,
	}
	wrap := w.store.wrap
	if w.shared {
		r.hold = &sharedappends.Hold{}
		wrap = func(c icecatalog.Catalog) icecatalog.Catalog {
			if w.store.wrap != nil {
				c = w.store.wrap(c)
			}
			return r.hold.Wrap(c)
		}
	}
	icebergaccess.Wrap(&o, wrap)
	var err error
	r.tables, err = catalog.Open(r.ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *session) url(name string) string { return r.root + "/" + name }

func (r *session) close() {
	r.tables.Close()
	r.client.Close()
	r.meta.Close()
}

// lines renders rows as the command line does.
func lines(rows iter.Seq2[arrow.RecordBatch, error], s *schema.Schema) ([]string, error) {
	var b bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &b, s, fileio.SinkOptions{})
	if err != nil {
		return nil, err
	}
	for batch, err := range rows {
		if err != nil {
			return nil, err
		}
		if err := sink.Write(batch); err != nil {
			return nil, err
		}
	}
	if err := sink.Close(); err != nil {
		return nil, err
	}
	out := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	slices.Sort(out)
	return slices.DeleteFunc(out, func(s string) bool { return s == "" }), nil
}

// state is all that a user can see: the rows of each table and of each shard that a command wrote by name, and
// the number of shards of each table.
type state struct {
	tables map[string][]string
	shards map[string]int
	files  map[string][]string
	// notes are columns, refs and whether the first snapshot is there, of the table flights; and the namespaces.
	notes map[string]string
}

func (s state) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		fmt.Fprintf(&b, "%s: %d rows in %d shards, %s; ", name, len(s.tables[name]), s.shards[name], s.notes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(&b, "%s: %d rows; ", name, len(s.files[name]))
	}
	return b.String()
}

func (s state) equal(o state) bool {
	same := func(a, b []string) bool { return slices.Equal(a, b) }
	return maps.EqualFunc(s.tables, o.tables, same) && maps.Equal(s.shards, o.shards) && maps.EqualFunc(s.files, o.files, same) && maps.Equal(s.notes, o.notes)
}

func (s state) clone() state {
	return state{maps.Clone(s.tables), maps.Clone(s.shards), maps.Clone(s.files), maps.Clone(s.notes)}
}

// namespacesNote is the note of the catalog's namespaces.
const namespacesNote = "namespaces"

// outputs are the shards that commands write under a chosen name.
var outputs = []string{"files/out.amudai.shard", "files/merged.amudai.shard"}

// observe looks at everything, straight, and verifies every shard it sees.
func (w *world) observe(t *testing.T) state {
	t.Helper()
	r := w.session(t, w.straight)
	defer r.close()
	w.trust(w.list(t, r.client))
	s := state{map[string][]string{}, map[string]int{}, map[string][]string{}, map[string]string{}}
	names, err := r.tables.Tables(r.ctx, flights.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if was, moved := strings.CutSuffix(name.Table, catalogfault.Moved); moved { // by another client; the next run looks for the old name
			back := catalog.Name{Namespace: name.Namespace, Table: was}
			if _, err := r.tables.Rename(r.ctx, name, back); err != nil {
				t.Fatal(err)
			}
			name = back
		}
		rows, shards, notes := w.table(t, r, name)
		if s.tables[name.String()], s.shards[name.String()] = rows, shards; name == flights {
			s.notes[name.String()] = notes
		}
	}
	namespaces, err := r.tables.Namespaces(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.notes[namespacesNote] = fmt.Sprint(namespaces)
	for _, out := range outputs {
		if _, err := r.client.Stat(r.ctx, r.url(out)); errors.Is(err, blobio.ErrNotFound) {
			continue
		}
		rows, err := r.shard(out)
		if err != nil {
			t.Errorf("%s: %v", out, err)
		}
		whole(t, r, r.url(out), verify.Options{})
		s.files[out] = rows
	}
	return s
}

// lightly verifies what lies above the bytes of shards.
var lightly = catalog.VerifyOptions{Data: catalog.Subset{Percent: math.SmallestNonzeroFloat64}}

// table gives a table's rows and number of shards; the shards must verify, and nothing may lie in its vault folder
// that nobody knows of.
func (w *world) table(t *testing.T, r *session, name catalog.Name) ([]string, int, string) {
	t.Helper()
	tbl, err := r.tables.Load(r.ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	o := lightly
	if w.damaged {
		o = catalog.VerifyOptions{}
	}
	v, err := tbl.Verify(r.ctx, o)
	if err != nil || len(v.Errors) > 0 && !w.damaged {
		t.Errorf("verify %s: %+v, %v", name, v, err)
		return nil, 0, ""
	}
	if w.damaged {
		if live := livePaths(t, r, tbl); slices.ContainsFunc(v.Errors, func(f catalog.TableFault) bool { return live[f.Shard] }) {
			return nil, len(live), noted(t, r, tbl) + damageNote
		}
	}
	rows, err := lines(tbl.Scan(r.ctx, catalog.ScanOptions{}, nil), tbl.Schema())
	if err != nil {
		t.Errorf("table %s: %v", name, err)
	}
	if d := tbl.Describe(); d.Records != int64(len(rows)) {
		t.Errorf("table %s: %d rows, its summary says %d", name, len(rows), d.Records)
	}
	allow, err := tbl.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	live := map[string]bool{}
	for e, err := range tbl.Entries(r.ctx, catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		live[e.Path] = true
		w.entry(t, r, e, allow)
	}
	if v.Shards > len(live) && !w.damaged { // older snapshots have more
		for _, s := range icebergaccess.MetadataOf(tbl).Snapshots() {
			for e, err := range tbl.Entries(r.ctx, catalog.At{SnapshotID: s.SnapshotID}) {
				if err != nil {
					t.Fatal(err)
				}
				w.entry(t, r, e, allow)
			}
		}
	}
	w.nobodysObjects(t, r, tbl, live)
	return rows, len(live), noted(t, r, tbl)
}

// entry verifies every byte of a shard, once.
func (w *world) entry(t *testing.T, r *session, e *manifest.Entry, allow []urlresolve.Prefix) {
	t.Helper()
	if w.verified[e.Path] && !w.damaged {
		return
	}
	o := verify.Options{Size: e.RootBytes}
	o.Policy.Allow = allow
	if whole(t, r, e.Path, o) {
		w.verified[e.Path] = true
	}
}

// nobodysObjects reports objects in a table's folder that no snapshot needs and nobody knows of.
func (w *world) nobodysObjects(t *testing.T, r *session, tbl *catalog.Table, live map[string]bool) {
	t.Helper()
	committed := map[string]bool{}
	for url := range live {
		committed[attemptOf(tbl, url)] = true
	}
	delete(committed, "")
	var suspects []string
	for info, err := range r.client.List(r.ctx, tbl.VaultFolder()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, first := w.common.objects[info.URL]; !first && !committed[attemptOf(tbl, info.URL)] && !isRecord(tbl, info.URL) {
			suspects = append(suspects, info.URL)
		}
	}
	if len(suspects) == 0 {
		return
	}
	known, err := w.knownObjects(r, tbl)
	if err != nil {
		t.Fatal(err)
	}
	if suspects = slices.DeleteFunc(suspects, known); len(suspects) == 0 {
		return
	}
	garbage := unneeded(t, w, r, tbl)
	for _, url := range suspects {
		if garbage(url) {
			t.Errorf("nobody knows of %s", url)
		}
	}
}

// isRecord reports whether an object of a table's folder is a record of the table or of a job. The record of a drop may stay beside a
// table that is back, until its next writer: a collection calls the catalog first.
func isRecord(tbl *catalog.Table, url string) bool {
	return slices.ContainsFunc([]string{"_jobs/", "_dropped.json", "_owner.json", "_name.json", "_name/", "_gc/", "_keys/", "_line/"},
		func(name string) bool { return strings.HasPrefix(url, tbl.VaultFolder()+name) })
}

// unneeded reports which objects no snapshot needs: all of a table without snapshots, none where damage keeps collection from finding them.
func unneeded(t *testing.T, w *world, r *session, tbl *catalog.Table) func(url string) bool {
	t.Helper()
	if w.damaged || tbl.Head() == 0 {
		return func(string) bool { return !w.damaged }
	}
	out := map[string]bool{}
	plan, err := tbl.Collect(r.ctx, catalog.CollectOptions{MinAge: time.Nanosecond, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range append(plan.Mark, plan.Delete...) {
		out[g.URL] = true
	}
	return func(url string) bool { return out[url] }
}

// livePaths are the shards of the head; older snapshots keep damage that a repair has taken from it.
func livePaths(t *testing.T, r *session, tbl *catalog.Table) map[string]bool {
	t.Helper()
	live := map[string]bool{}
	for e, err := range tbl.Entries(r.ctx, catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		live[e.Path] = true
	}
	return live
}

// noted is what a table has besides rows: columns, refs, whether its first snapshot is there, some properties of it and of its namespace,
// key indexes, keys of its order, fields of its partitions, required columns, shards of its side branch.
func noted(t *testing.T, r *session, tbl *catalog.Table) string {
	t.Helper()
	var columns, required, refs []string
	aside := 0
	for _, f := range tbl.Schema().Fields {
		columns = append(columns, f.Name)
		if !f.Nullable {
			required = append(required, f.Name)
		}
	}
	for _, ref := range tbl.Refs() {
		refs = append(refs, ref.Name)
		if ref.Name == side {
			for _, err := range tbl.Entries(r.ctx, catalog.At{Ref: side}) {
				if aside++; err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	slices.Sort(refs)
	old := len(tbl.History()) > 0 && slices.ContainsFunc(icebergaccess.MetadataOf(tbl).Snapshots(), func(s table.Snapshot) bool { return s.SequenceNumber == 1 })
	namespace, err := r.tables.NamespaceProperties(r.ctx, tbl.Name().Namespace)
	if err != nil {
		t.Fatal(err)
	}
	keys := ""
	if tbl.HasKeyIndexes() {
		keys = "1"
	}
	spec := icebergaccess.MetadataOf(tbl).PartitionSpec()
	return fmt.Sprintf("%v %v old=%v owner=%s indexes=%s keys=%s namespace=%s order=%d spec=%d required=%v side=%d", columns, refs, old, tbl.Properties()["owner"],
		tbl.Properties()[catalog.IndexesProperty], keys, namespace["owner"], len(tbl.SortOrder()), spec.NumFields(), required, aside)
}

// attempt is the random part of the names of all objects that one run of a job writes.
var attempt = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// attemptOf is the random part of the name of an object in a table's vault folder, empty for others.
func attemptOf(tbl *catalog.Table, url string) string {
	_, name, _ := strings.Cut(url, "/vault/"+tbl.UUID()+"/")
	return attempt.FindString(name)
}

// knownObjects reports which objects of a vault folder are records, are named by the record of a job, or are of a run that committed: its
// record went with the commit, so it is known by a snapshot, or was there before anything went wrong.
func (w *world) knownObjects(r *session, tbl *catalog.Table) (func(url string) bool, error) {
	var prefixes []string
	committed := map[string]bool{}
	note := func(url string) {
		committed[attemptOf(tbl, url)] = true
	}
	for url := range w.common.objects {
		note(url)
	}
	for _, s := range icebergaccess.MetadataOf(tbl).Snapshots() {
		for e, err := range tbl.BriefEntries(r.ctx, catalog.At{SnapshotID: s.SnapshotID}, nil) {
			if err != nil {
				return nil, err
			}
			note(e.Path)
		}
	}
	delete(committed, "")
	for info, err := range r.client.List(r.ctx, tbl.VaultFolder()+"_jobs/") {
		if err != nil {
			return nil, err
		}
		text, _, err := r.client.ReadAll(r.ctx, info.URL, 1<<20)
		if err != nil {
			return nil, err
		}
		var job catalog.JobRecord
		if err := json.Unmarshal(text, &job); err != nil {
			return nil, fmt.Errorf("%s: %w", info.URL, err)
		}
		for _, out := range job.Outputs {
			prefixes = append(prefixes, strings.TrimSuffix(out, "*"))
		}
	}
	return func(url string) bool {
		return committed[attemptOf(tbl, url)] || isRecord(tbl, url) ||
			slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(url, p) })
	}, nil
}

// whole verifies a shard, and reports whether it is.
func whole(t *testing.T, r *session, url string, o verify.Options) bool {
	t.Helper()
	report, err := verify.Shard(r.ctx, r.client, url, o)
	switch {
	case err != nil:
		t.Errorf("verify %s: %v", url, err)
	case !report.OK:
		t.Errorf("verify %s: %+v", url, report.Errors)
	}
	return err == nil && report.OK
}

// shard reads all rows of a shard.
func (r *session) shard(name string) ([]string, error) {
	shard, err := shardfmt.Open(r.ctx, r.client, r.url(name), shardfmt.OpenOptions{})
	if err != nil {
		return nil, err
	}
	s, err := shard.Schema(r.ctx)
	if err != nil {
		return nil, err
	}
	return lines(shard.Scan(r.ctx, shardfmt.ScanOptions{}), s)
}

// source opens files as records.
func (r *session) source(o fileio.SourceOptions, names ...string) (fileio.Source, error) {
	urls := make([]string, len(names))
	for i, name := range names {
		urls[i] = r.url(name)
	}
	return fileio.OpenSource(r.ctx, r.client, urls, o)
}

// copyRows moves all batches of a source into a writer.
func copyRows(ctx context.Context, w *shardfmt.Writer, src fileio.Source) error {
	for {
		batch, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.Write(ctx, batch); err != nil {
			return err
		}
	}
}
