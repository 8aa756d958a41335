package fileio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// through writes records of NDJSON as a shard and gives them back as NDJSON.
func through(t *testing.T, sp *blobio.Client, url string, src fileio.Source, o shardfmt.WriterOptions) string {
	t.Helper()
	ctx := context.Background()
	w, err := shardfmt.NewWriter(ctx, sp, url, src.Schema(), o)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	each(t, url, src, func(b arrow.RecordBatch) {
		if err := w.Write(context.Background(), b); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
	})
	if _, err := w.Close(context.Background()); err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	if r, err := verify.Shard(ctx, sp, url, verify.Options{}); err != nil || !r.OK {
		t.Errorf("%s does not verify: %v %v", url, r, err)
	}
	shard, err := shardfmt.Open(ctx, sp, url, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	s, err := shard.Schema(ctx)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	var out bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &out, s, fileio.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{}) {
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if err := sink.Write(b); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
	}
	return out.String()
}

var profiles = []shardfmt.Profile{shardfmt.Plain, shardfmt.MinimalCompression, shardfmt.Balanced, shardfmt.HighCompression, shardfmt.MinimalSize}

// The rows of the golden shards, written by our writer in every profile and both layouts, are read back byte for
// byte.
func TestGoldenRowsSurviveOurShards(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	for i, c := range interop.Cases(t) {
		if c.Rows > 20_000 || strings.HasPrefix(c.Name, "sample-") {
			continue
		}
		src, err := fileio.OpenSource(context.Background(), sp, []string{c.Dir + "/rows.ndjson.gz"}, fileio.SourceOptions{Schema: goldenSchema(t, sp, c), BatchRows: 300})
		if err != nil {
			t.Fatal(err)
		}
		o := shardfmt.WriterOptions{Profile: profiles[i%len(profiles)], StripeRows: 1 + c.Rows*2/3}
		if i%2 == 1 {
			o.Layout = shardfmt.Single
		}
		got := strings.SplitAfter(through(t, sp, fmt.Sprintf("mem://golden/%s.amudai.shard", c.Name), src, o), "\n")
		src.Close()
		c.ExpectedRows(t, func(row int, want []byte) {
			if row >= len(got) || got[row] != string(want) {
				t.Errorf("%s row %d differs", c.Name, row)
			}
		})
	}
}

