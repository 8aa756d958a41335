package meta

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// FormatRequired is the text of PropertyRequired for rising node numbers.
func FormatRequired(ids []uint32) string {
	var b []byte
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(id), 10)
	}
	return string(b)
}

// ParseRequired reads the text of PropertyRequired for a schema of so many nodes: their numbers, rising.
func ParseRequired(text string, nodes uint32) ([]uint32, error) {
	if text == "" {
		return nil, nil
	}
	if n := strings.Count(text, ",") + 1; n > int(nodes) {
		return nil, fmt.Errorf("property %s: %d numbers for %d nodes", PropertyRequired, n, nodes)
	}
	var ids []uint32
	for part := range strings.SplitSeq(text, ",") {
		id, err := strconv.ParseUint(part, 10, 32)
		if err != nil || uint32(id) >= nodes || len(ids) > 0 && uint32(id) <= ids[len(ids)-1] {
			return nil, fmt.Errorf("property %s: bad node number %q", PropertyRequired, part)
		}
		ids = append(ids, uint32(id))
	}
	return ids, nil
}

// Required are the numbers of the nodes that the shard says hold no null, rising; see schema.Schema.Required.
func (r *Root) Required(ctx context.Context) ([]uint32, error) {
	return r.required.get(ctx, func() ([]uint32, error) {
		text, ok, err := r.OwnText(ctx, PropertyRequired)
		if err != nil || !ok {
			return nil, err
		}
		view, err := r.SchemaView(ctx)
		if err != nil {
			return nil, err
		}
		ids, err := ParseRequired(text, view.Count())
		if err != nil {
			return nil, corrupt.Locate(corrupt.At(-1, "%v", err), r.url, 0)
		}
		return ids, nil
	})
}

// MarkRequired says of the given nodes of the schema, and of all below them, which hold no null.
func (r *Root) MarkRequired(ctx context.Context, nodes []*schema.Node) error {
	ids, err := r.Required(ctx)
	if err != nil {
		return err
	}
	if err := schema.MarkRequired(nodes, ids); err != nil {
		return corrupt.Locate(err, r.url, 0)
	}
	return nil
}

// Own is the value of a custom property of the shard that this program gives a meaning, with what references lead to in their place;
// nil if the shard has none of that name.
func (r *Root) Own(ctx context.Context, name string) (*metapb.AnyValue, error) {
	p, err := r.Properties(ctx)
	if err != nil {
		return nil, err
	}
	v := Properties(p.CustomProperties).Get(name)
	if v == nil {
		return nil, nil
	}
	anchor, err := r.PropertiesAnchor()
	if err != nil {
		return nil, err
	}
	return r.Follow(ctx, anchor, v)
}

// OwnText is Own for a property that is a string; any other value is a corrupt.Error.
func (r *Root) OwnText(ctx context.Context, name string) (text string, ok bool, err error) {
	v, err := r.Own(ctx, name)
	if v == nil || err != nil {
		return "", false, err
	}
	if text, ok = TextOf(v); !ok {
		return "", false, corrupt.Locate(corrupt.At(-1, "property %s is a value of the kind %q, not a string", name, Kind(v)), r.url, 0)
	}
	return text, true, nil
}
