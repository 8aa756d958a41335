package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/check"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/verify"
	"github.com/shardcat/shardcat/urlresolve"
)

// Subset selects the shards of which every byte is read. The zero value is all of them.
type Subset struct {
	// Part of Parts: the shards whose names fall into one of so many equal groups, so that as many runs with
	// 1, 2, … read everything.
	Part, Parts int
	// Percent of the shards, chosen again by every run.
	Percent float64
}

// Set reads "1/10" or "5%", as a flag does; the empty string is everything.
func (s *Subset) Set(text string) (err error) {
	*s = Subset{}
	if text == "" {
		return nil
	}
	var of Subset
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		of.Percent, err = strconv.ParseFloat(percent, 64)
		if err == nil && of.Percent > 0 && of.Percent <= 100 {
			*s = of
			return nil
		}
	} else if part, parts, ok := strings.Cut(text, "/"); ok {
		var first, second error
		of.Part, first = strconv.Atoi(part)
		of.Parts, second = strconv.Atoi(parts)
		if errors.Join(first, second) == nil && of.Part >= 1 && of.Part <= of.Parts {
			*s = of
			return nil
		}
	}
	return fmt.Errorf("%w: %q: must be a fraction like 1/10 or a percentage like 5%%", ErrInvalid, text)
}

func (s Subset) has(path string) bool {
	switch {
	case s.Parts > 0:
		return int(xxh3.HashString(path)%uint64(s.Parts)) == s.Part-1
	case s.Percent > 0:
		return rand.Float64()*100 < s.Percent
	}
	return true
}

// VerifyOptions of Verify. The zero value reads everything.
type VerifyOptions struct {
	// Data selects the shards of which every byte is read. Of the others all metadata is, and each object they refer
	// to must exist and be long enough.
	Data Subset
	// Progress, if not nil, is called with the number of bytes that were checked since its last call.
	Progress func(bytes int64)
	// Expect, if not nil, is called once with the approximate number of bytes to check, before the first of them is.
	Expect func(bytes int64)
}

// VerifyResult is what a verification found.
type VerifyResult struct {
	Table string `json:"table"`
	OK    bool   `json:"ok"`
	// Snapshots, Manifests and Shards were looked at, each once; of ShardsRead every byte was read.
	Snapshots  int `json:"snapshots"`
	Manifests  int `json:"manifests"`
	Shards     int `json:"shards"`
	ShardsRead int `json:"shards_read"`
	// Objects of the shards, and Bytes of them that were checked; UnprotectedBytes of these could change without
	// anything noticing.
	Objects          int          `json:"objects"`
	Bytes            int64        `json:"bytes"`
	UnprotectedBytes int64        `json:"unprotected_bytes"`
	Errors           []TableFault `json:"errors"`
	Warnings         []string     `json:"warnings,omitempty"`
}

// FaultKind reports where a fault lies, and so what can repair it.
type FaultKind string

// The kinds of faults.
const (
	// faultMetadata: a summary, manifest list or manifest. faultEntry: an entry that states other things than its
	// shard does. faultLost: an object is missing or cut short. faultShard: bytes of a shard are damaged, or its
	// statistics lie. faultIndex: an object of a key index is missing or damaged, which costs requests and no row; dropping the index and adding
	// it again repairs it.
	faultMetadata FaultKind = "metadata"
	faultEntry    FaultKind = "entry"
	faultLost     FaultKind = "lost"
	faultShard    FaultKind = "shard"
	faultIndex    FaultKind = "index"
)

// TableFault is one thing that is wrong.
type TableFault struct {
	Kind FaultKind `json:"kind"`
	// Shard is the root of the shard, empty where the fault is none of a shard's.
	Shard string `json:"shard,omitempty"`
	corrupt.Finding
}

