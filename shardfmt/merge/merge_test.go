package merge

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// spec describes a shard to make for a test. Its data objects are not there: a merge must not look at them.
type spec struct {
	schema   string
	ids      []int
	stripes  []uint64
	deleted  uint64
	single   bool
	standard bool
	creation [2]uint64
	custom   meta.Properties
	// data is how many bytes of buffers stand before the metadata.
	data int
	// change edits the parts before they are laid out.
	change func(p *parts)
}

// parts of a shard that is being made.
type parts struct {
	properties *metapb.ShardProperties
	stripes    []*metapb.StripeDirectory
	fields     [][]*metapb.StripeFieldDescriptor
	indexes    []*metapb.IndexCollection
	// ofShard and ofField are the indexes of the shard, and of its first field as a whole.
	ofShard, ofField *metapb.IndexCollection
	bags             []*metapb.StripeProperties
	directory        *metapb.ShardDirectory
	urls             []string
}

var spaces atomic.Int64

// newSpace is an empty store of the test.
func newSpace(t testing.TB) (*blobio.Client, string) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	return sp, fmt.Sprintf("mem://merge-%d/", spaces.Add(1))
}

// make writes the root of a shard and returns it as an input.
func (s spec) make(t testing.TB, sp *blobio.Client, url string) Input {
	t.Helper()
	sch, err := schema.Parse(s.schema)
	if err != nil {
		t.Fatal(err)
	}
	p := &parts{properties: &metapb.ShardProperties{CustomProperties: s.custom}, directory: &metapb.ShardDirectory{}}
	if s.creation[1] != 0 {
		meta.SetCreation(p.properties, s.creation[0], s.creation[1])
	}
	if s.ids != nil {
		bag := meta.Properties(p.properties.CustomProperties)
		bag.Set(meta.PropertyFieldIDs, meta.Text(meta.FormatFieldIDs(s.ids)))
		p.properties.CustomProperties = bag
	}
	if s.standard {
		p.properties.StandardProperties = append(p.properties.StandardProperties, meta.Pair("drop-by", meta.Text("x")))
	}
	position := uint64(0)
	for i, n := range s.stripes {
		dir := &metapb.StripeDirectory{TotalRecordCount: n, ShardPosition: position, RawDataSize: proto.Uint64(8 * n)}
		if i == 0 {
			dir.DeletedRecordCount = s.deleted
		}
		position += n
		p.stripes = append(p.stripes, dir)
		p.fields = append(p.fields, s.descriptors(sch, i, n))
	}
	if s.change != nil {
		s.change(p)
	}
	root := layOut(p, sch, s.data)
	if err := sp.Put(context.Background(), url, root); err != nil {
		t.Fatal(err)
	}
	return Input{URL: url, Size: int64(len(root))}
}

// descriptors of all nodes in stripe i, with a buffer each.
func (s spec) descriptors(sch *schema.Schema, i int, n uint64) []*metapb.StripeFieldDescriptor {
	url := fmt.Sprintf("data/%d.amudai.stripe", i)
	if s.single {
		url = ""
	}
	var all []*metapb.StripeFieldDescriptor
	sch.Walk(func(_ string, node *schema.Node) bool {
		start := uint64(64 * (len(all) + 1))
		d := &metapb.StripeFieldDescriptor{
			Field: &metapb.FieldDescriptor{PositionCount: n, NullCount: proto.Uint64(1), RawDataSize: proto.Uint64(8 * n),
				RangeStats: &metapb.RangeStats{MinValue: meta.Int(int64(i)), MinInclusive: true, MaxValue: meta.Int(int64(n)), MaxInclusive: true}},
			Encodings: []*metapb.DataEncoding{{Kind: &metapb.DataEncoding_Native{Native: &metapb.NativeDataEncoding{
				Buffers: []*metapb.EncodedBuffer{{Buffer: meta.NewRef(url, start, start+64), BlockMap: meta.SelfRef(start+16, start+64)}},
			}}}},
		}
		all = append(all, d)
		return true
	})
	return all
}

