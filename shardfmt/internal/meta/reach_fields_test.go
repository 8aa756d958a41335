package meta

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// failingStore fails to read one object, for no fault of what is stored.
type failingStore struct {
	*mapStore
	fails string
}

var errNoAnswer = blobio.NewError("read", "", blobio.ErrTransient, errors.New("no answer"))

func (s failingStore) ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	if url == s.fails {
		return blobio.Info{}, errNoAnswer
	}
	return s.mapStore.ReadRange(ctx, url, off, dst)
}

func (s failingStore) ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	if url == s.fails {
		return nil, errNoAnswer
	}
	return s.mapStore.ReadRanges(ctx, url, ranges)
}

// reachOf makes a shard of one stripe and of a field for each name, and lists its objects.
func reachOf(t *testing.T, fails string, names []string, others map[string][]byte, change func(b *RootBuilder, dir *metapb.ShardDirectory, stripe *metapb.StripeDirectory)) ([]string, []string, error) {
	t.Helper()
	text := ""
	for i, name := range names {
		text += []string{"", ", "}[min(i, 1)] + name + ": Int64"
	}
	sch, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	b := NewRootBuilder()
	dir := &metapb.ShardDirectory{TotalRecordCount: 1, StripeCount: 1, SchemaRef: b.AddPayload(schemawire.Marshal(sch)),
		FieldListRef: b.Add(RefsOf(make([]*metapb.DataRef, len(names)))), UrlListRef: b.Add(&metapb.UrlList{})}
	stripe := &metapb.StripeDirectory{TotalRecordCount: 1, FieldListRef: b.Add(RefsOf(make([]*metapb.DataRef, len(names))))}
	change(b, dir, stripe)
	dir.StripeListRef = b.Add(&metapb.StripeList{Stripes: []*metapb.StripeDirectory{stripe}})
	root := b.Finish(dir)
	st := &mapStore{objects: map[string][]byte{testURL: root}}
	for name, object := range others {
		st.objects["mem://b/t/"+name] = object
	}
	r, err := OpenRoot(context.Background(), failingStore{st, "mem://b/t/" + fails}, testURL, Options{Size: int64(len(root))})
	if err != nil {
		t.Fatal(err)
	}
	return r.Reach(context.Background())
}

// TestReachGoesThroughEveryField: a field without a descriptor, before others or for the stripe alone, is no reason to leave the others out; and
// the object that holds a descriptor belongs to the shard as what it refers to does.
func TestReachGoesThroughEveryField(t *testing.T) {
	index := func(name, kind string) *metapb.IndexCollection {
		return &metapb.IndexCollection{IndexDescriptors: []*metapb.IndexDescriptor{{IndexType: kind,
			Artifacts: []*metapb.IndexArtifact{{DataRef: NewRef(name, 0, 9)}}}}}
	}
	far := NewRootBuilder()
	shardField := far.Add(&metapb.FieldDescriptor{PositionCount: 1, Indexes: index("of-far", "hash")}).GetRange()
	stripeField := far.Add(&metapb.StripeFieldDescriptor{Field: &metapb.FieldDescriptor{PositionCount: 1, Indexes: index("of-far-stripe", "hash")}}).GetRange()
	object := far.Finish(&metapb.ShardDirectory{})
	objects, artifacts, err := reachOf(t, "", []string{"a", "b", "c", "d", "e"}, map[string][]byte{"far-1": object, "far-2": object}, func(b *RootBuilder, dir *metapb.ShardDirectory, s *metapb.StripeDirectory) {
		ofShard := func(name, kind string) *metapb.DataRef {
			return b.Add(&metapb.FieldDescriptor{PositionCount: 1, Indexes: index(name, kind)})
		}
		ofStripe := func(name, kind string) *metapb.DataRef {
			return b.Add(&metapb.StripeFieldDescriptor{Field: &metapb.FieldDescriptor{PositionCount: 1, Indexes: index(name, kind)}})
		}
		dir.FieldListRef = b.Add(RefsOf([]*metapb.DataRef{nil, ofShard("shard-1", "hash"), nil, ofShard("shard-2", TermFilterType), NewRef("far-1", shardField.Start, shardField.End)}))
		s.FieldListRef = b.Add(RefsOf([]*metapb.DataRef{nil, ofStripe("stripe-1", "hash"), nil, ofStripe("stripe-2", LayerIndexType), NewRef("far-2", stripeField.Start, stripeField.End)}))
		dir.IndexesRef = b.Add(index("", "hash")) // in the root itself
	})
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) (urls []string) {
		for _, name := range names {
			urls = append(urls, "mem://b/t/"+name)
		}
		slices.Sort(urls)
		return urls
	}
	slices.Sort(objects)
	slices.Sort(artifacts)
	if want := at("shard-1", "shard-2", "far-1", "of-far", "stripe-1", "stripe-2", "far-2", "of-far-stripe", testURL[len("mem://b/t/"):]); !slices.Equal(objects, want) {
		t.Errorf("objects %v, want %v", objects, want)
	}
	if want := at("shard-1", "of-far", "stripe-1", "of-far-stripe"); !slices.Equal(artifacts, want) {
		t.Errorf("artifacts %v, want %v", artifacts, want)
	}
}

