package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

// urls rewrites references so that they mean from the new root what they meant where they stood, and collects
// the objects they name.
type urls struct {
	out, folder string
	external    bool
	most        int
	// stored are the references in the order they were met, objects what they name.
	stored, objects []string
	known           map[string]bool
	// left are objects that lists name and nothing refers to any more.
	left map[string]bool
	// artifacts are the objects of indexes. They don't count: a reader opens them only for a question to the index.
	artifacts map[string]bool
	// data are the objects that buffers lie in, among them those that an artifact lies in too.
	data map[string]bool
	// marked are the references whose objects are in data.
	marked map[reference]bool
	// rewritten remembers by the place and text of a reference.
	rewritten map[reference]string
	// places, if not nil, are where data moves to.
	places *places
}

type reference struct{ root, anchor, ref string }

func newURLs(out string, o Options) *urls {
	return &urls{
		out: out, external: o.AllowExternal, most: o.Limits.Objects,
		known: map[string]bool{}, left: map[string]bool{}, rewritten: map[reference]string{},
		artifacts: map[string]bool{}, data: map[string]bool{}, marked: map[reference]bool{},
	}
}

// move rewrites the references in m, a message of the object anchor, which belongs to a chunk of the new shard.
func (u *urls) move(s *shard, anchor string, c chunk, m proto.Message) error {
	if d, ok := m.(*metapb.StripeFieldDescriptor); ok {
		nameBlockMaps(d)
		u.markData(s, anchor, d)
	}
	u.markArtifacts(s, anchor, m)
	var failed error
	url := func(ref string) string {
		stored, err := u.rewrite(s, anchor, ref)
		failed = cmp.Or(failed, err)
		return stored
	}
	if u.places == nil {
		meta.RewriteURLs(m, url)
		return failed
	}
	u.places.keepArtifacts(s, anchor, m)
	indexes := indexesOfRanges(m)
	meta.VisitRefs(m, func(ref *metapb.DataRef) {
		of := c
		if slices.Contains(indexes, ref) {
			of.column = rangeIndexes
		}
		failed = cmp.Or(failed, u.place(s, anchor, of, ref))
	}, func(ref string) string {
		u.places.leave(s, anchor, ref)
		return url(ref)
	})
	return failed
}

// indexesOfRanges are the references to the range indexes of a field, nil of another message.
func indexesOfRanges(m proto.Message) (refs []*metapb.DataRef) {
	d, _ := m.(*metapb.StripeFieldDescriptor)
	for _, e := range d.GetEncodings() {
		for _, b := range e.GetNative().GetBuffers() {
			if b.Kind == metapb.BufferKind_RANGE_INDEX {
				refs = append(refs, b.Buffer)
			}
		}
	}
	return refs
}

// place rewrites a reference to data that may have moved.
func (u *urls) place(s *shard, anchor string, c chunk, ref *metapb.DataRef) error {
	object, err := s.root.Resolve(anchor, ref.Url)
	if err != nil {
		return err
	}
	start, end, err := meta.RefRange(ref)
	if err != nil {
		return err
	}
	object, by, err := u.places.of(c, object, start, end)
	if err != nil {
		return err
	}
	if ref.Url, err = u.store(object); err == nil {
		ref.Range = &metapb.UInt64Range{Start: uint64(start + by), End: uint64(end + by)}
	}
	return err
}

// moveProperties is move for the properties of a stripe. Checksums of data that is laid out by columns give way to those of its spans.
func (u *urls) moveProperties(s *shard, anchor string, c chunk, p *metapb.StripeProperties) error {
	if u.places == nil {
		return u.move(s, anchor, c, p)
	}
	list := meta.Properties(p.CustomProperties).Get(meta.PropertyObjects).GetListValue()
	if list == nil {
		return u.move(s, anchor, c, p)
	}
	var kept []*metapb.AnyValue
	for _, e := range list.Elements {
		taken, err := u.takeSum(s, anchor, c, e)
		if err != nil {
			return err
		}
		if !taken {
			kept = append(kept, e)
		}
	}
	list.Elements = kept
	if err := u.move(s, anchor, c, p); err != nil {
		return err
	}
	added, err := u.spanSums(c.stripe)
	list.Elements = append(list.Elements, added...)
	return err
}

// takeSum reports whether an element of PropertyObjects need not be rewritten. One of a form that this program does not know is: it may refer to data.
func (u *urls) takeSum(s *shard, anchor string, c chunk, element *metapb.AnyValue) (bool, error) {
	sums := meta.ObjectSums(meta.ListOf(element))
	if len(sums) == 0 {
		return false, nil
	}
	object, err := s.root.Resolve(anchor, sums[0].Ref.Url)
	if err != nil {
		return false, err
	}
	start, end, err := meta.RefRange(sums[0].Ref)
	if err != nil {
		return false, err
	}
	return u.places.takeSum(object, summed{c.stripe, start, end, sums[0].Sum}), nil
}