// layOut writes the root as the reference does: stripe by stripe.
func layOut(p *parts, sch *schema.Schema, data int) []byte {
	head := append(meta.Magic[:len(meta.Magic):len(meta.Magic)], make([]byte, data)...)
	b := meta.NewRootBuilderAt(uint64(len(head)))
	fold := make([]*metapb.FieldDescriptor, sch.Count)
	for i, dir := range p.stripes {
		refs := make([]*metapb.DataRef, len(p.fields[i]))
		for id, f := range p.fields[i] {
			if f != nil {
				refs[id] = b.Add(f)
				fold[id] = stats.Fold(fold[id], f.Field)
			}
		}
		dir.FieldListRef = b.Add(meta.RefsOf(refs))
		if i < len(p.indexes) && p.indexes[i] != nil {
			dir.IndexesRef = b.Add(p.indexes[i])
		}
		if i < len(p.bags) && p.bags[i] != nil {
			dir.PropertiesRef = b.Add(p.bags[i])
		}
		p.directory.TotalRecordCount += dir.TotalRecordCount
		p.directory.DeletedRecordCount += dir.DeletedRecordCount
	}
	if p.ofShard != nil {
		p.directory.IndexesRef = b.Add(p.ofShard)
	}
	if p.ofField != nil {
		fold[0].Indexes = p.ofField
	}
	p.directory.StripeCount = uint64(len(p.stripes))
	p.directory.StripeListRef = b.Add(&metapb.StripeList{Stripes: p.stripes})
	p.directory.UrlListRef = b.Add(&metapb.UrlList{Urls: p.urls})
	refs := make([]*metapb.DataRef, sch.Count)
	for id, f := range fold {
		if f != nil {
			refs[id] = b.Add(f)
		}
	}
	p.directory.FieldListRef = b.Add(meta.RefsOf(refs))
	p.directory.PropertiesRef = b.Add(p.properties)
	p.directory.SchemaRef = b.AddPayload(schemawire.Marshal(sch))
	return append(head, b.Finish(p.directory)...)
}

