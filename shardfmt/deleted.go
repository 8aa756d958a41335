package shardfmt

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/scan"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// DeletedRecords gives the deleted records of a stripe as a bitmap: bit i (least significant first) is set where
// record i of the stripe is deleted. A stripe without deleted records costs what its description costs.
func (s *Shard) DeletedRecords(ctx context.Context, stripe int) ([]byte, error) {
	st := s.stripes[stripe]
	marker, err := s.marker(ctx)
	if err != nil {
		return nil, err
	}
	marks := st.Deleted > 0
	if marker != nil {
		if marks, err = scan.Marks(ctx, s.root, stripe, marker, st.Deleted); err != nil {
			return nil, err
		}
	}
	switch {
	case !marks:
		return make([]byte, (st.Records+7)/8), nil
	case marker == nil:
		return nil, corrupt.Locate(corrupt.At(-1, "stripe %d has %d deleted records, the schema no field that marks them",
			stripe, st.Deleted), s.URL(), 0)
	}
	return scan.Deleted(ctx, s.store, s.root, column.Field{Stripe: stripe, Node: marker, Records: st.Records})
}

// marker gives the internal field that marks deleted records, nil if there is none.
func (s *Shard) marker(ctx context.Context) (*schema.Node, error) {
	return s.root.FieldByKind(ctx, schema.InternalDeletedRecord, schema.Boolean)
}
