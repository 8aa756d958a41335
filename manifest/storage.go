package manifest

import (
	"cmp"

	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// storage sums up where the bytes of a shard lie.
type storage struct {
	// objects with the end of the last range that is referred to.
	objects map[string]int64
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
				size, err := d.buffer(anchor, b, d.rowsOf(i, n))
				if err != nil {
					return 0, err
				}
				sum += size
			}
		}
	}
	return sum, nil
}

// rowsOf is where the values of a node are noted to lie, nil for those that mark deleted records: which others come with.
func (d *describer) rowsOf(stripe int, n *schema.Node) *rowsSum {
	if n.Internal == schema.InternalDeletedRecord {
		return nil
	}
	return &d.rows[stripe]
}

func (d *describer) buffer(anchor string, b *metapb.EncodedBuffer, rows *rowsSum) (int64, error) {
	if b.Buffer == nil {
		return 0, nil // in the packed group of the parent
	}
	object, err := d.refer(anchor, b.Buffer, b.Buffer.GetUrl())
	if err != nil {
		return 0, err
	}
	if r := b.Buffer.GetRange(); rows != nil {
		rows.add(object, r.GetStart(), r.GetEnd())
	}
	size := refSize(b.Buffer)
	if m := b.BlockMap; m != nil && !inside(m, b.Buffer) {
		// A block map without a URL lies in its buffer's object.
		if object, err = d.refer(anchor, m, cmp.Or(m.Url, b.Buffer.GetUrl())); err != nil {
			return 0, err
		}
		size += refSize(m)
	}
	if object != d.root.URL() {
		d.stored.bytes += size
	}
	return size, nil
}

// refer notes that a range of an object is referred to.
func (d *describer) refer(anchor string, ref *metapb.DataRef, url string) (string, error) {
	object, err := d.root.Resolve(anchor, url)
	if err != nil {
		return "", err
	}
	d.stored.objects[object] = max(d.stored.objects[object], int64(ref.GetRange().GetEnd()))
	return object, nil
}

// inside reports whether the range of one reference is part of another's.
func inside(part, whole *metapb.DataRef) bool {
	if part.Url != whole.GetUrl() && part.Url != "" {
		return false
	}
	p, w := part.GetRange(), whole.GetRange()
	return p.GetStart() >= w.GetStart() && p.GetEnd() <= w.GetEnd()
}
