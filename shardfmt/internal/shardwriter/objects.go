package shardwriter

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// rootSuffix ends the name of a shard's root.
const rootSuffix = ".amudai.shard"

// stripe is a finished stripe; its references are filled in when it is placed.
type stripe struct {
	records, deleted uint64
	fields           []*column.Encoded // children before parents
	sum              *meta.ObjectSum   // of the bytes that hold its buffers, nil if there are none
	external         []meta.ObjectSum  // of what it refers to in objects that are not the shard's
	descriptors      []*metapb.StripeFieldDescriptor
	indexes          described
	bags             meta.Bags
}

// sortBySize puts the fields in the order in which they are placed: the largest first, so that the end of an object holds as many as it can.
func (s *stripe) sortBySize() {
	slices.SortStableFunc(s.fields, func(a, b *column.Encoded) int { return cmp.Compare(sizeOf(b), sizeOf(a)) })
}

// size is the number of bytes of its buffers, without padding.
func (s *stripe) size() (n int) {
	for _, f := range s.fields {
		n += sizeOf(f)
	}
	return n
}

// sizeOf is the number of bytes that a field is to write, without padding.
func sizeOf(f *column.Encoded) (n int) {
	for _, buffers := range append([][]column.Buffer{f.Buffers}, f.Alternatives...) {
		for i := range buffers {
			n += buffers[i].Size()
		}
	}
	for _, m := range f.Maps {
		n += len(m.Bytes)
	}
	return n
}

// Store is what writing needs of an object store; see shardfmt.WriteStore.
type Store interface {
	ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error)
	Stat(ctx context.Context, url string) (blobio.Info, error)
	Create(ctx context.Context, url string, o blobio.CreateOptions) (blobio.Writer, error)
	Put(ctx context.Context, url string, data []byte) error
	Delete(ctx context.Context, url, etag string) error
}

// objects places stripes in objects and writes the root.
type objects struct {
	store  Store
	url    string
	schema *schema.Schema
	o      *Options
	prefix string // of the stripe objects' URLs

	layout  Layout
	waiting []*stripe // not placed yet, because the layout is not decided
	bytes   int       // of waiting
	root    *image    // of the single-file layout, while it is written
	stripes []*stripe
	indexes described // of the shard as a whole
	written []Object
	kept    bool // a root may name what was written
}

func newObjects(ctx context.Context, st Store, url string, s *schema.Schema, o *Options) (*objects, error) {
	folder, err := urlresolve.Base(url)
	if err != nil {
		return nil, err
	}
	w := &objects{store: st, url: url, schema: s, o: o, layout: o.Layout}
	attempt := make([]byte, 8)
	rand.Read(attempt)
	name := o.DataPrefix + hex.EncodeToString(attempt)
	if o.DataPrefix == "" {
		if err := absent(ctx, st, url); err != nil {
			return nil, err
		}
		named := strings.TrimSuffix(strings.TrimPrefix(url, folder), rootSuffix) + "-" + name
		if blobio.PortableKey(named) { // else the root's name can't be part of a reference that all readers follow
			name = named
		}
	}
	w.prefix, err = urlresolve.Resolve(url, name, urlresolve.Policy{})
	return w, err
}

// absent is nil if there is no object at url.
func absent(ctx context.Context, st Store, url string) error {
	_, err := st.Stat(ctx, url)
	switch {
	case err == nil:
		return blobio.NewError("create", url, blobio.ErrExists, nil)
	case errors.Is(err, blobio.ErrNotFound):
		return nil
	}
	return err
}

// add takes the next stripe.
func (w *objects) add(ctx context.Context, s *stripe) error {
	w.waiting = append(w.waiting, s)
	w.bytes += s.size()
	if w.layout == Auto && w.bytes < AutoLimit {
		return nil
	}
	if w.layout == Auto {
		w.layout = TwoLevel
	}
	return w.place(ctx)
}

// place writes the stripes that wait.
func (w *objects) place(ctx context.Context) error {
	for _, s := range w.waiting {
		if err := w.placeOne(ctx, s); err != nil {
			return err
		}
		w.stripes = append(w.stripes, s)
	}
	w.waiting, w.bytes = nil, 0
	return nil
}

