package verify

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const (
	// recordsPerByte is how many records a byte of a shard may stand for. A block of known writers holds at most 65,536
	// values, and a stripe of constants has more bytes of metadata than that takes.
	recordsPerByte = 1 << 16
	// madePerByte and madePerValue are what a scan may make of a byte that is read, and of a value that is delivered; madePerStored
	// what it may make besides of a value that is stored: 128 for each of 8 bytes decoded.
	madePerByte, madePerValue, madePerStored = 512, 512, 8 * 128
)

// costs are what the metadata of a shard promise.
type costs struct {
	root    *meta.Root
	schema  *schema.Schema
	stripes []*metapb.StripeDirectory
	memory  uint64
	// objects are the ends of the last ranges, bytes their sum with the root.
	objects map[string]int64
	bytes   uint64
	// most is the field with the most positions in a stripe.
	most      *schema.Node
	positions uint64
	// constants are the bytes of the constant values of one record, at most.
	constants uint64
	// allowed are the bytes that a scan may make of all values.
	allowed uint64
	// unbounded are the top-level fields whose work depends on values.
	unbounded []*schema.Node
}

// costsOf reads all descriptors of a shard.
func costsOf(ctx context.Context, root *meta.Root, maxMemory int64) (*costs, error) {
	c := &costs{root: root, memory: budget.New(maxMemory).Limit(), objects: map[string]int64{root.URL(): root.Size()}}
	var err error
	if c.schema, err = root.Schema(ctx); err != nil {
		return nil, err
	}
	if c.stripes, err = root.Stripes(ctx); err != nil {
		return nil, err
	}
	all := make([]int, len(c.stripes))
	ids := make([]uint32, c.schema.Count)
	for i := range all {
		all[i] = i
	}
	for i := range ids {
		ids[i] = uint32(i)
	}
	if err := root.LoadFields(ctx, all, ids); err != nil {
		return nil, err
	}
	unbounded := map[uint32]bool{}
	for i := range c.stripes {
		constants := uint64(0)
		for _, n := range c.schema.Fields {
			more, atOffsets, err := c.field(ctx, i, n, c.stripes[i].TotalRecordCount)
			if err != nil {
				return nil, err
			}
			constants = add(constants, more)
			if atOffsets && !unbounded[n.ID] {
				unbounded[n.ID] = true
				c.unbounded = append(c.unbounded, n)
			}
		}
		c.constants = max(c.constants, constants)
	}
	for _, end := range c.objects {
		c.bytes = add(c.bytes, uint64(end))
	}
	return c, nil
}

// exist makes sure that the objects are there, and long enough: one HEAD each.
func (c *costs) exist(ctx context.Context, st Store) error {
	urls := slices.DeleteFunc(slices.Sorted(maps.Keys(c.objects)), func(url string) bool { return url == c.root.URL() })
	if client, ok := st.(*blobio.Client); ok {
		return client.Each(ctx, len(urls), func(ctx context.Context, branch *blobio.Client, i int) error {
			return c.holds(ctx, branch, urls[i])
		})
	}
	for _, url := range urls {
		if err := c.holds(ctx, st, url); err != nil {
			return err
		}
	}
	return nil
}

// holds makes sure that an object is as long as it has to be.
func (c *costs) holds(ctx context.Context, st Store, url string) error {
	info, err := st.Stat(ctx, url)
	switch {
	case errors.Is(err, blobio.ErrNotFound):
		return corrupt.Locate(corrupt.At(-1, "an object that the shard refers to is missing"), url, 0)
	case err != nil:
		return err
	case info.Size < c.objects[url]:
		return corrupt.Locate(corrupt.At(info.Size, "the object ends here, but the shard refers to bytes up to %d", c.objects[url]), url, 0)
	}
	return nil
}

