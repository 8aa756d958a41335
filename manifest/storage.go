package manifest

import (
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// storage sums up where the bytes of a shard lie.
type storage struct {
	objects map[string]bool
	bytes   int64
}

// storedBytes is what the buffers of one node take in all stripes. Buffers of a single-file shard lie inside
// the root and are counted with it.
func (d *describer) storedBytes(n *schema.Node) (int64, error) {
	var sum int64
	for i := range int(d.root.Directory().StripeCount) {
		f, anchor, err := d.root.StripeField(d.ctx, i, n.ID)
		if err != nil {
			return 0, err
		}
		for _, encoding := range f.GetEncodings() {
			for _, b := range encoding.GetNative().GetBuffers() {
				size, err := d.buffer(anchor, b)
				if err != nil {
					return 0, err
				}
				sum += size
			}
		}
	}
	return sum, nil
}

func (d *describer) buffer(anchor string, b *metapb.EncodedBuffer) (int64, error) {
	size := refSize(b.Buffer)
	if m := b.BlockMap; m != nil && !inside(m, b.Buffer) {
		size += refSize(m)
	}
	object, err := d.root.Resolve(anchor, b.Buffer.GetUrl())
	if err != nil {
		return 0, err
	}
	d.stored.objects[object] = true
	if object != d.root.URL() {
		d.stored.bytes += size
	}
	return size, nil
}

// inside tells whether the range of one reference is part of another's.
func inside(part, whole *metapb.DataRef) bool {
	if part.Url != whole.GetUrl() && part.Url != "" {
		return false
	}
	p, w := part.GetRange(), whole.GetRange()
	return p.GetStart() >= w.GetStart() && p.GetEnd() <= w.GetEnd()
}
