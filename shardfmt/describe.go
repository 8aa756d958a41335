package shardfmt

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Description is what the metadata of a shard states about it as a whole.
type Description struct {
	// Size of the root in bytes, MetadataBytes of them without schema and properties.
	Size, MetadataBytes int64
	// CreationMin and CreationMax are the creation times of the records, in ticks of 100 ns since 0001-01-01, if Created.
	CreationMin, CreationMax uint64
	Created                  bool
	// Standard are the standard properties; HasFieldIDs reports whether the shard stores Iceberg field ids.
	Standard    []Property
	HasFieldIDs bool
	// Fields by node number.
	Fields []FieldSummary
	// TermFilters by stripe.
	TermFilters [][]*index.TermFilter
	// Rows identify the records of each stripe, see Shard.StripeRows; nil if one of them has no identity.
	Rows [][16]byte
	// Objects are those that the root refers to, itself left out, each with the least size it must have: the end of the last
	// range that a buffer has there. StoredBytes is the size of the root and of all buffers outside of it, IndexBytes that of the
	// objects of indexes, as their descriptions state it.
	Objects                 map[string]int64
	StoredBytes, IndexBytes int64
	// FilterObjects are the objects of term filters, of FilterBytes; these are in IndexBytes too.
	FilterObjects, FilterBytes int64
	// DataObjects counts the objects that values lie in, the root among them where some do. ColumnRanges is how many ranges of them a column
	// takes on average, rounded up: one a stripe, or fewer where the values of several stripes lie side by side. Both are 0 of a shard without values.
	DataObjects, ColumnRanges int64
}

// DateTime is a time in ticks of 100 ns since 0001-01-01, TimeSpan a duration in ticks.
type (
	DateTime uint64
	TimeSpan int64
)

// ticksPerMicro is the number of ticks in a microsecond.
const ticksPerMicro = 10

// UnixMicro gives the microseconds since 1970, rounded down, or up if up.
func (d DateTime) UnixMicro(up bool) int64 {
	since := int64(d) - literal.UnixEpoch
	micros := since / ticksPerMicro
	switch rest := since % ticksPerMicro; {
	case rest < 0 && !up:
		micros--
	case rest > 0 && up:
		micros++
	}
	return micros
}

// FieldSummary is what the metadata of a shard states about one field.
type FieldSummary struct {
	// Bytes of the buffers of the field in all stripes.
	Bytes int64
	// Described: the shard has statistics of the field as a whole; else the rest is not known.
	Described bool
	// Positions of the field, null ones included; Nulls and NaNs among them, nil if not known.
	Positions   uint64
	Nulls, NaNs *uint64
	// Min and Max are bounds of the values: nil, or a bool, int64, uint64, float64, string, []byte, DateTime or TimeSpan, as the
	// writer stored them.
	Min, Max any
}