// Limits of every type, nulls at every level, and unions, at the sizes where blocks and bitmaps end.
func TestEveryTypeSurvivesOurShards(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		values []string
	}{
		"integers": {"a: Int8, b: Int16, c: Int32, d: Int64, e: UInt8, f: UInt16, g: UInt32, h: UInt64", []string{
			`"a":-128,"b":-32768,"c":-2147483648,"d":-9223372036854775808,"e":0,"f":0,"g":0,"h":0`,
			`"a":127,"b":32767,"c":2147483647,"d":9223372036854775807,"e":255,"f":65535,"g":4294967295,"h":18446744073709551615`,
			`"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null,"h":null`}},
		"floats": {"a: Float32, b: Float64", []string{`"a":-0.0,"b":-0.0`, `"a":"NaN","b":"NaN"`, `"a":"Infinity","b":"-Infinity"`,
			`"a":1e-45,"b":5e-324`, `"a":3.4028235e38,"b":1.7976931348623157e308`, `"a":0.1,"b":0.1`, `"a":null,"b":null`, `"a":0.0,"b":0.0`}},
		"times": {"a: DateTime, b: TimeSpan", []string{`"a":"0001-01-01T00:00:00Z","b":"-10675199.02:48:05.4775808"`,
			`"a":"9999-12-31T23:59:59.9999999Z","b":"10675199.02:48:05.4775807"`, `"a":null,"b":null`}},
		"bytes": {"a: String, b: Binary, c: FixedSizeBinary(1), d: FixedSizeBinary(16), e: Guid, f: Dynamic", []string{
			`"a":"","b":"","c":"AA==","d":"AAAAAAAAAAAAAAAAAAAAAA==","e":"00000000-0000-0000-0000-000000000000","f":{"x":[1,null]}`,
			`"a":"é\u0000😀","b":"/w==","c":"/w==","d":"/////////////////////w==","e":"ffffffff-ffff-ffff-ffff-ffffffffffff","f":"text"`,
			`"a":null,"b":null,"c":null,"d":null,"e":null,"f":null`}},
		"decimals":             {"a: Decimal", []string{`"a":"1"`, `"a":"1.00"`, `"a":"-0"`, `"a":"NaN"`, `"a":"Infinity"`, `"a":"9.999999999999999999999999999999999E+6144"`, `"a":"1E-6176"`, `"a":null`}},
		"booleans and nothing": {"a: Boolean, b: Unit", []string{`"a":true,"b":null`, `"a":false,"b":null`, `"a":null,"b":null`}},
		"lists": {"a: List<List<Struct<x: Int32, y: String>>>, b: FixedSizeList(2)<Float32>", []string{
			`"a":null,"b":null`, `"a":[],"b":[null,null]`, `"a":[null,[],[null,{"x":null,"y":null},{"x":1,"y":"a"}]],"b":[1.5,null]`}},
		"structs": {"a: Struct<x: Struct<y: Struct<z: Int8>>>", []string{`"a":null`, `"a":{"x":null}`, `"a":{"x":{"y":null}}`, `"a":{"x":{"y":{"z":null}}}`, `"a":{"x":{"y":{"z":1}}}`}},
		"maps": {"a: Map<String, List<Int16>>, b: Map<UInt64, Struct<d: Decimal>>", []string{`"a":null,"b":null`, `"a":[],"b":[]`,
			`"a":[{"key":"k","value":null},{"key":"k","value":[1,null]}],"b":[{"key":18446744073709551615,"value":{"d":"1.0"}},{"key":0,"value":null}]`}},
		"unions": {"a: Union<Int64, String, List<Float64>>", []string{`"a":1`, `"a":"x"`, `"a":[1.5,null]`, `"a":null`, `"a":-1`}},
		"Kusto's first types": {"(b: bool, t: datetime, d: decimal, y: dynamic, g: guid, i: int, l: long, r: real, s: string, p: timespan)", []string{
			`"b":true,"t":"2024-02-29T12:00:00.1234567Z","d":"1.50","y":{"a":[1,"x"]},"g":"00112233-4455-6677-8899-aabbccddeeff","i":1,"l":-1,"r":0.5,"s":"x","p":"1.00:00:00"`,
			`"b":null,"t":null,"d":null,"y":null,"g":null,"i":null,"l":null,"r":null,"s":null,"p":null`}},
		"map of unions": {"a: Map<String, Union<Int64, String>>", []string{`"a":[{"key":"i","value":1},{"key":"s","value":"x"},{"key":"n","value":null}]`, `"a":null`}},
	} {
		for _, n := range []int{0, 1, 255, 257, 1025} {
			var rows strings.Builder
			for i := range n {
				fmt.Fprintf(&rows, "{%s}\n", c.values[(i+i/7)%len(c.values)])
			}
			sp := blobio.NewClient(blobio.ClientOptions{})
			for p, profile := range profiles {
				s := parse(t, c.schema)
				src, err := fileio.OpenSource(context.Background(), sp, []string{"-"}, fileio.SourceOptions{Schema: s, Stdin: strings.NewReader(rows.String())})
				if err != nil {
					t.Fatal(err)
				}
				url := fmt.Sprintf("mem://types/%s-%d-%s.amudai.shard", strings.ReplaceAll(name, " ", "-"), n, profile)
				got := through(t, sp, url, src, shardfmt.WriterOptions{Profile: profile, StripeRows: []int{0, 100, 256, 1000, 1}[(p+n)%5] + n/50, SparseUnions: p%2 == 1})
				if got != rows.String() {
					t.Errorf("%s, %d rows, %s:\n got %.300s\nwant %.300s", name, n, profile, firstDifference(got, rows.String()), firstDifference(rows.String(), got))
				}
				src.Close()
			}
			sp.Close()
		}
	}
}

