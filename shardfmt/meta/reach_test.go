package meta

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// TestReachGoesThroughIndexes: the parts of an index of a stripe, and what its properties name, are what a root consists of;
// what collects files asks nothing else.
func TestReachGoesThroughIndexes(t *testing.T) {
	b := NewRootBuilder()
	whole := smallest(t)
	was, _, _, err := ParseTail(whole, int64(len(whole)))
	require.NoError(t, err)
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
	require.NoError(t, err)
	objects, artifacts, err := r.Reach(context.Background())
	require.NoError(t, err)
	require.Subset(t, objects, []string{testURL, "mem://b/t/old", "mem://b/t/first/more", "mem://b/t/second/more", "mem://b/t/shard/more"})
	require.ElementsMatch(t, artifacts, []string{"mem://b/t/first/terms", "mem://b/t/second/terms", "mem://b/t/shard/terms"})
}
