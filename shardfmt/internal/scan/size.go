package scan

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

const (
	// batchBytes is about the most bytes that the values of batches should take, of those decoded side by side and the one
	// that is used.
	batchBytes = 64 << 20
	// localBatch is about the most bytes of one batch where requests cost next to nothing: fewer of its pages are new.
	localBatch = 3 << 19
	// evenBatch is the size of most blocks of numbers, so that larger batches end with a block.
	evenBatch = 8 << 10
	// leastBatch is the fewest rows that the descriptors can make of a batch, since they may say anything. Where
	// values are in truth so large, the budget makes it smaller.
	leastBatch = 256
	// nearBatch is about how many bytes the values of a batch take where stored bytes are read a few at a time (nearBytes): with them they
	// lie in half of a second-level cache of a mebibyte, and the next batch is decoded where this one was. Of fewer than leastNear rows,
	// what a batch costs by itself, a microsecond or two for each column, shows beside decoding.
	nearBatch, leastNear = 256 << 10, 16 << 10
	// cutShare: batches are not made smaller if then more than one in so many bytes of values are of blocks larger than a batch, which
	// are decoded aside and copied, a part for each batch.
	cutShare = 16
)

// columnSize is what a descriptor states about the values of a field: how many bytes they have, and for how many rows a block is.
type columnSize struct{ raw, blockRows uint64 }

// batchRows is how many rows of average size make a batch; blockRows is set with it.
func (s *stripe) batchRows(ctx context.Context) (int, error) {
	raw, widest, sizes := uint64(0), uint64(0), make([]columnSize, 0, s.plan.made)
	for _, id := range s.plan.nodes[:s.plan.made] {
		d, _, err := s.described().StripeField(ctx, s.index, id)
		if err != nil {
			return 0, err
		}
		size := columnSize{d.GetField().GetRawDataSize(), blockRows(d, s.of.Records)}
		raw += size.raw
		if size.raw >= widest {
			widest, s.blockRows = size.raw, size.blockRows
		}
		sizes = append(sizes, size)
	}
	if raw/s.of.Records == 0 {
		return s.plan.q.BatchRows, nil
	}
	bytes := s.atMost(batchBytes) / uint64(s.plan.q.Workers+1)
	if s.plan.local {
		bytes = min(bytes, localBatch)
	}
	rows := int(bytes / (raw / s.of.Records))
	if rows > evenBatch {
		rows = rows / evenBatch * evenBatch
	}
	rows = min(s.plan.q.BatchRows, max(leastBatch, rows))
	if s.plan.nearby && s.plan.q.Filter == nil {
		for rows >= 2*leastNear && uint64(rows) > nearBatch/(raw/s.of.Records) && cutBytes(sizes, uint64(rows/2)) <= raw/cutShare {
			rows /= 2
		}
	}
	return rows, nil
}

// blockRows is for how many of the rows of a stripe a block of a field's values is on average, 0 if it has none.
func blockRows(d *metapb.StripeFieldDescriptor, rows uint64) uint64 {
	if len(d.GetEncodings()) == 0 {
		return 0
	}
	for _, b := range d.GetEncodings()[0].GetNative().GetBuffers() {
		if n := b.GetBlockCount(); b.Kind == metapb.BufferKind_DATA && n > 0 {
			return rows / n
		}
	}
	return 0
}

// cutBytes is how many bytes the values have whose blocks are for more rows than a batch has.
func cutBytes(sizes []columnSize, rows uint64) (n uint64) {
	for _, c := range sizes {
		if c.blockRows > rows {
			n += c.raw
		}
	}
	return n
}