func (w *objects) placeOne(ctx context.Context, s *stripe) error {
	if w.layout == Single {
		if err := w.openRoot(ctx); err != nil {
			return err
		}
		return s.place(w.root, "")
	}
	if s.size() == 0 { // nothing would name the object
		return s.place(new(image), "")
	}
	url := fmt.Sprintf("%s-%d.amudai.stripe", w.prefix, len(w.stripes))
	img, err := create(ctx, w.store, url)
	if err != nil {
		return err
	}
	w.written = append(w.written, Object{URL: url})
	if err := s.place(img, urlresolve.Relative(w.url, url)); err != nil {
		img.abort()
		return err
	}
	w.written[len(w.written)-1].Size, err = img.close(meta.Magic[:])
	return err
}

// openRoot starts the object of the single-file layout.
func (w *objects) openRoot(ctx context.Context) (err error) {
	if w.root != nil {
		return nil
	}
	w.root, err = create(ctx, w.store, w.url)
	if err == nil && w.o.FromEnd {
		w.root.copies = new(copies)
	}
	return err
}

// place writes the buffers of the stripe and makes its descriptors, which refer to them by ref.
func (s *stripe) place(img *image, ref string) error {
	start := img.size
	img.sum.Reset()
	for _, f := range s.fields {
		encodings, err := placeField(img, ref, f)
		if err != nil {
			return err
		}
		s.descriptors = append(s.descriptors, &metapb.StripeFieldDescriptor{Field: f.Descriptor, Encodings: encodings})
	}
	if img.size > start {
		s.sum = &meta.ObjectSum{Ref: meta.NewRef(ref, uint64(start), uint64(img.size)), Sum: img.sum.Sum64()}
	}
	return nil
}

// placeField writes the buffers of a field, which it lets go of, and gives its encodings.
func placeField(img *image, ref string, f *column.Encoded) ([]*metapb.DataEncoding, error) {
	if f.External != nil {
		for _, m := range f.Maps {
			at, end, err := img.place(m.Bytes)
			if err != nil {
				return nil, err
			}
			m.Chunk.DataPageMap = meta.NewRef(ref, at, end)
		}
		f.Maps = nil
		return []*metapb.DataEncoding{{Kind: &metapb.DataEncoding_Parquet{Parquet: f.External}}}, nil
	}
	var out []*metapb.DataEncoding
	for _, buffers := range append([][]column.Buffer{f.Buffers}, f.Alternatives...) {
		native, err := placeBuffers(img, ref, buffers, f.Packed)
		if err != nil {
			return nil, err
		}
		out = append(out, native)
	}
	f.Buffers, f.Alternatives = nil, nil
	return out, nil
}

// placeBuffers writes the buffers of one encoding.
func placeBuffers(img *image, ref string, buffers []column.Buffer, packed bool) (*metapb.DataEncoding, error) {
	native := &metapb.NativeDataEncoding{PackedGroup: packed}
	for _, b := range buffers {
		if b.Bytes == nil { // a member of a packed group
			native.Buffers = append(native.Buffers, b.Meta)
			continue
		}
		if hasMap(b.Meta.Kind) {
			if err := img.expect(&b); err != nil {
				return nil, err
			}
		}
		at, end, err := img.placeBuffer(&b)
		if err != nil {
			return nil, err
		}
		b.Meta.Buffer = meta.NewRef(ref, at, end)
		if hasMap(b.Meta.Kind) {
			b.Meta.BlockMap = meta.NewRef(ref, at+uint64(b.MapStart), end)
		}
		native.Buffers = append(native.Buffers, b.Meta)
	}
	return &metapb.DataEncoding{Kind: &metapb.DataEncoding_Native{Native: native}}, nil
}

// hasMap reports whether a buffer is a block stream.
func hasMap(kind metapb.BufferKind) bool {
	switch kind {
	case metapb.BufferKind_DATA, metapb.BufferKind_PRESENCE, metapb.BufferKind_OFFSETS:
		return true
	}
	return false
}

// image is an object on its way up.
type image struct {
	w    blobio.Writer
	size int64
	// sum is the checksum of the stripe available.
	sum xxh3.Hasher
	// copies are those for the root; nil keeps none.
	copies *copies
}

// create starts an object of a shard with its magic.
func create(ctx context.Context, st Store, url string) (*image, error) {
	w, err := st.Create(ctx, url, blobio.CreateOptions{})
	if err != nil {
		return nil, err
	}
	img := &image{w: w}
	if err := img.write(meta.Magic[:]); err != nil {
		img.abort()
		return nil, err
	}
	return img, nil
}

func (i *image) write(b []byte) error {
	i.sum.Write(b)
	i.copies.wrote(uint64(i.size), b)
	i.size += int64(len(b))
	_, err := i.w.Write(b)
	return err
}

// align pads the object to the start of a buffer.
func (i *image) align() error {
	var zeros [colstream.Alignment]byte
	if pad := -i.size & (colstream.Alignment - 1); pad > 0 {
		return i.write(zeros[:pad])
	}
	return nil
}

