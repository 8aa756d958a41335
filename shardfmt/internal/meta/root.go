package meta

import (
	"context"
	"errors"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Root is an opened shard root. Of its metadata only the directory is read when it is opened; the rest
// comes when requested, from the end of the object that was kept or in one request each, and is kept then.
// Safe for concurrent use; what is returned must not be changed.
type Root struct {
	store  Store
	policy urlresolve.Policy
	url    string
	// size is up to where references to the root may lead; draft is the size of the object if it is on the draft wire, see undraft.
	size, draft int64
	// tail is the end of the object, from tailStart on.
	tail      []byte
	tailStart int64
	dir       *metapb.ShardDirectory

	schemaBytes   memo[[]byte]
	propertyBytes memo[[]byte]
	view          memo[*schemawire.View]
	schema        memo[*schema.Schema]
	properties    memo[*metapb.ShardProperties]
	bounds        memo[*Bounds]
	required      memo[[]uint32]
	urls          memo[*metapb.UrlList]
	indexes       memo[*metapb.IndexCollection]
	fields        memo[*fieldList]
	stripes       memo[*stripeList]

	mu      sync.Mutex
	lent    [][]byte // memory that Close gives back
	closed  bool
	ahead   map[place][]byte
	rows    []row
	columns map[uint32]*column
	// shared are descriptors that were decoded, see SharedStripeField.
	shared map[fieldOf]sharedField
	// folder is where the root lies, empty before somebody asked.
	folder string
	// resolved are references, and what they name.
	resolved map[string]string
	// followed are the files that were seen not to lead elsewhere.
	followed map[string]bool
	// footers are those of Parquet files that fields refer to.
	footers sync.Map
}

// Options of OpenRoot. The zero value opens an object of unknown size, whose references may name objects in
// its own folder only.
type Options struct {
	// Size of the root in bytes, 0 if it is not known.
	Size int64
	// Policy determines what absolute references may name besides the folder of the root.
	Policy urlresolve.Policy
	// Parts is for who expects to need few of the stripes: of a root of known size above 64 KiB the end is read, and
	// then the parts that are requested, if it is laid out for that (LayoutStripes); else the rest at once.
	Parts bool
}

// OpenRoot reads the directory of the root at url, its canonical URL. A root of known size up to 1 MiB
// costs one request for all of it; any other its last 64 KiB, and a second request if the directory is
// longer. See Options.Parts for roots that are read by parts.
func OpenRoot(ctx context.Context, st Store, url string, o Options) (*Root, error) {
	st = inTurn(ctx, st, url)
	tail, size, lent, err := readTail(ctx, st, url, o.Size, o.Parts)
	if err != nil {
		return nil, err
	}
	dir, _, _, err := ParseTail(tail, size)
	if err != nil {
		return nil, corrupt.Locate(err, url, 0)
	}
	r := &Root{
		store: st, policy: o.Policy, url: url, size: size,
		tail: tail, tailStart: size - int64(len(tail)), dir: dir, lent: lent,
	}
	if tailIsDraft(tail, size) {
		return r, r.undraft(ctx)
	}
	if o.Parts && size <= wholeRoot && r.tailStart > 0 {
		err = r.completeUnlessByStripes(ctx)
	}
	return r, err
}

// URL is the canonical URL of the root.
func (r *Root) URL() string { return r.url }

// Size of the root object in bytes.
func (r *Root) Size() int64 {
	if r.draft > 0 {
		return r.draft
	}
	return r.size
}

// Directory is the table of contents.
func (r *Root) Directory() *metapb.ShardDirectory { return r.dir }

// Footers is where readers of fields keep the footers of Parquet files, by canonical URL.
func (r *Root) Footers() *sync.Map { return &r.footers }

// Resolve gives the object that ref names when it stands in a message of the object anchor.
func (r *Root) Resolve(anchor, ref string) (string, error) {
	if ref == "" {
		return anchor, nil
	}
	r.mu.Lock()
	url, known := r.resolved[ref]
	r.mu.Unlock()
	if known {
		return url, nil
	}
	folder, err := r.container()
	if err != nil {
		return "", err
	}
	url, err = urlresolve.ResolveIn(folder, ref, r.policy)
	if err == nil && strings.HasPrefix(url, "file:") {
		err = r.follow(url)
	}
	if err != nil {
		return url, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resolved == nil {
		r.resolved = make(map[string]string)
	}
	if len(r.resolved) < mostResolved && len(ref) <= longestResolved {
		r.resolved[strings.Clone(ref)] = url // ref may lie in a whole descriptor
	}
	return url, nil
}

// container is the folder of the root, as urlresolve.Base gives it.
func (r *Root) container() (folder string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.folder == "" {
		r.folder, err = urlresolve.Base(r.url)
	}
	return r.folder, err
}

// mostResolved is how many references are kept resolved, longestResolved how long each may be: the buffers of a stripe name the same object.
const mostResolved, longestResolved = 256, 1 << 10

// linked is a store on which names may be symbolic links; a *blobio.Client is one.
type linked interface {
	LeadsOut(ctx context.Context, url string, folders []string) (bool, error)
}

// follow refuses a file that is a symbolic link to something outside of the shard's folder and of what is allowed.
func (r *Root) follow(url string) error {
	st, ok := r.store.(linked)
	if !ok {
		return nil
	}
	r.mu.Lock()
	known := r.followed[url]
	r.mu.Unlock()
	if known {
		return nil
	}
	folder, err := r.container()
	if err != nil {
		return err
	}
	folders := []string{folder}
	for _, p := range r.policy.Allow {
		if p.Scheme == "file" {
			folders = append(folders, "file:///"+p.PathPrefix)
		}
	}
	out, err := st.LeadsOut(context.Background(), url, folders)
	if err == nil && out {
		err = &urlresolve.Error{Ref: urlresolve.Redact(url), Reason: "a symbolic link that leaves the shard's folder"}
	}
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.followed == nil {
			r.followed = make(map[string]bool)
		}
		r.followed[url] = true
	}
	return err
}

// Message reads the message that ref refers to, when ref stands in a message of the object anchor, and
// returns its payload.
func (r *Root) Message(ctx context.Context, anchor string, ref *metapb.DataRef) ([]byte, error) {
	payload, _, err := r.message(ctx, anchor, ref)
	return payload, err
}

// message is Message that also gives the object the message lies in.
func (r *Root) message(ctx context.Context, anchor string, ref *metapb.DataRef) (payload []byte, url string, err error) {
	return r.messageAt(ctx, anchor, ref.GetUrl(), ref.GetRange().GetStart(), ref.GetRange().GetEnd())
}

// messageAt is message of a reference by its parts.
func (r *Root) messageAt(ctx context.Context, anchor, ref string, from, to uint64) (payload []byte, url string, err error) {
	if url, err = r.Resolve(anchor, ref); err != nil {
		return nil, "", err
	}
	start, end, err := checkRange(from, to)
	if err != nil {
		return nil, "", corrupt.Locate(err, anchor, 0)
	}
	if end-start < FrameOverhead || end-start > maxMessage {
		return nil, "", corrupt.Locate(corrupt.At(start, "a message of %d bytes", end-start), url, 0)
	}
	frame, err := r.bytes(ctx, url, start, end)
	if err != nil {
		return nil, "", err
	}
	if payload, err = Unframe(frame); err != nil {
		if payload = r.pastCaches(ctx, url, start, end); payload != nil {
			return payload, url, nil
		}
		return nil, "", corrupt.Locate(err, url, start)
	}
	return payload, url, nil
}

// caching is a store with caches, as a *blobio.Client.
type caching interface {
	Forget(ctx context.Context, urls ...string) (cached bool)
}

// pastCaches removes an object with a damaged message from the caches, and reads the message from the store. It
// returns nil if no cache was read, or if the stored message is damaged too.
func (r *Root) pastCaches(ctx context.Context, url string, start, end int64) []byte {
	st, ok := r.store.(caching)
	if draft := r.draft > 0 && url == r.url; !ok || draft || !st.Forget(ctx, url) { // of drafts, positions are not those of the file
		return nil
	}
	b := make([]byte, end-start)
	if _, err := r.store.ReadRange(nocache.With(ctx), url, start, b); err != nil {
		return nil
	}
	payload, err := Unframe(b)
	if err != nil {
		return nil
	}
	return payload
}

// Decode reads the message that ref refers to, when ref stands in a message of the object anchor, into m. It
// returns the object the message lies in, which is the anchor of the references in m.
func (r *Root) Decode(ctx context.Context, anchor string, ref *metapb.DataRef, m proto.Message) (url string, err error) {
	payload, url, err := r.message(ctx, anchor, ref)
	if err != nil {
		return "", err
	}
	if err := unmarshal(payload, m); err != nil {
		return "", corrupt.Locate(err, url, int64(ref.GetRange().GetStart())+4)
	}
	return url, nil
}

// bytes reads [start, end) of the object at url, from what was kept as far as it goes.
func (r *Root) bytes(ctx context.Context, url string, start, end int64) ([]byte, error) {
	if err := r.isClosed(); err != nil {
		return nil, err
	}
	if url == r.url {
		if end > r.size {
			return nil, corrupt.Locate(corrupt.At(start, "range ends at %d of %d bytes", end, r.size), url, 0)
		}
		if start >= r.tailStart {
			return r.tail[start-r.tailStart : end-r.tailStart], nil
		}
	}
	if b, ok := r.kept(url, start, end); ok {
		return b, nil
	}
	if b, ok := r.inRow(url, start, end); ok {
		return b, nil
	}
	if url != r.url && end-start > proveSize {
		if _, err := r.store.ReadRange(ctx, url, end-1, make([]byte, 1)); err != nil {
			return nil, r.unreachable(err, url, start, end)
		}
	}
	var b []byte
	var err error
	if url == r.url && end > r.tailStart {
		b, err = r.readToTail(ctx, start, end)
	} else {
		b, _, err = readRange(ctx, r.store, url, blobio.Range{Start: start, End: end}, r.take)
	}
	if err != nil {
		return nil, r.unreachable(err, url, start, end)
	}
	return b, nil
}

// unreachable is the error of a range that could not be read: damage where the object is too short, or where another
// object than the root, which only a reference can have named, is not there.
func (r *Root) unreachable(err error, url string, start, end int64) error {
	if url != r.url && errors.Is(err, blobio.ErrNotFound) {
		return Missing(err, url)
	}
	return outside(err, url, start, end)
}

// SchemaView opens the schema without decoding it.
func (r *Root) SchemaView(ctx context.Context) (*schemawire.View, error) {
	return r.view.get(ctx, func() (*schemawire.View, error) {
		b, err := r.schemaPayload(ctx)
		if err != nil {
			return nil, err
		}
		v, err := schemawire.NewView(b)
		return v, r.locateSchema(err)
	})
}

// FieldByKind is the first internal field of a kind and a basic type, nil if there is none.
func (r *Root) FieldByKind(ctx context.Context, kind string, basic schema.Basic) (*schema.Node, error) {
	view, err := r.SchemaView(ctx)
	if err != nil {
		return nil, err
	}
	n, err := view.FieldByKind(kind, basic)
	return n, r.locateSchema(err)
}

// Schema decodes the whole schema, with what the shard states about nulls.
func (r *Root) Schema(ctx context.Context) (*schema.Schema, error) {
	return r.schema.get(ctx, func() (*schema.Schema, error) {
		b, err := r.schemaPayload(ctx)
		if err != nil {
			return nil, err
		}
		s, err := schemawire.Unmarshal(b)
		if err != nil {
			return nil, r.locateSchema(err)
		}
		ids, err := r.Required(ctx)
		if err != nil {
			return nil, err
		}
		return s, corrupt.Locate(schemawire.MarkRequired(s.Fields, ids), r.url, 0)
	})
}

func (r *Root) schemaPayload(ctx context.Context) ([]byte, error) {
	return r.schemaBytes.get(ctx, func() ([]byte, error) {
		if err := r.fetchSchema(ctx); err != nil {
			return nil, err
		}
		return r.Message(ctx, r.url, r.dir.SchemaRef)
	})
}

// fetchSchema fetches the schema together with the properties, which say something of its nodes: writers here place them side by side,
// so that both are one request.
func (r *Root) fetchSchema(ctx context.Context) error {
	var places []place
	for _, ref := range []*metapb.DataRef{r.dir.SchemaRef, r.dir.PropertiesRef} {
		p, err := r.placeOf(r.url, ref)
		if err != nil || p.url != r.url || p.start >= p.end || p.end-p.start > maxMessage || p.end > r.size {
			return nil // what is wrong with it is reported where it is read
		}
		if !r.atHand(p) {
			places = append(places, p)
		}
	}
	if done, err := r.fetchToTail(ctx, places); done || err != nil {
		return err
	}
	return r.fetch(ctx, places)
}

// locateSchema names the place of an error in the schema; only one that lies in the root can be named.
func (r *Root) locateSchema(err error) error {
	if err == nil || r.dir.SchemaRef.Url != "" {
		return err
	}
	return corrupt.Locate(err, r.url, int64(r.dir.SchemaRef.GetRange().GetStart())+4)
}

// Properties are the shard's properties as they are stored, empty if it has none; see ReadProperties.
func (r *Root) Properties(ctx context.Context) (*metapb.ShardProperties, error) {
	return r.properties.get(ctx, func() (*metapb.ShardProperties, error) {
		m := new(metapb.ShardProperties)
		b, err := r.propertyPayload(ctx)
		if err == nil {
			err = r.locateProperties(unmarshal(b, m))
		}
		return m, err
	})
}

// propertyPayload is the serialized properties, empty if there are none.
func (r *Root) propertyPayload(ctx context.Context) ([]byte, error) {
	if r.dir.PropertiesRef == nil {
		return nil, nil
	}
	return r.propertyBytes.get(ctx, func() ([]byte, error) { return r.Message(ctx, r.url, r.dir.PropertiesRef) })
}

// locateProperties names the place of an error in the properties.
func (r *Root) locateProperties(err error) error {
	if err == nil {
		return nil
	}
	anchor, resolved := r.PropertiesAnchor()
	if resolved != nil {
		return resolved
	}
	return corrupt.Locate(err, anchor, int64(r.dir.PropertiesRef.GetRange().GetStart())+4)
}

// URLList are the objects the shard states it consists of, the root left out. Foreign writers leave it
// incomplete.
func (r *Root) URLList(ctx context.Context) (*metapb.UrlList, error) {
	return r.urls.get(ctx, func() (*metapb.UrlList, error) {
		m := new(metapb.UrlList)
		_, err := r.Decode(ctx, r.url, r.dir.UrlListRef, m)
		return m, err
	})
}

// Indexes are the indexes of the whole shard, empty if it has none.
func (r *Root) Indexes(ctx context.Context) (*metapb.IndexCollection, error) {
	return r.indexes.get(ctx, func() (*metapb.IndexCollection, error) {
		m := new(metapb.IndexCollection)
		if r.dir.IndexesRef == nil {
			return m, nil
		}
		_, err := r.Decode(ctx, r.url, r.dir.IndexesRef, m)
		return m, err
	})
}