// Describe reads what the metadata of the shard states about it. No data is read.
func (s *Shard) Describe(ctx context.Context) (*Description, error) {
	d, err := s.describe(ctx)
	if err != nil {
		return nil, err
	}
	urls, err := d.root.URLList(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range urls.GetUrls() {
		object, err := d.root.Resolve(d.root.URL(), u)
		if err != nil {
			return nil, err
		}
		d.objects[object] = max(d.objects[object], 0)
	}
	d.out.Objects = maps.Clone(d.objects)
	delete(d.out.Objects, d.root.URL())
	return d.out, nil
}

// StripeRows identifies the records of each stripe by where their bytes lie. A deletion or a change of indexes writes a new root over
// the same stripes, so the records of both roots have one identity; a merge that leaves data where it is keeps those of stripes.
// It is nil if a stripe has none.
func (s *Shard) StripeRows(ctx context.Context) ([][16]byte, error) {
	d, err := s.describe(ctx)
	if err != nil {
		return nil, err
	}
	return d.out.Rows, nil
}

// References lists what the root at url refers to: objects, and those among them that are shards with references of their own,
// the parts of indexes. All metadata is read.
func References(ctx context.Context, st Store, url string, o OpenOptions) (objects, shards []string, err error) {
	root, err := meta.OpenRoot(ctx, st, url, meta.Options{Size: o.Size, Policy: urlresolve.Policy{Allow: o.Allow}, Parts: o.Parts})
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	return root.Reach(ctx)
}

// describer fills a Description.
type describer struct {
	ctx  context.Context
	root *meta.Root
	out  *Description
	// objects with the end of the last range that is referred to.
	objects map[string]int64
	// rows sum up, by stripe, where its values lie.
	rows []rowsSum
	// data are the objects that values lie in, columns the places of the top-level columns.
	data    map[string]bool
	columns columnRanges
}

func (s *Shard) describe(ctx context.Context) (*describer, error) {
	own, err := s.root.Schema(ctx)
	if err != nil {
		return nil, err
	}
	d := &describer{ctx: ctx, root: s.root, objects: map[string]int64{s.root.URL(): s.root.Size()}, rows: make([]rowsSum, len(s.stripes)),
		data: map[string]bool{}, out: &Description{Size: s.root.Size(), StoredBytes: s.root.Size(), Fields: make([]FieldSummary, own.Count)}}
	if err := d.shard(); err != nil {
		return nil, err
	}
	if err := d.indexes(); err != nil {
		return nil, err
	}
	for _, n := range own.Fields {
		d.columns.begin(len(s.stripes))
		if err := d.fields([]*schema.Node{n}); err != nil {
			return nil, err
		}
		d.columns.end()
	}
	d.out.DataObjects, d.out.ColumnRanges = int64(len(d.data)), d.columns.mean()
	return d, d.stripeRows()
}

// shard fills in what is reported of the shard as a whole.
func (d *describer) shard() error {
	dir, out := d.root.Directory(), d.out
	properties, err := d.root.Properties(d.ctx)
	if err != nil {
		return err
	}
	out.CreationMin, out.CreationMax, out.Created = meta.Creation(properties)
	if len(properties.GetStandardProperties()) > 0 {
		bags, err := d.root.ReadProperties(d.ctx)
		if err != nil {
			return err
		}
		out.Standard = propertyList(bags.Standard)
	}
	out.HasFieldIDs = meta.Properties(properties.GetCustomProperties()).Get(meta.PropertyFieldIDs) != nil
	out.MetadataBytes = max(0, d.root.Size()-refSize(dir.SchemaRef)-refSize(dir.PropertiesRef))
	return nil
}

// indexes describes the term filters, and what all indexes take.
func (d *describer) indexes() error {
	all := make([]int, len(d.rows))
	for i := range all {
		all[i] = i
	}
	if err := d.root.LoadIndexes(d.ctx, all); err != nil {
		return err
	}
	d.out.TermFilters = make([][]*index.TermFilter, len(all))
	filters := map[string]int64{}
	whole, err := d.root.Indexes(d.ctx)
	if err != nil {
		return err
	}
	d.addIndexes(whole)
	for i := range all {
		of, err := d.root.StripeIndexes(d.ctx, i)
		if err != nil {
			return err
		}
		d.out.TermFilters[i] = stripeindex.Filters(d.root, of)
		for _, f := range d.out.TermFilters[i] {
			filters[f.Object] = max(filters[f.Object], f.Start+f.Size())
		}
		d.addIndexes(of)
	}
	d.out.FilterObjects = int64(len(filters))
	for _, size := range filters {
		d.out.FilterBytes += min(size, math.MaxInt64-d.out.FilterBytes)
	}
	return nil
}

// addIndexes adds up what the objects of indexes take. Sums that no store holds are as good as the largest.
func (d *describer) addIndexes(c *metapb.IndexCollection) {
	for _, x := range c.GetIndexDescriptors() {
		if len(x.Artifacts) > 0 {
			d.out.IndexBytes += int64(min(x.GetIndexSize(), uint64(math.MaxInt64-d.out.IndexBytes)))
		}
	}
}

// fields describes nodes and everything below them.
func (d *describer) fields(nodes []*schema.Node) error {
	for _, n := range nodes {
		desc, err := d.root.ShardField(d.ctx, n.ID)
		if err != nil {
			return err
		}
		f := &d.out.Fields[n.ID]
		if f.Bytes, err = d.storedBytes(n); err != nil {
			return err
		}
		if desc != nil {
			f.describe(n, desc)
		}
		if err := d.fields(n.Children); err != nil {
			return err
		}
	}
	return nil
}

func (f *FieldSummary) describe(n *schema.Node, desc *metapb.FieldDescriptor) {
	f.Described, f.Positions = true, desc.PositionCount
	if stats.Contradiction(desc) != "" {
		return // which of its statements is wrong is not known
	}
	f.Nulls = desc.NullCount
	if s := desc.GetFloatingStats(); s != nil {
		f.NaNs = &s.NanCount
	} else if s := desc.GetDecimalStats(); s != nil {
		f.NaNs = &s.NanCount
	}
	if s := desc.GetBooleanStats(); s != nil && n.Basic == schema.Boolean {
		if s.GetTrueCount() > 0 || s.GetFalseCount() > 0 {
			f.Min, f.Max = s.GetFalseCount() == 0, s.GetTrueCount() > 0
		}
		return
	}
	if r := desc.RangeStats; r != nil {
		f.Min, f.Max = plainValue(r.MinValue), plainValue(r.MaxValue)
	}
}

// plainValue is a bound as a Go value, nil for none and for kinds that no bound has.
func plainValue(v *metapb.AnyValue) any {
	switch k := v.GetKind().(type) {
	case *metapb.AnyValue_BoolValue:
		return k.BoolValue
	case *metapb.AnyValue_I64Value:
		return k.I64Value
	case *metapb.AnyValue_U64Value:
		return k.U64Value
	case *metapb.AnyValue_DoubleValue:
		return k.DoubleValue
	case *metapb.AnyValue_StringValue:
		return k.StringValue
	case *metapb.AnyValue_BytesValue:
		return k.BytesValue
	case *metapb.AnyValue_DatetimeValue:
		return DateTime(k.DatetimeValue.GetTicks())
	case *metapb.AnyValue_TimespanValue:
		return TimeSpan(k.TimespanValue.GetTicks())
	}
	return nil
}

// storedBytes is what the buffers of one node take in all stripes. Buffers of a single-file shard lie inside the root and are
// counted with it.
func (d *describer) storedBytes(n *schema.Node) (int64, error) {
	var sum int64
	for i := range d.rows {
		f, anchor, err := d.root.StripeField(d.ctx, i, n.ID)
		if err != nil {
			return 0, err
		}
		for _, encoding := range f.GetEncodings() {
			for _, b := range encoding.GetNative().GetBuffers() {
				size, err := d.buffer(anchor, b, d.rowsOf(i, n), i)
				if err != nil {
					return 0, err
				}
				sum += size
			}
		}
	}
	return sum, nil
}

// rowsOf is where the values of a node are noted to lie; nil for markers of deleted records, which are no part of the identity.
func (d *describer) rowsOf(stripe int, n *schema.Node) *rowsSum {
	if n.Internal == schema.InternalDeletedRecord {
		return nil
	}
	return &d.rows[stripe]
}

func (d *describer) buffer(anchor string, b *metapb.EncodedBuffer, rows *rowsSum, stripe int) (int64, error) {
	if b.Buffer == nil {
		return 0, nil // in the packed group of the parent
	}
	object, err := d.refer(anchor, b.Buffer, b.Buffer.GetUrl())
	if err != nil {
		return 0, err
	}
	d.data[object] = true
	r := b.Buffer.GetRange()
	if rows != nil {
		rows.add(object, r.GetStart(), r.GetEnd())
	}
	if b.Kind != metapb.BufferKind_RANGE_INDEX { // these may lie apart from the values
		d.columns.add(stripe, object, r.GetStart(), r.GetEnd())
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
		d.out.StoredBytes += size
	}
	return size, nil
}

// refer notes that a range of an object is referred to.
func (d *describer) refer(anchor string, ref *metapb.DataRef, url string) (string, error) {
	object, err := d.root.Resolve(anchor, url)
	if err != nil {
		return "", err
	}
	d.objects[object] = max(d.objects[object], int64(ref.GetRange().GetEnd()))
	return object, nil
}

func refSize(ref *metapb.DataRef) int64 {
	r := ref.GetRange()
	return int64(r.GetEnd() - r.GetStart())
}

// inside reports whether the range of one reference is part of another's.
func inside(part, whole *metapb.DataRef) bool {
	if part.Url != whole.GetUrl() && part.Url != "" {
		return false
	}
	p, w := part.GetRange(), whole.GetRange()
	return p.GetStart() >= w.GetStart() && p.GetEnd() <= w.GetEnd()
}

// rowsSum sums up the ranges of objects that a stripe's values lie in, in any order. Objects are written once under names of which
// none is used again, so no other stripe has the same.
type rowsSum struct {
	low, high uint64
	ranges    int
}

// add adds a range of an object.
func (s *rowsSum) add(object string, start, end uint64) {
	b := make([]byte, 0, 256)
	b = append(b, object...)
	b = binary.LittleEndian.AppendUint64(b, start)
	h := xxh3.Hash128(binary.LittleEndian.AppendUint64(b, end))
	var carry uint64
	s.low, carry = bits.Add64(s.low, h.Lo, 0)
	s.high, _ = bits.Add64(s.high, h.Hi, carry)
	s.ranges++
}

// id identifies the records of a stripe; ok is false if no byte of them lies anywhere, as where all values are null.
func (s *rowsSum) id(records uint64) (id [16]byte, ok bool) {
	var b []byte
	for _, v := range []uint64{s.low, s.high, uint64(s.ranges), records} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return xxh3.Hash128(b).Bytes(), s.ranges > 0
}

// stripeRows identifies the records of each stripe, once all fields are described.
func (d *describer) stripeRows() error {
	stripes, err := d.root.Stripes(d.ctx)
	if err != nil || len(stripes) != len(d.rows) {
		return err
	}
	var out [][16]byte
	for i, s := range stripes {
		id, ok := d.rows[i].id(s.GetTotalRecordCount())
		if !ok {
			return nil
		}
		out = append(out, id)
	}
	d.out.Rows = out
	return nil
}

// FieldForm is how a field is stored in a stripe.
type FieldForm struct {
	// Bloom: the field has a Bloom filter of its values.
	Bloom bool
	// Packed: the field is member Member of the packed group of its parent.
	Packed bool
	Member uint32
}

// FieldForm returns how a field, by node number, is stored in a stripe.
func (s *Shard) FieldForm(ctx context.Context, stripe int, field uint32) (FieldForm, error) {
	d, _, err := s.root.StripeField(ctx, stripe, field)
	if err != nil {
		return FieldForm{}, err
	}
	form := FieldForm{Bloom: d.GetField().GetMembershipFilters().GetSbbf() != nil}
	form.Member, form.Packed = meta.PackedMember(d)
	return form, nil
}

// Indexes lists the indexes of a stripe; with a negative stripe, those of the shard as a whole.
func (s *Shard) Indexes(ctx context.Context, stripe int) ([]index.Descriptor, error) {
	if stripe < 0 {
		all, err := stripeindex.OfAllStripes(ctx, s.root)
		return stripeindex.DescriptorsOf(all), err
	}
	own, err := stripeindex.OfOneStripe(ctx, s.root, stripe)
	return stripeindex.DescriptorsOf(own), err
}
