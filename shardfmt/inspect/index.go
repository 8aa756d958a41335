package inspect

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/valuejson"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Index is the description of an index, of a known type or not.
type Index struct {
	// Scope is what the index belongs to: "shard", "stripe0", "field:NAME" (where statistics are shown) or
	// "stripe0/field:NAME"; empty for one that was requested by itself.
	Scope string `json:"scope,omitempty"`
	Type  string `json:"type"`
	// Fields are the indexed ones, by dotted name where the schema is known, else by number; a composite key has the
	// names of its parts joined by "+".
	Fields     []string   `json:"fields"`
	Properties []Property `json:"properties"`
	Artifacts  []Artifact `json:"artifacts"`
	// SizeBytes is what the descriptor states, nil if it does not.
	SizeBytes *uint64 `json:"size_bytes,omitempty"`
}

// Artifact is an object that an index consists of.
type Artifact struct {
	Name string `json:"name"`
	// URL as stored.
	URL string `json:"url"`
	// Records and Schema are those of the artifact, where it was opened.
	Records *uint64 `json:"records,omitempty"`
	Schema  string  `json:"schema,omitempty"`
}

// describeIndex reports what a descriptor states; names, if not nil, gives the names of fields.
func describeIndex(scope string, d *metapb.IndexDescriptor, names *schema.Schema) Index {
	x := Index{Scope: scope, Type: d.IndexType, Fields: []string{}, Properties: []Property{}, Artifacts: []Artifact{}, SizeBytes: d.IndexSize}
	for _, f := range d.IndexedFields {
		parts := make([]string, len(f.SchemaIds))
		for i, id := range f.SchemaIds {
			parts[i] = fieldName(names, id)
		}
		x.Fields = append(x.Fields, strings.Join(parts, "+"))
	}
	for _, p := range d.Properties {
		x.Properties = append(x.Properties, Property{
			Scope: scope, Bag: "index", Name: p.GetName(), Kind: meta.Kind(p.GetValue()), Value: valuejson.Of(p.GetValue(), nil),
		})
	}
	for _, a := range d.Artifacts {
		x.Artifacts = append(x.Artifacts, Artifact{Name: a.GetName(), URL: a.GetDataRef().GetUrl()})
	}
	return x
}

// fieldName is the dotted name of a node, or its number.
func fieldName(s *schema.Schema, id uint32) string {
	name := fmt.Sprintf("#%d", id)
	if s != nil {
		s.Walk(func(path string, n *schema.Node) bool {
			if n.ID == id {
				name = path
			}
			return true
		})
	}
	return name
}

// DescribeIndex describes an index by itself, and opens its artifacts. base is the object whose folder relative
// references start at.
func DescribeIndex(ctx context.Context, st index.Store, base string, descriptor index.Descriptor, p urlresolve.Policy) (*Index, error) {
	d := stripeindex.Message(descriptor)
	x := describeIndex("", d, nil)
	if d.GetIndexType() == meta.TermFilterType { // whose artifact is not a shard
		return &x, nil
	}
	if d.IndexType == layerindex.Type {
		return &x, x.describeLayer(ctx, st, base, d, p)
	}
	for i, a := range d.Artifacts {
		url, err := urlresolve.Resolve(base, a.GetDataRef().GetUrl(), p)
		if err != nil {
			return nil, err
		}
		s, err := indexshard.Open(ctx, st, url, p)
		if err != nil {
			return nil, err
		}
		n := s.Records()
		x.Artifacts[i].Records, x.Artifacts[i].Schema = &n, s.Schema().String()
	}
	return &x, nil
}

// describeLayer opens a layer index and reports how many keys it has.
func (x *Index) describeLayer(ctx context.Context, st meta.Store, base string, d *metapb.IndexDescriptor, p urlresolve.Policy) error {
	opened, err := layerindex.Open(ctx, st, base, d, p)
	if err != nil {
		return err
	}
	keys, _ := opened.Counts()
	x.Artifacts[0].Records, x.Artifacts[0].Schema = &keys, opened.Types()
	return nil
}

// Print writes the description for a person to read.
func (x *Index) Print(w io.Writer) {
	fmt.Fprintf(w, "index       %s", x.Type)
	if x.Scope != "" {
		fmt.Fprintf(w, " of %s", x.Scope)
	}
	if len(x.Fields) > 0 {
		fmt.Fprintf(w, " over %s", strings.Join(x.Fields, ", "))
	}
	if x.SizeBytes != nil {
		fmt.Fprintf(w, ", %s", progress.Bytes(int64(*x.SizeBytes)))
	}
	fmt.Fprintln(w)
	for _, p := range x.Properties {
		fmt.Fprintf(w, "  property  %s = %s\n", p.Name, shorten(string(p.Value)))
	}
	for _, a := range x.Artifacts {
		fmt.Fprintf(w, "  artifact  %s %s", a.Name, a.URL)
		if a.Records != nil {
			fmt.Fprintf(w, ", %s", plural.Count(*a.Records, "record"))
		}
		fmt.Fprintln(w)
	}
}

// indexes notes the indexes of a scope.
func (v *inspector) indexes(scope string, c *metapb.IndexCollection) {
	for _, d := range c.GetIndexDescriptors() {
		v.out.Indexes = append(v.out.Indexes, describeIndex(scope, d, v.out.schema))
	}
}