// expect has the copies taken of a block stream that is placed next.
func (i *image) expect(b *column.Buffer) error {
	if i.copies == nil {
		return nil
	}
	if err := i.align(); err != nil {
		return err
	}
	return i.copies.expect(uint64(i.size), b.MapStart, b.Bytes[b.MapStart-int(b.Head.Size()):])
}

// place writes a buffer where one may start, and informs where that was.
func (i *image) place(b []byte) (at, end uint64, err error) {
	if err := i.align(); err != nil {
		return 0, 0, err
	}
	at = uint64(i.size)
	return at, at + uint64(len(b)), i.write(b)
}

// placeBuffer writes a buffer, of which the start may be in a file, or in pieces.
func (i *image) placeBuffer(b *column.Buffer) (at, end uint64, err error) {
	if err := i.align(); err != nil {
		return 0, 0, err
	}
	at = uint64(i.size)
	return at, at + uint64(b.Size()), b.Pieces(i.write)
}

// close appends the last bytes and commits the object.
func (i *image) close(tail []byte) (int64, error) {
	if err := i.write(tail); err != nil {
		i.abort()
		return 0, err
	}
	return i.size, i.w.Close()
}

func (i *image) abort() {
	if i != nil && i.w != nil {
		i.w.Abort()
	}
}

// finish writes the root and reads it back.
func (w *objects) finish(ctx context.Context) (*Written, error) {
	out, err := w.finishData(ctx)
	if err != nil {
		return nil, err
	}
	tail, err := w.writeRoot(ctx)
	if err != nil {
		w.keepUnlessRefused(ctx, err)
		return nil, err
	}
	w.finished(out)
	return out, w.readBack(ctx, w.written[len(w.written)-1], tail)
}

// finishData writes everything but the root.
func (w *objects) finishData(ctx context.Context) (*Written, error) {
	if w.layout == Auto {
		w.layout = Single
	}
	if err := w.place(ctx); err != nil {
		return nil, err
	}
	indexes, err := w.closeIndexes(ctx)
	if err != nil {
		return nil, err
	}
	w.indexes = indexes
	out := &Written{URL: w.url}
	for _, s := range w.stripes {
		out.Records += s.records
		out.Deleted += s.deleted
	}
	return out, nil
}

// finished notes that the root was written.
func (w *objects) finished(out *Written) {
	w.root, w.kept = nil, true
	out.Size, out.Objects = w.written[len(w.written)-1].Size, w.written
}

// finishLater is finish whose root is written later, if it is an object of its own.
func (w *objects) finishLater(ctx context.Context) (*Written, *LaterRoot, error) {
	if w.layout == Single || w.layout == Auto {
		out, err := w.finish(ctx)
		return out, nil, err
	}
	out, err := w.finishData(ctx)
	if err != nil {
		return nil, nil, err
	}
	root := w.metadata(meta.NewRootBuilder())
	out.Size = int64(len(root))
	return out, &LaterRoot{w: w, out: out, Bytes: root}, nil
}

// LaterRoot is the root of a shard whose other objects are written.
type LaterRoot struct {
	w   *objects
	out *Written
	// Bytes of the root.
	Bytes []byte
	// proved: the store has proved that it has them.
	proved bool
}

// prover is a store that reports whether what was put is proved to be there, see blobio.Client.PutProved.
type prover interface {
	PutProved(ctx context.Context, url string, data []byte) (proved bool, err error)
}

// Put writes the root, as Close does. The shard's objects are complete then.
func (r *LaterRoot) Put(ctx context.Context, st Store) error {
	r.w.store = st
	err := error(nil)
	if p, ok := st.(prover); ok {
		r.proved, err = p.PutProved(ctx, r.w.url, r.Bytes)
	} else {
		err = st.Put(ctx, r.w.url, r.Bytes)
	}
	if err != nil {
		r.w.keepUnlessRefused(ctx, err)
		r.w.abort(ctx)
		return err
	}
	r.w.written = append(r.w.written, Object{r.w.url, int64(len(r.Bytes))})
	r.w.finished(r.out)
	return nil
}

// ReadBack reads back the root that was put, unless the store has proved that it has it.
func (r *LaterRoot) ReadBack(ctx context.Context, st Store) error {
	if r.proved {
		return nil
	}
	r.w.store = st
	return r.w.readBack(ctx, r.w.written[len(r.w.written)-1], r.Bytes)
}

