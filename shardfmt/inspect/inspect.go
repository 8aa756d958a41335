// Package inspect describes a shard for people and tools: its schema, its properties, and, the more closely one
// asks, the statistics of its fields, their buffers, and how each block is encoded.
package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/valuejson"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Detail reports how closely to look; each level includes those before it.
type Detail int

// The levels of detail.
const (
	Outline    Detail = iota // counts, schema, properties
	Statistics               // the descriptors of every field
	Encodings                // buffers by stripe, with their sizes
	Blocks                   // the encoding of every block: reads all data
)

// Options of an inspection. The zero value is valid.
type Options struct {
	// Size of the root in bytes, 0 if it is not known.
	Size   int64
	Policy urlresolve.Policy
	Detail Detail
	// MaxMemory is the most bytes of one buffer that are looked into block by block, budget.Default if 0. A longer one
	// is ErrUnsupported.
	MaxMemory int64
}

// Inspection is what was seen. Its JSON form is part of the command line's contract.
type Inspection struct {
	URL string `json:"url"`
	// Records includes deleted ones.
	Records        uint64         `json:"records"`
	DeletedRecords uint64         `json:"deleted_records"`
	Stripes        []Stripe       `json:"stripes"`
	Schema         []*schema.Node `json:"schema"`
	// CreationMin and CreationMax are RFC 3339 with all 100 ns kept, nil where the shard does not state.
	CreationMin *string    `json:"creation_min"`
	CreationMax *string    `json:"creation_max"`
	Properties  []Property `json:"properties"`
	// URLs is the URL list as stored.
	URLs []string `json:"urls"`
	// SizeBytes is the root and all ranges of other objects that its buffers lie in, each once.
	SizeBytes int64 `json:"size_bytes"`
	RootBytes int64 `json:"root_bytes"`
	// RawDataSize is that of the directory, nil where it does not state.
	RawDataSize *uint64 `json:"raw_data_size,omitempty"`
	// Fields by dotted name, from Statistics on.
	Fields map[string]*Field `json:"fields,omitempty"`
	// Indexes of every scope.
	Indexes []Index `json:"indexes,omitempty"`

	schema *schema.Schema
	order  []string
}

// Stripe is one stripe.
type Stripe struct {
	Records        uint64 `json:"records"`
	Position       uint64 `json:"position"`
	DeletedRecords uint64 `json:"deleted_records"`
}

// Property is one name-value pair of a property bag.
type Property struct {
	// Scope is "shard", "stripe0" or "stripe0/field:NAME"; Bag is "standard" or "custom".
	Scope string          `json:"scope"`
	Bag   string          `json:"bag"`
	Name  string          `json:"name"`
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
	// Ref is the place that a value was read from which the property only refers to: url, start and end of a message.
	Ref json.RawMessage `json:"ref,omitempty"`
	// Error reports why a reference could not be followed; Kind is data_ref then, and Value the reference.
	Error string `json:"error,omitempty"`
}

// Shard inspects the shard with the given root.
func Shard(ctx context.Context, st index.Store, url string, o Options) (*Inspection, error) {
	r, err := meta.OpenRoot(ctx, st, url, meta.Options{Size: o.Size, Policy: o.Policy})
	if err != nil {
		return nil, err
	}
	v := &inspector{ctx: ctx, st: st, r: r, o: o, sizes: newExtents(r.URL())}
	v.out = &Inspection{URL: r.URL(), RootBytes: r.Size(), Properties: []Property{}, URLs: []string{}, Stripes: []Stripe{}}
	for _, step := range []func() error{v.directory, v.properties, v.stripes, v.fields} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	v.out.SizeBytes = r.Size() + v.sizes.total()
	return v.out, nil
}

// inspector goes through one shard.
type inspector struct {
	ctx   context.Context
	st    meta.Store
	r     *meta.Root
	o     Options
	out   *Inspection
	sizes *extents
}

func (v *inspector) directory() error {
	d := v.r.Directory()
	v.out.Records, v.out.DeletedRecords, v.out.RawDataSize = d.TotalRecordCount, d.DeletedRecordCount, d.RawDataSize
	s, err := v.r.Schema(v.ctx)
	if err != nil {
		return err
	}
	v.out.schema, v.out.Schema = s, s.Fields
	list, err := v.r.URLList(v.ctx)
	if err != nil {
		return err
	}
	v.out.URLs = append(v.out.URLs, list.GetUrls()...)
	idx, err := v.r.Indexes(v.ctx)
	if err != nil {
		return err
	}
	v.indexes("shard", idx)
	return nil
}

func (v *inspector) properties() error {
	p, err := v.r.Properties(v.ctx)
	if err != nil {
		return err
	}
	if p.GetCreationMin() != nil {
		v.out.CreationMin = timeText(p.CreationMin.Ticks)
	}
	if p.GetCreationMax() != nil {
		v.out.CreationMax = timeText(p.CreationMax.Ticks)
	}
	anchor, err := v.r.PropertiesAnchor()
	if err != nil {
		return err
	}
	return v.addProperties("shard", anchor, p)
}

func timeText(ticks uint64) *string {
	s := string(literal.AppendDateTime(nil, int64(ticks)))
	return &s
}

// bags are the two property lists of a scope.
type bags interface {
	GetStandardProperties() []*metapb.NameValuePair
	GetCustomProperties() []*metapb.NameValuePair
}

// addProperties lists the properties of a message of the object anchor.
func (v *inspector) addProperties(scope, anchor string, p bags) error {
	for _, bag := range []struct {
		name  string
		pairs []*metapb.NameValuePair
	}{{"standard", p.GetStandardProperties()}, {"custom", p.GetCustomProperties()}} {
		for _, pair := range bag.pairs {
			out, err := v.property(anchor, pair)
			if err != nil {
				return err
			}
			out.Scope, out.Bag = scope, bag.name
			v.out.Properties = append(v.out.Properties, out)
		}
	}
	return nil
}

// property is a property with the value that it means.
func (v *inspector) property(anchor string, pair *metapb.NameValuePair) (Property, error) {
	is := pair.GetValue()
	out := Property{Name: pair.GetName()}
	if is.GetDataRef() != nil {
		out.Ref = valuejson.Of(is, nil)
	}
	if out.Name != meta.PropertyObjects {
		meant, err := v.r.Follow(v.ctx, anchor, is)
		var damage *corrupt.Error
		switch {
		case errors.As(err, &damage), errors.Is(err, urlresolve.ErrRefused):
			out.Ref, out.Error = nil, err.Error()
		case err != nil:
			return out, err
		default:
			is = meant
		}
	}
	out.Kind, out.Value = meta.Kind(is), valuejson.Of(is, nil)
	return out, nil
}

func (v *inspector) stripes() error {
	stripes, err := v.r.Stripes(v.ctx)
	if err != nil {
		return err
	}
	for i, s := range stripes {
		v.out.Stripes = append(v.out.Stripes, Stripe{s.TotalRecordCount, s.ShardPosition, s.DeletedRecordCount})
		p, err := v.r.StripeProperties(v.ctx, i)
		if err != nil {
			return err
		}
		anchor, err := v.r.StripePropertiesAnchor(v.ctx, i)
		if err != nil {
			return err
		}
		if err := v.addProperties(fmt.Sprintf("stripe%d", i), anchor, p); err != nil {
			return err
		}
		idx, err := v.r.StripeIndexes(v.ctx, i)
		if err != nil {
			return err
		}
		v.indexes(fmt.Sprintf("stripe%d", i), idx)
	}
	return nil
}
