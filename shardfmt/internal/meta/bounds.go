package meta

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Bounds are what a filter needs to rule stripes out, of all fields in all stripes: counts of positions, nulls and
// NaNs, and ranges of values. They repeat what the stripes' descriptors say and lie in the property PropertyBounds as one
// zstd frame of
//
//	uvarint 0              the stripe has no descriptor of the field
//	uvarint n+1, n bytes   FieldDescriptor with those of its fields
//
// for the first field in every stripe, then the second, and so on.
type Bounds struct {
	stripes  int
	messages [][]byte
}

const (
	// maxBounds is the most bytes of bounds before compression: a root of 1 MiB, which is the largest that has any,
	// holds descriptors of no more.
	maxBounds = 2 << 20
	// maxBound is the longest range of values that bounds repeat, in bytes.
	maxBound = 128
)

// boundsOf is the part of a descriptor that bounds repeat, serialized; nil for none.
func boundsOf(d *metapb.FieldDescriptor) []byte {
	if d == nil {
		return nil
	}
	b := &metapb.FieldDescriptor{PositionCount: d.PositionCount, NullCount: d.NullCount}
	if r := d.RangeStats; r != nil && proto.Size(r) <= maxBound {
		b.RangeStats = r
	}
	if s := d.GetFloatingStats(); s != nil {
		b.TypeSpecific = &metapb.FieldDescriptor_FloatingStats{FloatingStats: &metapb.FloatingStats{NanCount: s.NanCount}}
	}
	if s := d.GetDecimalStats(); s != nil {
		b.TypeSpecific = &metapb.FieldDescriptor_DecimalStats{DecimalStats: &metapb.DecimalStats{NanCount: s.NanCount}}
	}
	return Marshal(b)
}

// BoundsBuilder collects the bounds of a root, field by field.
type BoundsBuilder struct{ raw []byte }

// Add appends the bounds of the next stripe, or of the next field in the first one; d is nil if the stripe has none.
func (b *BoundsBuilder) Add(d *metapb.FieldDescriptor) {
	if d == nil {
		b.raw = append(b.raw, 0)
		return
	}
	m := boundsOf(d)
	b.raw = binary.AppendUvarint(b.raw, uint64(len(m))+1)
	b.raw = append(b.raw, m...)
}

// Len is the number of bytes collected, not yet compressed.
func (b *BoundsBuilder) Len() int { return len(b.raw) }

// Value is the value of PropertyBounds, nil if the bounds are too many to be worth it.
func (b *BoundsBuilder) Value() *metapb.AnyValue {
	if len(b.raw) > maxBounds {
		return nil
	}
	return Blob(boundsEncoder().EncodeAll(b.raw, nil))
}

var boundsEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

var boundsDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBounds))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

// parseBounds reads the value of PropertyBounds of a root of so many stripes.
func parseBounds(packed []byte, stripes int) (*Bounds, error) {
	raw, err := boundsDecoder().DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("property %s: %w", PropertyBounds, err)
	}
	b := &Bounds{stripes: stripes}
	for len(raw) > 0 {
		n, k := binary.Uvarint(raw)
		if k <= 0 || n > uint64(len(raw)-k)+1 {
			return nil, fmt.Errorf("property %s: message %d is longer than the remaining bytes", PropertyBounds, len(b.messages))
		}
		raw = raw[k:]
		if n == 0 {
			b.messages = append(b.messages, nil)
			continue
		}
		b.messages = append(b.messages, raw[:n-1:n-1])
		raw = raw[n-1:]
	}
	if stripes == 0 || len(b.messages)%stripes != 0 {
		return nil, fmt.Errorf("property %s: %d messages for %d stripes", PropertyBounds, len(b.messages), stripes)
	}
	return b, nil
}

// Fields is the number of fields that the bounds cover.
func (b *Bounds) Fields() int { return len(b.messages) / b.stripes }

// Field is what the bounds state about the field with a node number in a stripe, nil if that has no descriptor.
func (b *Bounds) Field(stripe int, id uint32) (*metapb.FieldDescriptor, error) {
	at := int64(id)*int64(b.stripes) + int64(stripe)
	if at >= int64(len(b.messages)) || b.messages[at] == nil {
		return nil, nil
	}
	d := new(metapb.FieldDescriptor)
	return d, unmarshal(b.messages[at], d)
}

// Bounds are the bounds of all stripes, nil if the root has none.
func (r *Root) Bounds(ctx context.Context) (*Bounds, error) {
	return r.bounds.get(ctx, func() (*Bounds, error) {
		v, err := r.Own(ctx, PropertyBounds)
		if v == nil || err != nil {
			return nil, err
		}
		packed, _ := BytesOf(v)
		b, err := parseBounds(packed, int(r.dir.StripeCount))
		if err != nil {
			return nil, corrupt.Locate(corrupt.At(-1, "%v", err), r.url, 0)
		}
		return b, nil
	})
}

// CheckBounds compares the bounds of a root, if it has any, with the descriptors that they repeat.
func (r *Root) CheckBounds(ctx context.Context) error {
	b, err := r.Bounds(ctx)
	if b == nil || err != nil {
		return err
	}
	for i := range b.stripes {
		for id := range uint32(b.Fields()) {
			d, _, err := r.StripeField(ctx, i, id)
			if err != nil {
				return err
			}
			if string(boundsOf(d.GetField())) != string(b.messages[int(id)*b.stripes+i]) {
				return corrupt.Locate(corrupt.At(-1, "property %s contradicts the descriptor of field %d in stripe %d",
					PropertyBounds, id, i), r.url, 0)
			}
		}
	}
	return nil
}