// field takes in the descriptors of a field and of all below it: the bytes of their constants, and whether a union has
// its values at offsets. The field may have so many positions at most.
func (c *costs) field(ctx context.Context, stripe int, n *schema.Node, most uint64) (constants uint64, atOffsets bool, err error) {
	d, anchor, err := c.root.StripeField(ctx, stripe, n.ID)
	if err != nil || d.GetField() == nil {
		return 0, false, err
	}
	p := d.Field.PositionCount
	each := uint64(madePerValue)
	if slices.ContainsFunc(d.Encodings, isStored) {
		each += madePerStored
	}
	c.allowed = add(c.allowed, multiply(each, c.stripes[stripe].TotalRecordCount))
	if p > most {
		return 0, false, corrupt.Locate(corrupt.At(-1, "stripe %d, field %q: %d positions, its parent has %d", stripe, n.Name, p, most), anchor, 0)
	}
	if c.most == nil || p > c.positions {
		c.most, c.positions = n, p
	}
	if n.Basic != schema.Struct && n.Basic != schema.Union {
		p = math.MaxUint64 // of elements there may be more
	}
	if v := d.Field.GetConstantValue(); v != nil {
		constants = uint64(len(v.GetStringValue()) + len(v.GetBytesValue()))
	}
	for _, e := range d.Encodings {
		for _, b := range e.GetNative().GetBuffers() {
			if b.Buffer == nil {
				continue // in a packed group
			}
			url, err := c.root.Resolve(anchor, b.GetBuffer().GetUrl())
			if err != nil {
				return 0, false, err
			}
			_, end, err := meta.RefRange(b.GetBuffer())
			if err != nil {
				return 0, false, corrupt.Locate(err, anchor, 0)
			}
			c.objects[url] = max(c.objects[url], end)
			atOffsets = atOffsets || n.Basic == schema.Union && b.Kind == metapb.BufferKind_OFFSETS
		}
	}
	for _, child := range n.Children {
		more, below, err := c.field(ctx, stripe, child, p)
		if err != nil {
			return 0, false, err
		}
		constants, atOffsets = add(constants, more), atOffsets || below
	}
	return constants, atOffsets, nil
}

// isStored reports whether an encoding has values in an object.
func isStored(e *metapb.DataEncoding) bool {
	return len(e.GetNative().GetBuffers()) > 0 || e.GetParquet() != nil
}

// check refuses what costs more than it may.
func (c *costs) check() error {
	if end := c.objects[c.root.URL()]; end > c.root.Size() {
		return corrupt.At(c.root.Size(), "the object ends here, but the shard refers to bytes up to %d", end)
	}
	records := c.root.Directory().TotalRecordCount
	most := multiply(recordsPerByte, c.bytes)
	if records > most {
		return corrupt.Unsupported(-1, "%d records in %d bytes: at most %d per byte", records, c.bytes, recordsPerByte)
	}
	if c.positions > most {
		return corrupt.Unsupported(-1, "field %q has %d positions in %d bytes: at most %d per byte",
			c.most.Name, c.positions, c.bytes, recordsPerByte)
	}
	record := c.constants
	for _, n := range c.schema.Fields {
		record = add(record, width(n))
	}
	if records > 0 && record > c.memory/2 {
		return corrupt.Unsupported(-1, "one record takes %d bytes of memory, more than the limit of %d for a scan", record, c.memory)
	}
	allowed := add(c.memory, add(multiply(madePerByte, c.bytes), c.allowed))
	if all := multiply(records, record); all > allowed {
		return corrupt.Unsupported(-1, "%d records of %d bytes each in %d bytes, more than the limit of %d bytes",
			records, record, c.bytes, allowed)
	}
	return nil
}

// width is how many bytes of memory a value of a node takes at least, a null too.
func width(n *schema.Node) (bytes uint64) {
	switch n.Basic {
	case schema.Unit:
		return 0
	case schema.Boolean, schema.Int8:
		return 1
	case schema.Int16:
		return 2
	case schema.Int32, schema.Float32:
		return 4
	case schema.FixedSizeBinary, schema.Guid:
		return n.FixedSize
	case schema.FixedSizeList:
		return multiply(n.FixedSize, widths(n.Children))
	case schema.Struct, schema.Union:
		return add(1, widths(n.Children))
	}
	return 8
}

func widths(nodes []*schema.Node) (sum uint64) {
	for _, n := range nodes {
		sum = add(sum, width(n))
	}
	return sum
}

// add and multiply stop at the greatest number.
func add(a, b uint64) uint64 { return a + min(b, math.MaxUint64-a) }

func multiply(a, b uint64) uint64 {
	if hi, lo := bits.Mul64(a, b); hi == 0 {
		return lo
	}
	return math.MaxUint64
}