// TestReachFollowsProperties: a value lies in another object and refers onwards from there; each object on the way belongs to the shard. One that
// can't be read now may refer to any object, one that is damaged to none. What checksums refer to is data and no value.
func TestReachFollowsProperties(t *testing.T) {
	value := func(name string, at *metapb.UInt64Range) *metapb.AnyValue {
		return &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: NewRef(name, at.Start, at.End)}}
	}
	text := NewRootBuilder()
	end := text.Add(Text("far")).GetRange()
	near := NewRootBuilder()
	onwards := near.Add(value("third", end)).GetRange()
	others := map[string][]byte{"first": near.Finish(&metapb.ShardDirectory{}), "second": near.Finish(&metapb.ShardDirectory{}),
		"third": text.Finish(&metapb.ShardDirectory{}), "damaged": make([]byte, 1<<10)}
	outside := NewRootBuilder()
	refused := outside.Add(value("mem://elsewhere/x", end)).GetRange()
	others["outside"] = outside.Finish(&metapb.ShardDirectory{})
	for name, change := range map[string]func(b *RootBuilder, dir *metapb.ShardDirectory, stripe *metapb.StripeDirectory, bag ...*metapb.NameValuePair){
		"shard": func(b *RootBuilder, dir *metapb.ShardDirectory, _ *metapb.StripeDirectory, bag ...*metapb.NameValuePair) {
			dir.PropertiesRef = b.Add(&metapb.ShardProperties{CustomProperties: bag})
		},
		"stripe": func(b *RootBuilder, _ *metapb.ShardDirectory, s *metapb.StripeDirectory, bag ...*metapb.NameValuePair) {
			s.PropertiesRef = b.Add(&metapb.StripeProperties{CustomProperties: bag})
		},
	} {
		for _, c := range []struct {
			bag   []*metapb.NameValuePair
			fails string
			third bool
			err   error
		}{
			{bag: []*metapb.NameValuePair{Pair("a", value("first", onwards))}, third: true},
			{bag: []*metapb.NameValuePair{Pair("a", Text("no reference")), Pair("b", value("first", onwards))}, third: true},
			{bag: []*metapb.NameValuePair{Pair("a", value("damaged", onwards)), Pair("b", value("first", onwards))}, third: true},
			{bag: []*metapb.NameValuePair{Pair("a", value("first", onwards))}, fails: "first", err: blobio.ErrTransient},
			{bag: []*metapb.NameValuePair{Pair("a", value("second", onwards)), Pair("b", value("first", onwards))}, fails: "second", err: blobio.ErrTransient},
			{bag: []*metapb.NameValuePair{Pair("a", value("outside", refused))}, err: urlresolve.ErrRefused},
			{bag: []*metapb.NameValuePair{Pair("a", ListOf(value("damaged", onwards), value("outside", refused)))}, err: urlresolve.ErrRefused},
			{bag: []*metapb.NameValuePair{Pair("a", ListOf(value("outside", refused), value("damaged", onwards)))}, err: urlresolve.ErrRefused},
			{bag: []*metapb.NameValuePair{Pair(PropertyObjects, value("first", onwards))}},
			{bag: []*metapb.NameValuePair{Pair(PropertyObjects, Null()), Pair("b", value("first", onwards))}, third: true},
		} {
			objects, _, err := reachOf(t, c.fails, []string{"a"}, others, func(b *RootBuilder, dir *metapb.ShardDirectory, s *metapb.StripeDirectory) {
				change(b, dir, s, c.bag...)
			})
			if !errors.Is(err, c.err) {
				t.Errorf("%s: %v: error %v, want %v", name, c.bag, err, c.err)
			}
			if got := slices.Contains(objects, "mem://b/t/third"); got != c.third {
				t.Errorf("%s: %v: third is %v, want %v: %v", name, c.bag, got, c.third, objects)
			}
		}
	}
}