// Verify checks a table from its metadata down: every retained snapshot, its manifest list and manifests against
// what they count, every entry against its shard, and of every shard all metadata and that each range it refers to
// exists; with Data also every byte, and the key indexes. Faults are listed in the result; the error is for what could not be looked at.
func (t *Table) Verify(ctx context.Context, o VerifyOptions) (*VerifyResult, error) {
	t = t.uncached().within(ctx)
	v := &tableVerifier{table: t, client: t.cat.client.Uncached(), o: o, out: &VerifyResult{Table: t.name.String(), Errors: []TableFault{}}, shards: map[string]*manifest.Entry{}, manifests: map[string]check.Counts{}}
	if err := v.metadata(ctx); err != nil {
		return nil, err
	}
	if err := v.allShards(ctx); err != nil {
		return nil, err
	}
	if err := v.keyIndexes(ctx); err != nil {
		return nil, err
	}
	v.out.OK = len(v.out.Errors) == 0
	slices.SortStableFunc(v.out.Errors, func(a, b TableFault) int {
		return cmp.Or(cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Object, b.Object))
	})
	return v.out, nil
}

type tableVerifier struct {
	table *Table
	// client reads what the store holds, whatever a cache has of it.
	client *blobio.Client
	o      VerifyOptions
	// whole are the shards of which every byte is read, by path.
	whole map[string]bool

	mu     sync.Mutex
	out    *VerifyResult
	shards map[string]*manifest.Entry
	// manifests that were read, by path, with what is live in them.
	manifests map[string]check.Counts
}

// faultPlace is an object that may have a fault, the kind of fault that is one in it, and the shard that it belongs to, "" for none.
type faultPlace struct {
	kind          FaultKind
	shard, object string
}

func (v *tableVerifier) found(at faultPlace, offset int64, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.Errors = append(v.out.Errors, TableFault{Kind: at.kind, Shard: at.shard,
		Finding: corrupt.Finding{Object: at.object, Offset: offset, What: fmt.Sprintf(format, args...)}})
}

// metadata goes through the snapshots.
func (v *tableVerifier) metadata(ctx context.Context) error {
	if err := v.metadataFile(ctx); err != nil {
		return err
	}
	md := v.table.ice.Metadata()
	for _, s := range md.Snapshots() {
		if err := ctx.Err(); err != nil {
			return err
		}
		v.out.Snapshots++
		if err := v.snapshot(&s); err != nil {
			return err
		}
	}
	for name, ref := range md.Refs() {
		if md.SnapshotByID(ref.SnapshotID) == nil {
			v.found(faultPlace{kind: faultMetadata, object: v.table.MetadataLocation()}, -1, "ref %s refers to snapshot %d, which is missing", name, ref.SnapshotID)
		}
	}
	return nil
}

// metadataFile reads the table's metadata file, which the table may have been loaded without: from a cache, or by the answer of a REST
// catalog. That of a REST catalog is none of this process's business.
func (v *tableVerifier) metadataFile(ctx context.Context) error {
	if v.table.cat.sql == nil {
		return nil
	}
	at := v.table.MetadataLocation()
	text, _, err := v.table.cat.metadata.Uncached().ReadAll(ctx, icebergaccess.Canonical(at), icebergaccess.MaxFile)
	if err == nil {
		_, err = metadataio.Decompress(at, text, v.table.cat.opts.metadataMemory())
	}
	if err != nil {
		return v.unreadable(err, faultPlace{kind: faultMetadata, object: at})
	}
	return nil
}

// unreadable takes damage and absence for a finding, anything else is an error: what can't be looked at now may be
// whole.
func (v *tableVerifier) unreadable(err error, at faultPlace) error {
	var damage *corrupt.Error
	switch {
	case errors.As(err, &damage):
		at.object = cmp.Or(damage.Object, at.object)
		v.found(at, damage.Offset, "%s", damage.What)
		return nil
	case errors.Is(err, blobio.ErrNotFound):
		at.kind = lost(at.kind)
		v.found(at, -1, "the object is missing")
		return nil
	case errors.Is(err, blobio.ErrRange):
		at.kind = lost(at.kind)
		v.found(at, -1, "the object is shorter than its references")
		return nil
	}
	return err
}

