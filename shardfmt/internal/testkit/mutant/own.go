package mutant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob" // where shards are written before they are taken apart
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ownSchema has every type, and nests them.
const ownSchema = `id: Int64, u8: UInt8, i16: Int16, u32: UInt32, f32: Float32, f64: Float64, flag: Boolean, t: DateTime, span: TimeSpan,
	name: String, city: String, blob: Binary, fixed: FixedSizeBinary(5), guid: Guid, price: Decimal, dyn: Dynamic, none: Unit,
	tags: List<String>, pos: Struct<x: Float64, y: Struct<z: Int32>>, attrs: Map<String, Int64>, pair: FixedSizeList(2)<Int16>,
	u: Union<Int64, String>, same: Int32`

// creation of the records of own shards, in ticks, so that they are the same every time.
const creation = 638_000_000_000_000_000

// Own writes shards with every type, in both layouts and several profiles, some with more than one stripe.
func Own(ctx context.Context) (out []*Shard, err error) {
	for _, c := range []struct {
		name    string
		rows    int
		indexed bool
		o       shardfmt.WriterOptions
	}{
		{"own-single-700", 700, false, shardfmt.WriterOptions{Layout: shardfmt.Single, StripeRows: 300}},
		{"own-two-level-1100", 1100, false, shardfmt.WriterOptions{StripeRows: 600, SparseUnions: true}},
		{"own-small-300", 300, false, shardfmt.WriterOptions{Profile: shardfmt.MinimalSize}},
		{"own-plain-40", 40, false, shardfmt.WriterOptions{Profile: shardfmt.Plain, Layout: shardfmt.Single}},
		{"own-empty", 0, false, shardfmt.WriterOptions{}},
		{"own-indexed-400", 400, true, shardfmt.WriterOptions{StripeRows: 250}},
	} {
		c.o.CreationMin, c.o.CreationMax = creation, creation
		if c.indexed {
			if err = c.o.Indexes.Set("text:name,city hash:id"); err != nil {
				return nil, err
			}
		}
		c.o.Bloom = map[string]float64{"id": 0, "name": 0.01, "f64": 0}
		s, err := write(ctx, c.name, c.rows, c.o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Text is n records of the schema of own shards as NDJSON.
func Text(n int) string {
	var b strings.Builder
	cities := []string{"Bern", "Oslo", "São Paulo", "東京", ""}
	for i := range n {
		if i%11 == 7 {
			fmt.Fprintf(&b, `{"id":%d,"same":7}`+"\n", i)
			continue
		}
		fmt.Fprintf(&b, `{"id":%d,"u8":%d,"i16":%d,"u32":%d,"f32":%g,"f64":%g,"flag":%v,"t":"2024-05-%02dT10:%02d:00Z","span":"00:%02d:01",`,
			int64(i)*i3(i), i%256, i%5000-100, uint32(i)*77777, float32(i)/4, float64(i*i)/7-5, i%3 == 0, 1+i%28, i%60, i%60)
		fmt.Fprintf(&b, `"name":"customer-%d","city":%q,"blob":"AAEC","fixed":"AQIDBAU=","guid":"00112233-4455-6677-8899-%012x","price":"%d.%02d","dyn":{"a":[%d]},`,
			i*7919%1000, cities[i%len(cities)], i, i, i%100, i)
		fmt.Fprintf(&b, `"tags":[%s],"pos":{"x":%g,"y":{"z":%d}},"attrs":[{"key":"k%d","value":%d}],"pair":[%d,null],"u":%s,"same":7}`+"\n",
			strings.TrimSuffix(strings.Repeat(`"tag",`, i%4), ","), float64(i)/3, i%9, i%3, i, i%100, []string{"1", `"text"`, "null"}[i%3])
	}
	return b.String()
}

// i3 makes ids that ascend, but not by one.
func i3(i int) int64 { return int64(3 + i%2) }

func write(ctx context.Context, name string, rows int, o shardfmt.WriterOptions) (*Shard, error) {
	types, err := schema.Parse(ownSchema)
	if err != nil {
		return nil, err
	}
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	src, err := fileio.OpenSource(ctx, c, []string{"-"}, fileio.SourceOptions{
		Format: fileio.NDJSON, Schema: types, Stdin: strings.NewReader(Text(rows)), BatchRows: 100,
	})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	w, err := shardfmt.NewWriter(ctx, c, "mem://own/"+name+"/"+RootName, src.Schema(), o)
	if err != nil {
		return nil, err
	}
	written, err := copyAll(ctx, w, src)
	if err != nil {
		w.Abort(ctx)
		return nil, err
	}
	return Fetch(ctx, c, name, written)
}

func copyAll(ctx context.Context, w *shardfmt.Writer, src fileio.Source) (*shardfmt.Written, error) {
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return w.Close(ctx)
		}
		if err == nil {
			err = w.Write(ctx, b)
		}
		if err != nil {
			return nil, err
		}
	}
}

// Fetch takes the objects of a shard that was written out of their store.
func Fetch(ctx context.Context, c *blobio.Client, name string, w *shardfmt.Written) (*Shard, error) {
	s := &Shard{Name: name, Objects: map[string][]byte{}}
	for _, o := range w.Objects {
		b, _, err := c.ReadAll(ctx, o.URL, o.Size+1)
		if err != nil {
			return nil, err
		}
		s.Objects[o.URL[strings.LastIndexByte(o.URL, '/')+1:]] = bytes.Clone(b)
		if err := c.Delete(ctx, o.URL, ""); err != nil {
			return nil, err
		}
	}
	return s, nil
}