// Abort removes what was written of the shard, if its root was not.
func (r *LaterRoot) Abort(ctx context.Context) { r.w.abort(ctx) }

// keepUnlessRefused decides what becomes of the stripes when writing the root failed: they may go only if it is
// certain that there is no root which names them. A refusal alone is no proof, for a proxy may refuse what the store has
// carried out, and one request more may be answered wrong: the store must deny the root twice.
func (w *objects) keepUnlessRefused(ctx context.Context, err error) {
	switch blobio.Class(err) {
	case blobio.ErrExists, blobio.ErrClosed:
	case blobio.ErrDenied, blobio.ErrThrottled, blobio.ErrConflict:
		for range 2 {
			_, statErr := w.store.Stat(context.WithoutCancel(ctx), w.url)
			w.kept = w.kept || blobio.Class(statErr) != blobio.ErrNotFound
		}
	default:
		w.kept = true
	}
}

// writeRoot writes the root, or what it lacks, and returns its metadata.
func (w *objects) writeRoot(ctx context.Context) ([]byte, error) {
	if w.layout == Single {
		if err := w.openRoot(ctx); err != nil {
			return nil, err
		}
		w.written = append(w.written, Object{URL: w.url})
		tail := w.metadata(meta.NewRootBuilderAt(uint64(w.root.size)))
		size, err := w.root.close(tail)
		w.written[len(w.written)-1].Size = size
		return tail, err
	}
	root := w.metadata(meta.NewRootBuilder())
	return root, w.putRoot(ctx, root)
}

// putRoot writes a root that is an object of its own.
func (w *objects) putRoot(ctx context.Context, root []byte) error {
	if err := w.store.Put(ctx, w.url, root); err != nil {
		return err
	}
	w.written = append(w.written, Object{w.url, int64(len(root))})
	return nil
}

// readBack reads the metadata of the root again and compares: what can't be read was not written.
func (w *objects) readBack(ctx context.Context, root Object, tail []byte) error {
	got := make([]byte, len(tail))
	at := root.Size - int64(len(tail))
	if _, err := w.store.ReadRange(ctx, root.URL, at, got); err != nil {
		return fmt.Errorf("reading the shard back: %w", err)
	}
	if !bytes.Equal(got, tail) {
		return corrupt.Locate(corrupt.At(at, "the store returned different bytes than were written"), root.URL, 0)
	}
	return nil
}

// metadata lays out everything but the buffers.
func (w *objects) metadata(b *meta.RootBuilder) []byte {
	if w.o.Draft {
		b.Draft()
	}
	dir := &metapb.ShardDirectory{StripeCount: uint64(len(w.stripes))}
	list := new(metapb.StripeList)
	shard := make([]*metapb.FieldDescriptor, w.schema.Count)
	for _, s := range w.stripes {
		sd := w.stripeMetadata(b, s, shard)
		sd.ShardPosition = dir.TotalRecordCount
		dir.TotalRecordCount += s.records
		dir.DeletedRecordCount += s.deleted
		dir.RawDataSize = addSize(dir.RawDataSize, sd.RawDataSize)
		list.Stripes = append(list.Stripes, sd)
	}
	dir.StripeListRef = b.Add(list)
	dir.UrlListRef = b.Add(w.urls())
	w.describeEmpty(shard)
	refs := make([]*metapb.DataRef, w.schema.Count)
	for id, d := range shard {
		if d != nil {
			d.Indexes = w.indexes.ofFields[uint32(id)]
			refs[id] = b.Add(d)
		}
	}
	dir.FieldListRef = b.Add(meta.RefsOf(refs))
	if w.indexes.all != nil {
		dir.IndexesRef = b.Add(w.indexes.all)
	}
	dir.PropertiesRef = b.Add(w.properties())
	dir.SchemaRef = b.AddSchema(w.schema)
	return b.Finish(dir)
}

// describeEmpty keeps the properties of fields where no stripe has any.
func (w *objects) describeEmpty(shard []*metapb.FieldDescriptor) {
	for id, bags := range w.o.bags {
		if shard[id] == nil {
			shard[id] = new(metapb.FieldDescriptor)
		}
		shard[id].StandardProperties, shard[id].CustomProperties = bags.Standard, bags.Custom
	}
}

