package verify

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob" // of the indexes that are made for comparison
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/scan"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// indexed is an index of the shard, or of a stripe, that scans rely on, and a builder of what it must hold.
type indexed struct {
	d      *metapb.IndexDescriptor
	anchor string
	filter *stripeindex.Filter // nil for an index
	of     *stripeindex.Builder
}

// name is what findings call the index.
func (x *indexed) name() string {
	name, _ := stripeindex.Name(x.d)
	if x.filter != nil {
		return fmt.Sprintf("the term filter of index %q", name)
	}
	return fmt.Sprintf("index %q", name)
}

// indexBatch is how many records are given to builders at a time.
const indexBatch = 8192

// indexes makes the postings of the indexes and term filters that scans rely on again from the values, where nothing else was found, and
// finds those that lack some: scans would lose rows by them. The new indexes are written to temporary files.
func (v *verifier) indexes() error {
	if v.top == nil || len(v.report.Errors) > 0 {
		return nil
	}
	c, err := v.newIndexCheck()
	if err != nil || c == nil {
		return v.judge(err, v.top.URL(), 0)
	}
	defer c.close()
	for i := range c.stripes {
		if err := c.stripe(i); err != nil {
			return v.judge(err, v.top.URL(), 0)
		}
	}
	return v.judge(c.shard(), v.top.URL(), 0)
}

// indexCheck compares the indexes of a shard with its values.
type indexCheck struct {
	*verifier
	schema  *schema.Schema
	stripes []*metapb.StripeDirectory
	// whole are the indexes of the shard as a whole, each those of its stripes.
	whole []*indexed
	each  [][]*indexed
	// columns are the top-level fields that they are of.
	columns *schema.Schema
	made    *blobio.Client
	dir     string
	url     string
	count   int
}

