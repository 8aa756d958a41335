package shardfmt

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/internal/field"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// DeletedRecords gives the deleted records of a stripe as a bitmap: bit i (least significant first) is set where
// record i of the stripe is deleted. A stripe without deleted records costs no request.
func (s *Shard) DeletedRecords(ctx context.Context, stripe int) ([]byte, error) {
	st := s.stripes[stripe]
	bitmap := make([]byte, (st.Records+7)/8)
	if st.Deleted == 0 {
		return bitmap, nil
	}
	marker, err := s.markerField(ctx)
	if err != nil {
		return nil, err
	}
	if marker == nil {
		return nil, corrupt.Locate(corrupt.At(-1, "stripe %d has %d deleted records, the schema no field that marks them",
			stripe, st.Deleted), s.URL(), 0)
	}
	c, err := field.Open(ctx, s.root, stripe, marker, st.Records)
	if err != nil {
		return nil, err
	}
	all := []buffer.Range{{Start: 0, End: st.Records}}
	for {
		round, err := c.Need(all, true)
		if err != nil {
			return nil, err
		}
		if len(round) == 0 {
			break
		}
		if err := fetch(ctx, s.sp, round); err != nil {
			return nil, err
		}
	}
	data, err := c.Read(all[0])
	if err != nil {
		return nil, err
	}
	values := array.NewBooleanData(data)
	for i := range values.Len() {
		if values.IsValid(i) && values.Value(i) {
			bitutil.SetBit(bitmap, i)
		}
	}
	return bitmap, nil
}

// markerField is the internal field that marks deleted records, nil if there is none.
func (s *Shard) markerField(ctx context.Context) (*schema.Node, error) {
	all, err := s.root.Schema(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range all.Fields {
		if f.Internal == schema.InternalDeletedRecord && f.Basic == schema.Boolean {
			return f, nil
		}
	}
	return nil, nil
}