// spanSums are the checksums of the spans of a stripe that has some.
func (u *urls) spanSums(stripe int32) ([]*metapb.AnyValue, error) {
	var sums []meta.ObjectSum
	for _, of := range u.places.sums[stripe] {
		ref, err := u.store(u.places.into)
		if err != nil {
			return nil, err
		}
		sums = append(sums, meta.ObjectSum{Ref: meta.NewRef(ref, uint64(of.to), uint64(of.to+of.size())), Sum: of.sum})
	}
	return meta.ObjectSumsValue(sums...).GetListValue().GetElements(), nil
}

// nameBlockMaps gives block maps the URL of their buffer, whose object they lie in whatever their own URL
// says: an empty one would come to mean something else.
func nameBlockMaps(d *metapb.StripeFieldDescriptor) {
	for _, e := range d.Encodings {
		for _, b := range e.GetNative().GetBuffers() {
			if b.BlockMap != nil {
				b.BlockMap.Url = b.Buffer.GetUrl()
			}
		}
	}
}

// markData notes the objects that the buffers of a field lie in.
func (u *urls) markData(s *shard, anchor string, d *metapb.StripeFieldDescriptor) {
	for _, e := range d.Encodings {
		for _, b := range e.GetNative().GetBuffers() {
			key := reference{s.root.URL(), anchor, b.Buffer.GetUrl()}
			if b.Buffer == nil || u.marked[key] {
				continue
			}
			u.marked[key] = true
			if object, err := s.root.Resolve(anchor, key.ref); err == nil {
				u.data[object] = true
			}
		}
	}
}

// markArtifacts notes the objects of the indexes that a message describes.
func (u *urls) markArtifacts(s *shard, anchor string, m proto.Message) {
	for _, d := range indexesOf(m) {
		for _, a := range d.Artifacts {
			if object, err := s.root.Resolve(anchor, a.GetDataRef().GetUrl()); err == nil {
				u.artifacts[object] = true
			}
		}
	}
}

// indexesOf are the descriptions of indexes in a message.
func indexesOf(m proto.Message) []*metapb.IndexDescriptor {
	switch m := m.(type) {
	case *metapb.IndexCollection:
		return m.GetIndexDescriptors()
	case *metapb.StripeFieldDescriptor:
		return m.GetField().GetIndexes().GetIndexDescriptors()
	case *metapb.FieldDescriptor:
		return m.GetIndexes().GetIndexDescriptors()
	}
	return nil
}

// check holds the objects to the limit: those of indexes don't count.
func (u *urls) check() error {
	n := 0
	for _, object := range u.objects {
		if !u.artifacts[object] || u.data[object] {
			n++
		}
	}
	if u.most > 0 && n > u.most {
		return limit("objects", int64(n), int64(u.most))
	}
	return nil
}

// rewrite is the reference to store for ref of a message in anchor.
func (u *urls) rewrite(s *shard, anchor, ref string) (string, error) {
	key := reference{s.root.URL(), anchor, ref}
	if stored, ok := u.rewritten[key]; ok {
		return stored, nil
	}
	object, err := s.root.Resolve(anchor, ref)
	if err != nil {
		return "", err
	}
	stored, err := u.store(object)
	if err == nil {
		u.rewritten[key] = stored
	}
	return stored, err
}

// store is the reference to store for an object, which joins the list of objects.
func (u *urls) store(object string) (string, error) {
	if u.folder == "" {
		var err error
		if u.folder, err = urlresolve.Base(u.out); err != nil {
			return "", err
		}
	}
	stored := urlresolve.Relative(u.out, object)
	switch {
	case stored == "":
		return "", fmt.Errorf("merge: an input refers to the new root %s", u.out)
	case !u.external && !strings.HasPrefix(object, u.folder):
		return "", &urlresolve.Error{
			Ref:    urlresolve.Redact(object),
			Reason: "outside the folder of the merged shard, allowed only with --allow-external",
		}
	}
	if !u.known[stored] {
		u.known[stored] = true
		u.stored = append(u.stored, stored)
		u.objects = append(u.objects, object)
	}
	return stored, nil
}

// referred is the reference to an object that was met before, "" for any other.
func (u *urls) referred(object string) string {
	if stored := urlresolve.Relative(u.out, object); u.known[stored] {
		return stored
	}
	return ""
}

// addList adds what an input states it consists of.
func (u *urls) addList(s *shard) error {
	for _, ref := range s.urls.Urls {
		if ref == "" {
			continue
		}
		if object, err := s.root.Resolve(s.root.URL(), ref); err == nil && u.left[object] {
			continue
		}
		if _, err := u.rewrite(s, s.root.URL(), ref); err != nil {
			return err
		}
	}
	return nil
}

// leaveOut keeps an object, which ref in anchor names, out of the list unless something else refers to it.
func (u *urls) leaveOut(s *shard, anchor, ref string) {
	if object, err := s.root.Resolve(anchor, ref); err == nil {
		u.left[object] = true
	}
}

// list is the UrlList of the new root.
func (u *urls) list() *metapb.UrlList { return &metapb.UrlList{Urls: slices.Clone(u.stored)} }
