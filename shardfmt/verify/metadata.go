package verify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// maxIndexDepth bounds how far shards may name index shards that name others.
const maxIndexDepth = 4

// maxCopies bounds the copies that buffers are searched for; writers make some dozens.
const maxCopies = 1 << 10

// root checks the metadata of one root object and collects its buffers.
func (v *verifier) root(url string, size int64, depth int) error {
	r, err := meta.OpenRoot(v.ctx, v.st, url, meta.Options{Size: size, Policy: v.o.Policy})
	if err != nil {
		if depth == 0 && errors.Is(err, blobio.ErrNotFound) {
			return err
		}
		v.object(url)
		return v.judge(err, url, 0)
	}
	if depth == 0 {
		v.top = r
	}
	top := v.object(r.URL())
	top.isRoot, top.draft = true, r.Draft()
	if !strings.HasSuffix(r.URL(), ".amudai.shard") {
		v.report.Warnings = append(v.report.Warnings, r.URL()+": the name does not end in .amudai.shard")
	}
	w := &walk{v: v, r: r}
	for _, step := range []func() error{w.properties, w.stripes, w.bounds, w.shardFields, w.indexes, w.urlList} {
		if err := v.judge(step(), r.URL(), 0); err != nil {
			return err
		}
	}
	for _, artifact := range w.artifacts {
		if depth == maxIndexDepth {
			v.found(r.URL(), -1, "index artifacts nest deeper than %d levels", maxIndexDepth)
			break
		}
		if _, seen := v.objects[artifact]; !seen {
			if err := v.root(artifact, 0, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// walk goes through the metadata of one root.
type walk struct {
	v         *verifier
	r         *meta.Root
	reached   map[string]bool
	artifacts []string
	copies    []meta.RangeCopy // meta.PropertyCopies: those that no buffer available so far has
}

// reach notes that a reference names an object, and adds the range to what must exist.
func (w *walk) reach(anchor string, ref *metapb.DataRef) (*object, int64, int64, error) {
	url, err := w.r.Resolve(anchor, ref.GetUrl())
	if err != nil {
		return nil, 0, 0, err
	}
	start, end, err := meta.RefRange(ref)
	if err != nil {
		return nil, 0, 0, err
	}
	w.mark(url)
	return w.v.object(url), start, end, nil
}

func (w *walk) properties() error {
	p, err := w.r.Properties(w.v.ctx)
	if err != nil {
		return err
	}
	lo, hi, known := meta.Creation(p)
	if known && lo > hi {
		w.v.found(w.r.URL(), int64(w.r.Directory().GetPropertiesRef().GetRange().GetStart()), "creation_min is after creation_max")
	}
	w.copies = meta.Copies(meta.Properties(p.GetCustomProperties()).Get(meta.PropertyCopies))
	if len(w.copies) > maxCopies {
		w.v.found(w.r.URL(), -1, "%s has more than %d copies", meta.PropertyCopies, maxCopies)
		w.copies = nil
	}
	anchor, err := w.r.PropertiesAnchor()
	if err != nil {
		return err
	}
	return w.values(anchor, p)
}

// values reaches the data references among property values, and follows them: what they point to must exist, and be a value.
func (w *walk) values(anchor string, p interface {
	GetStandardProperties() []*metapb.NameValuePair
	GetCustomProperties() []*metapb.NameValuePair
}) error {
	for _, bag := range [][]*metapb.NameValuePair{p.GetStandardProperties(), p.GetCustomProperties()} {
		for _, pair := range bag {
			if pair.Name == meta.PropertyObjects {
				continue
			}
			err := w.r.VisitReferences(w.v.ctx, anchor, pair.Value, func(object string, start, end int64) {
				w.mark(object)
				w.v.object(object).add(piece{start: start, end: end, unprotected: true})
			})
			if err = w.v.judge(err, anchor, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// stripes checks every stripe: properties, sums, field lists and fields.
func (w *walk) stripes() error {
	s, err := w.r.Schema(w.v.ctx)
	if err != nil {
		return err
	}
	stripes, err := w.r.Stripes(w.v.ctx)
	if err != nil {
		return err
	}
	for i, st := range stripes {
		if err := w.v.judge(w.stripeProperties(i, st), w.r.URL(), 0); err != nil {
			return err
		}
		if err := w.v.judge(w.stripeFields(i, st, s), w.r.URL(), 0); err != nil {
			return err
		}
	}
	for _, c := range w.copies {
		w.v.found(w.r.URL(), int64(c.Start), "%s has a copy without a buffer", meta.PropertyCopies)
	}
	return nil
}

// bounds holds what the end of the root repeats of the stripes to what they say themselves.
func (w *walk) bounds() error { return w.r.CheckBounds(w.v.ctx) }

func (w *walk) stripeProperties(i int, st *metapb.StripeDirectory) error {
	p, err := w.r.StripeProperties(w.v.ctx, i)
	if err != nil || p == nil {
		return err
	}
	anchor, err := w.r.Resolve(w.r.URL(), st.GetPropertiesRef().GetUrl())
	if err != nil {
		return err
	}
	if err := w.values(anchor, p); err != nil {
		return err
	}
	for _, sum := range meta.ObjectSums(meta.Properties(p.GetCustomProperties()).Get(meta.PropertyObjects)) {
		o, start, end, err := w.reach(anchor, sum.Ref)
		if err != nil {
			return err
		}
		o.addSum(start, end, sum.Sum)
	}
	idx, err := w.r.StripeIndexes(w.v.ctx, i)
	if err != nil {
		return err
	}
	w.indexArtifacts(w.r.URL(), idx, st.GetTotalRecordCount())
	return nil
}

// stripeFields loads all descriptors of a stripe and collects their buffers.
func (w *walk) stripeFields(i int, st *metapb.StripeDirectory, s *schema.Schema) error {
	var visit func(path string, n *schema.Node, positions int64, inFixed bool) error
	visit = func(path string, n *schema.Node, positions int64, inFixed bool) error {
		d, anchor, err := w.r.StripeField(w.v.ctx, i, n.ID)
		if err = w.v.judge(err, w.r.URL(), 0); err != nil {
			return err
		}
		w.describe(i, d.GetField().GetIndexes(), anchor)
		f := &fieldWalk{walk: w, node: n, anchor: anchor, descriptor: d, positions: positions, inFixed: inFixed}
		if err := w.v.judge(f.check(fmt.Sprintf("stripe %d, field %q", i, path)), anchor, 0); err != nil {
			return err
		}
		for k, child := range n.Children {
			below := n.Basic == schema.FixedSizeList || inFixed && n.Basic != schema.List && n.Basic != schema.Map
			if err := visit(path+"."+schema.JoinPath(n.ChildName(k)), child, f.childPositions(), below); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range s.Fields {
		if err := visit(schema.JoinPath(n.Name), n, int64(st.TotalRecordCount), false); err != nil {
			return err
		}
	}
	return nil
}

// shardFields loads the shard-level descriptors, for their checksums.
func (w *walk) shardFields() error {
	s, err := w.r.Schema(w.v.ctx)
	if err != nil {
		return err
	}
	for id := range s.Count {
		d, err := w.r.ShardField(w.v.ctx, id)
		if err := w.v.judge(err, w.r.URL(), 0); err != nil {
			return err
		}
		w.describe(-1, d.GetIndexes(), w.r.URL())
		w.indexArtifacts(w.r.URL(), d.GetIndexes(), w.r.Directory().GetTotalRecordCount())
	}
	return w.movedFields()
}

// movedFields checks the shard's own field list where it still names the place at which the shard was sealed, as
// the reference writes it. Reading then does without statistics as soon as one frame is damaged; here, frames
// that hold beside ones that don't distinguish damage from a list that means another object.
func (w *walk) movedFields() error {
	ref := w.r.Directory().GetFieldListRef()
	payload, err := w.r.Message(w.v.ctx, w.r.URL(), ref)
	if err != nil {
		return err
	}
	list, err := meta.ParseRefArray(payload)
	if err != nil {
		return err
	}
	var bad []int64
	good := 0
	for i := range list.Len() {
		url, start, end, err := list.At(i)
		if err != nil {
			return err
		}
		if _, err := w.r.Resolve(w.r.URL(), url); err == nil || start == end || end > w.r.Size() {
			continue
		}
		data := make([]byte, end-start)
		if _, err := w.v.st.ReadRange(w.v.ctx, w.r.URL(), start, data); err != nil {
			return err
		}
		if _, err := meta.Unframe(data); err != nil {
			bad = append(bad, start)
		} else {
			good++
		}
	}
	if good > 0 {
		for _, at := range bad {
			w.v.found(w.r.URL(), at, "the frame of a shard-level field descriptor is invalid")
		}
	}
	return nil
}

func (w *walk) indexes() error {
	idx, err := w.r.Indexes(w.v.ctx)
	w.indexArtifacts(w.r.URL(), idx, w.r.Directory().GetTotalRecordCount())
	return err
}

// indexArtifacts notes the shards that hold an index of so many records, to be verified like this one, and layer files.
func (w *walk) indexArtifacts(anchor string, c *metapb.IndexCollection, records uint64) {
	for _, d := range c.GetIndexDescriptors() {
		if d.GetIndexType() == meta.TermFilterType {
			w.termFilter(anchor, d)
			continue
		}
		for _, a := range d.GetArtifacts() {
			url, err := w.r.Resolve(anchor, a.GetDataRef().GetUrl())
			if err != nil {
				w.v.found(anchor, -1, "index artifact %q: %v", a.GetName(), err)
				continue
			}
			if d.IndexType == meta.LayerIndexType {
				w.mark(url)
				w.v.object(url).layer = &layerIndex{d, anchor, records}
				continue
			}
			w.artifacts = append(w.artifacts, url)
		}
	}
}

// termFilter notes the matrix of a term filter, which several stripes share.
func (w *walk) termFilter(anchor string, d *metapb.IndexDescriptor) {
	f := stripeindex.ParseFilter(w.r, d)
	if f == nil {
		w.v.found(anchor, -1, "the description of a term filter is invalid")
		return
	}
	o, start, end, err := w.reach(anchor, d.Artifacts[0].DataRef)
	if err != nil {
		w.v.found(anchor, -1, "term filter: %v", err)
		return
	}
	if !slices.ContainsFunc(o.pieces, func(p piece) bool { return p.start == start && p.end == end }) {
		o.add(piece{start: start, end: end, check: func(data []byte) (int64, error) { return 0, f.Check(data) }})
	}
}

// urlList compares the list with the objects that were reached: it ought to be complete, but foreign ones aren't.
func (w *walk) urlList() error {
	list, err := w.r.URLList(w.v.ctx)
	if err != nil {
		return err
	}
	listed := map[string]bool{w.r.URL(): true}
	for _, ref := range list.GetUrls() {
		url, err := w.r.Resolve(w.r.URL(), ref)
		if err != nil {
			return err
		}
		listed[url] = true
	}
	if err := w.reachDirectory(); err != nil {
		return err
	}
	for _, url := range slices.Sorted(maps.Keys(w.reached)) {
		if !listed[url] {
			w.v.report.Warnings = append(w.v.report.Warnings, url+": not in the shard's URL list")
		}
	}
	return nil
}

// mark notes that something refers to an object.
func (w *walk) mark(url string) {
	if w.reached == nil {
		w.reached = map[string]bool{}
	}
	w.reached[url] = true
}

// reachDirectory marks the objects that the parts of the root itself lie in.
func (w *walk) reachDirectory() error {
	d := w.r.Directory()
	for _, ref := range []*metapb.DataRef{d.GetSchemaRef(), d.GetPropertiesRef(), d.GetFieldListRef(), d.GetStripeListRef(), d.GetUrlListRef(), d.GetIndexesRef()} {
		url, err := w.r.Resolve(w.r.URL(), ref.GetUrl())
		if err != nil {
			return err
		}
		if w.mark(url); url != w.r.URL() {
			w.v.object(url) // whose frames were checked as they were read; its ends are
		}
	}
	return nil
}
