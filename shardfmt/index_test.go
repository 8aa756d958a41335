package shardfmt

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

const indexedSchema = "id: Int64, msg: String, s: Struct<tag: String, n: Int32>, u: UInt16, ok: Boolean, tags: List<String>, any: Dynamic, f: Float64, d: Decimal"

// indexedSpecs are indexes over all of it.
func indexedSpecs(t testing.TB) (out []IndexSpec) {
	for _, text := range []string{"text:msg:unicode-log", "text:s.tag:trivial", "hash:s.tag,s.n", "hash:u", "hash:ok", "text:tags", "hash:tags", "text:any", "layer:id", "layer:u", "layer:s.n", "layer:msg", "layer:f", "layer:ok", "layer:d", "layer:ok,f", "layer:u,msg", "layer:s.tag,d,id"} {
		var s IndexSpec
		if err := s.Set(text); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// oddLetters have cases, signs and marks that fold, map and separate in all the ways there are.
var oddLetters = []rune("aAbkK\u212AsSſßẞåÅ\u212B1½ि東-. ")

func oddText(r *rand.Rand, most int) string {
	var b strings.Builder
	for range r.IntN(most) {
		b.WriteRune(oddLetters[min(r.IntN(len(oddLetters)), r.IntN(len(oddLetters)))])
	}
	if r.IntN(30) == 0 {
		b.WriteString(strings.Repeat("k", 100+r.IntN(60)))
	}
	if r.IntN(10) == 0 {
		fmt.Fprintf(&b, " 10.0.%d.%d", r.IntN(2), r.IntN(2))
	}
	return b.String()
}

// writeIndexed writes a shard of random records, numbered from first on.
func writeIndexed(t testing.TB, client *blobio.Client, url string, r *rand.Rand, first, rows int, specs []IndexSpec) {
	t.Helper()
	ctx := context.Background()
	s, err := schema.Parse(indexedSchema)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(ctx, client, url, s, WriterOptions{StripeRows: 700, Indexes: specs})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for i := range rows {
		null := func() bool { return r.IntN(9) == 0 }
		b.Field(0).(*array.Int64Builder).Append(int64(first + i))
		appendText(b.Field(1), oddText(r, 12), null())
		st := b.Field(2).(*array.StructBuilder)
		st.Append(!null())
		appendText(st.FieldBuilder(0), oddText(r, 4), null())
		st.FieldBuilder(1).(*array.Int32Builder).Append(int32(r.IntN(40) - 20))
		b.Field(3).(*array.Uint16Builder).Append(uint16(r.IntN(500)))
		b.Field(4).(*array.BooleanBuilder).Append(r.IntN(300) == 0)
		tags := b.Field(5).(*array.LargeListBuilder)
		tags.Append(!null())
		for range r.IntN(3) {
			appendText(tags.ValueBuilder(), oddText(r, 4), null())
		}
		appendDynamic(b.Field(6), []byte(oddText(r, 6)), null())
		appendFloat(b.Field(7), oddFloat(r), null())
		appendDecimal(b.Field(8), oddDecimal(r), null())
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	if err := w.Write(ctx, batch); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func appendText(b array.Builder, s string, null bool) {
	if null {
		b.AppendNull()
	} else {
		b.(*array.LargeStringBuilder).Append(s)
	}
}

func appendFloat(b array.Builder, v float64, null bool) {
	if null {
		b.AppendNull()
	} else {
		b.(*array.Float64Builder).Append(v)
	}
}

func appendDecimal(b array.Builder, v decimal.Value, null bool) {
	if null {
		b.AppendNull()
		return
	}
	b.(*array.ExtensionBuilder).StorageBuilder().(*array.FixedSizeBinaryBuilder).Append(v[:])
}

// oddDecimal is one of few values in one of its forms, or none that is in order.
func oddDecimal(r *rand.Rand) decimal.Value {
	text := []string{"NaN", "Infinity", "-Infinity", "0", "-0.00", "1", "1.0", "10E-1", "-1.50", "-1.5", fmt.Sprintf("%d.%d", r.IntN(40)-20, r.IntN(100)), fmt.Sprintf("%dE%d", r.IntN(9), r.IntN(8)-4)}[r.IntN(12)]
	v, err := decimal.Parse(text)
	if err != nil {
		panic(err)
	}
	return v
}

func oddFloat(r *rand.Rand) float64 {
	return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), r.NormFloat64(), float64(r.IntN(5))}[r.IntN(7)]
}

// oddRange is a test of a range of a column with a layer index, or of both its ends.
func oddRange(r *rand.Rand) string {
	number := func(column string, from, to int) string {
		low := from + r.IntN(to-from)
		switch r.IntN(3) {
		case 0:
			return fmt.Sprintf("%s BETWEEN %d AND %d", column, low, low+r.IntN(20))
		case 1:
			return fmt.Sprintf("%s > %d.5 AND ok = false AND %s <= %d", column, low, column, low+r.IntN(20))
		}
		return column + " " + []string{"<", "<=", ">", ">="}[r.IntN(4)] + " " + fmt.Sprint(low)
	}
	letter := func() string { return fmt.Sprintf("'%c'", oddLetters[r.IntN(len(oddLetters))]) }
	switch r.IntN(12) {
	case 5:
		return number("d", -22, 22)
	case 6:
		return fmt.Sprintf("d IN (1.00, %d.50, -0)", r.IntN(9)-4)
	case 7:
		return fmt.Sprintf("u IN (%d, %d) AND msg >= %s", r.IntN(500), r.IntN(500), letter())
	case 8:
		return fmt.Sprintf("ok = true AND f %s %d", []string{"<", "<=", ">", ">=", "="}[r.IntN(5)], r.IntN(5))
	case 9:
		return fmt.Sprintf("s.tag = %s AND d = 1.0 AND id > %d", letter(), r.IntN(2500))
	case 10:
		return fmt.Sprintf("d <= %d AND s.tag IN (%s, %s) AND d > -3", r.IntN(20), letter(), letter())
	case 11:
		return fmt.Sprintf("f = %d AND u < %d", r.IntN(5), r.IntN(500))
	case 0:
		return number("id", -20, 2500)
	case 1:
		return number("u", -5, 70_000)
	case 2:
		return number("s.n", -25, 25)
	case 3:
		return number("f", -4, 6)
	case 4:
		return fmt.Sprintf("f IN (0, %d, -1.5) OR f < -1", r.IntN(5))
	}
	return fmt.Sprintf("msg >= '%c' AND msg < '%c'", oddLetters[r.IntN(len(oddLetters))], oddLetters[r.IntN(len(oddLetters))])
}

func appendDynamic(b array.Builder, value []byte, null bool) {
	if null {
		b.AppendNull()
		return
	}
	b.(*array.ExtensionBuilder).StorageBuilder().(*array.BinaryBuilder).Append(value)
}

// oddFilter is an expression of random tests.
func oddFilter(r *rand.Rand, depth int) string {
	quote := func(s string) string { return "'" + s + "'" }
	if depth > 0 {
		switch r.IntN(4) {
		case 0:
			return "(" + oddFilter(r, depth-1) + " AND " + oddFilter(r, depth-1) + ")"
		case 1:
			return "(" + oddFilter(r, depth-1) + " OR " + oddFilter(r, depth-1) + ")"
		case 2:
			return "NOT (" + oddFilter(r, depth-1) + ")"
		}
	}
	text := func() string {
		if s := oddText(r, 5); s != "" {
			return quote(s)
		}
		return quote("k")
	}
	switch r.IntN(14) {
	case 11, 12, 13:
		return oddRange(r)
	case 10:
		return "any HAS " + text()
	case 0, 1, 2:
		return "msg HAS " + text()
	case 3:
		return "msg HAS_CS " + text()
	case 4:
		return "msg HASPREFIX " + text()
	case 5:
		return "msg = " + text()
	case 6:
		return "s.tag IN (" + text() + ", " + text() + ")"
	case 7:
		return fmt.Sprintf("s.n = %d", r.IntN(50)-25)
	case 8:
		return fmt.Sprintf("u IN (%d, %d, 70000)", r.IntN(500), r.IntN(500))
	}
	return "ok = true"
}

// matching are the ids of the records that a filter selects.
func matching(t testing.TB, client *blobio.Client, url, where string, o ScanOptions) (ids []int64) {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, client, url, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	types, err := s.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	e, err := filter.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	if o.Filter, err = filter.Bind(e, types); err != nil {
		t.Fatal(err)
	}
	o.Columns = []string{"id"}
	for b, err := range s.Scan(ctx, o) {
		if err != nil {
			t.Fatal(where, err)
		}
		ids = append(ids, b.Column(0).(*array.Int64).Int64Values()...)
	}
	return ids
}

// deleteSome marks every seventh record of the first stripes deleted.
func deleteSome(t *testing.T, client *blobio.Client, in, out string) {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, client, in, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := merge.Deletion{Stripes: map[int][]byte{}, Object: out + ".marker.amudai.stripe"}
	for i, st := range s.Stripes()[:2] {
		bitmap := make([]byte, (st.Records+7)/8)
		for k := range int(st.Records) {
			if k%7 == i {
				bitmap[k/8] |= 1 << (k % 8)
			}
		}
		d.Stripes[i] = bitmap
	}
	if _, err := merge.DeleteRecords(ctx, client, out, merge.Input{URL: in}, d); err != nil {
		t.Fatal(err)
	}
}

// indexLater gives the stripes of a shard their indexes, in a root of its own.
func indexLater(t *testing.T, client *blobio.Client, in, out string, specs []IndexSpec) {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, client, in, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change := merge.IndexChange{Add: map[int][]index.Descriptor{}}
	for i := range s.Stripes() {
		if change.Add[i], _, err = s.BuildIndexes(ctx, client, i, specs, IndexBuild{Root: out, Prefix: fmt.Sprintf("%s.%d-", out, i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := merge.ReplaceIndexes(ctx, client, out, merge.Input{URL: in}, change); err != nil {
		t.Fatal(err)
	}
}

// candidatesHold checks that the rows which indexes leave, before they are widened to blocks, hold those that match. The
// records of a shard are numbered by id.
func candidatesHold(t *testing.T, client *blobio.Client, url, where string, ids []int64) {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, client, url, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	types, err := s.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	e, err := filter.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := filter.Bind(e, types)
	if err != nil {
		t.Fatal(err)
	}
	ask := s.asks(bound)
	for i, st := range s.Stripes() {
		if ask == nil {
			return
		}
		n, err := ask.candidates(ctx, client, i)
		if err != nil {
			t.Fatal(where, err)
		}
		for _, id := range ids {
			row := uint64(id) - st.Position
			if n.Known && uint64(id) >= st.Position && row < st.Records && !slices.ContainsFunc(n.Rows, func(r filter.Range) bool { return r.Start <= row && row < r.End }) {
				t.Fatalf("%s: %s: record %d matches, and the indexes of stripe %d rule it out", url, where, id, i)
			}
		}
	}
}

// A scan that asks indexes finds what a scan finds that reads all rows: over shards as written, merged, and with deleted
// records.
func TestIndexesLoseNoRow(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	r := rand.New(rand.NewPCG(7, 7))
	dir := "file://" + filepath.ToSlash(t.TempDir()) + "/" // a local store: indexes of such small stripes of others are not asked
	one, two, merged, deleted := dir+"1.amudai.shard", dir+"2.amudai.shard", dir+"m.amudai.shard", dir+"d.amudai.shard"
	plain, later := dir+"p.amudai.shard", dir+"l.amudai.shard"
	writeIndexed(t, client, one, r, 0, 1500, indexedSpecs(t))
	writeIndexed(t, client, two, r, 1500, 900, indexedSpecs(t)[:2])
	out, err := merge.Concat(ctx, client, merged, []merge.Input{{URL: one}, {URL: two}}, merge.Options{})
	if err != nil || out.DroppedIndexes != 0 {
		t.Fatal(out, err)
	}
	deleteSome(t, client, merged, deleted)
	writeIndexed(t, client, dir+"bare.amudai.shard", r, 0, 1500, nil)
	deleteSome(t, client, dir+"bare.amudai.shard", plain)
	indexLater(t, client, plain, later, indexedSpecs(t))
	for _, url := range []string{one, merged, deleted, later} {
		report, err := verify.Shard(ctx, client, url, verify.Options{})
		if err != nil || !report.OK {
			t.Fatalf("%s: %v %v", url, report, err)
		}
		used := 0
		for range 40 {
			where := oddFilter(r, 2)
			var stats ScanStats
			got := matching(t, client, url, where, ScanOptions{Stats: &stats})
			want := matching(t, client, url, where, ScanOptions{IgnoreIndexes: true})
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %s: %d rows, %d without indexes", url, where, len(got), len(want))
			}
			used += stats.StripesIndexed
			candidatesHold(t, client, url, where, want)
		}
		if used < 15 {
			t.Errorf("%s: indexes were asked for %d stripes only", url, used)
		}
	}
}

// logLines writes a shard of lines in one stripe, of which a few hold a word that no other has.
func logLines(t *testing.T, url string, lines int) {
	t.Helper()
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	s, err := schema.Parse("id: Int64, msg: String")
	if err != nil {
		t.Fatal(err)
	}
	var spec IndexSpec
	if err := spec.Set("text:msg:unicode-log"); err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(ctx, client, url, s, WriterOptions{Indexes: []IndexSpec{spec}})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range lines {
		rare := ""
		if i%(lines/3) == 7 {
			rare = " needle"
		}
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		appendText(b.Field(1), fmt.Sprintf("GET /items/%08x took %d ms from 10.0.%d.%d%s", r.Uint32(), r.IntN(400), r.IntN(99), r.IntN(99), rare), false)
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	if err := w.Write(ctx, batch); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// Looking a word up in a shard costs a handful of requests, wherever it stands; without an index the column is read, and that
// is reported.
func TestTermLookupRequests(t *testing.T) {
	const url = "mem://terms/lines.amudai.shard"
	logLines(t, url, 200_000)
	look := func(where string, o ScanOptions) (ids []int64, c blobio.Counters, stats ScanStats) {
		cold := blobio.NewClient(blobio.ClientOptions{})
		defer cold.Close()
		before := cold.Counters()
		o.Stats = &stats
		ids = matching(t, cold, url, where, o)
		return ids, cold.Counters().Sub(before), stats
	}
	for where, want := range map[string]int{"msg HAS 'needle'": 3, "msg HASPREFIX 'needl'": 3, "msg HAS 'nowhere'": 0, "msg HAS '3bf98798'": 1} {
		ids, c, stats := look(where, ScanOptions{})
		t.Logf("%s: %d GETs, %d bytes, depth %d", where, c.Gets, c.GetBytes, c.Depth)
		if len(ids) != want || c.Gets > 8 || c.Depth > 6 || c.GetBytes > 512<<10 || stats.StripesIndexed != 1 || stats.StripesUnindexed != 0 {
			t.Errorf("%s: %d rows, %+v, %+v", where, len(ids), c, stats)
		}
		all, plain, stats := look(where, ScanOptions{IgnoreIndexes: true})
		if !slices.Equal(ids, all) || plain.GetBytes < 2*c.GetBytes || stats.StripesIndexed != 0 {
			t.Errorf("%s: %d bytes with an index, %d without", where, c.GetBytes, plain.GetBytes)
		}
	}
}

// keyedRecords writes a shard of one stripe whose ids are all different and in no order.
func keyedRecords(t *testing.T, client *blobio.Client, url string, records int) {
	t.Helper()
	ctx := context.Background()
	s, err := schema.Parse("id: Int64, msg: String")
	if err != nil {
		t.Fatal(err)
	}
	var spec IndexSpec
	if err := spec.Set("layer:id"); err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(ctx, client, url, s, WriterOptions{Indexes: []IndexSpec{spec}})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for i, id := range rand.New(rand.NewPCG(5, 5)).Perm(records) {
		b.Field(0).(*array.Int64Builder).Append(int64(id) * 3)
		appendText(b.Field(1), fmt.Sprintf("record %d of many, with a text of its own %x", i, i*i), false)
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	if err := w.Write(ctx, batch); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// Looking keys up, and short ranges of them, costs a handful of requests and a small part of the bytes; a long range is read as
// without an index.
func TestKeyLookupRequests(t *testing.T) {
	url := "file://" + filepath.ToSlash(t.TempDir()) + "/keys.amudai.shard"
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	keyedRecords(t, client, url, 100_003)
	look := func(where string, o ScanOptions) (ids []int64, c blobio.Counters, stats ScanStats) {
		cold := blobio.NewClient(blobio.ClientOptions{})
		defer cold.Close()
		o.Stats = &stats
		ids = matching(t, cold, url, where, o)
		return ids, cold.Counters(), stats
	}
	for where, want := range map[string]struct{ rows, indexed int }{
		"id = 30003": {1, 1}, "id IN (3, 150000, 150001)": {2, 1}, "id BETWEEN 60000 AND 60006": {3, 1},
		"id > 30000 AND msg CONTAINS 'many' AND id < 30006": {1, 1}, "id < 0": {0, 0}, "id >= 150000": {50_003, 0},
	} {
		where += " AND msg CONTAINS 'record'" // whose column is a wide one
		ids, c, stats := look(where, ScanOptions{})
		all, plain, _ := look(where, ScanOptions{IgnoreIndexes: true})
		t.Logf("%s: %d GETs, %d bytes; %d bytes without the index", where, c.Gets, c.GetBytes, plain.GetBytes)
		if !slices.Equal(ids, all) || len(ids) != want.rows || stats.StripesIndexed != want.indexed {
			t.Errorf("%s: %d rows, %d without, %+v", where, len(ids), len(all), stats)
		}
		if want.indexed > 0 && (int(c.Gets) > 9+2*want.rows || 3*c.GetBytes > plain.GetBytes) {
			t.Errorf("%s: %+v; %d bytes without", where, c, plain.GetBytes)
		}
	}
}
