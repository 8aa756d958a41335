package shardfmt

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/buffer"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/field"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// stripes checks the messages and the buffers of all stripes.
func (v *verifier) stripes() {
	root := v.shard.root
	list, err := root.StripeList(v.ctx)
	if err != nil {
		v.error(err)
		return
	}
	anchor, err := root.StripeAnchor(v.ctx)
	if err != nil {
		v.error(err)
		return
	}
	all, err := root.Schema(v.ctx)
	if err != nil {
		return // reported with the metadata
	}
	for i, d := range list.Stripes {
		before := len(v.report.Errors)
		v.message(anchor, d.IndexesRef, new(metapb.IndexCollection))
		v.stripeFields(i, anchor, d)
		v.stripeBuffers(i, all)
		v.stripeValues(i, all)
		p := new(metapb.StripeProperties)
		if at, ok := v.message(anchor, d.PropertiesRef, p); ok {
			v.sums(at, p, len(v.report.Errors) > before)
		}
	}
}

// stripeFields checks the field list of a stripe and the descriptors in it.
func (v *verifier) stripeFields(i int, anchor string, d *metapb.StripeDirectory) {
	if payload, _ := v.frame(anchor, d.FieldListRef); payload == nil {
		return
	}
	refs, at, err := v.shard.root.StripeFieldList(v.ctx, i)
	if err != nil {
		v.error(err)
		return
	}
	for id := range refs.Len() {
		ref, err := refs.Ref(id)
		if err != nil {
			v.error(corrupt.Locate(err, at, 0))
		} else if ref != nil {
			v.message(at, ref, new(metapb.StripeFieldDescriptor))
		}
	}
}

// stripeBuffers checks every buffer of a stripe.
func (v *verifier) stripeBuffers(i int, all *schema.Schema) {
	k := &field.Checker{Source: v.shard.root, Read: v.read, Report: v.error,
		Cover: func(url string, start, end, unprotected uint64) {
			v.cover(url, int64(start), int64(end))
			v.loose = append(v.loose, looseBytes{url, int64(start), unprotected})
		},
	}
	all.Walk(func(_ string, n *schema.Node) bool {
		k.Check(v.ctx, i, n)
		return v.failed == nil
	})
}

// verifyRows is how many records are decoded at once.
const verifyRows = 8192

// stripeValues decodes all values of a stripe, field by field, and compares counts.
func (v *verifier) stripeValues(i int, all *schema.Schema) {
	records := v.shard.stripes[i].Records
	for _, n := range all.Fields {
		if v.failed != nil {
			return
		}
		if err := v.fieldValues(i, n, records); err != nil {
			v.error(err)
		}
	}
}

func (v *verifier) fieldValues(i int, n *schema.Node, records uint64) error {
	c, err := field.Open(v.ctx, v.shard.root, i, n, records)
	if err != nil {
		return err
	}
	d, err := v.shard.FieldStats(v.ctx, i, n.ID)
	if err != nil {
		return err
	}
	nulls := uint64(0)
	rows := uint64(verifyRows)
	for at := uint64(0); at < records; {
		r := buffer.Range{Start: at, End: min(at+rows, records)}
		if err := v.need(c, r, records); err != nil {
			return err
		}
		a, err := c.Read(r)
		if errors.Is(err, field.ErrTooLarge) && rows > 1 {
			rows /= 2
			continue
		}
		if err != nil {
			return err
		}
		nulls += uint64(a.NullN())
		c.Release(r.End)
		at = r.End
	}
	if d != nil && d.NullCount != nil && *d.NullCount != nulls && n.Basic != schema.Union && n.Basic != schema.Unit {
		return corrupt.Locate(corrupt.At(-1, "field %q of stripe %d has %d nulls, its descriptor says %d",
			n.Name, i, nulls, *d.NullCount), v.url, 0)
	}
	return nil
}

// need fetches what a column needs for a range.
func (v *verifier) need(c field.Column, r buffer.Range, records uint64) error {
	for {
		q, err := c.Need([]buffer.Range{r}, r.Len() == records)
		if err != nil || len(q) == 0 {
			return err
		}
		if err := fetch(v.ctx, v.sp, q); err != nil {
			return err
		}
	}
}

// sums checks the checksums of the byte ranges that a stripe lies in, if it carries them. Where something was
// found already, a checksum that fails says nothing new.
func (v *verifier) sums(anchor string, p *metapb.StripeProperties, known bool) {
	for _, s := range meta.ObjectSums(meta.Bag(p.CustomProperties).Get(meta.PropertyObjects)) {
		url, err := v.shard.root.Resolve(anchor, s.Ref.GetUrl())
		if err != nil {
			v.error(err)
			continue
		}
		start, end, err := meta.RefRange(s.Ref)
		if err != nil {
			v.error(corrupt.Locate(err, anchor, 0))
			continue
		}
		v.cover(url, start, end)
		v.summed[url] = append(v.summed[url], blobio.Range{Start: start, End: end})
		sum, err := v.hash(url, start, end)
		if err != nil {
			v.error(missing(err, url))
		} else if sum != s.Sum && !known {
			v.find(url, start, fmt.Sprintf("bytes [%d, %d) have another checksum than when they were written", start, end))
		}
	}
}

// hash streams bytes of an object.
func (v *verifier) hash(url string, start, end int64) (uint64, error) {
	r, _, err := v.sp.Open(v.ctx, url, start)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	var h xxh3.Hasher
	n, err := io.Copy(&h, io.LimitReader(r, end-start))
	if err == nil && n != end-start {
		err = blobio.NewError("read", url, blobio.ErrRange, nil)
	}
	return h.Sum64(), err
}

// objects checks the frame of the objects and the padding between what references reach, and that the list of
// objects is complete.
func (v *verifier) objects() {
	named, err := v.shard.root.URLList(v.ctx)
	if err != nil {
		v.error(err)
		return
	}
	listed := map[string]bool{v.url: true}
	for _, u := range named.Urls {
		url, err := v.shard.root.Resolve(v.url, u)
		if err != nil {
			v.error(err)
			continue
		}
		listed[url] = true
	}
	for url := range v.covered {
		if !listed[url] {
			v.find(v.url, -1, fmt.Sprintf("the list of objects lacks %s", url))
		}
	}
	for url := range listed {
		if v.failed != nil {
			return
		}
		v.object(url)
	}
}

// object checks one object beside the root.
func (v *verifier) object(url string) {
	info, err := v.sp.Stat(v.ctx, url)
	if err != nil {
		v.error(missing(err, url))
		return
	}
	if url != v.url && len(v.summed[url]) > 0 { // only our own are known to have a frame
		v.magics(url, info.Size)
	} else if url != v.url {
		v.cover(url, 0, 0)
	}
	v.padding(url)
}

// padding checks that the bytes in front of a buffer, up to its alignment, are zero where nothing else is.
func (v *verifier) padding(url string) {
	ranges := mergeRanges(v.covered[url])
	for i, r := range slices.Backward(ranges) {
		if r.Start%buffer.Alignment != 0 || r.Start == 0 {
			continue
		}
		from := r.Start - buffer.Alignment + 1
		if i > 0 {
			from = max(from, ranges[i-1].End)
		} else {
			from = max(from, int64(len(meta.Magic)))
		}
		b, err := v.read(url, uint64(from), uint64(r.Start))
		if err != nil {
			v.error(err)
			return
		}
		for k, c := range b {
			if c != 0 {
				v.find(url, from+int64(k), "padding is not zero")
				break
			}
		}
		v.cover(url, from, r.Start)
		v.loose = append(v.loose, looseBytes{url, from, uint64(len(b))})
	}
}
