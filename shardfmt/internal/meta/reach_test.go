package meta

import (
	"context"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// TestReachGoesThroughIndexes: the parts of an index of a stripe, and what its properties name, are what a root consists of;
// what collects files asks nothing else.
func TestReachGoesThroughIndexes(t *testing.T) {
	b := NewRootBuilder()
	whole := smallest(t)
	was, _, _, err := ParseTail(whole, int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	RewriteURLs(was, func(string) string { return "old" })
	index := func(name string) *metapb.IndexCollection {
		return &metapb.IndexCollection{IndexDescriptors: []*metapb.IndexDescriptor{{IndexType: name,
			Properties: []*metapb.NameValuePair{Pair("more", &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: NewRef(name+"/more", 0, 9)}})},
			Artifacts:  []*metapb.IndexArtifact{{Name: "terms", DataRef: NewRef(name+"/terms", 0, 9)}}}}}
	}
	was.TotalRecordCount, was.DeletedRecordCount, was.StripeCount = 2, 0, 2
	was.StripeListRef = b.Add(&metapb.StripeList{Stripes: []*metapb.StripeDirectory{
		{TotalRecordCount: 1, IndexesRef: b.Add(index("first")), FieldListRef: b.Add(RefsOf(make([]*metapb.DataRef, 1)))},
		{TotalRecordCount: 1, ShardPosition: 1, IndexesRef: b.Add(index("second")), FieldListRef: b.Add(RefsOf(make([]*metapb.DataRef, 1)))},
	}})
	was.FieldListRef, was.UrlListRef = b.Add(RefsOf(make([]*metapb.DataRef, 1))), b.Add(&metapb.UrlList{})
	was.PropertiesRef, was.IndexesRef = nil, b.Add(index("shard"))
	root := b.Finish(was)
	st := &mapStore{objects: map[string][]byte{testURL: root, "mem://b/t/old": whole}}
	r, err := OpenRoot(context.Background(), st, testURL, Options{Size: int64(len(root))})
	if err != nil {
		t.Fatal(err)
	}
	objects, artifacts, err := r.Reach(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{testURL, "mem://b/t/old", "mem://b/t/first/more", "mem://b/t/second/more", "mem://b/t/shard/more"} {
		if !slices.Contains(objects, one) {
			t.Errorf("%v lacks %s", objects, one)
		}
	}
	if got, want := slices.Sorted(slices.Values([]string{"mem://b/t/first/terms", "mem://b/t/second/terms", "mem://b/t/shard/terms"})), slices.Sorted(slices.Values(artifacts)); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestReachEndsWhereSomethingIsUnreadable: what refers to objects is read whole or not at all. A part of the metadata that is gone, or a
// reference that is refused, is an error wherever it stands, never a shorter list of objects: what is not in it is deleted.
func TestReachEndsWhereSomethingIsUnreadable(t *testing.T) {
	gone := NewRef("gone", 0, 9)
	outside := []*metapb.NameValuePair{Pair("more", &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: NewRef("mem://elsewhere/x", 0, 9)}})}
	artifact := func(url string) *metapb.IndexCollection {
		return &metapb.IndexCollection{IndexDescriptors: []*metapb.IndexDescriptor{{IndexType: "hash",
			Artifacts: []*metapb.IndexArtifact{{Name: "none"}, {Name: "terms", DataRef: NewRef(url, 0, 9)}}}}}
	}
	whole := smallest(t)
	reach := func(change func(b *RootBuilder, dir *metapb.ShardDirectory, stripe *metapb.StripeDirectory)) ([]string, []string, error) {
		b := NewRootBuilder()
		dir, _, _, err := ParseTail(whole, int64(len(whole)))
		if err != nil {
			t.Fatal(err)
		}
		RewriteURLs(dir, func(string) string { return "old" })
		dir.TotalRecordCount, dir.DeletedRecordCount, dir.StripeCount = 1, 0, 1
		stripe := &metapb.StripeDirectory{TotalRecordCount: 1, FieldListRef: b.Add(RefsOf(make([]*metapb.DataRef, 1))),
			IndexesRef: b.Add(artifact("of-stripe")), PropertiesRef: b.Add(&metapb.StripeProperties{})}
		dir.FieldListRef, dir.UrlListRef = b.Add(RefsOf(make([]*metapb.DataRef, 1))), b.Add(&metapb.UrlList{Urls: []string{"listed"}})
		dir.PropertiesRef, dir.IndexesRef = b.Add(&metapb.ShardProperties{}), b.Add(artifact("of-shard"))
		change(b, dir, stripe)
		if dir.StripeListRef != gone {
			dir.StripeListRef = b.Add(&metapb.StripeList{Stripes: []*metapb.StripeDirectory{stripe}})
		}
		root := b.Finish(dir)
		st := &mapStore{objects: map[string][]byte{testURL: root, "mem://b/t/old": whole}}
		r, err := OpenRoot(context.Background(), st, testURL, Options{Size: int64(len(root))})
		if err != nil {
			t.Fatal(err)
		}
		return r.Reach(context.Background())
	}
	objects, artifacts, err := reach(func(*RootBuilder, *metapb.ShardDirectory, *metapb.StripeDirectory) {})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(slices.Values([]string{testURL, "mem://b/t/old", "mem://b/t/listed", "mem://b/t/of-stripe", "mem://b/t/of-shard"})), slices.Sorted(slices.Values(objects)); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got, want := slices.Sorted(slices.Values([]string{"mem://b/t/of-stripe", "mem://b/t/of-shard"})), slices.Sorted(slices.Values(artifacts)); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	// Descriptors of fields refer to buffers and indexes, those of the shard to indexes only.
	ofShard := func(b *RootBuilder, url string) *metapb.DataRef {
		return b.Add(RefsOf([]*metapb.DataRef{b.Add(&metapb.FieldDescriptor{PositionCount: 1, Indexes: artifact(url)})}))
	}
	ofStripe := func(b *RootBuilder, buffer, index string) *metapb.DataRef {
		native := &metapb.NativeDataEncoding{Buffers: []*metapb.EncodedBuffer{{Kind: metapb.BufferKind(1), Buffer: NewRef(buffer, 0, 9)}}}
		return b.Add(RefsOf([]*metapb.DataRef{b.Add(&metapb.StripeFieldDescriptor{
			Field:     &metapb.FieldDescriptor{PositionCount: 1, Indexes: artifact(index)},
			Encodings: []*metapb.DataEncoding{{Kind: &metapb.DataEncoding_Native{Native: native}}},
		})}))
	}
	objects, artifacts, err = reach(func(b *RootBuilder, dir *metapb.ShardDirectory, s *metapb.StripeDirectory) {
		dir.FieldListRef, s.FieldListRef = ofShard(b, "of-field"), ofStripe(b, "data", "of-stripe-field")
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(slices.Values([]string{testURL, "mem://b/t/old", "mem://b/t/listed", "mem://b/t/of-stripe", "mem://b/t/of-shard",
		"mem://b/t/of-field", "mem://b/t/data", "mem://b/t/of-stripe-field"})), slices.Sorted(slices.Values(objects)); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got, want := slices.Sorted(slices.Values([]string{"mem://b/t/of-stripe", "mem://b/t/of-shard", "mem://b/t/of-field", "mem://b/t/of-stripe-field"})), slices.Sorted(slices.Values(artifacts)); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for name, change := range map[string]func(b *RootBuilder, dir *metapb.ShardDirectory, stripe *metapb.StripeDirectory){
		"an index of a field": func(b *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) {
			dir.FieldListRef = ofShard(b, "mem://elsewhere/x")
		},
		"a buffer": func(b *RootBuilder, _ *metapb.ShardDirectory, s *metapb.StripeDirectory) {
			s.FieldListRef = ofStripe(b, "mem://elsewhere/x", "index")
		},
		"an index of a field of a stripe": func(b *RootBuilder, _ *metapb.ShardDirectory, s *metapb.StripeDirectory) {
			s.FieldListRef = ofStripe(b, "data", "mem://elsewhere/x")
		},
		"properties of the shard": func(_ *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) { dir.PropertiesRef = gone },
		"indexes of the shard":    func(_ *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) { dir.IndexesRef = gone },
		"list of objects":         func(_ *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) { dir.UrlListRef = gone },
		"fields of the shard":     func(_ *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) { dir.FieldListRef = gone },
		"stripes":                 func(_ *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) { dir.StripeListRef = gone },
		"properties of a stripe":  func(_ *RootBuilder, _ *metapb.ShardDirectory, s *metapb.StripeDirectory) { s.PropertiesRef = gone },
		"indexes of a stripe":     func(_ *RootBuilder, _ *metapb.ShardDirectory, s *metapb.StripeDirectory) { s.IndexesRef = gone },
		"fields of a stripe":      func(_ *RootBuilder, _ *metapb.ShardDirectory, s *metapb.StripeDirectory) { s.FieldListRef = gone },
		"a field of a stripe": func(b *RootBuilder, _ *metapb.ShardDirectory, s *metapb.StripeDirectory) {
			s.FieldListRef = b.Add(RefsOf([]*metapb.DataRef{gone}))
		},
		"a property of the shard": func(b *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) {
			dir.PropertiesRef = b.Add(&metapb.ShardProperties{CustomProperties: outside})
		},
		"a property of a stripe": func(b *RootBuilder, _ *metapb.ShardDirectory, s *metapb.StripeDirectory) {
			s.PropertiesRef = b.Add(&metapb.StripeProperties{CustomProperties: outside})
		},
		"an artifact of the shard": func(b *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) {
			dir.IndexesRef = b.Add(artifact("mem://elsewhere/x"))
		},
		"an artifact of a stripe": func(b *RootBuilder, _ *metapb.ShardDirectory, s *metapb.StripeDirectory) {
			s.IndexesRef = b.Add(artifact("mem://elsewhere/x"))
		},
		"an object that is listed": func(b *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory) {
			dir.UrlListRef = b.Add(&metapb.UrlList{Urls: []string{"listed", "mem://elsewhere/x"}})
		},
	} {
		objects, artifacts, err := reach(change)
		if err == nil {
			t.Fatalf("%v: no error", name)
		}
		if got := objects; len(got) != 0 {
			t.Fatalf("%v: got %v, want nothing", name, got)
		}
		if got := artifacts; len(got) != 0 {
			t.Fatalf("%v: got %v, want nothing", name, got)
		}
	}
}
