package merge

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The errors of deletion, tested by errors.Is.
var (
	// errUnknownFields: the shard's metadata has fields that this program does not know, and whose meaning for a
	// shard with deleted records is not ours to guess.
	errUnknownFields = errors.New("the shard's metadata has fields that this program does not know")
	// errRevived: a bitmap has fewer deleted records than the stripe has already.
	errRevived = errors.New("a deleted record would become visible again")
)

// Deletion is a new set of deleted records.
type Deletion struct {
	Options
	// Stripes gives, by the number of the stripe, the deleted records: bit i of a bitmap (least significant
	// first) is record i, and those that were deleted before are set too. A stripe that is not in the map
	// stays as it is.
	Stripes map[int][]byte
	// Object is the canonical URL of the object that takes the markers of these stripes. It must not exist yet.
	Object string
}

// DeleteRecords writes the shard out: the stripes of in with their data where it is, and a marker field that states
// which records are deleted. A marker field that in has already is replaced. Standard properties and indexes are
// kept, since no record changes its position. What is called of the store is one GET for a root of at most 1 MiB,
// one PUT of the markers, and one PUT and one GET of the new root.
func DeleteRecords(ctx context.Context, sp *blobio.Client, out string, in Input, d Deletion) (*Result, error) {
	s, o, err := openOne(ctx, sp, in, d.Options)
	if err != nil {
		return nil, err
	}
	t, marker := markerTarget(s)
	m := &merger{out: out, options: o, target: t, shards: []*shard{s}, urls: newURLs(out, o)}
	m.deletion = &deletion{node: marker, bitmaps: d.Stripes, object: d.Object, made: map[int]*madeMarker{}}
	if err := m.deletion.encode(s); err != nil {
		return nil, err
	}
	root, err := m.build(ctx)
	if err != nil {
		return nil, err
	}
	if len(m.deletion.image) > 0 {
		if err := sp.Put(ctx, d.Object, m.deletion.image); err != nil {
			return nil, err
		}
	}
	if err := write(ctx, sp, out, root); err != nil {
		return nil, err
	}
	r := m.result(root)
	r.MarkerBytes = int64(len(m.deletion.image))
	return r, nil
}

// markerTarget is the shard's schema with a marker field, at its end if it has none yet, so that every other node
// keeps its number.
func markerTarget(s *shard) (*target, *schema.Node) {
	for _, f := range s.schema.Fields {
		if isMarker(f) {
			t := newSchemaTarget(s.schema, s.schemaWire, s.ids)
			s.mapping = identityMapping(s.schema.Count)
			return t, f
		}
	}
	wide, ids := WithMarker(s.schema, s.ids)
	marker := wide.Fields[len(wide.Fields)-1]
	t := newSchemaTarget(wide, schemawire.Marshal(wide), ids)
	s.mapping = append(identityMapping(s.schema.Count), lacking)
	return t, marker
}

func isMarker(n *schema.Node) bool {
	return n.Internal == schema.InternalDeletedRecord && n.Basic == schema.Boolean
}

func identityMapping(n uint32) mapping {
	m := make(mapping, n, n+1)
	for i := range m {
		m[i] = uint32(i)
	}
	return m
}

// deletion is what a merger needs to know of a marker field.
type deletion struct {
	node    *schema.Node
	bitmaps map[int][]byte
	object  string
	// image is the object of the markers, empty if none of them needs bytes.
	image []byte
	made  map[int]*madeMarker
}

// madeMarker is the marker of one stripe.
type madeMarker struct {
	deleted uint64
	// field refers to the deletion's object by an empty URL until it is placed.
	field *metapb.StripeFieldDescriptor
	sum   *meta.ObjectSum
}

// encode makes the markers of all stripes that get one: those of the bitmaps, and where the field is new also
// those without deleted records, which take no bytes.
func (d *deletion) encode(s *shard) error {
	isNew := d.node.ID >= s.schema.Count
	seen := 0
	for i, dir := range s.stripes {
		bitmap, ok := d.bitmaps[i]
		if !ok && !isNew {
			continue
		}
		if ok {
			seen++
		} else if dir.DeletedRecordCount > 0 {
			return fmt.Errorf("%w: %s: stripe %d has %d deleted records and no marker field", errUnknownFields,
				s.root.URL(), i, dir.DeletedRecordCount)
		}
		if err := d.encodeStripe(i, dir, bitmap); err != nil {
			return fmt.Errorf("%s: stripe %d: %w", s.root.URL(), i, err)
		}
	}
	if seen != len(d.bitmaps) {
		return fmt.Errorf("%s: records to delete are in stripes that the shard does not have", s.root.URL())
	}
	if len(d.image) > 0 {
		d.image = append(d.image, meta.Magic[:]...)
	}
	return nil
}

