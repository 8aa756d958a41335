// Package merge makes one shard of many by concatenating their stripes, without reading or writing data.
//
// The new root lists the stripes of the inputs in order and refers to the data objects that are there. All
// metadata is copied, so that no root refers to another one's; a root that holds data too (single-file layout)
// is referred to as a data object. What is copied is laid out column by column:
//
//	magic
//	StripeFieldDescriptor     field 0 of all stripes in order, field 1 of all stripes …
//	DataRefArray              the field list of every stripe
//	StripeProperties, IndexCollection   of the stripes that have some
//	StripeList
//	UrlList                   every object that is referred to, each once
//	FieldDescriptor           of every field, folded from its stripes
//	DataRefArray              the shard's field list
//	ShardProperties
//	Schema
//	ShardDirectory, its length, magic
//
// so that one field of all stripes is one range, and all field lists are another. A property marks the layout.
//
// # What is called of the store
//
// One request per input whose root has at most 1 MiB and whose size is known; an unknown size costs one more
// to learn it. One object is written, under a name that must be free, and read back if need be. No range of data is
// requested.
//
// # What is refused
//
// Inputs whose schemas can't be brought together without touching data (ErrSchema); shards with deleted
// records together with shards without: one deleted record makes a whole root unreadable to the
// reference's Arrow reader; standard properties, whose meaning for a larger shard is not ours to decide;
// objects outside the new root's folder (urlresolve.ErrRefused) unless allowed; roots above the limits.
//
// docs/design/merge.md has the rules, and why they are what they are.
package merge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// The errors of inputs that can't be merged this way, tested by errors.Is.
var (
	// ErrSchema: a schema can't be mapped onto the target without rewriting data.
	ErrSchema = errors.New("schemas can't be merged by concatenation")
	// errDeleted: some inputs have deleted records, others have not.
	errDeleted = errors.New("shards with deleted records are merged only with each other")
	// errTags: the inputs have different drop-by tags.
	errTags = errors.New("shards of different drop-by tags are not merged")
	// errStandard: an input has standard properties.
	errStandard = errors.New("a shard with standard properties is not merged")
	// errLimit: the merged root would be too large in one way or another.
	errLimit = errors.New("the merged shard would be too large")
)

// Input is one shard to merge.
type Input struct {
	// URL of the root, canonical.
	URL string
	// Size of the root in bytes, 0 if not known.
	Size int64
	// FieldIDs are the Iceberg field ids of the shard's nodes in the order of their numbers, for a shard that
	// doesn't carry them as a property; nil otherwise.
	FieldIDs []int
	// Stripes are the numbers of those to take, rising; nil is all of them. Concat and Pack follow it.
	Stripes []int
}

// Limits of a merged root; zero means the default, a negative number no limit.
type Limits struct {
	// Objects that the root refers to, those of indexes left out: 900 by default. The reference keeps each of them open, and a process
	// usually may have 1,024 files open.
	Objects int
	// Stripes: 100,000 by default.
	Stripes int
	// RootBytes of metadata: 256 MiB by default. Everything is held in memory while merging.
	RootBytes int64
	// PropertyBytes of the shard's properties: 4 MiB by default.
	PropertyBytes int64
}

func (l Limits) withDefaults() Limits {
	if l.Objects == 0 {
		l.Objects = 900
	}
	if l.Stripes == 0 {
		l.Stripes = 100_000
	}
	if l.RootBytes == 0 {
		l.RootBytes = 256 << 20
	}
	if l.PropertyBytes == 0 {
		l.PropertyBytes = 4 << 20
	}
	return l
}

