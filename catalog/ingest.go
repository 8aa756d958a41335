package catalog

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/catalog/internal/rowsplit"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio/sysfield"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// RecordSource yields records as batches of canonical Arrow types; package fileio's sources are some.
type RecordSource interface {
	// Schema of all batches.
	Schema() *schema.Schema
	// Next gives the next batch, or io.EOF.
	Next(ctx context.Context) (arrow.RecordBatch, error)
}

// codedSource is a RecordSource that has values which repeat as codes.
type codedSource interface {
	// NextCoded is Next, but columns of byte strings may be dictionaries, and the batch is valid until the next call alone.
	NextCoded(ctx context.Context) (arrow.RecordBatch, error)
}

// IngestOptions of Ingest. The zero value is valid.
type IngestOptions struct {
	// JobID names the delivery: the same one delivered twice is committed once. If empty it is made of the tags IngestBy among
	// StandardProperties; random without them.
	JobID string
	// Ref is the branch to append to, main if empty.
	Ref string
	// ShardRows ends a shard, 4 Mi (4,194,304) if 0; StripeRows ends a stripe, the writer's default if 0.
	ShardRows  int64
	StripeRows int
	// share is how many ingestions of the process share the memory, 1 if 0.
	share int64
	// Profile and Layout of the shards.
	Profile shardfmt.Profile
	Layout  shardfmt.Layout
	// CreationTime of all records, now if zero.
	CreationTime time.Time
	// Properties and StandardProperties of each shard.
	Properties, StandardProperties []shardfmt.Property
	// StripeProperties of each stripe, FieldProperties of fields by dotted path.
	StripeProperties shardfmt.Properties
	FieldProperties  map[string]shardfmt.Properties
	// SparseUnions stores unions in the sparse form, see shardfmt.WriterOptions.SparseUnions.
	SparseUnions bool
	// OpaqueDictionaries, DictionaryEntries and Encodings are forms of fields by dotted path, see shardfmt.WriterOptions.
	OpaqueDictionaries []string
	DictionaryEntries  map[string]int
	Encodings          map[string][]shardfmt.Profile
	// IngestionTime and RecordID add internal fields, which readers leave out unless requested: the time of this run, and an
	// identity that no other record has.
	IngestionTime, RecordID bool
	// Bloom requests Bloom filters, by column and target rate of false positives (0: the default).
	Bloom map[string]float64
	// Pack stores structs as packed groups, by dotted path, see shardfmt.WriterOptions.Pack.
	Pack map[string][]string
	// Indexes of every stripe, besides those that the table requires (IndexesProperty).
	Indexes shardfmt.IndexSpecs
	// UpsertBy are columns whose values together are the key of a row: a row takes the place of the table's rows with its key, in the
	// snapshot that adds it, and of the rows of one delivery with one key the last one counts. Unique are columns of a key too, but a row
	// whose key the table has, or another row of the delivery, is refused: ErrExists. A row without a key, one of whose columns is null,
	// is refused by both: manifest.ErrSchema. Writers that name no key are not held to any.
	UpsertBy, Unique []string
	// ShareCommit lets the append share its snapshot with other such appends of this process that wait for a commit to the branch at the
	// same time. Each keeps its job, its shards and its outcome. Deliveries with a key (UpsertBy, Unique) are committed alone.
	ShareCommit bool
	// Progress, if not nil, is called with the number of rows read so far.
	Progress func(rows int64)
}

// IngestBy is the standard property by which Kusto makes an ingestion idempotent: the same tags are committed once.
const IngestBy = "ingest-by"

// named gives a delivery that has tags and no job id one made of the tags.
func (o *IngestOptions) named() {
	var tags []string
	for _, p := range o.StandardProperties {
		if p.Name() == IngestBy {
			tags = append(tags, p.EncodedValue())
		}
	}
	if o.JobID != "" || len(tags) == 0 {
		return
	}
	slices.Sort(tags)
	sum := xxh3.Hash128([]byte(strings.Join(tags, "\n"))).Bytes()
	o.JobID = IngestBy + "-" + hex.EncodeToString(sum[:])
}

// defaultShardRows makes shards of four full stripes.
const defaultShardRows = 4 << 20

// IngestResult is what an ingestion added.
type IngestResult struct {
	*CommitResult
	// Shards are the roots; none if the source had no records.
	Shards []string `json:"shards"`
	Rows   int64    `json:"rows"`
	// Bytes stored, roots included; IndexBytes are those of the objects of indexes besides.
	Bytes      int64 `json:"bytes"`
	IndexBytes int64 `json:"index_bytes,omitempty"`
	// Replaced are rows of the table that went because rows with their keys came, Superseded those of the delivery itself that
	// did; see IngestOptions.UpsertBy.
	Replaced   int64 `json:"replaced,omitempty"`
	Superseded int64 `json:"superseded,omitempty"`
}

