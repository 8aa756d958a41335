package scan

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const (
	// maxMarked is the most records of a stripe whose deleted ones are passed as a bitmap, which has 128 MiB then.
	maxMarked = 1 << 30
	// markerRows are read at a time.
	markerRows = 1 << 20
)

// Marks reports whether a stripe, of which its directory states that so many records are deleted, may mark some: by the directory, or by what is
// reported of its marker field. The marks count, so a directory that states none is not believed where the field may have some.
func Marks(ctx context.Context, root *meta.Root, stripe int, marker *schema.Node, deleted uint64) (bool, error) {
	if deleted > 0 {
		return true, nil
	}
	d, _, err := root.SharedStripeField(ctx, stripe, marker.ID)
	if err != nil || d.GetField() == nil {
		return false, err
	}
	f := d.GetField()
	if v := f.GetConstantValue(); v != nil {
		is, ok := v.Kind.(*metapb.AnyValue_BoolValue)
		return ok && is.BoolValue, nil
	}
	if s, ok := f.TypeSpecific.(*metapb.FieldDescriptor_BooleanStats); ok && s.BooleanStats.GetTrueCount() == 0 {
		return false, nil
	}
	return f.NullCount == nil || *f.NullCount < f.PositionCount, nil
}

// Deleted gives the deleted records of a stripe of root by its marker field, as a bitmap: bit i (least significant first) is set where record i of the
// stripe is deleted.
func Deleted(ctx context.Context, store Store, root *meta.Root, marker column.Field) ([]byte, error) {
	marker.Source = root
	records := marker.Records
	if records > maxMarked {
		return nil, corrupt.Locate(corrupt.Unsupported(-1, "stripe %d has %d records, some of them deleted; deleted records are supported up to %d",
			marker.Stripe, records, maxMarked), root.URL(), 0)
	}
	c, err := column.Open(ctx, marker, nil)
	if err != nil {
		return nil, err
	}
	f, all := &fetcher{store: store}, []colstream.Range{{Start: 0, End: records}}
	fetch := func() error { return f.columns(ctx, []column.Column{c}, all, true) }
	if err := fetch(); err != nil {
		return nil, err
	}
	bitmap := make([]byte, (records+7)/8)
	for at := uint64(0); at < records; at += markerRows {
		data, err := c.Read(colstream.Range{Start: at, End: min(at+markerRows, records)})
		if errors.Is(err, column.ErrOtherEncoding) {
			if err = fetch(); err == nil {
				at -= markerRows // the same rows again
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		values := array.NewBooleanData(data)
		for i := range values.Len() {
			if values.IsValid(i) && values.Value(i) {
				bitutil.SetBit(bitmap, int(at)+i)
			}
		}
	}
	return bitmap, nil
}