func open(t testing.TB, sp *blobio.Client, url string) *meta.Root {
	r, err := meta.OpenRoot(context.Background(), sp, url, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConcat(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	a := spec{schema: "a: Int64, b: String", stripes: []uint64{10, 20}, creation: [2]uint64{5, 9}}.make(t, sp, at+"x/a.amudai.shard")
	b := spec{schema: "a: Int64, b: String", stripes: []uint64{0, 3}, single: true, creation: [2]uint64{2, 7}}.make(t, sp, at+"b.amudai.shard")
	res, err := Concat(ctx, sp, at+"out.amudai.shard", []Input{a, b}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := uint64(33), res.Records; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := 4, res.Stripes; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := ([]string{at + "x/data/0.amudai.stripe", at + "x/data/1.amudai.stripe", at + "b.amudai.shard"}), res.Objects; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if !(res.CreationKnown) {
		t.Fatalf("res.CreationKnown is false")
	}
	if want, got := ([2]uint64{2, 9}), ([2]uint64{res.CreationMin, res.CreationMax}); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := uint64(8*33), *res.RawDataSize; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	r := open(t, sp, res.URL)
	if want, got := res.Size, r.Size(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	stripes, err := r.Stripes(ctx) // checks positions and sums
	if err != nil {
		t.Fatal(err)
	}
	if want, got := ([]uint64{0, 10, 30, 30}), ([]uint64{stripes[0].ShardPosition, stripes[1].ShardPosition, stripes[2].ShardPosition, stripes[3].ShardPosition}); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	urls, err := r.URLList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := ([]string{"x/data/0.amudai.stripe", "x/data/1.amudai.stripe", "b.amudai.shard"}), urls.Urls; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i, want := range []string{"x/data/0.amudai.stripe", "x/data/1.amudai.stripe", "b.amudai.shard", "b.amudai.shard"} {
		d, anchor, err := r.StripeField(ctx, i, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := res.URL, anchor; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		buffer := d.Encodings[0].GetNative().Buffers[0]
		if want, got := want, buffer.Buffer.Url; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if want, got := want, buffer.BlockMap.Url; !reflect.DeepEqual(got, want) {
			t.Fatalf("a block map lies in the object of its buffer: got %v, want %v", got, want)
		}
	}
	f, err := r.ShardField(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := uint64(33), f.PositionCount; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := int64(20), f.RangeStats.MaxValue.GetI64Value(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestColumnsLieTogether: the descriptors of one field in all stripes are one range, in stripe order.
func TestColumnsLieTogether(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	var in []Input
	for i := range 3 {
		in = append(in, spec{schema: "a: Int64, s: Struct<x: Int8, y: String>", stripes: []uint64{1, 2}}.make(t, sp, fmt.Sprintf("%s%d.amudai.shard", at, i)))
	}
	res, err := Concat(ctx, sp, at+"out.amudai.shard", in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, sp, res.URL)
	end := int64(8)
	for id := range 4 {
		for i := range 6 {
			list, _, err := r.StripeFieldList(ctx, i)
			if err != nil {
				t.Fatal(err)
			}
			url, start, stop, err := list.At(id)
			if err != nil {
				t.Fatal(err)
			}
			if got := url; len(got) != 0 {
				t.Fatalf("got %v, want nothing", got)
			}
			if want, got := end, start; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			end = stop
		}
	}
	p, err := r.Properties(ctx)
	if err != nil {
		t.Fatal(err)
	}
	layout, _ := meta.Properties(p.CustomProperties).Text(meta.PropertyLayout)
	if want, got := meta.LayoutColumns, layout; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestRequests: one GET per input of known size and one to read back; one HEAD more where the size is not
// known; nothing but the root is written.
func TestRequests(t *testing.T) {
	const inputs = 1000
	ctx := context.Background()
	sp, at := newSpace(t)
	in := make([]Input, inputs)
	for i := range in {
		in[i] = spec{schema: "a: Int64, b: String", stripes: []uint64{uint64(i)}, creation: [2]uint64{1, 2}}.make(t, sp, fmt.Sprintf("%s%d/r.amudai.shard", at, i))
	}
	before := sp.Counters()
	res, err := Concat(ctx, sp, at+"out.amudai.shard", in, Options{Limits: Limits{Objects: -1}})
	if err != nil {
		t.Fatal(err)
	}
	c := sp.Counters().Sub(before)
	if want, got := ([4]int64{inputs + 1, 0, 1, 0}), ([4]int64{c.Gets, c.Heads, c.Puts, c.Lists}); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := inputs, res.Stripes; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got := res.Objects; len(got) != inputs {
		t.Fatalf("%d elements, want %d: %v", len(got), inputs, got)
	}

	in[3].Size, in[5].Size = 0, 0
	before = sp.Counters()
	_, err = Concat(ctx, sp, at+"out2.amudai.shard", in[:10], Options{})
	if err != nil {
		t.Fatal(err)
	}
	c = sp.Counters().Sub(before)
	if want, got := ([4]int64{11, 2, 1, 0}), ([4]int64{c.Gets, c.Heads, c.Puts, c.Lists}); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestNoDataIsRead: of a root with megabytes of buffers only the end is read.
func TestNoDataIsRead(t *testing.T) {
	const data = 8 << 20
	sp, at := newSpace(t)
	in := spec{schema: "a: Int64, b: String", stripes: make([]uint64, 2000), single: true, data: data}.make(t, sp, at+"a.amudai.shard")
	metadata := in.Size - data
	if a, b := metadata, int64(256<<10); a <= b {
		t.Fatalf("more than the end that is read first: metadata is %v, want more than %v", a, b)
	}
	before := sp.Counters()
	res, err := Concat(context.Background(), sp, at+"out.amudai.shard", []Input{in}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := sp.Counters().Sub(before)
	// The gaps between the field lists are descriptors, which are read once with them and once for themselves.
	if a, b := c.GetBytes, 2*metadata+64<<10+res.Size; a > b {
		t.Fatalf("c.GetBytes is %v, want at most %v", a, b)
	}
	if a, b := 2*metadata+64<<10+res.Size, int64(data); a >= b {
		t.Fatalf("2*metadata+64<<10+res.Size is %v, want less than %v", a, b)
	}
	if a, b := c.Gets, int64(6); a > b {
		t.Fatalf("c.Gets is %v, want at most %v", a, b)
	}
}

// TestColumnOfManyStripes: one field of thousands of stripes costs two requests beyond those that open the
// shard, and few bytes beyond its own.
func TestColumnOfManyStripes(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	stripes := make([]uint64, 4000)
	for i := range stripes {
		stripes[i] = 7
	}
	in := spec{schema: "a: Int64, b: String, c: Int8, d: Int8", stripes: stripes}.make(t, sp, at+"a.amudai.shard")
	res, err := Concat(ctx, sp, at+"out.amudai.shard", []Input{in}, Options{Limits: Limits{Objects: -1}})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := res.Size, int64(2<<20); a <= b {
		t.Fatalf("res.Size is %v, want more than %v", a, b)
	}

	r, err := meta.OpenRoot(ctx, sp, res.URL, meta.Options{Size: res.Size})
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	which := make([]int, len(all))
	for i := range which {
		which[i] = i
	}
	before := sp.Counters()
	if err := (r.LoadFields(ctx, which, []uint32{2})); err != nil {
		t.Fatal(err)
	}
	for i := range which {
		d, anchor, err := r.StripeField(ctx, i, 2)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := res.URL, anchor; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if want, got := fmt.Sprintf("data/%d.amudai.stripe", i), d.Encodings[0].GetNative().Buffers[0].Buffer.Url; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	c := sp.Counters().Sub(before)
	if a, b := c.Gets, int64(2); a > b {
		t.Fatalf("c.Gets is %v, want at most %v", a, b)
	}
	if a, b := c.GetBytes, res.Size/2; a >= b {
		t.Fatalf("c.GetBytes is %v, want less than %v", a, b)
	}
}

// TestMergeOfMerges: (1 + 2) + (3 + 4) is the same shard as 1 + 2 + 3 + 4.
func TestMergeOfMerges(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	o := Options{Attempt: "one"}
	var in []Input
	for i := range 4 {
		in = append(in, spec{schema: "a: Int64, b: String", ids: []int{1, 2}, stripes: []uint64{uint64(i), 5}, single: i%2 == 1,
			creation: [2]uint64{uint64(i), uint64(2 * i)},
			custom:   meta.Properties{meta.Pair("k", meta.Int(int64(i))), meta.Pair("shardcat.same", meta.Int(1)), meta.Pair("shardcat.own", meta.Int(int64(i/2)))},
		}.make(t, sp, fmt.Sprintf("%s%d/r.amudai.shard", at, i)))
	}
	merge := func(name string, in ...Input) Input {
		res, err := Concat(ctx, sp, at+name+".amudai.shard", in, o)
		if err != nil {
			t.Fatal(err)
		}
		return Input{URL: res.URL, Size: res.Size}
	}
	direct := merge("direct", in...)
	twice := merge("twice", merge("m1", in[:2]...), merge("m2", in[2:]...))
	once := merge("once", direct)
	read := func(in Input) []byte {
		b := make([]byte, in.Size)
		_, err := sp.ReadRange(ctx, in.URL, 0, b)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if want, got := read(direct), read(twice); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := read(direct), read(once); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	p, err := open(t, sp, direct.URL).Properties(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pair := range p.CustomProperties {
		names = append(names, pair.Name)
	}
	if want, got := ([]string{"k", "shardcat.same", "shardcat.own", "k", "k", "shardcat.own", "k",
		meta.PropertyFieldIDs, meta.PropertyLayout, meta.PropertyAttempt}), names; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestRefuses(t *testing.T) {
	plain := spec{schema: "a: Int64", stripes: []uint64{5}}
	tagged := func(tags ...string) spec {
		return spec{schema: "a: Int64", stripes: []uint64{5}, change: func(p *parts) {
			for _, tag := range tags {
				p.properties.StandardProperties = append(p.properties.StandardProperties, meta.Pair(meta.DropBy, meta.Text(tag)))
			}
		}}
	}
	for name, c := range map[string]struct {
		a, b   spec
		bAt    string
		o      Options
		target error
	}{
		"deleted with others":  {a: plain, b: spec{schema: "a: Int64", stripes: []uint64{5}, deleted: 1}, target: errDeleted},
		"standard properties":  {a: plain, b: spec{schema: "a: Int64", stripes: []uint64{5}, standard: true}, target: errStandard},
		"other tags":           {a: tagged("x"), b: tagged("y"), o: Options{AllowStandard: true}, target: errTags},
		"more tags":            {a: tagged("x"), b: tagged("y", "x"), o: Options{AllowStandard: true}, target: errTags},
		"tags and none":        {a: tagged("x"), b: plain, o: Options{AllowStandard: true}, target: errTags},
		"none and tags":        {a: plain, b: tagged("x"), o: Options{AllowStandard: true}, target: errTags},
		"other type":           {a: plain, b: spec{schema: "a: Int32", stripes: []uint64{5}}, target: ErrSchema},
		"other name":           {a: plain, b: spec{schema: "b: Int64", stripes: []uint64{5}}, target: ErrSchema},
		"too many objects":     {a: plain, b: spec{schema: "a: Int64", stripes: []uint64{5, 5}}, bAt: "x/", o: Options{Limits: Limits{Objects: 2}}, target: errLimit},
		"too many stripes":     {a: plain, b: plain, o: Options{Limits: Limits{Stripes: 1}}, target: errLimit},
		"too much metadata":    {a: plain, b: plain, o: Options{Limits: Limits{RootBytes: 300}}, target: errLimit},
		"too many properties":  {a: plain, b: spec{schema: "a: Int64", custom: meta.Properties{meta.Pair("p", meta.Text(strings.Repeat("x", 4<<20)))}}, target: errLimit},
		"object outside":       {a: plain, b: spec{schema: "a: Int64", stripes: []uint64{5}}, bAt: "../elsewhere/", target: urlresolve.ErrRefused},
		"empty shard outside":  {a: plain, b: spec{schema: "a: Int64"}, bAt: "../elsewhere/", target: urlresolve.ErrRefused},
		"hostile reference":    {a: plain, b: spec{schema: "a: Int64", stripes: []uint64{5}, change: refer("../x")}, target: urlresolve.ErrRefused},
		"foreign reference":    {a: plain, b: spec{schema: "a: Int64", stripes: []uint64{5}, change: refer("s3://other/x")}, target: urlresolve.ErrRefused},
		"reference to the out": {a: plain, b: spec{schema: "a: Int64", stripes: []uint64{5}, change: refer("out.amudai.shard")}, target: errAny},
	} {
		t.Run(name, func(t *testing.T) {
			sp, at := newSpace(t)
			folder := at + "t/"
			bURL := folder + c.bAt + "b.amudai.shard"
			if strings.HasPrefix(c.bAt, "../") {
				bURL = at + c.bAt[3:] + "b.amudai.shard"
			}
			in := []Input{c.a.make(t, sp, folder+"a.amudai.shard"), c.b.make(t, sp, bURL)}
			_, err := Concat(context.Background(), sp, folder+"out.amudai.shard", in, c.o)
			if err == nil {
				t.Fatalf("no error")
			}
			if c.target != errAny {
				if !errors.Is(err, c.target) {
					t.Fatalf("%v, want %v", err, c.target)
				}
			}
			_, err = sp.Stat(context.Background(), folder+"out.amudai.shard")
			if !errors.Is(err, blobio.ErrNotFound) {
				t.Fatalf("%v, want %v", err, blobio.ErrNotFound)
			}
		})
	}
}

var errAny = fmt.Errorf("any error")

// refer makes the buffers of a shard name url.
func refer(url string) func(p *parts) {
	return func(p *parts) {
		for _, f := range p.fields[0] {
			f.Encodings[0].GetNative().Buffers[0].Buffer.Url = url
		}
	}
}

func TestDeletedAmongThemselves(t *testing.T) {
	sp, at := newSpace(t)
	s := spec{schema: "a: Int64", stripes: []uint64{5}, deleted: 2}
	empty := spec{schema: "a: Int64", stripes: []uint64{0}}
	res, err := Concat(context.Background(), sp, at+"out.amudai.shard",
		[]Input{s.make(t, sp, at+"a.amudai.shard"), empty.make(t, sp, at+"e.amudai.shard"), s.make(t, sp, at+"b.amudai.shard")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := uint64(4), res.Deleted; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestExternalAllowed(t *testing.T) {
	sp, at := newSpace(t)
	in := spec{schema: "a: Int64", stripes: []uint64{5}}.make(t, sp, at+"elsewhere/a.amudai.shard")
	res, err := Concat(context.Background(), sp, at+"t/out.amudai.shard", []Input{in}, Options{AllowExternal: true})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := ([]string{at + "elsewhere/data/0.amudai.stripe"}), res.Objects; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	urls, err := open(t, sp, res.URL).URLList(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want, got := res.Objects, urls.Urls; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestExists: what is there stays, also if an earlier merge of the same inputs wrote it.
func TestExists(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	in := []Input{spec{schema: "a: Int64", stripes: []uint64{5}}.make(t, sp, at+"a.amudai.shard")}
	_, err := Concat(ctx, sp, at+"out.amudai.shard", in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Concat(ctx, sp, at+"out.amudai.shard", in, Options{})
	if !errors.Is(err, blobio.ErrExists) {
		t.Fatalf("%v, want %v", err, blobio.ErrExists)
	}
}

func TestCreationTimesNeedEveryInput(t *testing.T) {
	sp, at := newSpace(t)
	known := spec{schema: "a: Int64", stripes: []uint64{5}, creation: [2]uint64{3, 4}}.make(t, sp, at+"a.amudai.shard")
	unknown := spec{schema: "a: Int64", stripes: []uint64{5}}.make(t, sp, at+"b.amudai.shard")
	empty := spec{schema: "a: Int64"}.make(t, sp, at+"c.amudai.shard")
	res, err := Concat(context.Background(), sp, at+"1.amudai.shard", []Input{known, unknown}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.CreationKnown {
		t.Fatalf("res.CreationKnown is true")
	}
	later := spec{schema: "a: Int64", stripes: []uint64{5}, creation: [2]uint64{7, 8}}.make(t, sp, at+"d.amudai.shard")
	res, err = Concat(context.Background(), sp, at+"2.amudai.shard", []Input{known, empty, later}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !res.CreationKnown || res.CreationMin != 3 || res.CreationMax != 8 {
		t.Fatalf("created from %d to %d, known: %v", res.CreationMin, res.CreationMax, res.CreationKnown)
	}
}

// TestIndexes: indexes with positions of their stripe survive, others are left out.
func TestIndexes(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	index := func(base string) *metapb.IndexDescriptor {
		return &metapb.IndexDescriptor{IndexType: "t", Properties: []*metapb.NameValuePair{meta.Pair("position_base", meta.Text(base))},
			IndexedFields: []*metapb.IndexedField{{SchemaIds: []uint32{1}}},
			Artifacts:     []*metapb.IndexArtifact{{Name: "terms", DataRef: meta.NewRef("i/terms.shard", 0, 9)}}}
	}
	in := spec{schema: "a: Int64, b: String", ids: []int{1, 2}, stripes: []uint64{5}, change: func(p *parts) {
		ofA := index("stripe")
		ofA.IndexedFields[0].SchemaIds = []uint32{0}
		p.indexes = []*metapb.IndexCollection{{IndexDescriptors: []*metapb.IndexDescriptor{index("stripe"), index("shard"), ofA}}}
		p.fields[0][0].Field.Indexes = &metapb.IndexCollection{IndexDescriptors: []*metapb.IndexDescriptor{index("shard")}}
		p.bags = []*metapb.StripeProperties{{CustomProperties: []*metapb.NameValuePair{meta.Pair("v", &metapb.AnyValue{
			Kind: &metapb.AnyValue_DataRef{DataRef: meta.SelfRef(1, 2)}, Annotation: proto.String("why")})}}}
	}}.make(t, sp, at+"x/a.amudai.shard")
	other := spec{schema: "c: Int8, b: String, a: Int64", ids: []int{3, 2, 1}, stripes: []uint64{5}}.make(t, sp, at+"b.amudai.shard")
	res, err := Concat(ctx, sp, at+"out.amudai.shard", []Input{in, other}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := 2, res.DroppedIndexes; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	r := open(t, sp, res.URL)
	c, err := r.StripeIndexes(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.IndexDescriptors; len(got) != 2 {
		t.Fatalf("%d elements, want %d: %v", len(got), 2, got)
	}
	if got := c.IndexDescriptors[0].Artifacts[0].DataRef.Url; got != "x/i/terms.shard" {
		t.Fatalf("got %v, want %v", got, "x/i/terms.shard")
	}
	if want, got := ([]uint32{1}), c.IndexDescriptors[0].IndexedFields[0].SchemaIds; !reflect.DeepEqual(got, want) {
		t.Fatalf("b is the second field as before: got %v, want %v", got, want)
	}
	if want, got := ([]uint32{2}), c.IndexDescriptors[1].IndexedFields[0].SchemaIds; !reflect.DeepEqual(got, want) {
		t.Fatalf("a is the third field now: got %v, want %v", got, want)
	}
	if all, one := res.Objects, at+"x/i/terms.shard"; !slices.Contains(all, one) {
		t.Fatalf("%v lacks %v", all, one)
	}
	if all, one := res.Objects, at+"x/a.amudai.shard"; !slices.Contains(all, one) {
		t.Fatalf("a value of a property stays in the old root: %v lacks %v", all, one)
	}
	bag, err := r.StripeProperties(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := meta.Properties(bag.CustomProperties).Get("v")
	if got := v.GetDataRef().Url; got != "x/a.amudai.shard" {
		t.Fatalf("got %v, want %v", got, "x/a.amudai.shard")
	}
	if got := v.GetAnnotation(); got != "why" {
		t.Fatalf("got %v, want %v", got, "why")
	}
	d, _, err := r.StripeField(ctx, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Field.Indexes; got != nil {
		t.Fatalf("got %v, want nil", got)
	}
}

// What only an index consists of that goes is not listed any more, so that it can be collected; what stays is.
func TestReplaceIndexes(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	index := func(name, base string) *metapb.IndexDescriptor {
		return &metapb.IndexDescriptor{IndexType: name, Properties: []*metapb.NameValuePair{meta.Pair("position_base", meta.Text(base))},
			Artifacts: []*metapb.IndexArtifact{{DataRef: meta.NewRef("i/"+name+".shard", 0, 9)}}}
	}
	in := spec{schema: "a: Int64", ids: []int{1}, stripes: []uint64{5, 6}, standard: true, change: func(p *parts) {
		p.indexes = []*metapb.IndexCollection{{IndexDescriptors: []*metapb.IndexDescriptor{index("stays", "shard"), index("goes", "stripe")}}, nil}
	}}.make(t, sp, at+"a.amudai.shard")
	change := IndexChange{
		Drop: func(d stripeindex.Descriptor) bool { return d.Type() == "goes" },
		Add:  map[int][]stripeindex.Descriptor{1: {stripeindex.DescriptorOf(index("new", "stripe"))}},
	}
	res, err := ReplaceIndexes(ctx, sp, at+"out.amudai.shard", in, change)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := 1, res.DroppedIndexes; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	r := open(t, sp, res.URL)
	for i, want := range []string{"stays", "new"} {
		c, err := r.StripeIndexes(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.IndexDescriptors; len(got) != 1 {
			t.Fatalf("%d elements, want %d: %v", len(got), 1, got)
		}
		if want, got := want, c.IndexDescriptors[0].IndexType; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if all, one := res.Objects, at+"i/"+want+".shard"; !slices.Contains(all, one) {
			t.Fatalf("%v lacks %v", all, one)
		}
	}
	if all, one := res.Objects, at+"i/goes.shard"; slices.Contains(all, one) {
		t.Fatalf("%v has %v", all, one)
	}
	if want, got := 11, res.Records; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	_, err = ReplaceIndexes(ctx, sp, at+"no.amudai.shard", in, IndexChange{Add: map[int][]stripeindex.Descriptor{2: nil}})
	if err == nil || !strings.Contains(err.Error(), "stripe 2, of 2") {
		t.Fatalf("%v, want an error with %q", err, "stripe 2, of 2")
	}

	// A merge leaves out what counts over a shard, also from the list of an input that names it.
	listed := spec{schema: "a: Int64", ids: []int{1}, stripes: []uint64{5}, change: func(p *parts) {
		p.indexes = []*metapb.IndexCollection{{IndexDescriptors: []*metapb.IndexDescriptor{index("whole", "shard")}}}
		p.urls = append(p.urls, "", "i/whole.shard", "i/other.bin")
	}}.make(t, sp, at+"listed.amudai.shard")
	res, err = Concat(ctx, sp, at+"merged.amudai.shard", []Input{listed}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := 1, res.DroppedIndexes; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if all, one := res.Objects, at+"i/whole.shard"; slices.Contains(all, one) {
		t.Fatalf("%v has %v", all, one)
	}
	if all, one := res.Objects, at+"i/other.bin"; !slices.Contains(all, one) {
		t.Fatalf("what stands behind one that is left out stays: %v lacks %v", all, one)
	}
}

// TestIndexScopes: indexes of a shard, a stripe, a field, and a field of a stripe are shown and reached, whatever their type; who changes no
// position keeps them, and a merge those whose positions start at their stripe.
func TestIndexScopes(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	collection := func(scope string, bases ...string) *metapb.IndexCollection {
		c := new(metapb.IndexCollection)
		for _, base := range bases {
			c.IndexDescriptors = append(c.IndexDescriptors, &metapb.IndexDescriptor{
				IndexType: "of-our-own-" + scope + "-" + base, Properties: []*metapb.NameValuePair{meta.Pair("position_base", meta.Text(base))},
				IndexedFields: []*metapb.IndexedField{{SchemaIds: []uint32{0}}, {SchemaIds: []uint32{1, 0}}}, IndexSize: proto.Uint64(17),
				Artifacts: []*metapb.IndexArtifact{{Name: "part", DataRef: meta.NewRef("i/"+scope+base+".bin", 0, 9)}}})
			if scope == "field" { // a property of it, too
				d := c.IndexDescriptors[len(c.IndexDescriptors)-1]
				d.Properties = append(d.Properties, meta.Pair("shardcat.holder", meta.Text("field")))
			}
		}
		return c
	}
	in := spec{schema: "a: Int64, b: Int64", ids: []int{1, 2}, stripes: []uint64{5, 6}, change: func(p *parts) {
		p.ofShard, p.ofField = collection("shard", "shard"), collection("field", "shard")
		p.indexes = []*metapb.IndexCollection{nil, collection("stripe", "shard", "stripe")}
		p.fields[1][0].Field.Indexes = collection("both", "shard", "stripe")
	}}.make(t, sp, at+"x/a.amudai.shard")
	shown := func(url string) (out []string) {
		s, err := inspect.Shard(ctx, sp, url, inspect.Options{Detail: inspect.Statistics})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range s.Indexes {
			out = append(out, x.Scope+" "+strings.TrimPrefix(x.Type, "of-our-own-"))
			if want, got := ([]string{"a", "b+a"}), x.Fields; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			if want, got := 17, *x.SizeBytes; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			if all, one := x.Artifacts[0].URL, "i/"; !strings.Contains(all, one) {
				t.Fatalf("%v lacks %v", all, one)
			}
		}
		slices.Sort(out)
		return out
	}
	reached := func(url string) (out []string) {
		objects, artifacts, err := open(t, sp, url).Reach(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range artifacts {
			if all, one := objects, a; !slices.Contains(all, one) {
				t.Fatalf("%v lacks %v", all, one)
			}
			out = append(out, strings.TrimPrefix(a, at+"x/i/"))
		}
		slices.Sort(out)
		return out
	}
	all := []string{"field:a field-shard", "shard shard-shard", "stripe1 stripe-shard", "stripe1 stripe-stripe", "stripe1/field:a both-shard", "stripe1/field:a both-stripe"}
	objects := []string{"bothshard.bin", "bothstripe.bin", "fieldshard.bin", "shardshard.bin", "stripeshard.bin", "stripestripe.bin"}
	if want, got := all, shown(in.URL); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := objects, reached(in.URL); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	same, err := ReplaceIndexes(ctx, sp, at+"same.amudai.shard", in, IndexChange{})
	if err != nil {
		t.Fatal(err)
	}
	if got := same.DroppedIndexes; got != 0 {
		t.Fatalf("same.DroppedIndexes is %v", got)
	}
	if want, got := all, shown(same.URL); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := objects, reached(same.URL); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	merged, err := Concat(ctx, sp, at+"merged.amudai.shard", []Input{in}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := 4, merged.DroppedIndexes; !reflect.DeepEqual(got, want) {
		t.Fatalf("the shard's, that of a field as a whole, and two that count over the shard: got %v, want %v", got, want)
	}
	if want, got := ([]string{"stripe1 stripe-stripe", "stripe1/field:a both-stripe"}), shown(merged.URL); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := ([]string{"bothstripe.bin", "stripestripe.bin"}), reached(merged.URL); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	// A field of the only stripe may list those of the field as a whole again: they count once.
	for listed, want := range map[string]int{"field": 2, "both": 3} {
		one := spec{schema: "a: Int64, b: Int64", ids: []int{1, 2}, stripes: []uint64{5}, change: func(p *parts) {
			p.ofField = collection("field", "shard", "second")
			p.fields[0][0].Field.Indexes = collection(listed, "shard")
		}}.make(t, sp, at+"x/one-"+listed+".amudai.shard")
		merged, err := Concat(ctx, sp, at+"merged-"+listed+".amudai.shard", []Input{one}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := merged.DroppedIndexes; got != want {
			t.Errorf("%d indexes were dropped of a stripe whose field lists those of %q, want %d", got, listed, want)
		}
	}
}

// TestSchemaEvolution: fields are added, dropped and moved by their ids.
func TestSchemaEvolution(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	old := spec{schema: "a: Int64, s: Struct<x: Int8>, gone: Binary", ids: []int{1, 2, 3, 4}, stripes: []uint64{5}}.make(t, sp, at+"a.amudai.shard")
	now := spec{schema: "n: String, s: Struct<y: Float64, x: Int8>, renamed: Int64", ids: []int{7, 2, 8, 3, 1}, stripes: []uint64{6}}.make(t, sp, at+"b.amudai.shard")

	_, err := Concat(ctx, sp, at+"lossy.amudai.shard", []Input{old, now}, Options{})
	if !errors.Is(err, ErrSchema) {
		t.Fatalf("%v, want %v", err, ErrSchema)
	}
	if err == nil || !strings.Contains(err.Error(), "fields that the others lack") {
		t.Fatalf("%v, want an error with %q", err, "fields that the others lack")
	}

	target, err := schema.Parse("n: String, s: Struct<y: Float64, x: Int8>, renamed: Int64")
	if err != nil {
		t.Fatal(err)
	}
	res, err := Concat(ctx, sp, at+"out.amudai.shard", []Input{old, now}, Options{Schema: target, FieldIDs: []int{7, 2, 8, 3, 1}})
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, sp, res.URL)
	for _, c := range []struct {
		field     uint32
		positions uint64
		nulls     uint64
		buffer    uint64
	}{{0, 5, 5, 0}, {1, 5, 1, 128}, {2, 5, 5, 0}, {3, 5, 1, 192}, {4, 5, 1, 64}} {
		d, _, err := r.StripeField(ctx, 0, c.field)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := c.positions, d.Field.PositionCount; !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", c.field, got, want)
		}
		if want, got := c.nulls, d.Field.GetNullCount(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", c.field, got, want)
		}
		start := uint64(0)
		for _, b := range d.Encodings[0].GetNative().GetBuffers() {
			start = b.Buffer.Range.Start
		}
		if want, got := c.buffer, start; !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", c.field, got, want)
		}
	}
	stripes, err := r.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := uint64(3*8*5), stripes[0].GetRawDataSize(); !reflect.DeepEqual(got, want) {
		t.Fatalf("the dropped field no longer counts: got %v, want %v", got, want)
	}

	for name, to := range map[string]struct {
		schema string
		ids    []int
	}{
		"a list can't be made up":   {"a: Int64, l: List<Int8>", []int{1, 20, 21}},
		"a struct can't be made up": {"a: Int64, l: Struct<x: Int8>", []int{1, 20, 21}},
		"nothing is widened":        {"a: Float64", []int{1}},
	} {
		s, err := schema.Parse(to.schema)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Concat(ctx, sp, at+"no.amudai.shard", []Input{old}, Options{Schema: s, FieldIDs: to.ids})
		if !errors.Is(err, ErrSchema) {
			t.Fatalf("%v: %v, want %v", name, err, ErrSchema)
		}
	}
}

// TestUnknownFieldsAreCopied: what this version doesn't know travels with the messages it stands in.
func TestUnknownFieldsAreCopied(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	unknown := []byte{0x9a, 0x06, 3, 'a', 'b', 'c'} // field 99, three bytes
	in := spec{schema: "a: Int64", stripes: []uint64{5}, change: func(p *parts) {
		for _, m := range []proto.Message{p.properties, p.stripes[0], p.fields[0][0], p.fields[0][0].Field, p.directory} {
			m.ProtoReflect().SetUnknown(unknown)
		}
	}}.make(t, sp, at+"a.amudai.shard")
	res, err := Concat(ctx, sp, at+"out.amudai.shard", []Input{in, in}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, sp, res.URL)
	p, err := r.Properties(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stripes, err := r.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := r.StripeField(ctx, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.ShardField(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []proto.Message{p, stripes[0], stripes[1], d, d.Field, f, r.Directory()} {
		if want, got := unknown, []byte(m.ProtoReflect().GetUnknown()); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", prototext.Format(m), got, want)
		}
	}
}