// Labels with properties stay on the nodes they were given to, also on list items and map values; labels that
// mean nothing here are carried along.
func TestLabelsSurviveOurShards(t *testing.T) {
	label := func(n *schema.Node, label string, properties ...schema.ExtensionProperty) *schema.Node {
		n.Ext = &schema.Extension{Label: label, Properties: properties}
		return n
	}
	s := parse(t, "pos: Struct<lat: Float64, lon: Float64>, vec: FixedSizeList(2)<FixedSizeBinary(2)>, m: Map<String, Binary>, h: Binary")
	label(s.Fields[0], "GeoPoint")
	label(s.Fields[1], "EmbeddingVec", schema.ExtensionProperty{Name: "model", Kind: schema.PropertyString, Data: []byte("m1")})
	label(s.Fields[1].Children[0], "bf16")
	label(s.Fields[2].Children[1], "Variant", schema.ExtensionProperty{Name: "v", Kind: schema.PropertyJSON, Data: []byte("1")})
	label(s.Fields[3], "HLL")
	s.Fields[3].Aliases = []string{"sketch"}
	const rows = `{"pos":{"lat":1.5,"lon":-2.5},"vec":["AAA=","AIA="],"m":[{"key":"k","value":"AA=="}],"h":"AQI="}` + "\n"
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	src, err := fileio.OpenSource(context.Background(), sp, []string{"-"}, fileio.SourceOptions{Schema: s, Stdin: strings.NewReader(rows)})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if got := through(t, sp, "mem://labels/a.amudai.shard", src, shardfmt.WriterOptions{}); got != rows {
		t.Error(got)
	}
	shard, err := shardfmt.Open(context.Background(), sp, "mem://labels/a.amudai.shard", shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := shard.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(s)
	if text, _ := json.Marshal(got); !bytes.Equal(text, want) {
		t.Errorf("got %s, want %s", text, want)
	}
}

// firstDifference is a from the first line on that b has otherwise.
func firstDifference(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[strings.LastIndexByte(a[:i], '\n')+1:]
		}
	}
	return a[min(len(a), len(b)):]
}

// NaNs keep their payloads and zeros their signs, and byte strings of 1, 16 and 4,096 bytes their bytes.
func TestBitsSurviveOurShards(t *testing.T) {
	s := parse(t, "f: Float32, d: Float64, a: FixedSizeBinary(1), b: FixedSizeBinary(16), c: FixedSizeBinary(4096)")
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	defer b.Release()
	for i := range 300 {
		b.Field(0).(*array.Float32Builder).Append(math.Float32frombits(0x7F800001 + uint32(i)*7919))
		b.Field(1).(*array.Float64Builder).Append(math.Float64frombits(0xFFF0000000000001 + uint64(i)*7919))
		for j, n := range []int{1, 16, 4096} {
			b.Field(2 + j).(*array.FixedSizeBinaryBuilder).Append(bytes.Repeat([]byte{byte(i)}, n))
		}
	}
	batch := b.NewRecordBatch()
	for _, profile := range profiles {
		sp := blobio.NewClient(blobio.ClientOptions{})
		defer sp.Close()
		url := "mem://bits/" + profile.String() + ".amudai.shard"
		w, err := shardfmt.NewWriter(context.Background(), sp, url, s, shardfmt.WriterOptions{Profile: profile})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		shard, err := shardfmt.Open(context.Background(), sp, url, shardfmt.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		at := int64(0)
		for got, err := range shard.Scan(context.Background(), shardfmt.ScanOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			want := batch.NewSlice(at, at+got.NumRows())
			for c := range 2 {
				if !bytes.Equal(values(got.Column(c)), values(want.Column(c))) {
					t.Errorf("%s: the bits of column %d differ", profile, c)
				}
			}
			for c := 2; c < 5; c++ {
				if !array.Equal(got.Column(c), want.Column(c)) {
					t.Errorf("%s: column %d differs", profile, c)
				}
			}
			at += got.NumRows()
		}
		if at != batch.NumRows() {
			t.Errorf("%s: %d rows", profile, at)
		}
	}
}

// values are the bytes of an array of numbers.
func values(a arrow.Array) []byte {
	width := a.DataType().(arrow.FixedWidthDataType).BitWidth() / 8
	return a.Data().Buffers()[1].Bytes()[width*a.Data().Offset() : width*(a.Data().Offset()+a.Len())]
}
