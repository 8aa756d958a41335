package merge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

const mixedSchema = "id: Int64, s: Struct<tag: String, n: Int32>, tags: List<String>, d: String, text: String"

// writeMixed writes a shard of random records with ids from first on, in stripes of 100 records. All columns have nulls but id; d has few
// values.
func writeMixed(t *testing.T, sp *blobio.Client, url string, first, rows int, layout shardfmt.Layout) merge.Input {
	t.Helper()
	s, err := schema.Parse(mixedSchema)
	if err != nil {
		t.Fatal(err)
	}
	var spec shardfmt.IndexSpec
	if err := spec.Set("text:text"); err != nil {
		t.Fatal(err)
	}
	w, err := shardfmt.NewWriter(context.Background(), sp, url, s, shardfmt.WriterOptions{
		FieldIDs: []int{1, 2, 3, 4, 5, 6, 7, 8}, StripeRows: 100, Layout: layout, Bloom: map[string]float64{"d": 0}, Indexes: []shardfmt.IndexSpec{spec},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(uint64(first), 5))
	text := func(b array.Builder, s string) {
		if r.IntN(9) == 0 {
			b.AppendNull()
		} else {
			b.(*array.LargeStringBuilder).Append(s)
		}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(first + i))
		st := b.Field(1).(*array.StructBuilder)
		st.Append(r.IntN(9) > 0)
		text(st.FieldBuilder(0), fmt.Sprintf("%x", r.Uint64()))
		st.FieldBuilder(1).(*array.Int32Builder).Append(r.Int32())
		tags := b.Field(2).(*array.LargeListBuilder)
		tags.Append(r.IntN(9) > 0)
		for range r.IntN(3) {
			text(tags.ValueBuilder(), fmt.Sprint(r.IntN(50)))
		}
		text(b.Field(3), "one of a few values "+fmt.Sprint(r.IntN(4)))
		text(b.Field(4), fmt.Sprintf("word%d of many %x", r.IntN(100), r.Uint32()))
	}
	if err := w.Write(context.Background(), b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	written, err := w.Close(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return merge.Input{URL: url, Size: written.Size}
}

// textOf are the rows of a shard.
func textOf(t *testing.T, sp *blobio.Client, url string) (rows []string) {
	t.Helper()
	_, batches := scan(t, sp, url)
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			var row []string
			for c := range int(b.NumCols()) {
				row = append(row, b.Column(c).ValueStr(i))
			}
			rows = append(rows, strings.Join(row, "|"))
		}
	}
	return rows
}

// rangeIndexesOf are the references to a field's range indexes.
func rangeIndexesOf(d *metapb.StripeFieldDescriptor) (refs []*metapb.DataRef) {
	for _, e := range d.Encodings {
		for _, b := range e.GetNative().GetBuffers() {
			if b.Kind == metapb.BufferKind_RANGE_INDEX {
				refs = append(refs, b.Buffer)
			}
		}
	}
	return refs
}