func (d *deletion) encodeStripe(i int, dir *metapb.StripeDirectory, bitmap []byte) error {
	n := int(dir.TotalRecordCount)
	if bitmap == nil {
		bitmap = make([]byte, (n+7)/8)
	}
	if len(bitmap) != (n+7)/8 {
		return fmt.Errorf("a bitmap of %d bytes for %d records", len(bitmap), n)
	}
	made := &madeMarker{deleted: countBits(bitmap, n)}
	if made.deleted < dir.DeletedRecordCount {
		return fmt.Errorf("%w: %d are deleted already, but %d would be after this change", errRevived, dir.DeletedRecordCount, made.deleted)
	}
	e, err := encodeMarker(d.node, bitmap, n)
	if err != nil {
		return err
	}
	made.field, made.sum = d.place(e)
	d.made[i] = made
	return nil
}

// encodeMarker encodes a bitmap as the values of a field.
func encodeMarker(node *schema.Node, bitmap []byte, n int) (encoded *column.Encoded, err error) {
	enc, err := column.NewEncoder(node, &column.Options{})
	if err != nil {
		return nil, err
	}
	data := array.NewData(arrow.FixedWidthTypes.Boolean, n, []*memory.Buffer{nil, memory.NewBufferBytes(bitmap)}, nil, 0, 0)
	defer data.Release()
	if err := enc.Add(array.NewBooleanData(data)); err != nil {
		return nil, err
	}
	return encoded, enc.Finish(func(e *column.Encoded) error { encoded = e; return nil })
}

// place lays the buffers of a marker out in the image.
func (d *deletion) place(e *column.Encoded) (*metapb.StripeFieldDescriptor, *meta.ObjectSum) {
	native := new(metapb.NativeDataEncoding)
	if len(e.Buffers) > 0 && len(d.image) == 0 {
		d.image = append(d.image, meta.Magic[:]...)
	}
	start := len(d.image)
	for _, b := range e.Buffers {
		d.image = append(d.image, make([]byte, -len(d.image)&(colstream.Alignment-1))...)
		at := uint64(len(d.image))
		_ = b.Pieces(func(p []byte) error { d.image = append(d.image, p...); return nil }) // all in memory
		b.Meta.Buffer = meta.NewRef("", at, uint64(len(d.image)))
		if b.MapStart > 0 {
			b.Meta.BlockMap = meta.NewRef("", at+uint64(b.MapStart), uint64(len(d.image)))
		}
		native.Buffers = append(native.Buffers, b.Meta)
	}
	f := &metapb.StripeFieldDescriptor{
		Field:     e.Descriptor,
		Encodings: []*metapb.DataEncoding{{Kind: &metapb.DataEncoding_Native{Native: native}}},
	}
	if start == len(d.image) {
		return f, nil
	}
	sum := &meta.ObjectSum{Ref: meta.NewRef("", uint64(start), uint64(len(d.image))), Sum: xxh3.Hash(d.image[start:])}
	return f, sum
}

func countBits(bitmap []byte, n int) (count uint64) {
	for i, b := range bitmap {
		if rest := n - 8*i; rest < 8 {
			b &= 1<<rest - 1
		}
		count += uint64(bits.OnesCount8(b))
	}
	return count
}

// marker is the descriptor of the marker field in a stripe that gets a new one, nil for everything else.
func (m *merger) marker(st *stripe, id uint32) (*metapb.StripeFieldDescriptor, error) {
	if !m.marks(st) || id != m.deletion.node.ID {
		return nil, nil
	}
	made := m.deletion.made[st.index]
	st.dir.DeletedRecordCount = made.deleted
	if made.sum == nil {
		return made.field, nil
	}
	ref, err := m.urls.store(m.deletion.object)
	if err != nil {
		return nil, err
	}
	meta.RewriteURLs(made.field, func(string) string { return ref })
	made.sum.Ref.Url = ref
	return made.field, nil
}

