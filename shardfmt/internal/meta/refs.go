package meta

import (
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// RewriteURLs gives every reference in m the URL that f returns for the one it has: those of directories,
// buffers, block maps, index artifacts, external Parquet files, and of values wherever a property, a
// constant or a bound holds them. Fields that m does not know are left as they are, and so is what f does
// not change.
func RewriteURLs(m proto.Message, f func(url string) string) {
	rewriter{url: f}.message(m)
}

// VisitRefs calls ref with every reference in m that names a byte range and not an external file, so that it may change both URL and range, and gives every
// URL that stands without one what url returns for it.
func VisitRefs(m proto.Message, ref func(*metapb.DataRef), url func(url string) string) {
	rewriter{url: url, visit: ref}.message(m)
}

// eachURL calls f with the URL of every reference in m, "" among them.
func eachURL(m proto.Message, f func(url string)) {
	rewriter{url: func(url string) string {
		f(url)
		return url
	}}.message(m)
}

// eachBag calls f with every property bag in m.
func eachBag(m proto.Message, f func(Properties)) {
	rewriter{url: func(url string) string { return url }, bag: f}.message(m)
}

type rewriter struct {
	url func(url string) string
	// visit, if not nil, gets references with ranges in url's place.
	visit func(*metapb.DataRef)
	// bag, if not nil, gets property bags.
	bag func(Properties)
}

func (f rewriter) message(m proto.Message) {
	switch m := m.(type) {
	case *metapb.ShardDirectory:
		for _, r := range []*metapb.DataRef{m.SchemaRef, m.PropertiesRef, m.FieldListRef, m.StripeListRef, m.UrlListRef, m.IndexesRef} {
			f.ref(r)
		}
	case *metapb.StripeList:
		for _, s := range m.Stripes {
			f.message(s)
		}
	case *metapb.StripeDirectory:
		f.ref(m.PropertiesRef)
		f.ref(m.FieldListRef)
		f.ref(m.IndexesRef)
	case *metapb.ShardProperties:
		f.properties(m.StandardProperties)
		f.properties(m.CustomProperties)
	case *metapb.StripeProperties:
		f.properties(m.StandardProperties)
		f.properties(m.CustomProperties)
	case *metapb.FieldDescriptor:
		f.field(m)
	case *metapb.StripeFieldDescriptor:
		f.field(m.Field)
		for _, e := range m.Encodings {
			f.encoding(e)
		}
	case *metapb.DataRefArray:
		for i, u := range m.Url {
			if v := f.url(u); v != u {
				m.Url[i] = v
			}
		}
	case *metapb.IndexCollection:
		f.indexes(m)
	case *metapb.AnyValue:
		f.value(m)
	default:
		panic("meta: no references are known in " + string(m.ProtoReflect().Descriptor().Name()))
	}
}

func (f rewriter) ref(r *metapb.DataRef) {
	if r == nil {
		return
	}
	if f.visit != nil && r.Range != nil {
		f.visit(r)
		return
	}
	if u := f.url(r.Url); u != r.Url {
		r.Url = u
	}
}

func (f rewriter) field(m *metapb.FieldDescriptor) {
	if m == nil {
		return
	}
	f.value(m.ConstantValue)
	f.value(m.RangeStats.GetMinValue())
	f.value(m.RangeStats.GetMaxValue())
	f.indexes(m.Indexes)
	f.properties(m.StandardProperties)
	f.properties(m.CustomProperties)
}

func (f rewriter) encoding(e *metapb.DataEncoding) {
	for _, b := range e.GetNative().GetBuffers() {
		f.ref(b.Buffer)
		f.ref(b.BlockMap)
	}
	for _, c := range e.GetParquet().GetFileColumnRefs() {
		rewriter{url: f.url}.ref(c.FileRef) // a file as a whole, whose bytes are not ours to move
		for _, k := range c.ColumnChunks {
			if k.FileUrl != nil {
				if u := f.url(*k.FileUrl); u != *k.FileUrl {
					k.FileUrl = &u
				}
			}
			f.ref(k.DataPageMap)
		}
	}
}

func (f rewriter) indexes(c *metapb.IndexCollection) {
	for _, d := range c.GetIndexDescriptors() {
		f.properties(d.Properties)
		for _, a := range d.Artifacts {
			f.properties(a.Properties)
			f.ref(a.DataRef)
		}
	}
}

func (f rewriter) properties(bag []*metapb.NameValuePair) {
	if f.bag != nil {
		f.bag(bag)
	}
	f.pairs(bag)
}

func (f rewriter) pairs(pairs []*metapb.NameValuePair) {
	for _, p := range pairs {
		f.value(p.Value)
	}
}

func (f rewriter) value(v *metapb.AnyValue) {
	switch x := v.GetKind().(type) {
	case *metapb.AnyValue_ListValue:
		for _, e := range x.ListValue.GetElements() {
			f.value(e)
		}
	case *metapb.AnyValue_StructValue:
		f.pairs(x.StructValue.GetFields())
	case *metapb.AnyValue_DataRef:
		f.ref(x.DataRef)
	}
}
