package meta

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
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
	n := strings.Count(text, ",") + 1
	if n > int(nodes) {
		return nil, fmt.Errorf("property %s: %d numbers for %d nodes", PropertyRequired, n, nodes)
	}
	ids := make([]uint32, 0, n)
	for part := range strings.SplitSeq(text, ",") {
		id, err := parseNode(part, nodes)
		if err != nil || len(ids) > 0 && id <= ids[len(ids)-1] {
			return nil, badNode(part)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// requiredHas reports whether the text of PropertyRequired has a node, by a binary search in the text itself. Only the numbers that it comes
// across are checked.
func requiredHas(text string, id, nodes uint32) (bool, error) {
	for text != "" {
		middle := len(text) / 2
		start := strings.LastIndexByte(text[:middle], ',') + 1
		end := len(text)
		if n := strings.IndexByte(text[middle:], ','); n >= 0 {
			end = middle + n
		}
		got, err := parseNode(text[start:end], nodes)
		switch {
		case err != nil:
			return false, err
		case got == id:
			return true, nil
		case id < got:
			text = text[:max(start-1, 0)]
		default:
			text = text[min(end+1, len(text)):]
		}
	}
	return false, nil
}

func parseNode(text string, nodes uint32) (uint32, error) {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || uint32(id) >= nodes {
		return 0, badNode(text)
	}
	return uint32(id), nil
}

func badNode(text string) error {
	return fmt.Errorf("property %s: bad node number %q", PropertyRequired, text)
}

// Required are the numbers of the nodes that the shard states hold no null, rising; see schema.Schema.Required.
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
			return nil, r.badRequired(err)
		}
		return ids, nil
	})
}

func (r *Root) badRequired(err error) error {
	return corrupt.Locate(corrupt.At(-1, "%v", err), r.url, 0)
}

// MarkRequired marks which of the given nodes of the schema, and of all below them, hold no null. What the shard states about other nodes is not
// looked at; Schema checks all of it.
func (r *Root) MarkRequired(ctx context.Context, nodes []*schema.Node) error {
	text, ok, err := r.wireText(ctx, PropertyRequired)
	if err != nil || !ok {
		return err
	}
	view, err := r.SchemaView(ctx)
	if err != nil {
		return err
	}
	err = schemawire.MarkRequiredBy(nodes, func(id uint32) (bool, error) {
		has, err := requiredHas(text, id, view.Count())
		if err != nil {
			err = r.badRequired(err)
		}
		return has, err
	})
	return corrupt.Locate(err, r.url, 0)
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