// marks reports whether a stripe gets a new marker.
func (m *merger) marks(st *stripe) bool { return m.deletion != nil && m.deletion.made[st.index] != nil }

// markerProperties gives a stripe the checksum of its new marker in the place of those that no field has any use
// for, which would keep the object of an older marker alive.
func (m *merger) markerProperties(ctx context.Context, st *stripe) error {
	p, anchor := new(metapb.StripeProperties), st.from.stripeAnchor
	if st.dir.PropertiesRef != nil {
		var err error
		if anchor, err = st.from.root.Decode(ctx, st.from.stripeAnchor, st.dir.PropertiesRef, p); err != nil {
			return err
		}
	}
	bag := meta.Properties(p.CustomProperties)
	var kept []meta.ObjectSum
	for _, sum := range meta.ObjectSums(bag.Get(meta.PropertyObjects)) {
		object, err := st.from.root.Resolve(anchor, sum.Ref.Url)
		if err != nil {
			return err
		}
		if sum.Ref.Url = m.urls.referred(object); sum.Ref.Url != "" {
			kept = append(kept, sum)
		}
	}
	return m.setProperties(st, p, anchor, kept)
}

// setProperties stores a stripe's properties with other checksums; the references of the checksums are those of
// the new root.
func (m *merger) setProperties(st *stripe, p *metapb.StripeProperties, anchor string, sums []meta.ObjectSum) error {
	if made := m.deletion.made[st.index]; made.sum != nil {
		sums = append(sums, *made.sum)
	}
	bag := meta.Properties(p.CustomProperties)
	bag.Set(meta.PropertyObjects, meta.Null())
	p.CustomProperties = bag
	if err := m.urls.move(st.from, anchor, st.chunk(), p); err != nil {
		return err
	}
	bag.Set(meta.PropertyObjects, meta.ObjectSumsValue(sums...))
	p.CustomProperties = bag
	st.dir.PropertiesRef = m.root.Add(p)
	return nil
}

// shardField is the descriptor of a field for the whole shard, where a shard that is changed keeps what it has.
func (m *merger) shardField(ctx context.Context, id uint32) error {
	if !m.sameRecords() || m.deletion != nil && id == m.deletion.node.ID {
		return nil
	}
	s := m.shards[0]
	old, err := s.root.ShardField(ctx, s.mapping[id])
	if err != nil || old == nil {
		return err
	}
	f := proto.CloneOf(old)
	m.keep(s, s.root.URL(), f.Indexes, func(d *metapb.IndexDescriptor) bool { return !m.dropped(d) })
	if err := m.urls.move(s, s.root.URL(), wholeShard, f); err != nil {
		return err
	}
	m.shardFields[id] = f
	return nil
}

// refuseUnknown refuses a shard with protobuf fields that this program does not know.
func (s *shard) refuseUnknown(ctx context.Context) error {
	list, err := s.root.StripeList(ctx)
	if err != nil {
		return err
	}
	all := []proto.Message{s.root.Directory(), list, s.properties, s.urls}
	for id := range s.schema.Count {
		f, err := s.root.ShardField(ctx, id)
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	for i := range s.stripes {
		p, err := s.root.StripeProperties(ctx, i)
		if err != nil {
			return err
		}
		all = append(all, p)
		for id := range s.schema.Count {
			d, _, err := s.root.StripeField(ctx, i, id)
			if err != nil {
				return err
			}
			all = append(all, d)
		}
	}
	for _, m := range all {
		if name := unknownIn(m.ProtoReflect()); name != "" {
			return fmt.Errorf("%w: %s: in a %s", errUnknownFields, s.root.URL(), name)
		}
	}
	return nil
}

// unknownIn names a message with unknown fields at or below m, "" if there is none.
func unknownIn(m protoreflect.Message) (name string) {
	if !m.IsValid() {
		return ""
	}
	if len(m.GetUnknown()) > 0 {
		return string(m.Descriptor().Name())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				if name = unknownIn(v.List().Get(i).Message()); name != "" {
					break
				}
			}
		default:
			name = unknownIn(v.Message())
		}
		return name == ""
	})
	return name
}