// stripeMetadata adds the messages of one stripe, and its statistics to those of the shard.
func (w *objects) stripeMetadata(b *meta.RootBuilder, s *stripe, shard []*metapb.FieldDescriptor) *metapb.StripeDirectory {
	sd := &metapb.StripeDirectory{TotalRecordCount: s.records, DeletedRecordCount: s.deleted}
	byID := make([]*metapb.StripeFieldDescriptor, w.schema.Count)
	for i, f := range s.fields {
		byID[f.Node.ID] = s.descriptors[i]
		if bags, ok := w.o.bags[f.Node.ID]; ok {
			field := s.descriptors[i].Field
			field.StandardProperties, field.CustomProperties = bags.Standard, bags.Custom
		}
	}
	refs := make([]*metapb.DataRef, len(byID))
	for id, d := range byID {
		shard[id] = stats.Fold(shard[id], d.Field) // whose indexes are those of the stripe
		d.Field.Indexes = s.indexes.ofFields[uint32(id)]
		refs[id] = b.Add(d)
		sd.RawDataSize = addSize(sd.RawDataSize, d.Field.RawDataSize)
	}
	sd.FieldListRef = b.Add(meta.RefsOf(refs))
	if s.indexes.all != nil {
		sd.IndexesRef = b.Add(s.indexes.all)
	}
	if p := s.properties(); p != nil {
		sd.PropertiesRef = b.Add(p)
	}
	return sd
}

// properties are those of the stripe, with the checksum of its bytes; nil if it has none.
func (s *stripe) properties() *metapb.StripeProperties {
	p := &metapb.StripeProperties{StandardProperties: s.bags.Standard, CustomProperties: slices.Clone(s.bags.Custom)}
	sums := slices.Clone(s.external)
	if s.sum != nil {
		sums = append(sums, *s.sum)
	}
	if len(sums) > 0 {
		p.CustomProperties = append(p.CustomProperties, meta.Pair(meta.PropertyObjects, meta.ObjectSumsValue(sums...)))
	}
	if len(p.StandardProperties)+len(p.CustomProperties) == 0 {
		return nil
	}
	return p
}

// addSize adds sizes of which either may be unknown.
func addSize(a, b *uint64) *uint64 {
	if b == nil {
		return a
	}
	sum := *b
	if a != nil {
		sum += *a
	}
	return &sum
}

func (w *objects) urls() *metapb.UrlList {
	list := new(metapb.UrlList)
	for _, o := range w.written {
		if o.URL != w.url {
			list.Urls = append(list.Urls, urlresolve.Relative(w.url, o.URL))
		}
	}
	for _, s := range w.stripes {
		list.Urls = append(list.Urls, s.adopted(list.Urls)...)
	}
	w.referred(func(url string) {
		if url != "" && !slices.Contains(list.Urls, url) {
			list.Urls = append(list.Urls, url)
		}
	})
	return list
}

// referred calls add with every URL that a property refers to.
func (w *objects) referred(add func(url string)) {
	all := []proto.Message{w.properties()}
	for _, s := range w.stripes {
		all = append(all, &metapb.StripeProperties{StandardProperties: s.bags.Standard, CustomProperties: s.bags.Custom})
	}
	for _, bags := range w.o.bags {
		all = append(all, &metapb.FieldDescriptor{StandardProperties: bags.Standard, CustomProperties: bags.Custom})
	}
	for _, m := range all {
		meta.RewriteURLs(m, func(url string) string {
			add(url)
			return url
		})
	}
}

// adopted are the objects that the stripe refers to and did not write, without those known already.
func (s *stripe) adopted(known []string) (more []string) {
	add := func(url string) {
		if url != "" && !slices.Contains(known, url) && !slices.Contains(more, url) {
			more = append(more, url)
		}
	}
	for _, d := range s.descriptors {
		for _, e := range d.Encodings {
			for _, file := range e.GetParquet().GetFileColumnRefs() {
				add(file.FileRef.GetUrl())
				for _, chunk := range file.ColumnChunks {
					add(chunk.GetFileUrl())
				}
			}
		}
	}
	return more
}

func (w *objects) properties() *metapb.ShardProperties {
	p := &metapb.ShardProperties{
		StandardProperties: w.o.StandardProperties,
		CustomProperties:   w.o.customProperties(w.schema),
	}
	if w.root != nil {
		if far := w.root.copies.property(uint64(w.root.size)); far != nil {
			p.CustomProperties = append(p.CustomProperties, far)
		}
	}
	meta.SetCreation(p, w.o.CreationMin, w.o.CreationMax)
	return p
}

// abort removes what was written. The context may have ended, so it is not asked.
func (w *objects) abort(ctx context.Context) {
	w.root.abort()
	if w.kept {
		return
	}
	ctx = context.WithoutCancel(ctx)
	for _, o := range w.written {
		if o.URL != w.url {
			w.store.Delete(ctx, o.URL, "")
		}
	}
	w.written = nil
}
