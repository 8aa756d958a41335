package stats

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Options choose what a Collector gives beyond counts. The zero value is the default.
type Options struct {
	// Plain leaves out the Bloom filters that nobody requested, except those of guids: the rule of the
	// reference for its profile Plain.
	Plain bool
	// Reference leaves out what the reference doesn't write.
	Reference bool
	// Exact is how many different values are counted exactly, 1,024 if it is less.
	Exact int
	// NoSeed makes Bloom filters that are hashed with the seed 0 and have a power of two of blocks, as the draft wire has them.
	NoSeed bool
	// Bloom requests a filter, or for none.
	Bloom Bloom
	// FPP is the target rate of false positives of a filter that is requested, between 0 and 1;
	// defaultFPP if 0.
	FPP float64
}

// seed of the Bloom filters.
func (o *Options) seed() uint64 {
	if o.NoSeed {
		return 0
	}
	return filterSeed
}

// Bloom reports whether a field gets a Bloom filter.
type Bloom uint8

// BloomDefault leaves it to the type and the values: at most 1,024 distinct strings, byte strings or guids,
// or as many scattered integers. BloomAlways filters any type that is hashed, up to a filter of 1 MiB.
const (
	BloomDefault Bloom = iota
	BloomNever
	BloomAlways
)

// Collector gathers the statistics of one field of one stripe. Not for concurrent use.
type Collector struct {
	node      *schema.Node
	options   Options
	positions uint64
	nulls     uint64
	body      body
}

// body is the part of a collector that depends on the type.
type body interface {
	// add takes the non-null values of a canonical array.
	add(a arrow.Array)
	// describe fills in what the type knows: the size of the values in bytes is returned, without a null
	// bitmap. It is called once, at the end.
	describe(c *Collector, d *metapb.FieldDescriptor) (size uint64)
}

// NewCollector starts the statistics of a node.
func NewCollector(node *schema.Node, o Options) *Collector {
	c := &Collector{node: node, options: o}
	c.body = c.newBody()
	return c
}

func (c *Collector) newBody() body {
	switch c.node.Basic {
	case schema.Boolean:
		return &booleans{}
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64, schema.DateTime:
		return newIntegers(c)
	case schema.Float32, schema.Float64:
		return newFloats(c)
	case schema.String, schema.Binary, schema.Guid:
		return newByteStrings(c)
	case schema.FixedSizeBinary:
		if c.node.IsDecimal() {
			return newDecimals(c)
		}
		return newByteStrings(c)
	case schema.List, schema.Map:
		return &lists{}
	case schema.Union:
		return &unions{}
	}
	return hollow{}
}

// Positions is the number of positions added so far.
func (c *Collector) Positions() uint64 { return c.positions }

// Nulls is the number of nulls added so far.
func (c *Collector) Nulls() uint64 { return c.nulls }

// Add takes the next values of the field, an array of the node's canonical type; of a nested type only its
// own level.
func (c *Collector) Add(a arrow.Array) {
	a = storage(a)
	nulls := nullCount(a)
	c.positions += uint64(a.Len())
	c.nulls += uint64(nulls)
	if nulls < a.Len() {
		c.body.add(a)
	}
}

// AddCounted takes a value that comes n times, nil for a null: the statistics are those of an array of so many. It is for the types
// that are stored as byte strings: String, Binary, Guid, FixedSizeBinary and decimals. Nothing of the value is kept.
func (c *Collector) AddCounted(value []byte, n uint64) {
	c.positions += n
	if value == nil {
		c.nulls += n
		return
	}
	if n > 0 {
		c.body.(countedBody).many(value, n)
	}
}

// countedBody is a body of values that are stored as byte strings.
type countedBody interface {
	many(value []byte, n uint64)
}

// AddNulls takes n null positions.
func (c *Collector) AddNulls(n int) {
	c.positions += uint64(n)
	c.nulls += uint64(n)
}

// storage is the array below an extension type.
func storage(a arrow.Array) arrow.Array {
	if e, ok := a.(array.ExtensionArray); ok {
		return e.Storage()
	}
	return a
}

// nullCount counts the null slots: those of a union are the slots whose variant is null.
func nullCount(a arrow.Array) int {
	if a.DataType().ID() != arrow.SPARSE_UNION {
		return a.NullN()
	}
	nulls := 0
	for i := range a.Len() {
		if arrowtype.IsNull(a, i) {
			nulls++
		}
	}
	return nulls
}

// TooMany reports whether there are more different values than Options.Exact.
func (c *Collector) TooMany() bool {
	switch b := c.body.(type) {
	case *integers:
		return b.sketch != nil && b.sketch.exact.tooMany
	case *floats:
		return b.sketch != nil && b.sketch.exact.tooMany
	case *decimals:
		return b.sketch != nil && b.sketch.exact.tooMany
	case *byteStrings:
		return b.sketch.exact.tooMany
	}
	return false
}

// Descriptor is the field's descriptor as far as statistics fill it. Call it once, after the last Add.
func (c *Collector) Descriptor() *metapb.FieldDescriptor {
	d := &metapb.FieldDescriptor{PositionCount: c.positions}
	if c.node.Basic == schema.Unit {
		return d
	}
	nulls := c.nulls
	d.NullCount = &nulls
	size := c.body.describe(c, d)
	switch {
	case c.nulls == c.positions:
		size = 0
	case c.nulls > 0:
		size += (c.positions + 7) / 8
	}
	d.RawDataSize = &size
	if c.nulls == c.positions && c.positions > 0 && c.canBeConstant() {
		d.ConstantValue = nullValue()
	}
	return d
}

// canBeConstant: nested fields keep their buffers even if every value is the same.
func (c *Collector) canBeConstant() bool {
	switch c.node.Basic {
	case schema.Unit, schema.List, schema.FixedSizeList, schema.Struct, schema.Map, schema.Union:
		return false
	}
	return true
}

func nullValue() *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_NullValue{NullValue: &metapb.UnitValue{}}}
}

// constant sets the constant value of a field without nulls.
func (c *Collector) constant(d *metapb.FieldDescriptor, v *metapb.AnyValue) {
	if c.nulls == 0 && c.positions > 0 {
		d.ConstantValue = v
	}
}

// filterFor starts the hashes of a field's Bloom filter, or gives nil if it gets none. byDefault states
// whether the type has one on its own.
func (c *Collector) filterFor(byDefault bool) *hashSet {
	switch {
	case c.options.Bloom == BloomAlways:
		return newHashSet(filterSize, c.options.seed())
	case c.options.Bloom == BloomNever || !byDefault:
		return nil
	}
	return newHashSet(filterValues, c.options.seed())
}

// filter is the finished Bloom filter, or nil.
func (c *Collector) filter(s *hashSet) *metapb.MembershipFilters {
	size, fpp := referenceFilterSize, defaultFPP
	if c.options.Bloom == BloomAlways || c.options.NoSeed {
		size = bookFilterSize
	}
	if c.options.Bloom == BloomAlways && c.options.FPP > 0 && c.options.FPP < 1 {
		fpp = c.options.FPP
	}
	f := s.filter(fpp, size)
	if f != nil && Widened(c.node) {
		f.Sbbf.HashAlgorithm = widenedAlgorithm
	}
	return f
}
