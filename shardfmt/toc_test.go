package shardfmt

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// records gives the rows of a shard.
func records(t *testing.T, sp *blobio.Client, url string) (out []arrow.RecordBatch) {
	t.Helper()
	s := open(t, sp, url, 0)
	for b, err := range s.Scan(t.Context(), ScanOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		b.Retain()
		out = append(out, b)
	}
	return out
}

// A root may hold the table of contents alone: all elements of the directory lie in another object, of any name. An index artifact is a
// shard of its own, whose relative URLs start at its own folder. Both are read, verified and reached, by what collects files, to the
// last object; a name with another suffix is a warning.
func TestRootOfTheTableOfContentsAlone(t *testing.T) {
	const folder = "mem://toc/t/"
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	put := func(url string, b []byte) {
		t.Helper()
		if err := sp.Put(t.Context(), url, b); err != nil {
			t.Fatal(err)
		}
	}
	written := writeSample(t, sp, folder+"elements.amudai.shard", 500, WriterOptions{Layout: TwoLevel, StripeRows: 200})
	artifact := writeSample(t, sp, folder+"idx/deep/part.amudai.shard", 300, WriterOptions{Layout: TwoLevel, StripeRows: 200})
	whole, _, err := sp.ReadAll(t.Context(), written.URL, 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	was, _, _, err := meta.ParseTail(whole, int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	const elements = "elements.parts" // the old root, by another name
	put(folder+elements, whole)
	// The list of objects and the indexes lie in a third object, which has no end of a shard.
	b := meta.NewRootBuilder()
	listed := []string{elements, "lists", "idx/deep/part.amudai.shard"}
	for _, o := range written.Objects {
		if o.URL != written.URL {
			listed = append(listed, strings.TrimPrefix(o.URL, folder))
		}
	}
	dir := proto.CloneOf(was)
	meta.RewriteURLs(dir, func(string) string { return elements })
	dir.UrlListRef = b.Add(&metapb.UrlList{Urls: listed})
	dir.IndexesRef = b.Add(&metapb.IndexCollection{IndexDescriptors: []*metapb.IndexDescriptor{{IndexType: "other-index",
		Artifacts: []*metapb.IndexArtifact{{Name: "part0", DataRef: meta.NewRef("idx/deep/part.amudai.shard", 0, uint64(artifact.Size)-8)}}}}})
	dir.UrlListRef.Url, dir.IndexesRef.Url = "lists", "lists"
	lists := b.Finish(&metapb.ShardDirectory{SchemaRef: meta.SelfRef(0, 8), FieldListRef: meta.SelfRef(0, 8), StripeListRef: meta.SelfRef(0, 8), UrlListRef: meta.SelfRef(0, 8)})
	put(folder+"lists", lists)
	const root = folder + "contents.toc"
	put(root, meta.NewRootBuilder().Finish(dir))
	if err := sp.Delete(t.Context(), written.URL, ""); err != nil {
		t.Fatal(err)
	}

	equalBatches(t, records(t, sp, root), sampleBatch(sampleSchema(t), 0, 500))
	want := []string{root, folder + elements, folder + "lists"}
	for _, o := range append(written.Objects, artifact.Objects...) {
		if o.URL != written.URL {
			want = append(want, o.URL)
		}
	}
	if !slices.Contains(want, artifact.URL) {
		want = append(want, artifact.URL)
	}
	r := check(t, sp, root)
	if !r.OK || r.Objects != len(want) {
		t.Errorf("%+v, want %q", r, want)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, root) && strings.Contains(w, ".amudai.shard") }) {
		t.Errorf("no warning of the name: %q", r.Warnings)
	}

	opened, err := meta.OpenRoot(t.Context(), sp, root, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, artifacts, err := opened.Reach(t.Context())
	if err != nil || len(artifacts) != 1 || artifacts[0] != artifact.URL {
		t.Fatalf("%v, %v", artifacts, err)
	}
	part, err := meta.OpenRoot(t.Context(), sp, artifacts[0], meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	more, _, err := part.Reach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := append(objects, more...)
	for _, url := range want {
		if !slices.Contains(all, url) {
			t.Errorf("%s is not reached: %q", url, all)
		}
	}
	// An object of the artifact that is gone, in the artifact's own folder, is found.
	for _, o := range artifact.Objects {
		if o.URL == artifact.URL {
			continue
		}
		if err := sp.Delete(t.Context(), o.URL, ""); err != nil {
			t.Fatal(err)
		}
		if r := check(t, sp, root); r.OK {
			t.Errorf("%s is gone: %+v", o.URL, r)
		}
		break
	}
}

// A schema is a list of fields. It holds the same records as a schema of one Struct with these fields that is never null: the columns are
// the same as the members, value by value.
func TestFieldsAreMembersOfOneStruct(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	fields := sampleSchema(t)
	writeSample(t, sp, "mem://fields/a/list.amudai.shard", 1000, WriterOptions{})
	one, err := schema.Parse(`{"fields":[{"name":"record","type":"Struct<` + fields.String() + `>"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	rows := sampleBatch(fields, 0, 1000)
	record := array.RecordToStructArray(rows)
	defer record.Release()
	const url = "mem://fields/a/struct.amudai.shard"
	w, err := NewWriter(t.Context(), sp, url, one, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), array.NewRecordBatch(arrowtype.Schema(one), []arrow.Array{record}, rows.NumRows())); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var members []arrow.RecordBatch
	for _, b := range records(t, sp, url) {
		s := b.Column(0).(*array.Struct)
		if s.NullN() > 0 {
			t.Fatal("a record is null")
		}
		members = append(members, array.RecordFromStructArray(s, rows.Schema()))
	}
	equalBatches(t, members, rows)
	equalBatches(t, records(t, sp, "mem://fields/a/list.amudai.shard"), rows)
}