// lost is the kind of a fault of an object that is not there, of which other faults are of a kind.
func lost(of FaultKind) FaultKind {
	if of == faultIndex {
		return of
	}
	return faultLost
}

// storeError reports an answer of the store from damage that a decoder found.
func storeError(err error) bool {
	var answer *blobio.Error
	if !errors.As(err, &answer) {
		return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	}
	return answer.Class != blobio.ErrNotFound
}

func (v *tableVerifier) snapshot(s *table.Snapshot) error {
	t := v.table
	manifests, err := t.manifests(s)
	if err != nil {
		if storeError(err) {
			return err
		}
		v.found(faultPlace{kind: faultMetadata, object: cmp.Or(s.ManifestList, t.MetadataLocation())}, -1, "the manifest list of snapshot %d can't be read: %v", s.SnapshotID, err)
		return nil
	}
	var live check.Counts
	whole := true
	for _, m := range manifests {
		c, ok, err := v.manifest(m)
		if err != nil {
			return err
		}
		whole = whole && ok
		live = live.Plus(c)
	}
	if whole {
		v.summary(s, live)
	}
	return nil
}

// summary reports where the totals of a snapshot are not those of its entries.
func (v *tableVerifier) summary(s *table.Snapshot, live check.Counts) {
	for _, fault := range check.SummaryFaults(s, live) {
		v.found(faultPlace{kind: faultMetadata, object: v.table.MetadataLocation()}, -1, "%s", fault)
	}
}

// manifest reads a manifest once and compares it with its line in the list.
func (v *tableVerifier) manifest(m iceberg.ManifestFile) (live check.Counts, ok bool, err error) {
	if c, known := v.manifests[m.FilePath()]; known {
		return c, true, nil
	}
	t := v.table
	v.out.Manifests++
	entries, err := manifest.Entries(t.fs, m)
	if err != nil {
		if storeError(err) {
			return live, false, err
		}
		v.found(faultPlace{kind: faultMetadata, object: m.FilePath()}, -1, "the manifest can't be read: %v", err)
		return live, false, nil
	}
	var added, existing, deleted int32
	for _, e := range entries {
		switch e.Status() {
		case iceberg.EntryStatusDELETED:
			deleted++
			continue
		case iceberg.EntryStatusADDED:
			added++
		default:
			existing++
		}
		entry := manifest.EntryOf(e)
		live.Add(entry)
		v.shards[entry.Path] = entry
	}
	if added != m.AddedDataFiles() || existing != m.ExistingDataFiles() || deleted != m.DeletedDataFiles() {
		v.found(faultPlace{kind: faultMetadata, object: m.FilePath()}, -1, "it has %d added, %d existing and %d deleted entries; the manifest list says %d, %d and %d",
			added, existing, deleted, m.AddedDataFiles(), m.ExistingDataFiles(), m.DeletedDataFiles())
	}
	v.manifests[m.FilePath()] = live
	return live, true, nil
}

// verifyShards is how many shards are looked at side by side.
const verifyShards = 8

// choose settles of which shards every byte is read.
func (v *tableVerifier) choose(paths []string) {
	bytes := int64(0)
	v.whole = map[string]bool{}
	for _, path := range paths {
		if e := v.shards[path]; e.IsShard() && v.o.Data.has(path) {
			v.whole[path] = true
			bytes += e.StoredBytes
		}
	}
	if v.o.Expect != nil {
		v.o.Expect(bytes)
	}
}

