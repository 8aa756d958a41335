package merge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// indexedInputs are two shards with indexes of the whole shard in a bucket that a script breaks.
type indexedInputs struct {
	t      *testing.T
	root   string
	mem    *memblob.Bucket
	faulty *blobfake.Faulty
	// broken reads and writes by the script, sound does not.
	broken, sound *blobio.Client
	inputs        []merge.Input
	before        []string
}

// indexesJoined is how many indexes a merge of the inputs makes.
const indexesJoined = 3

func newIndexedInputs(t *testing.T, root string) *indexedInputs {
	t.Helper()
	mem := memblob.New()
	x := &indexedInputs{t: t, root: root, mem: mem, faulty: blobfake.NewFaulty(t, mem, "")}
	x.broken, x.sound = blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond}}), blobio.NewClient(blobio.ClientOptions{})
	for c, b := range map[*blobio.Client]blobio.Bucket{x.broken: x.faulty, x.sound: mem} {
		if err := c.MountBucket(root, b); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	for _, name := range []string{"a", "b"} {
		x.input(name, "hash@shard:n text@shard:s hash@shard-field:s")
	}
	x.before = x.list()
	return x
}

func (x *indexedInputs) input(name, indexes string) {
	x.t.Helper()
	ctx := context.Background()
	s, err := schema.Parse("n: Int64, s: String")
	if err != nil {
		x.t.Fatal(err)
	}
	var specs shardfmt.IndexSpecs
	if err := specs.Set(indexes); err != nil {
		x.t.Fatal(err)
	}
	url := x.root + name + ".amudai.shard"
	w, err := shardfmt.NewWriter(ctx, x.sound, url, s, shardfmt.WriterOptions{Indexes: specs})
	if err != nil {
		x.t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for i := range 4 {
		for f := range s.Fields {
			appendNumber(b.Field(f), s.Fields[f], i)
		}
	}
	if err := w.Write(ctx, b.NewRecordBatch()); err != nil {
		x.t.Fatal(err)
	}
	if _, err := w.Close(ctx); err != nil {
		x.t.Fatal(err)
	}
	x.inputs = append(x.inputs, merge.Input{URL: url})
}

func (x *indexedInputs) list() (urls []string) {
	x.t.Helper()
	for o, err := range x.sound.List(context.Background(), x.root) {
		if err != nil {
			x.t.Fatal(err)
		}
		urls = append(urls, o.URL)
	}
	return urls
}

// added are the objects that are new.
func (x *indexedInputs) added() []string {
	return slices.DeleteFunc(x.list(), func(url string) bool { return slices.Contains(x.before, url) })
}

// clear deletes what is new.
func (x *indexedInputs) clear() {
	x.t.Helper()
	for _, url := range x.added() {
		if err := x.sound.Delete(context.Background(), url, ""); err != nil {
			x.t.Fatal(err)
		}
	}
}

// whole checks that all that a root refers to is there, and returns what is new and not of it.
func (x *indexedInputs) whole(root string) []string {
	x.t.Helper()
	ctx := context.Background()
	r, err := meta.OpenRoot(ctx, x.sound, root, meta.Options{})
	if err != nil {
		x.t.Fatal(err)
	}
	objects, _, err := r.Reach(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, o := range objects {
		if _, err := x.sound.Stat(ctx, o); err != nil {
			x.t.Errorf("the root %s refers to an object that is missing: %v", root, err)
		}
	}
	return slices.DeleteFunc(x.added(), func(url string) bool { return url == root || slices.Contains(objects, url) })
}

// outcome checks what a merge left: with a root all that it refers to, without one nothing, unless it is the write of the root that failed.
func (x *indexedInputs) outcome(out, what string, err error) {
	x.t.Helper()
	added := x.added()
	switch {
	case slices.Contains(added, out):
		if left := x.whole(out); err == nil && len(left) > 0 {
			x.t.Errorf("%s: nothing refers to %q", what, left)
		}
	case err == nil:
		x.t.Errorf("%s: no root, and no error", what)
	case len(added) > 0 && !strings.Contains(err.Error(), strings.TrimPrefix(out, x.root)):
		x.t.Errorf("%s: %q is left: %v", what, added, err)
	}
}

// TestFaultsOfMergedIndexes: whichever request of a merge goes wrong, a root that is there has its indexes, and what was written for one that is not is
// deleted again.
func TestFaultsOfMergedIndexes(t *testing.T) {
	x, ctx := newIndexedInputs(t, "s3://merged-faults/"), context.Background()
	out := x.root + "m.amudai.shard"
	merged := func(script string) (requests int, err error) {
		x.faulty.Play(t, script)
		defer x.faulty.Play(t, "")
		_, err = merge.Concat(ctx, x.broken, out, x.inputs, merge.Options{IndexPrefix: x.root + "new-"})
		return x.faulty.Requests("any"), err
	}
	for _, how := range []string{"fail denied", "lost unknown", "lost denied", "flip 100"} {
		failed := 0
		for n := 1; ; n++ {
			requests, err := merged(fmt.Sprintf("any %d: %s", n, how))
			if err != nil {
				failed++
			}
			x.outcome(out, fmt.Sprintf("request %d: %s", n, how), err)
			x.clear()
			if requests < n {
				if n < 15 || failed == 0 && strings.HasSuffix(how, "denied") {
					t.Errorf("%s: %d requests, %d merges failed", how, n-1, failed)
				}
				break
			}
		}
	}
	// A write of which nobody knows whether it was done.
	for _, key := range []string{"new-", "m.amudai.shard"} {
		_, err := merged(fmt.Sprintf("put~%s *: lost unknown\nget~%s *: fail denied", key, key))
		if !errors.Is(err, blobio.ErrUnknown) {
			t.Errorf("%s: %v", key, err)
		}
		x.outcome(out, key, err)
		if there := slices.Contains(x.added(), out); there != (key != "new-") {
			t.Errorf("%s: the root is there: %v", key, there)
		}
		x.clear()
	}
}

// TestFlippedBitsLeaveNoIndexOut: whichever reads of a merge return a flipped bit, each in turn and each two in a row, the merged root has all indexes, or
// there is none. Where what is stored is damaged, the index is left out.
func TestFlippedBitsLeaveNoIndexOut(t *testing.T) {
	x, ctx := newIndexedInputs(t, "s3://merged-flips/"), context.Background()
	out := x.root + "m.amudai.shard"
	for _, more := range []int{0, 1} {
		done := 0
		for n := 1; ; n++ {
			x.faulty.Play(t, fmt.Sprintf("get %d-%d: flip 100", n, n+more))
			r, err := merge.Concat(ctx, x.broken, out, x.inputs, merge.Options{IndexPrefix: x.root + "new-"})
			requests := x.faulty.Requests("get")
			x.faulty.Play(t, "")
			if err == nil {
				done++
			}
			if err == nil && (r.DroppedIndexes != 0 || r.JoinedIndexes == 0) {
				t.Errorf("reads %d to %d: %d indexes were left out", n, n+more, r.DroppedIndexes)
			}
			x.clear()
			if requests < n {
				if err != nil || done < 5 {
					t.Errorf("%d merges were done: %v", done, err)
				}
				break
			}
		}
	}
	x.faulty.Play(t, "get~index *: flip 100")
	r, err := merge.Concat(ctx, x.broken, out, x.inputs, merge.Options{IndexPrefix: x.root + "new-"})
	x.faulty.Play(t, "")
	if err != nil || r.DroppedIndexes == 0 {
		t.Errorf("damaged indexes: %+v, %v", r, err)
	}
}

// TestLimitsOfMergedIndexes: where the root may not refer to so many objects, of which those of indexes don't count, or an index's objects can have no
// name, nothing is left.
func TestLimitsOfMergedIndexes(t *testing.T) {
	x, ctx := newIndexedInputs(t, "mem://merged-limits/"), context.Background()
	out := x.root + "m.amudai.shard"
	wrote := 0
	for most := 1; ; most++ {
		puts := x.sound.Counters().Puts
		_, err := merge.Concat(ctx, x.sound, out, x.inputs, merge.Options{Limits: merge.Limits{Objects: most}})
		if err == nil {
			if most != len(x.inputs) {
				t.Errorf("%d inputs may be merged into a shard of at most %d objects", len(x.inputs), most)
			}
			break
		}
		if !strings.Contains(err.Error(), "objects") || len(x.added()) > 0 {
			t.Errorf("at most %d objects: %q is left: %v", most, x.added(), err)
		}
		if x.sound.Counters().Puts > puts {
			wrote++
		}
	}
	if wrote != len(x.inputs)-1 {
		t.Errorf("%d merges failed with an index written", wrote)
	}
	x.clear()
	_, err := merge.Concat(ctx, x.sound, x.root+"odd:name.amudai.shard", x.inputs, merge.Options{})
	if !errors.Is(err, urlresolve.ErrRefused) || len(x.added()) > 0 {
		t.Errorf("%q is left: %v", x.added(), err)
	}
}

// TestDamagedIndexesOfInputs: an index that can't be read costs the index and no row; what was written of the new one is deleted, and counted nowhere.
func TestDamagedIndexesOfInputs(t *testing.T) {
	x, ctx := newIndexedInputs(t, "mem://merged-damage/"), context.Background()
	out := x.root + "m.amudai.shard"
	dropped, joined := 0, 0
	for _, url := range x.before {
		if strings.Contains(url, ".amudai.stripe") || slices.ContainsFunc(x.inputs, func(in merge.Input) bool { return in.URL == url }) {
			continue
		}
		key := strings.TrimPrefix(url, x.root)
		sound, _, err := x.sound.ReadAll(ctx, url, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(sound); at += 1 + len(sound)/60 {
			harmed := slices.Clone(sound)
			harmed[at] ^= 0x41
			x.mem.Replace(key, harmed)
			res, err := merge.Concat(ctx, x.sound, out, x.inputs, merge.Options{})
			if err != nil {
				t.Errorf("%s at %d: %v", key, at, err)
				continue
			}
			if res.JoinedIndexes < indexesJoined {
				dropped++
			}
			joined += res.JoinedIndexes
			if left := x.whole(out); len(left) > 0 || res.JoinedIndexes+res.DroppedIndexes/2 != indexesJoined {
				t.Errorf("%s at %d: nothing refers to %q; %d indexes merged, %d dropped", key, at, left, res.JoinedIndexes, res.DroppedIndexes)
			}
			bytes := int64(0)
			for _, url := range res.Written {
				info, err := x.sound.Stat(ctx, url)
				if err != nil {
					t.Errorf("%s at %d: %v", key, at, err)
				}
				bytes += info.Size
			}
			if bytes != res.IndexBytes {
				t.Errorf("%s at %d: %d bytes of indexes, reported %d", key, at, bytes, res.IndexBytes)
			}
			x.clear()
		}
		x.mem.Replace(key, sound)
	}
	if dropped < 20 || joined == 0 {
		t.Errorf("%d merges dropped an index, %d indexes were merged", dropped, joined)
	}
}

// TestDamagedRootsOfInputs: a byte of an input's root that can't be right ends a merge with an error, and with nothing written.
func TestDamagedRootsOfInputs(t *testing.T) {
	x, ctx := newIndexedInputs(t, "mem://merged-roots/"), context.Background()
	out := x.root + "m.amudai.shard"
	found := 0
	const key = "b.amudai.shard"
	sound, _, err := x.sound.ReadAll(ctx, x.root+key, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for at := range sound {
		harmed := slices.Clone(sound)
		harmed[at] ^= 0x41
		x.mem.Replace(key, harmed)
		_, err := merge.Concat(ctx, x.sound, out, x.inputs, merge.Options{})
		if err == nil {
			if left := x.whole(out); len(left) > 0 {
				t.Errorf("at %d: nothing refers to %q", at, left)
			}
			x.clear()
			continue
		}
		if errors.Is(err, corrupt.ErrCorrupt) {
			found++
		}
		if left := x.added(); len(left) > 0 {
			t.Errorf("at %d: %q is left: %v", at, left, err)
			x.clear()
		}
		if _, err := merge.ReplaceIndexes(ctx, x.sound, out, x.inputs[1], merge.IndexChange{}); err == nil {
			x.whole(out)
			x.clear()
		}
	}
	if found < len(sound)/2 {
		t.Errorf("%d of %d bytes were found", found, len(sound))
	}
}
