package textindex

import (
	"strings"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Type is the type of a text index in its descriptor.
const Type = "inverted-text-index-v1"

// The names of properties and artifacts.
const (
	propertyCollation  = "collation"
	propertyTokenizers = "tokenizers"
	artifactTerms      = "terms"
	artifactPositions  = "positions"
)

// Descriptor is what the descriptor of a text index states.
type Descriptor struct {
	Collation Collation
	// Fields are the schema ids of the indexed fields, Tokenizers the names of their tokenizers as far as they are
	// given. An index of the reference has them by schema id, one of ours in the order of Fields.
	Fields     []uint32
	Tokenizers []string
}

// Parse reads the descriptor of a text index.
func Parse(d *metapb.IndexDescriptor) (*Descriptor, error) {
	if d.GetIndexType() != Type {
		return nil, corrupt.Unsupported(-1, "index type %q: %s is read", d.GetIndexType(), Type)
	}
	if err := meta.NoReferences(d.Properties); err != nil {
		return nil, err
	}
	out := &Descriptor{}
	name, ok := "", false
	for _, p := range d.Properties {
		switch {
		case strings.EqualFold(p.GetName(), propertyCollation): // the last one counts
			if name, ok = meta.TextOf(p.GetValue()); !ok {
				return nil, corrupt.At(-1, "the collation of a text index is not text")
			}
		case p.GetName() == propertyTokenizers:
			for _, e := range p.GetValue().GetListValue().GetElements() {
				s, _ := meta.TextOf(e)
				out.Tokenizers = append(out.Tokenizers, s)
			}
		}
	}
	if !ok {
		return nil, corrupt.At(-1, "a text index without a collation")
	}
	var err error
	if out.Collation, err = tokenizer.ParseCollation(name); err != nil {
		return nil, corrupt.Unsupported(-1, "%v", err)
	}
	for _, f := range d.IndexedFields {
		out.Fields = append(out.Fields, f.SchemaIds...)
	}
	if len(d.Artifacts) < 2 {
		return nil, corrupt.At(-1, "a text index of %d artifacts: expected terms and positions", len(d.Artifacts))
	}
	for _, a := range d.Artifacts[:2] {
		if a.GetDataRef().GetUrl() == "" {
			return nil, corrupt.At(-1, "artifact %q of a text index has no object", a.GetName())
		}
	}
	return out, nil
}