func (v *tableVerifier) allShards(ctx context.Context) error {
	paths := make([]string, 0, len(v.shards))
	for path := range v.shards {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	v.choose(paths)
	objects := check.NewSizes()
	return v.client.EachUpTo(ctx, verifyShards, len(paths), func(ctx context.Context, client *blobio.Client, i int) error {
		return v.shard(ctx, client, v.shards[paths[i]], objects)
	})
}

// shard compares an entry with its shard, and the shard against what it refers to.
func (v *tableVerifier) shard(ctx context.Context, client *blobio.Client, e *manifest.Entry, sizes *check.Sizes) error {
	v.count(func(out *VerifyResult) { out.Shards++ })
	if !e.IsShard() {
		v.count(func(out *VerifyResult) {
			out.Warnings = append(out.Warnings, e.Path+": of format "+e.Format+", not checked")
		})
		return nil
	}
	t := v.table
	allow, err := t.Allowed()
	if err != nil {
		return err
	}
	if err := check.Place(e.Path, allow); err != nil {
		v.found(faultPlace{faultEntry, e.Path, e.Path}, -1, "%v", err)
		return nil
	}
	intact, err := v.describe(ctx, client, e, allow, sizes)
	if err != nil || !intact || !v.whole[e.Path] {
		return err
	}
	r, err := verify.Shard(ctx, client, e.Path, verify.Options{Policy: urlresolve.Policy{Allow: allow},
		Progress: v.o.Progress, MaxMemory: t.cat.opts.MaxMemory})
	if err != nil {
		return v.unreadable(err, faultPlace{faultShard, e.Path, e.Path})
	}
	for _, f := range r.Errors {
		v.found(faultPlace{faultShard, e.Path, f.Object}, f.Offset, "%s", f.What)
	}
	v.count(func(out *VerifyResult) {
		out.ShardsRead++
		out.Bytes += r.Bytes
		out.UnprotectedBytes += r.UnprotectedBytes
		for _, w := range r.Warnings {
			out.Warnings = append(out.Warnings, e.Path+": "+w)
		}
	})
	return nil
}

func (v *tableVerifier) count(do func(*VerifyResult)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	do(v.out)
}

// describe reads the metadata of a shard, compares it with the entry and looks for the objects it refers to. intact
// means that reading the shard makes sense.
func (v *tableVerifier) describe(ctx context.Context, client *blobio.Client, e *manifest.Entry, allow []urlresolve.Prefix, sizes *check.Sizes) (intact bool, err error) {
	size, err := sizes.Of(ctx, client, e.Path)
	if err != nil {
		return false, err
	}
	if size < 0 {
		v.found(faultPlace{faultLost, e.Path, e.Path}, -1, "the root is missing")
		return false, nil
	}
	if size != e.RootBytes {
		v.found(faultPlace{faultEntry, e.Path, e.Path}, -1, "the root has %d bytes, its entry says %d", size, e.RootBytes)
	}
	is, objects, err := v.table.describeShard(ctx, client, e.Path, size, allow)
	if err != nil {
		return false, v.unreadable(err, faultPlace{faultShard, e.Path, e.Path})
	}
	for _, what := range check.EntryFaults(e, is) {
		v.found(faultPlace{faultEntry, e.Path, e.Path}, -1, "%s", what)
	}
	intact = true
	for _, url := range slices.Sorted(maps.Keys(objects)) {
		size, err := sizes.Of(ctx, client, url)
		switch {
		case err != nil:
			return false, err
		case size < 0:
			v.found(faultPlace{faultLost, e.Path, url}, -1, "an object that the shard refers to is missing")
			intact = false
		case size < objects[url]:
			v.found(faultPlace{faultLost, e.Path, url}, size, "the object ends here, but the shard refers to bytes up to %d", objects[url])
			intact = false
		}
	}
	v.count(func(out *VerifyResult) { out.Objects += 1 + len(objects) })
	return intact, nil
}

// describeShard makes the entry that a shard should have, and lists its objects with the least size of each.
func (t *Table) describeShard(ctx context.Context, client *blobio.Client, path string, size int64, allow []urlresolve.Prefix) (*manifest.Entry, map[string]int64, error) {
	shard, err := shardfmt.Open(ctx, client, path, shardfmt.OpenOptions{Size: size, Allow: allow})
	if err != nil {
		return nil, nil, err
	}
	defer shard.Close()
	ids, err := t.schema.MapShard(ctx, shard)
	if err != nil {
		return nil, nil, err
	}
	return manifest.Describe(ctx, shard, ids)
}