// newIndexCheck finds the indexes; nil if there are none.
func (v *verifier) newIndexCheck() (*indexCheck, error) {
	s, err := v.top.Schema(v.ctx)
	if err != nil {
		return nil, err
	}
	c := &indexCheck{verifier: v, schema: s}
	if c.stripes, err = v.top.Stripes(v.ctx); err != nil {
		return nil, err
	}
	records := v.top.Directory().GetTotalRecordCount()
	shared, err := v.top.Indexes(v.ctx)
	if err != nil {
		return nil, err
	}
	c.whole = c.relied(c.whole, shared, v.top.URL(), true, records)
	for _, of := range v.described[-1] {
		c.whole = c.relied(c.whole, of.of, of.anchor, true, records)
	}
	some := len(c.whole) > 0
	for i, st := range c.stripes {
		own, err := v.top.StripeIndexes(v.ctx, i)
		if err != nil {
			return nil, err
		}
		each := c.relied(nil, own, v.top.URL(), false, st.TotalRecordCount)
		for _, of := range v.described[i] {
			each = c.relied(each, of.of, of.anchor, false, st.TotalRecordCount)
		}
		c.each, some = append(c.each, each), some || len(each) > 0
	}
	if !some {
		return nil, nil
	}
	c.columns = c.indexedColumns()
	if c.dir, err = os.MkdirTemp("", "shardcat-verify-"); err != nil {
		return nil, err
	}
	c.made = blobio.NewClient(blobio.ClientOptions{})
	if c.url, err = c.made.Mount(v.ctx, c.dir); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// relied adds those of a collection that scans rely on.
func (c *indexCheck) relied(to []*indexed, of *metapb.IndexCollection, anchor string, whole bool, records uint64) []*indexed {
	for _, d := range of.GetIndexDescriptors() {
		x := &indexed{d: d, anchor: anchor}
		if d.GetIndexType() == meta.TermFilterType {
			if x.filter = stripeindex.ParseFilter(c.top, d); x.filter == nil || whole {
				continue
			}
		} else if !stripeindex.Relied(d, whole, records) {
			continue
		}
		to = append(to, x)
	}
	return to
}

func (c *indexCheck) close() {
	for _, x := range c.all() {
		if x.of != nil {
			x.of.Abort()
		}
	}
	if c.made != nil {
		c.made.Close()
	}
	os.RemoveAll(c.dir)
}

// all are the indexes of the shard and of all stripes.
func (c *indexCheck) all() []*indexed {
	return slices.Concat(append([][]*indexed{c.whole}, c.each...)...)
}

// indexedColumns are the top-level fields that the indexes are of.
func (c *indexCheck) indexedColumns() *schema.Schema {
	wanted := map[uint32]bool{}
	for _, x := range c.all() {
		for _, f := range x.d.IndexedFields {
			for _, id := range f.SchemaIds {
				wanted[id] = true
			}
		}
	}
	out := &schema.Schema{Count: c.schema.Count}
	for _, n := range c.schema.Fields {
		of := false
		(&schema.Schema{Fields: []*schema.Node{n}}).Walk(func(_ string, n *schema.Node) bool {
			of = of || wanted[n.ID]
			return true
		})
		if of {
			out.Fields = append(out.Fields, n)
		}
	}
	return out
}

// stripe reads a stripe for its own indexes and those of the shard, and compares its own.
func (c *indexCheck) stripe(i int) error {
	own := c.each[i]
	all := append(slices.Clone(own), c.whole...)
	if len(all) == 0 {
		return nil
	}
	var builders []*stripeindex.Builder
	for _, x := range all {
		if x.of == nil {
			x.of = stripeindex.Rebuild(x.d, c.columns, slices.Contains(c.whole, x))
		}
		if x.of != nil {
			builders = append(builders, x.of)
		}
	}
	if err := c.read(i, builders); err != nil {
		return err
	}
	for _, x := range c.whole {
		if x.of != nil {
			if _, _, err := x.of.Finish(c.ctx, shardwriter.IndexTarget{Store: c.made, Root: c.next(), Prefix: c.next()}); err != nil {
				return err
			}
		}
	}
	for _, x := range own {
		if x.of == nil {
			continue
		}
		lacks, err := c.lacks(x, c.stripes[i].TotalRecordCount)
		if err := c.judge(err, x.anchor, 0); err != nil {
			return err
		}
		if lacks != "" {
			c.found(x.anchor, -1, "stripe %d, %s does not match the values: %s", i, x.name(), lacks)
		}
		x.of.Abort()
		x.of = nil
	}
	return nil
}

// read gives the records of a stripe to builders.
func (c *indexCheck) read(i int, builders []*stripeindex.Builder) error {
	q, err := audited(c.ctx, c.top, c.columns, budget.New(c.o.MaxMemory))
	if err != nil {
		return err
	}
	q.BatchRows, q.Start = indexBatch, c.stripes[i].ShardPosition
	q.End = q.Start + c.stripes[i].TotalRecordCount
	var failed error
	err = scan.Run(c.ctx, c.st, q, &scan.Counts{}, func(b arrow.RecordBatch) bool {
		for _, x := range builders {
			if failed = x.Add(b); failed != nil {
				return false
			}
		}
		return true
	})
	if failed != nil || errors.Is(err, scan.ErrStopped) {
		return failed
	}
	return err
}

// lacks describes what an index of a stripe lacks.
func (c *indexCheck) lacks(x *indexed, records uint64) (string, error) {
	if x.filter != nil {
		keys := x.of.Keys()
		missing, err := x.filter.Missing(c.ctx, c.st, keys)
		if missing == 0 || err != nil {
			return "", err
		}
		return fmt.Sprintf("%d of %d terms are missing", missing, len(keys)), nil
	}
	root := c.next()
	made, _, err := x.of.Finish(c.ctx, shardwriter.IndexTarget{Store: c.made, Root: root, Prefix: c.next()})
	if err != nil || len(made) == 0 {
		return "", err
	}
	return c.compare(x, made[0], root, 1, records)
}

func (c *indexCheck) compare(x *indexed, made *metapb.IndexDescriptor, root string, stripes int, records uint64) (string, error) {
	part := func(d *metapb.IndexDescriptor, base string) stripeindex.Part {
		return stripeindex.Part{Descriptor: d, Base: base, Stripes: stripes, Records: records}
	}
	return stripeindex.Lacks(c.ctx, stripeindex.Stored{Part: part(x.d, x.anchor), Store: c.st}, stripeindex.Stored{Part: part(made, root), Store: c.made}, c.o.Policy)
}

// shard compares the indexes of the shard as a whole.
func (c *indexCheck) shard() error {
	for _, x := range c.whole {
		if x.of == nil {
			continue
		}
		root := c.next()
		made, _, err := x.of.Close(c.ctx, shardwriter.IndexTarget{Store: c.made, Root: root, Prefix: c.next()})
		if err != nil {
			return err
		}
		if len(made) == 0 {
			continue
		}
		lacks, err := c.compare(x, made[0], root, len(c.stripes), c.top.Directory().GetTotalRecordCount())
		if err := c.judge(err, x.anchor, 0); err != nil {
			return err
		}
		if lacks != "" {
			c.found(x.anchor, -1, "%s of the shard does not match the values: %s", x.name(), lacks)
		}
	}
	return nil
}

// next is the URL of a new object, or the start of several, of those that are made for comparison.
func (c *indexCheck) next() string {
	c.count++
	return fmt.Sprintf("%s/%d-", c.url, c.count)
}
