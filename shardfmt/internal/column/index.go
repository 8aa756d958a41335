package column

import (
	"context"
	"errors"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// IndexRequest gives the request for the range index of a field, nil if it has none. When it is
// filled, found gets the index, unless it is of a version that is not known.
func IndexRequest(ctx context.Context, of Field, found func(*colstream.RangeIndex)) (*colstream.Request, error) {
	node := of.Node
	d, anchor, err := of.Source.StripeField(ctx, of.Stripe, node.ID)
	if err != nil || d.GetField() == nil {
		return nil, err
	}
	width := indexWidth(node)
	if _, packed := meta.PackedMember(d); packed || width == 0 || d.Field.ConstantValue != nil {
		return nil, nil
	}
	f := &stored{o: &opener{ctx: ctx, root: node, src: of.Source, stripe: of.Stripe}, node: node, desc: d.Field, anchor: anchor}
	f.encoding = f.native(d.Encodings)
	b := f.buffer(metapb.BufferKind_RANGE_INDEX)
	if b == nil {
		return nil, nil
	}
	url, start, end, err := f.locate(b.Buffer)
	if err != nil {
		return nil, err
	}
	return &colstream.Request{URL: url, Start: uint64(start), End: uint64(end), Fill: func(b []byte) error {
		x, err := colstream.ParseRangeIndex(b, node.Basic, width, of.Records, false)
		if errors.Is(err, corrupt.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return corrupt.Locate(err, url, start)
		}
		found(x)
		return nil
	}}, nil
}

// indexWidth is the size of the values in a range index of a node in bytes, 0 if it can't have one.
func indexWidth(n *schema.Node) int {
	if n.IsDecimal() {
		return decimal.Size
	}
	return numberWidth(n.Basic)
}

// numberWidth is the size of the numbers of a basic type in bytes, 0 if it is none.
func numberWidth(b schema.Basic) int {
	switch b {
	case schema.Int8:
		return 1
	case schema.Int16:
		return 2
	case schema.Int32, schema.Float32:
		return 4
	case schema.Int64, schema.Float64, schema.DateTime:
		return 8
	}
	return 0
}