// references are the ranges that a shard refers to in one object, by stripe and top-level column, -1 for what is of none, -2 for range indexes; sums are by stripe how many
// checksums it has of the object.
func references(t *testing.T, sp *blobio.Client, url, object string) (refs map[[2]int][]blobio.Range, sums []int) {
	t.Helper()
	ctx := context.Background()
	root, err := meta.OpenRoot(ctx, sp, url, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sch, err := root.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stripes, err := root.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	refs, sums = map[[2]int][]blobio.Range{}, make([]int, len(stripes))
	note := func(stripe, column int, ref *metapb.DataRef) {
		if to, err := root.Resolve(url, ref.Url); err == nil && to == object {
			key := [2]int{stripe, column}
			refs[key] = append(refs[key], blobio.Range{Start: int64(ref.Range.Start), End: int64(ref.Range.End)})
		}
	}
	for i := range stripes {
		for c, top := range sch.Fields {
			var walk func(n *schema.Node)
			walk = func(n *schema.Node) {
				d, _, err := root.StripeField(ctx, i, n.ID)
				if err != nil {
					t.Fatal(err)
				}
				if d != nil {
					indexes := rangeIndexesOf(d)
					meta.VisitRefs(d, func(ref *metapb.DataRef) {
						column := c
						if slices.Contains(indexes, ref) {
							column = -2
						}
						note(i, column, ref)
					}, func(url string) string { return url })
				}
				for _, child := range n.Children {
					walk(child)
				}
			}
			walk(top)
		}
		indexes, err := root.StripeIndexes(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if indexes != nil {
			meta.VisitRefs(indexes, func(ref *metapb.DataRef) { note(i, -1, ref) }, func(url string) string { return url })
		}
		p, err := root.StripeProperties(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range meta.ObjectSums(meta.Properties(p.GetCustomProperties()).Get(meta.PropertyObjects)) {
			if to, err := root.Resolve(url, sum.Ref.Url); err == nil && to == object {
				sums[i]++
			}
		}
	}
	return refs, sums
}

// runs is how many ranges the references of a column in all stripes lie in, with nothing but padding between them.
func runs(refs map[[2]int][]blobio.Range, column int) (n int) {
	var all []blobio.Range
	for key, of := range refs {
		if key[1] == column {
			all = append(all, of...)
		}
	}
	slices.SortFunc(all, func(a, b blobio.Range) int { return int(a.Start - b.Start) })
	end := int64(-100)
	for _, r := range all {
		if r.Start >= end+64 {
			n++
		}
		end = max(end, r.End)
	}
	return n
}

// packAll packs into name, and expects the rows, every byte protected, and no padding or alignment lost.
func packAll(t *testing.T, sp *blobio.Client, at, name string, in []merge.Input, want []string) (*merge.Result, map[[2]int][]blobio.Range) {
	t.Helper()
	object := at + "data/" + name + ".amudai.stripe"
	res, err := merge.Pack(context.Background(), sp, at+name+".amudai.shard", in, merge.PackOptions{Object: object, All: true, Copy: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, sp, res.URL); !slices.Equal(got, want) {
		t.Fatalf("%s: %d rows, want %d, or others", name, len(got), len(want))
	}
	verified(t, sp, res.URL)
	refs, _ := references(t, sp, res.URL, object)
	for key, of := range refs {
		if of[0].Start%64 != 0 {
			t.Errorf("%s: a buffer of %v starts at %d", name, key, of[0].Start)
		}
	}
	return res, refs
}

// wantRuns expects the number of ranges of every column.
func wantRuns(t *testing.T, refs map[[2]int][]blobio.Range, want int) {
	t.Helper()
	for _, column := range []int{-2, 0, 1, 2, 3, 4} {
		if got := runs(refs, column); got != want {
			t.Errorf("column %d lies in %d ranges, want %d", column, got, want)
		}
	}
}

// wantWhole is wantRuns of stripes that are laid out whole, but for the column whose range indexes lie between its other buffers.
func wantWhole(t *testing.T, refs map[[2]int][]blobio.Range, want int) {
	t.Helper()
	for _, column := range []int{0, 2, 3, 4} {
		if got := runs(refs, column); got != want {
			t.Errorf("column %d lies in %d ranges, want %d", column, got, want)
		}
	}
}

// wantOrder expects the stripes of every column in order.
func wantOrder(t *testing.T, refs map[[2]int][]blobio.Range, stripes, columns int) {
	t.Helper()
	for column := range columns {
		for i := 1; i < stripes; i++ {
			if before, at := refs[[2]int{i - 1, column}][0].Start, refs[[2]int{i, column}][0].Start; at <= before {
				t.Errorf("column %d: stripe %d lies at %d, the one before at %d", column, i, at, before)
			}
		}
	}
}

// mixedInputs are two shards of six stripes, one in one object and one of an object a stripe.
func mixedInputs(t *testing.T, sp *blobio.Client, at string) (in []merge.Input, rows []string) {
	in = []merge.Input{
		writeMixed(t, sp, at+"a.amudai.shard", 0, 600, shardfmt.TwoLevel),
		writeMixed(t, sp, at+"b.amudai.shard", 600, 550, shardfmt.Single),
	}
	return in, append(textOf(t, sp, in[0].URL), textOf(t, sp, in[1].URL)...)
}

// TestPackColumnByColumn: one column of all stripes is one range, with a checksum for each stripe; each source byte is fetched once, by a request for
// each object.
func TestPackColumnByColumn(t *testing.T) {
	defer merge.SetLeastSpan(1)()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-columns/"
	in, rows := mixedInputs(t, sp, at)
	res, refs := packAll(t, sp, at, "p", in, rows)
	wantRuns(t, refs, 1)
	wantOrder(t, refs, 12, 5)
	if n := runs(refs, -1); n != 1 {
		t.Errorf("what is of no column lies in %d ranges", n)
	}
	object := at + "data/p.amudai.stripe"
	_, sums := references(t, sp, res.URL, object)
	if len(sums) != 12 || slices.Min(sums) < 5 {
		t.Errorf("checksums %v", sums)
	}
	start := sp.Counters()
	again, err := merge.Pack(context.Background(), sp, at+"again.amudai.shard", in, merge.PackOptions{Object: at + "data/again.amudai.stripe", All: true})
	if err != nil {
		t.Fatal(err)
	}
	used := sp.Counters().Sub(start)
	most := int64(len(in) + again.Packed + 1) // the new root is read back
	if used.Gets > most || used.Puts != 2 {
		t.Errorf("%d GETs and %d PUTs, want %d and 2", used.Gets, used.Puts, most)
	}
	one, other := readObject(t, sp, object), readObject(t, sp, at+"data/again.amudai.stripe")
	if !bytes.Equal(one, other) {
		t.Error("the layout depends on more than the inputs")
	}
	if moved := int64(len(one)); again.BytesMoved > moved || again.BytesMoved < moved*3/4 {
		t.Errorf("%d bytes moved, into an object of %d", again.BytesMoved, moved)
	}
}

func readObject(t *testing.T, sp *blobio.Client, url string) []byte {
	t.Helper()
	data, _, err := sp.ReadAll(context.Background(), url, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// replace gives an object other bytes.
func replace(t *testing.T, sp *blobio.Client, url string, data []byte) {
	t.Helper()
	if err := sp.Delete(context.Background(), url, ""); err != nil {
		t.Fatal(err)
	}
	if err := sp.Put(context.Background(), url, data); err != nil {
		t.Fatal(err)
	}
}

// TestPackedColumnsFlipped: a flipped byte anywhere in the packed object is found.
func TestPackedColumnsFlipped(t *testing.T) {
	defer merge.SetLeastSpan(1)()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-flips/"
	in := []merge.Input{writeMixed(t, sp, at+"a.amudai.shard", 0, 300, shardfmt.TwoLevel)}
	res, _ := packAll(t, sp, at, "p", in, textOf(t, sp, in[0].URL))
	object := at + "data/p.amudai.stripe"
	good := readObject(t, sp, object)
	for i := 0; i < len(good); i += 43 {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		replace(t, sp, object, bad)
		r, err := verify.Shard(context.Background(), sp, res.URL, verify.Options{})
		if err != nil || !slices.ContainsFunc(r.Errors, func(f corrupt.Finding) bool { return f.Object == object }) {
			t.Fatalf("byte %d of %d: %+v, %v", i, len(good), r.Errors, err)
		}
	}
}

// TestPackColumnsInGroups: what is held at a time is bounded; a column is one range of each group.
func TestPackColumnsInGroups(t *testing.T) {
	defer merge.SetLeastSpan(1)()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-groups/"
	in := []merge.Input{writeMixed(t, sp, at+"a.amudai.shard", 0, 900, shardfmt.TwoLevel)}
	_, refs := packAll(t, sp, at, "one", in, textOf(t, sp, in[0].URL))
	wantRuns(t, refs, 1)
	info, err := sp.Stat(context.Background(), at+"data/one.amudai.stripe")
	if err != nil {
		t.Fatal(err)
	}
	defer merge.SetGroupSize(info.Size * 4 / 9)() // nine stripes of about the same size, three or four each
	_, refs = packAll(t, sp, at, "three", in, textOf(t, sp, in[0].URL))
	wantRuns(t, refs, 3)
	wantOrder(t, refs, 9, 5)
}

// TestPackColumnsOfSeveralRequests: an object that takes more than one request is put together again.
func TestPackColumnsOfSeveralRequests(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-requests/"
	s, err := schema.Parse("a: String, b: String")
	if err != nil {
		t.Fatal(err)
	}
	w, err := shardfmt.NewWriter(context.Background(), sp, at+"a.amudai.shard", s, shardfmt.WriterOptions{Profile: shardfmt.Plain, StripeRows: 3})
	if err != nil {
		t.Fatal(err)
	}
	b, text := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s)), make([]byte, 1700<<10)
	long := rand.NewChaCha8([32]byte{1})
	for range 6 {
		for f := range 2 {
			_, _ = long.Read(text)
			b.Field(f).(*array.LargeStringBuilder).Append(fmt.Sprintf("%x", text[:len(text)/2]))
		}
	}
	if err := w.Write(context.Background(), b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	in := []merge.Input{{URL: at + "a.amudai.shard"}}
	_, refs := packAll(t, sp, at, "p", in, textOf(t, sp, in[0].URL))
	wantOrder(t, refs, 2, 2)
	if refs[[2]int{0, 1}][0].Start < refs[[2]int{1, 0}][0].Start {
		t.Error("the columns of a stripe lie side by side")
	}
}

// TestPackColumnsBesideLargeObjects: what the store may copy stays in its order, with its checksums, behind the columns of the rest.
func TestPackColumnsBesideLargeObjects(t *testing.T) {
	defer merge.SetLeastSpan(1)()
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-beside/"
	in, rows := mixedInputs(t, sp, at)
	info, err := sp.Stat(ctx, in[1].URL)
	if err != nil {
		t.Fatal(err)
	}
	defer merge.SetCopyLeast(info.Size / 2)()
	res, refs := packAll(t, sp, at, "p", in, rows)
	wantWhole(t, refs, 1+6)
	_, sums := references(t, sp, res.URL, at+"data/p.amudai.stripe")
	if slices.Min(sums[:6]) < 5 || !slices.Equal(sums[6:], []int{1, 1, 1, 1, 1, 1}) {
		t.Errorf("checksums %v", sums)
	}
}

// TestPackColumnsAgain: packed shards are packed again, also with others, concatenated, and lose records.
func TestPackColumnsAgain(t *testing.T) {
	defer merge.SetLeastSpan(1)()
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-again/"
	in, rows := mixedInputs(t, sp, at)
	first, _ := packAll(t, sp, at, "p1", in, rows)
	second, refs := packAll(t, sp, at, "p2", []merge.Input{{URL: first.URL}}, rows)
	wantRuns(t, refs, 1)
	if more := second.BytesMoved - first.BytesMoved; more < 0 || more > 12*2*64 { // padding between range indexes, which now lie side by side
		t.Errorf("%d bytes moved, then %d", first.BytesMoved, second.BytesMoved)
	}
	in = append(in[1:], merge.Input{URL: second.URL})
	mixed, refs := packAll(t, sp, at, "p3", in, append(slices.Clone(rows[600:]), rows...))
	wantRuns(t, refs, 1) // the stripes of both were in one object before, or in the same
	joined, err := merge.Concat(ctx, sp, at+"joined.amudai.shard", []merge.Input{{URL: first.URL}, {URL: mixed.URL}}, merge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verified(t, sp, joined.URL)
	if got := textOf(t, sp, joined.URL); len(got) != 2*len(rows)+550 {
		t.Errorf("%d rows", len(got))
	}
	gone, err := merge.DeleteRecords(ctx, sp, at+"gone.amudai.shard", merge.Input{URL: first.URL}, merge.Deletion{Stripes: map[int][]byte{2: bitmapOf(100, 5, 50)}, Object: at + "data/gone.amudai.stripe"})
	if err != nil {
		t.Fatal(err)
	}
	verified(t, sp, gone.URL)
	left := slices.Delete(slices.Delete(slices.Clone(rows), 250, 251), 205, 206)
	last, refs := packAll(t, sp, at, "p4", []merge.Input{{URL: gone.URL}}, left)
	if wantRuns(t, refs, 1); last.Packed != 2 {
		t.Errorf("%d objects packed", last.Packed)
	}
	between := []merge.Input{{URL: first.URL, Stripes: []int{0, 1, 2}}, in[0], {URL: first.URL, Stripes: []int{3, 4, 5}}}
	_, refs = packAll(t, sp, at, "between", between, slices.Concat(rows[:300], rows[600:], rows[300:600]))
	wantRuns(t, refs, 1)
	wantOrder(t, refs, 12, 5)
	some, err := merge.Concat(ctx, sp, at+"some.amudai.shard", []merge.Input{{URL: mixed.URL, Stripes: []int{1, 4, 7}}}, merge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	few, refs := packAll(t, sp, at, "p5", []merge.Input{{URL: some.URL}}, textOf(t, sp, some.URL))
	if wantRuns(t, refs, 1); few.BytesMoved > mixed.BytesMoved/4 {
		t.Errorf("%d bytes of 3 stripes moved, of 18 %d", few.BytesMoved, mixed.BytesMoved)
	}
}

// TestPackColumnsOfOneShardTwice: what two stripes refer to is copied once, and protected for both.
func TestPackColumnsOfOneShardTwice(t *testing.T) {
	defer merge.SetLeastSpan(1)()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-twice/"
	in, rows := mixedInputs(t, sp, at)
	once, _ := packAll(t, sp, at, "once", in, rows)
	res, refs := packAll(t, sp, at, "twice", append(in, in...), append(slices.Clone(rows), rows...))
	wantRuns(t, refs, 1)
	if res.BytesMoved != once.BytesMoved {
		t.Errorf("%d bytes moved, once %d", res.BytesMoved, once.BytesMoved)
	}
	_, sums := references(t, sp, res.URL, at+"data/twice.amudai.stripe")
	count := int64(0)
	for _, n := range sums {
		count += int64(n)
	}
	defer merge.SetLeastSpan(res.BytesMoved/count + 1)() // each half of the checksums alone would be worth it
	_, refs = packAll(t, sp, at, "stripes", append(in, in...), append(slices.Clone(rows), rows...))
	wantWhole(t, refs, 12)
	second, err := merge.Concat(context.Background(), sp, at+"second.amudai.shard", []merge.Input{{URL: res.URL, Stripes: []int{12, 13, 20}}}, merge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verified(t, sp, second.URL)
}

// TestPackColumnsHoldsBytesToTheirChecksums: damage in what is packed for the first and the second time is not copied, wherever it lies in a range
// that has a checksum.
func TestPackColumnsHoldsBytesToTheirChecksums(t *testing.T) {
	defer merge.SetLeastSpan(1)()
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-columns-damage/"
	in, rows := mixedInputs(t, sp, at)
	res, refs := packAll(t, sp, at, "p", in, rows)
	for _, c := range []struct {
		object string
		at     int64
		in     []merge.Input
	}{
		{in[1].URL, 200, in},
		{res.Objects[slices.Index(res.Objects, at+"data/p.amudai.stripe")], refs[[2]int{11, 2}][0].Start, []merge.Input{{URL: res.URL}}},
	} {
		good := readObject(t, sp, c.object)
		bad := bytes.Clone(good)
		bad[c.at] ^= 1
		replace(t, sp, c.object, bad)
		_, err := merge.Pack(ctx, sp, at+"bad.amudai.shard", c.in, merge.PackOptions{Object: at + "data/bad.amudai.stripe", All: true, Copy: true})
		if !errors.Is(err, corrupt.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(c.object)) {
			t.Errorf("%s: %v", c.object, err)
		}
		for _, url := range []string{at + "bad.amudai.shard", at + "data/bad.amudai.stripe"} {
			if _, err := sp.Stat(ctx, url); !errors.Is(err, blobio.ErrNotFound) {
				t.Errorf("%s: %v", url, err)
			}
		}
		replace(t, sp, c.object, good)
	}
}

// TestPackColumnsWithinLimits: stripe comes after stripe where the checksums of columns would make the root larger than it may be, or would be of too
// few bytes each.
func TestPackColumnsWithinLimits(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const at = "mem://pack-limits/"
	in, rows := mixedInputs(t, sp, at)
	small, refs := packAll(t, sp, at, "short", in, rows)
	wantWhole(t, refs, 12)
	defer merge.SetLeastSpan(1)()
	large, refs := packAll(t, sp, at, "columns", in, rows)
	wantRuns(t, refs, 1)
	if small.Size >= large.Size {
		t.Fatalf("a root of %d bytes by stripes, of %d by columns", small.Size, large.Size)
	}
	for i, c := range []struct {
		most int64
		want int
	}{{large.Size + 1000, 1}, {large.Size - 300, 12}, {(small.Size + large.Size) / 2, 12}, {small.Size - 1000, 0}} {
		most, want, name := c.most, c.want, fmt.Sprintf("limit%02d", i) // as long as the name above
		o := merge.PackOptions{Object: at + "data/" + name + ".amudai.stripe", All: true}
		o.Limits.RootBytes = most
		start := sp.Counters()
		res, err := merge.Pack(ctx, sp, at+name+".amudai.shard", in, o)
		if want == 0 {
			if used := sp.Counters().Sub(start); err == nil || !strings.Contains(err.Error(), "limit") || used.Puts != 0 {
				t.Errorf("%d: %v, %d PUTs", most, err, used.Puts)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		verified(t, sp, res.URL)
		refs, _ := references(t, sp, res.URL, at+"data/"+name+".amudai.stripe")
		if got := runs(refs, 0); got != want {
			t.Errorf("%d bytes: %d ranges, want %d", most, got, want)
		}
	}
}

// TestPackColumnsOfTheReference: stripes of the reference implementation have no checksums before and none after; all of its encodings are moved.
func TestPackColumnsOfTheReference(t *testing.T) {
	defer merge.SetLeastSpan(1)()
	ctx := context.Background()
	roots, err := filepath.Glob(filepath.Join(interop.Dir(t), "*", "shard.amudai.shard"))
	if err != nil {
		t.Fatal(err)
	}
	byColumns := 0
	for _, root := range roots {
		folder := filepath.Dir(root)
		name := filepath.Base(folder)
		sp := blobio.NewClient(blobio.ClientOptions{})
		defer sp.Close()
		at := "mem://pack-reference-" + name + "/"
		upload(t, sp, folder, at)
		in := merge.Input{URL: at + "shard.amudai.shard"}
		object := at + "data/p.amudai.stripe"
		res, err := merge.Pack(ctx, sp, at+"p.amudai.shard", []merge.Input{in, in}, merge.PackOptions{Object: object, All: true, Copy: true})
		if errors.Is(err, merge.ErrNothingToPack) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := &interop.Case{Name: name, Dir: folder}
		sch, batches := scan(t, sp, res.URL)
		compareRows(t, sch, batches, c, c)
		report, err := verify.Shard(ctx, sp, res.URL, verify.Options{})
		if err != nil || len(report.Errors) != 0 {
			t.Errorf("%s: %v, %v", name, report, err)
		}
		refs, sums := references(t, sp, res.URL, object)
		if slices.Max(sums) > 0 {
			t.Errorf("%s: checksums %v", name, sums)
		}
		if len(sums) > 4 && runs(refs, 0) == 1 && runs(refs, 1) == 1 {
			byColumns++
		}
	}
	if byColumns < 3 {
		t.Errorf("%d shards are laid out by columns", byColumns)
	}
}