// Options of Concat. The zero value takes the schema from the inputs and allows nothing outside the folder of
// the new root.
type Options struct {
	// Schema of the merged shard, valid and numbered, with FieldIDs of its nodes. Fields that an input has beyond it are left
	// out. If nil, the schema is that of the input that has all fields of the others.
	Schema   *schema.Schema
	FieldIDs []int
	// AllowExternal lets the new root refer to objects outside its folder, by absolute URLs.
	AllowExternal bool
	// AllowStandard concatenates standard properties instead of refusing them. Inputs of different drop-by tags are refused still.
	AllowStandard bool
	// Policy determines what absolute references in the inputs may name.
	Policy urlresolve.Policy
	Limits Limits
	// Attempt marks the new root as written by this call; random if empty. See meta.PropertyAttempt.
	Attempt string
	// IndexPrefix is how the URLs of the objects of merged indexes start; beside the new root if empty. IndexMemory is about how many bytes
	// merging them holds of what it reads, 32 MiB if 0.
	IndexPrefix string
	IndexMemory int64
	// Concurrency is how many inputs are read at a time, 128 if zero: 1,000 inputs at 30 ms are a quarter of a second.
	Concurrency int
	// Progress, if not nil, is called after each input that was read. Calls may be concurrent.
	Progress func()
}

// Result reports what Concat wrote.
type Result struct {
	// URL and Size in bytes of the new root.
	URL  string
	Size int64
	// Inputs, Stripes, Records and Deleted records.
	Inputs, Stripes  int
	Records, Deleted uint64
	// RawDataSize in bytes, if any input told it.
	RawDataSize *uint64
	// CreationMin and CreationMax in ticks of 100 ns since year 1, if CreationKnown.
	CreationMin, CreationMax uint64
	CreationKnown            bool
	// Objects are the canonical URLs of all objects the shard consists of, the root left out.
	Objects []string
	// Root is the new root as it was written and read back.
	Root []byte
	// DroppedIndexes counts the indexes that hold positions of their old shard and were left out; JoinedIndexes are indexes of the new
	// shard as a whole that were made of those of all inputs, in objects of IndexBytes, whose URLs are Written.
	DroppedIndexes, JoinedIndexes int
	IndexBytes                    int64
	Written                       []string
	// Packed counts the objects whose data Pack copied into one, and BytesMoved the bytes of them.
	Packed     int
	BytesMoved int64
	// MarkerBytes is the size of the object of markers that DeleteRecords wrote, 0 if none was needed.
	MarkerBytes int64
}

// Concat writes the shard out, which must not exist yet, from the stripes of inputs in order. Its URL is
// canonical. If out exists, the error is blobio.ErrExists and nothing was changed; after any other error out
// may have been written whole, or not at all.
func Concat(ctx context.Context, sp *blobio.Client, out string, inputs []Input, o Options) (*Result, error) {
	m, root, err := concat(ctx, sp, out, inputs, o)
	if err != nil {
		return nil, err
	}
	return m.finish(ctx, root)
}

// finish writes the root of Concat.
func (m *merger) finish(ctx context.Context, root []byte) (*Result, error) {
	if err := write(ctx, m.store, m.out, root); err != nil {
		if errors.Is(err, blobio.ErrExists) { // else there may be a root that names them
			m.discard(ctx)
		}
		return nil, err
	}
	return m.result(root), nil
}

// concat makes the root of Concat, and writes nothing but merged indexes.
func concat(ctx context.Context, sp *blobio.Client, out string, inputs []Input, o Options) (*merger, []byte, error) {
	if sp == nil || len(inputs) == 0 {
		return nil, nil, errors.New("merge: no client, or no inputs")
	}
	o.Limits = o.Limits.withDefaults()
	if o.Attempt == "" {
		o.Attempt = newAttempt()
	}
	shards, err := openAll(ctx, sp, inputs, o)
	if err != nil {
		return nil, nil, err
	}
	t, err := newTarget(shards, o)
	if err != nil {
		return nil, nil, err
	}
	m := &merger{out: out, options: o, target: t, shards: shards, urls: newURLs(out, o), store: sp}
	root, err := m.build(ctx)
	if err != nil {
		m.discard(ctx)
	}
	return m, root, err
}

func newAttempt() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// write creates the root, and reads it back where the store does not prove that it has these bytes.
func write(ctx context.Context, sp *blobio.Client, out string, root []byte) error {
	if err := sp.PutReadBack(ctx, out, root); err != nil {
		return err
	}
	_, _, _, err := meta.ParseTail(root, int64(len(root)))
	return err
}

// limit is the error of a root that is too large.
func limit(what string, have, most int64) error {
	return fmt.Errorf("%w: %d %s, more than the limit of %d", errLimit, have, what, most)
}