// Ingest writes the records of a source as shards of the table and commits them in one snapshot. A table with a sort
// order (SortBy) gets them sorted, all together, by way of temporary files where they are many. Columns are
// matched by name; columns that the source lacks are null, fields that the table lacks are manifest.ErrSchema
// (see AddColumns). If anything fails, nothing is registered and what was written is deleted again.
func (t *Table) Ingest(ctx context.Context, src RecordSource, o IngestOptions) (*IngestResult, error) {
	if src == nil || src.Schema() == nil {
		return nil, fmt.Errorf("%w: missing source, or a source without a schema", ErrInvalid)
	}
	o.named()
	project, err := t.projectSource(src.Schema())
	if err != nil {
		return nil, err
	}
	if err := t.addDefaultIndexes(&o); err != nil {
		return nil, err
	}
	if o.keyed() {
		return t.ingestKeyed(ctx, src, project, o)
	}
	j, before, err := t.beginJob(ctx, jobStart{branch: o.Ref, kind: JobAppend, id: o.JobID, outputs: t.Outputs})
	if before != nil || err != nil {
		return &IngestResult{CommitResult: before, Shards: []string{}}, err
	}
	w := newShardWriters(t, j, &o)
	out, err := t.ingest(ctx, src, project, w)
	var lost *lostCreation
	if errors.As(err, &lost) {
		if out, err = w.deliverTo(ctx, lost.winner); err != nil && lost.own && !mayBeCommitted(err) {
			err = errors.Join(err, t.cat.dropUnused(context.WithoutCancel(ctx), lost.winner))
		}
	}
	if err != nil || lost != nil {
		w.abort(ctx)
		j.Fail(ctx, w.objects)
		if t.creation != nil && !j.committing {
			t.abandon(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	if lost != nil {
		*t = *lost.winner
	}
	return out, nil
}

// Outputs names what an attempt of a job writes, for BeginJob: roots and data under names that begin with the attempt.
func (t *Table) Outputs(attempt string) []string {
	return []string{t.VaultFolder() + attempt + "-*", t.VaultFolder() + "data/" + attempt + "-*"}
}

func (t *Table) ingest(ctx context.Context, src RecordSource, project *projection.Projection, w *shardWriters) (*IngestResult, error) {
	out := &IngestResult{Shards: []string{}}
	var err error
	if out.Rows, err = w.writeAll(ctx, t.recordsCoded(ctx, src, project, w.takesCodes())); err != nil {
		return nil, err
	}
	entries, err := w.closeLater(ctx)
	if err == nil && t.creation != nil { // whose shards may have to be copied
		entries, err = w.close(ctx)
	}
	if err != nil {
		return nil, err
	}
	w.job.beside = &besideManifests{w.putRoots, w.readRoots}
	for _, e := range entries {
		out.Shards, out.Bytes = append(out.Shards, e.Path), out.Bytes+e.StoredBytes
	}
	if len(entries) == 0 && t.creation != nil {
		if err := w.job.createEmpty(ctx); err != nil {
			return nil, err
		}
	}
	if len(entries) == 0 {
		out.CommitResult = &CommitResult{SnapshotID: t.head(w.job.branch)}
		return out, w.job.end(ctx, jobrecord.Committed, out.SnapshotID)
	}
	if w.options.ShareCommit {
		out.CommitResult, err = w.job.appendShared(ctx, entries)
	} else {
		out.CommitResult, err = w.job.Append(ctx, entries)
	}
	out.IndexBytes = w.indexBytes // all roots are written
	w.abort(ctx)                  // what another run of the job made needless
	return out, err
}

// projectSource pairs a source's fields with the columns by name.
func (t *Table) projectSource(s *schema.Schema) (*projection.Projection, error) {
	ids := t.schema.ByName(s)
	if err := t.schema.Check(s, ids); err != nil {
		return nil, err
	}
	for _, f := range s.Columns() {
		if ids[f.ID] == 0 {
			return nil, fmt.Errorf("%w: the table has no column %q; columns: %s", manifest.ErrSchema, f.Name,
				suggestNames(f.Name, fieldNames(t.schema.Shard.Fields)))
		}
	}
	lost := ""
	(&schema.Schema{Fields: s.Columns()}).Walk(func(path string, n *schema.Node) bool {
		if ids[n.ID] == 0 {
			lost = path
		}
		return lost == ""
	})
	if lost != "" {
		return nil, fmt.Errorf("%w: the table has no field %q: its values would be lost", manifest.ErrSchema, lost)
	}
	return &projection.Projection{Target: t.schema.Shard.Fields, IDs: t.schema.IDs, Shard: s, ShardIDs: ids}, nil
}

func fieldNames(nodes []*schema.Node) []refName {
	var names []refName
	for _, n := range nodes {
		names = append(names, refName(n.Name))
	}
	return names
}

// shardWriters writes the shards of one ingestion, one at a time for each partition.
type shardWriters struct {
	table   *Table
	job     *Job
	options *IngestOptions
	split   *rowsplit.Splitter
	// created is the creation time of the first record, createdLast that of the last one.
	created, createdLast uint64
	open                 map[string]*openShard
	// later are shards whose roots are not written, unread the roots that were written and not read back.
	later  []laterShard
	unread []*shardfmt.LaterRoot
	// finished shards, and all objects that exist because of this ingestion.
	entries []*manifest.Entry
	objects []string
	// indexBytes are those of the objects of indexes.
	indexBytes int64
	// partitions are the splitter's keys of the finished shards.
	partitions map[string]string
	count      int
	// adder adds the internal fields that were requested, nil if none; the shards have its schema, or the table's, and the
	// ids of the columns, 0 for what is not a column.
	adder    *sysfield.Adder
	schema   *schema.Schema
	fieldIDs []int
	// order is the number of the sort order that the rows come in, 0 for none.
	order int
}

// openShard is a shard being written.
type openShard struct {
	writer    *shardfmt.Writer
	rows      int64
	partition map[int]any
	// number distinguishes shards, and older ones from newer.
	number int
}

// laterShard is a shard whose root is not written yet.
type laterShard struct {
	root      *shardfmt.LaterRoot
	entry     *manifest.Entry
	partition string
}

// maxLaterShards is how many shards wait for their roots to be written: these are written together, beside other requests.
const maxLaterShards = 16

// maxOpenShards bounds the memory of an ingestion into many partitions; the longest open one is ended first.
const maxOpenShards = 16

func newShardWriters(t *Table, j *Job, o *IngestOptions) *shardWriters {
	if o.ShardRows <= 0 {
		o.ShardRows = defaultShardRows
	}
	created := o.CreationTime
	if created.IsZero() {
		created = t.cat.opts.Now()
	}
	w := &shardWriters{
		table: t, job: j, options: o, split: &rowsplit.Splitter{Schema: t.schema, Spec: t.ice.Spec()}, created: uint64(literal.Ticks(created)), createdLast: uint64(literal.Ticks(created)),
		open: map[string]*openShard{}, partitions: map[string]string{}, schema: t.schema.Shard, fieldIDs: t.schema.IDs, order: t.orderID(t.SortOrder()),
	}
	if o.IngestionTime || o.RecordID {
		w.adder = sysfield.New(t.schema.Shard, sysfield.Options{
			IngestionTime: o.IngestionTime, RecordID: o.RecordID, Now: literal.Ticks(t.cat.opts.Now()),
		})
		w.schema = w.adder.Schema()
		w.fieldIDs = append(slices.Clone(t.schema.IDs), make([]int, len(w.schema.Fields)-len(t.schema.Shard.Fields))...)
	}
	return w
}

// added is a batch with the internal fields that were requested.
func (w *shardWriters) added(b arrow.RecordBatch) arrow.RecordBatch {
	if w.adder == nil {
		return b
	}
	return w.adder.Add(b)
}

// takesCodes reports whether nothing looks at the values of batches before they are written, or keeps them: columns may be coded then.
func (w *shardWriters) takesCodes() bool {
	return w.adder == nil && w.split.Spec.NumFields() == 0 && len(w.table.SortOrder()) == 0
}

// records yields the records of a source as rows of the table, in its declared order.
func (t *Table) records(ctx context.Context, src RecordSource, project *projection.Projection) iter.Seq2[arrow.RecordBatch, error] {
	return t.recordsCoded(ctx, src, project, false)
}

// recordsCoded is records with columns that are coded, where a source has them and they are taken.
func (t *Table) recordsCoded(ctx context.Context, src RecordSource, project *projection.Projection, coded bool) iter.Seq2[arrow.RecordBatch, error] {
	types, next := arrowtype.Schema(t.schema.Shard), src.Next
	if c, ok := src.(codedSource); ok && coded {
		next = c.NextCoded
	}
	return t.inOrder(ctx, func(yield func(arrow.RecordBatch, error) bool) {
		for {
			b, err := next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				b, err = project.Apply(b, types)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	})
}

// writeAll writes batches and counts their rows.
func (w *shardWriters) writeAll(ctx context.Context, batches iter.Seq2[arrow.RecordBatch, error]) (rows int64, err error) {
	for b, err := range batches {
		if err == nil {
			err = w.write(ctx, b)
		}
		if err != nil {
			return rows, err
		}
		rows += b.NumRows()
		if w.options.Progress != nil {
			w.options.Progress(rows)
		}
	}
	return rows, nil
}

// write adds the rows of a batch to the shards of their partitions.
func (w *shardWriters) write(ctx context.Context, b arrow.RecordBatch) error {
	parts, err := w.split.Split(b)
	if err != nil {
		return err
	}
	for _, p := range parts {
		for b := p.Batch; b.NumRows() > 0; {
			s, err := w.shard(ctx, p)
			if err != nil {
				return err
			}
			n := min(b.NumRows(), w.options.ShardRows-s.rows)
			if err := s.writer.Write(ctx, w.added(b.NewSlice(0, n))); err != nil {
				return err
			}
			if err := w.fit(ctx); err != nil {
				return err
			}
			s.rows += n
			b = b.NewSlice(n, b.NumRows())
			if s.rows == w.options.ShardRows {
				if err := w.end(ctx, p.Key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// writerMemory is what the stripes available may hold together: half of the memory of scans, which a scan may need beside them.
func (w *shardWriters) writerMemory() int64 {
	all := cmp.Or(w.table.cat.opts.MaxMemory, shardfmt.DefaultMaxMemory) / max(1, w.options.share)
	return max(minWriterMemory, all/2)
}

// minWriterMemory lets a table with many columns have stripes at all.
const minWriterMemory = 8 << 20

// fit ends stripes, the one that holds most first, until all of them fit into memory.
func (w *shardWriters) fit(ctx context.Context) error {
	for range w.open {
		var held int64
		var most *openShard
		for _, s := range w.open {
			held += s.writer.Held()
			if most == nil || s.writer.Held() > most.writer.Held() {
				most = s
			}
		}
		if held <= w.writerMemory() {
			return nil
		}
		if err := most.writer.EndStripe(ctx); err != nil {
			return err
		}
	}
	return nil
}

// shard gives the open shard of a partition.
func (w *shardWriters) shard(ctx context.Context, p rowsplit.Part) (*openShard, error) {
	if s := w.open[p.Key]; s != nil {
		return s, nil
	}
	if len(w.open) >= maxOpenShards {
		if err := w.end(ctx, w.oldest()); err != nil {
			return nil, err
		}
	}
	w.count++
	name := fmt.Sprintf("%s-%04d", w.job.Attempt(), w.count)
	writer, err := shardfmt.NewWriter(ctx, w.table.cat.client, w.table.VaultFolder()+name+".amudai.shard",
		w.schema, shardfmt.WriterOptions{
			Profile: w.options.Profile, Layout: w.options.Layout, StripeRows: w.options.StripeRows,
			StripeBytes: int(min(shardfmt.DefaultStripeBytes, w.writerMemory()/2)),
			DataPrefix:  "data/" + name + "/", CreationMin: w.created, CreationMax: w.createdLast,
			Properties: w.options.Properties, StandardProperties: w.options.StandardProperties,
			StripeProperties: w.options.StripeProperties, FieldProperties: w.options.FieldProperties,
			SparseUnions: w.options.SparseUnions, OpaqueDictionaries: w.options.OpaqueDictionaries,
			DictionaryEntries: w.options.DictionaryEntries, Encodings: w.options.Encodings,
			FieldIDs: w.fieldIDs, Bloom: w.options.Bloom, Pack: w.options.Pack, Indexes: w.options.Indexes,
			Choices: w.table.cat.choices.of(w.table),
		})
	if err != nil {
		return nil, err
	}
	s := &openShard{writer: writer, partition: p.Tuple, number: w.count}
	w.open[p.Key] = s
	return s, nil
}

func (w *shardWriters) oldest() string {
	var oldest string
	for key, s := range w.open {
		if o := w.open[oldest]; o == nil || s.number < o.number {
			oldest = key
		}
	}
	return oldest
}

// end finishes the shard of a partition but for its root, and describes it.
func (w *shardWriters) end(ctx context.Context, key string) error {
	s := w.open[key]
	delete(w.open, key)
	written, root, err := s.writer.CloseLater(ctx)
	if err != nil {
		return err
	}
	var e *manifest.Entry
	if root == nil {
		w.wrote(written)
		e, err = w.table.describeOwn(ctx, written.URL, written.Size)
	} else {
		e, err = w.table.DescribeRoot(ctx, written.URL, root.Bytes())
	}
	if err == nil && e.Records != s.rows {
		err = fmt.Errorf("%s: %d records were written, %d were read back", written.URL, s.rows, e.Records)
	}
	if err != nil {
		if root != nil {
			root.Abort(ctx)
		}
		return err
	}
	e.SpecID, e.Partition, e.SortOrderID = w.split.Spec.ID(), s.partition, w.order
	if root == nil {
		w.entries, w.partitions[e.Path] = append(w.entries, e), key
		return nil
	}
	if w.later = append(w.later, laterShard{root, e, key}); len(w.later) < maxLaterShards {
		return nil
	}
	if err := w.putRoots(ctx); err != nil {
		return err
	}
	return w.readRoots(ctx, w.table.cat.client)
}

// wrote notes the objects of a shard.
func (w *shardWriters) wrote(shard *shardfmt.Written) {
	for _, o := range shard.Objects {
		w.objects = append(w.objects, o.URL)
		if o.URL != shard.URL && !strings.HasSuffix(o.URL, ".amudai.stripe") {
			w.indexBytes += o.Size
		}
	}
}

// putRoots writes the roots of the shards that are finished but for them, all at the same time.
func (w *shardWriters) putRoots(ctx context.Context) error {
	later := w.later
	w.later = nil
	written := make([]*shardfmt.Written, len(later))
	errs := make([]error, len(later))
	failed := w.table.cat.client.Each(ctx, len(later), func(ctx context.Context, client *blobio.Client, i int) error {
		written[i], errs[i] = later[i].root.Put(ctx, client)
		return nil // the others are written all the same, or what is of them is removed
	})
	for i, l := range later {
		switch {
		case written[i] != nil:
			w.wrote(written[i])
			w.entries, w.partitions[l.entry.Path] = append(w.entries, l.entry), l.partition
			w.unread = append(w.unread, l.root)
		case errs[i] == nil: // it was not begun
			l.root.Abort(ctx)
		}
	}
	return errors.Join(append(errs, failed)...)
}

// readRoots reads back the roots that were written, all at the same time.
func (w *shardWriters) readRoots(ctx context.Context, client *blobio.Client) error {
	err := client.Each(ctx, len(w.unread), func(ctx context.Context, client *blobio.Client, i int) error {
		return w.unread[i].ReadBack(ctx, client)
	})
	if err == nil {
		w.unread = nil
	}
	return err
}

// close finishes all shards, in the order in which they were begun.
func (w *shardWriters) close(ctx context.Context) ([]*manifest.Entry, error) {
	if _, err := w.closeLater(ctx); err != nil {
		return nil, err
	}
	if err := w.putRoots(ctx); err != nil {
		return nil, err
	}
	if err := w.readRoots(ctx, w.table.cat.client); err != nil {
		return nil, err
	}
	w.sort()
	return w.entries, nil
}

// closeLater is close that leaves some roots to putRoots and readRoots. Nothing may depend on the entries before.
func (w *shardWriters) closeLater(ctx context.Context) ([]*manifest.Entry, error) {
	for len(w.open) > 0 {
		if err := w.end(ctx, w.oldest()); err != nil {
			return nil, err
		}
	}
	all := slices.Clone(w.entries)
	for _, l := range w.later {
		all = append(all, l.entry)
	}
	slices.SortFunc(all, byPath)
	return all, nil
}

func (w *shardWriters) sort() { slices.SortFunc(w.entries, byPath) }

func byPath(a, b *manifest.Entry) int { return strings.Compare(a.Path, b.Path) }

// abort lets go of the shards that are not finished.
func (w *shardWriters) abort(ctx context.Context) {
	for _, s := range w.open {
		s.writer.Abort(ctx)
	}
	for _, l := range w.later {
		l.root.Abort(ctx)
	}
	w.open, w.later = nil, nil
}

// mostChoiceCaches bounds the tables for which encodings are kept; one more, and those of all are forgotten.
const mostChoiceCaches = 16

// tableChoices are the encodings that small stripes of tables were given last by this process.
type tableChoices struct {
	mu     sync.Mutex
	tables map[string]*shardfmt.ChoiceCache
}

// of gives the cache of a table.
func (c *tableChoices) of(t *Table) *shardfmt.ChoiceCache {
	id := t.UUID()
	c.mu.Lock()
	defer c.mu.Unlock()
	cache := c.tables[id]
	if cache == nil {
		if c.tables == nil || len(c.tables) == mostChoiceCaches {
			c.tables = make(map[string]*shardfmt.ChoiceCache)
		}
		cache = new(shardfmt.ChoiceCache)
		c.tables[id] = cache
	}
	return cache
}
