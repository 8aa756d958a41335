package shardfmt

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Property is a named value of a shard, a stripe or a field. A property that was read keeps its value as it was stored, whatever
// its kind.
type Property struct{ pair *metapb.NameValuePair }

// TextProperty makes a property whose value is a string.
func TextProperty(name, value string) Property { return Property{meta.Pair(name, meta.Text(value))} }

// BytesProperty makes a property whose value is a byte string.
func BytesProperty(name string, value []byte) Property {
	return Property{meta.Pair(name, meta.Blob(value))}
}

// Name of the property.
func (p Property) Name() string { return p.pair.GetName() }

// Text returns the value if it is a string.
func (p Property) Text() (string, bool) { return meta.TextOf(p.pair.GetValue()) }

// Bytes returns the value if it is a byte string.
func (p Property) Bytes() ([]byte, bool) {
	v, ok := p.pair.GetValue().GetKind().(*metapb.AnyValue_BytesValue)
	if !ok {
		return nil, false
	}
	return v.BytesValue, true
}

// Encoded returns name and value in their stored form: equal for equal properties.
func (p Property) Encoded() string { return string(meta.Marshal(p.pair)) }

// EncodedValue returns the value in its stored form: equal for equal values. It is empty for a value that can't be stored, which writers
// refuse.
func (p Property) EncodedValue() string {
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(p.pair.GetValue())
	return string(b)
}

// Properties are the two lists of properties of a shard, a stripe or a field. A name may occur more than once, as it does after a
// merge; the first one counts.
type Properties struct {
	// Standard properties have a meaning that the format defines, such as the tags drop-by and ingest-by; Custom ones are
	// free to use.
	Standard, Custom []Property
}

// DropByTags returns the drop-by tags among the standard properties, sorted and each once.
func (p Properties) DropByTags() []string { return meta.Properties(pairsOf(p.Standard)).DropByTags() }

func pairsOf(properties []Property) []*metapb.NameValuePair {
	var out []*metapb.NameValuePair
	for _, p := range properties {
		out = append(out, p.pair)
	}
	return out
}

func propertyList(pairs []*metapb.NameValuePair) []Property {
	var out []Property
	for _, p := range pairs {
		out = append(out, Property{p})
	}
	return out
}

func (p Properties) bags() meta.Bags {
	return meta.Bags{Standard: pairsOf(p.Standard), Custom: pairsOf(p.Custom)}
}

func propertiesOf(b meta.Bags) Properties {
	return Properties{Standard: propertyList(b.Standard), Custom: propertyList(b.Custom)}
}

// Properties reads the properties of the shard. Values that are stored elsewhere are read, too.
func (s *Shard) Properties(ctx context.Context) (Properties, error) {
	bags, err := s.root.ReadProperties(ctx)
	return propertiesOf(bags), err
}

// StripeProperties are the properties of a stripe, and those of its fields by node number.
type StripeProperties struct {
	Properties
	Fields map[uint32]Properties
}

// StripeProperties reads the properties of all stripes, and in them those of some fields, by node number.
func (s *Shard) StripeProperties(ctx context.Context, fields []uint32) ([]StripeProperties, error) {
	stripes := make([]int, len(s.stripes))
	for i := range stripes {
		stripes[i] = i
	}
	if err := s.root.LoadFields(ctx, stripes, fields); err != nil {
		return nil, err
	}
	out := make([]StripeProperties, len(stripes))
	for i := range out {
		of, err := s.root.ReadStripeProperties(ctx, i)
		if err != nil {
			return nil, err
		}
		out[i] = StripeProperties{propertiesOf(of), map[uint32]Properties{}}
		for _, field := range fields {
			if of, err = s.root.ReadFieldProperties(ctx, i, field); err != nil {
				return nil, err
			}
			if len(of.Standard)+len(of.Custom) > 0 {
				out[i].Fields[field] = propertiesOf(of)
			}
		}
	}
	return out, nil
}

// UnknownMetadata reports whether the directory or the properties of the shard have parts that this version does not know, which
// a shard rewritten would lose.
func (s *Shard) UnknownMetadata(ctx context.Context) (bool, error) {
	stored, err := s.root.Properties(ctx)
	if err != nil {
		return false, err
	}
	return meta.HasUnknown(s.root.Directory()) || stored != nil && meta.HasUnknown(stored), nil
}

// FieldIDs returns the Iceberg field ids of the nodes that the shard stores, by node number; nil if it stores none.
func (s *Shard) FieldIDs(ctx context.Context) ([]int, error) {
	own, err := s.root.Schema(ctx)
	if err != nil {
		return nil, err
	}
	text, _, err := s.root.OwnText(ctx, meta.PropertyFieldIDs)
	if err != nil || text == "" {
		return nil, err
	}
	return meta.ParseFieldIDs(text, int(own.Count))
}
