package merge

import (
	"context"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// mergeProperties concatenates the properties of the inputs, in order.
func (m *merger) mergeProperties(ctx context.Context) error {
	p := new(metapb.ShardProperties)
	m.properties = p
	var unknown [][]byte
	bag := collapsing{seen: map[string]bool{}}
	for _, s := range m.shards {
		if err := s.shorten(ctx, s.propertyAnchor, s.properties.StandardProperties, s.properties.CustomProperties); err != nil {
			return err
		}
		if err := m.urls.move(s, s.propertyAnchor, wholeShard, s.properties); err != nil {
			return err
		}
		p.StandardProperties = append(p.StandardProperties, s.properties.StandardProperties...)
		bag.add(s.properties.CustomProperties)
		unknown = append(unknown, s.properties.ProtoReflect().GetUnknown())
	}
	p.CustomProperties = bag.pairs
	m.mark()
	m.mergeCreation()
	p.ProtoReflect().SetUnknown(join(unknown))
	return nil
}

// shorten makes properties, which stand in a message of the object anchor, mean in the new root what they mean in s: what is more
// than one reference away is copied to where it is meant.
func (s *shard) shorten(ctx context.Context, anchor string, bags ...[]*metapb.NameValuePair) error {
	for _, bag := range bags {
		for _, p := range bag {
			if p.GetName() == meta.PropertyObjects {
				continue
			}
			v, err := s.root.Shorten(ctx, anchor, p.GetValue())
			if err != nil {
				return err
			}
			p.Value = v
		}
	}
	return nil
}

// collapsing is a list of custom properties in which what describes the shard itself occurs once.
type collapsing struct {
	pairs []*metapb.NameValuePair
	seen  map[string]bool
}

// add appends pairs. Properties of ours that are equal to one that is there are left out, and those that
// Concat sets again.
func (c *collapsing) add(pairs []*metapb.NameValuePair) {
	for _, p := range pairs {
		switch p.GetName() {
		case meta.PropertyLayout, meta.PropertyBounds, meta.PropertyAttempt, meta.PropertyFieldIDs, meta.PropertyRequired, meta.PropertyCopies:
			continue
		}
		if strings.HasPrefix(p.GetName(), "shardcat.") || p.GetName() == meta.PropertyArrowSchema {
			key := string(meta.Marshal(p))
			if c.seen[key] {
				continue
			}
			c.seen[key] = true
		}
		c.pairs = append(c.pairs, p)
	}
}

// mark adds the properties of the new root itself.
func (m *merger) mark() {
	bag := meta.Properties(m.properties.CustomProperties)
	if m.target.ids != nil {
		bag.Set(meta.PropertyFieldIDs, meta.Text(meta.FormatFieldIDs(m.target.ids)))
	}
	if required := m.required(); len(required) > 0 {
		bag.Set(meta.PropertyRequired, meta.Text(meta.FormatRequired(required)))
	}
	switch {
	case m.byStripes:
		bag.Set(meta.PropertyLayout, meta.Text(meta.LayoutStripes))
		bag.Set(meta.PropertyBounds, m.bounds.Value())
	case m.complete:
		bag.Set(meta.PropertyLayout, meta.Text(meta.LayoutColumns))
	}
	bag.Set(meta.PropertyAttempt, meta.Text(m.options.Attempt))
	m.properties.CustomProperties = bag
}

// required are the nodes of the new root that hold no null: those of which every input reports it.
func (m *merger) required() (ids []uint32) {
	in := make([]map[uint32]bool, len(m.shards))
	for i, s := range m.shards {
		own := s.schema.Required()
		if len(own) == 0 {
			return nil
		}
		in[i] = map[uint32]bool{}
		for _, id := range own {
			in[i][id] = true
		}
	}
	for id := range m.target.nodes {
		all := len(in) > 0
		for i, s := range m.shards {
			all = all && s.mapping[id] != lacking && in[i][s.mapping[id]]
		}
		if all {
			ids = append(ids, uint32(id))
		}
	}
	return ids
}

// mergeCreation takes the earliest and the latest creation time, or none if an input with records doesn't
// tell its own.
func (m *merger) mergeCreation() {
	var first, last *metapb.DateTimeUtc
	for _, s := range m.shards {
		min, max, known := meta.Creation(s.properties)
		if !known {
			if s.root.Directory().TotalRecordCount > 0 {
				return
			}
			continue
		}
		if first == nil || min < first.Ticks {
			first = s.properties.CreationMin
		}
		if last == nil || max > last.Ticks {
			last = s.properties.CreationMax
		}
	}
	m.properties.CreationMin, m.properties.CreationMax = first, last
}
