package meta

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Bags are the property bags of a shard, a stripe or a field.
type Bags struct {
	// Standard properties have a meaning that all who know the format share, as the tags drop-by and ingest-by have; Custom ones are
	// anybody's.
	Standard, Custom Properties
}

// ReadProperties are the property bags of the shard, with the values that references lead to in their place; see Follow.
func (r *Root) ReadProperties(ctx context.Context) (Bags, error) {
	m, err := r.Properties(ctx)
	if err != nil {
		return Bags{}, err
	}
	anchor, err := r.PropertiesAnchor()
	if err != nil {
		return Bags{}, err
	}
	return r.readBags(ctx, anchor, m)
}

// PropertiesAnchor is the object that the shard's properties lie in, which references without URL in them mean.
func (r *Root) PropertiesAnchor() (string, error) {
	return r.Resolve(r.url, r.dir.PropertiesRef.GetUrl())
}

// ReadStripeProperties is ReadProperties for the properties of stripe i.
func (r *Root) ReadStripeProperties(ctx context.Context, i int) (Bags, error) {
	m := new(metapb.StripeProperties)
	anchor, err := r.stripePart(ctx, i, (*metapb.StripeDirectory).GetPropertiesRef, m)
	if err != nil {
		return Bags{}, err
	}
	return r.readBags(ctx, anchor, m)
}

// StripePropertiesAnchor is the object that the properties of stripe i lie in.
func (r *Root) StripePropertiesAnchor(ctx context.Context, i int) (string, error) {
	s, dir, err := r.stripe(ctx, i)
	if err != nil {
		return "", err
	}
	return r.Resolve(s.anchor, dir.PropertiesRef.GetUrl())
}

// ReadFieldProperties is ReadProperties for the field with the given node number in stripe i; without a descriptor there it
// has none.
func (r *Root) ReadFieldProperties(ctx context.Context, i int, id uint32) (Bags, error) {
	d, anchor, err := r.StripeField(ctx, i, id)
	if err != nil {
		return Bags{}, err
	}
	return r.readBags(ctx, anchor, d.GetField())
}

// bags are the two property lists of a message.
type bags interface {
	GetStandardProperties() []*metapb.NameValuePair
	GetCustomProperties() []*metapb.NameValuePair
}

func (r *Root) readBags(ctx context.Context, anchor string, m bags) (out Bags, err error) {
	if out.Standard, err = r.FollowAll(ctx, anchor, m.GetStandardProperties()); err != nil {
		return Bags{}, err
	}
	out.Custom, err = r.FollowAll(ctx, anchor, m.GetCustomProperties())
	return out, err
}
