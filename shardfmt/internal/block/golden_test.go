package block_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Every block of every golden shard is read, alone and by value; the encodings are those that the reference
// counted; and the top-level columns whose values stand in DATA blocks alone give the expected rows.
func TestGoldenBlocks(t *testing.T) {
	cases := append(interop.Cases(t), interop.DefectCases(t)...)
	total := counts{}
	for i, c := range cases {
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			w := &walker{t: t, dir: c.Dir, encodings: counts{}, columns: map[string][]string{}}
			w.shard()
			want := maps.Clone(c.Encodings)
			maps.DeleteFunc(want, func(kind string, n map[string]int) bool { return kind == "OTHER_BUFFERS" || len(n) == 0 })
			if len(c.Encodings) > 0 && !same(w.encodings, want) {
				t.Errorf("encodings %v\nwant      %v", w.encodings, want)
			}
			for kind, byName := range w.encodings {
				for name, n := range byName {
					total.add(kind, name, n)
				}
			}
			w.compare(c)
		})
	}
	t.Logf("blocks by buffer and encoding: %v", total)
}

// counts is how many streams have which encoding, by kind of buffer.
type counts map[string]map[string]int

func (c counts) add(kind, encoding string, n int) {
	if c[kind] == nil {
		c[kind] = map[string]int{}
	}
	c[kind][encoding] += n
}

func same(a, b map[string]map[string]int) bool {
	return maps.EqualFunc(a, b, func(x, y map[string]int) bool { return maps.Equal(x, y) })
}

// walker reads the blocks of one shard. It knows just enough of buffers and descriptors to find them.
type walker struct {
	t         *testing.T
	dir       string
	root      *meta.Root
	encodings counts
	columns   map[string][]string
	s         block.Scratch
}

// ReadRange, ReadSuffix and ReadRanges make the walker a meta.Store of the shard's folder.
func (w *walker) ReadRange(_ context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	b := w.object(url)
	if off < 0 || off+int64(len(dst)) > int64(len(b)) {
		return blobio.Info{}, fmt.Errorf("%s: no bytes %d+%d", url, off, len(dst))
	}
	copy(dst, b[off:])
	return blobio.Info{Size: int64(len(b))}, nil
}

func (w *walker) ReadSuffix(_ context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	b := w.object(url)
	return b[max(0, int64(len(b))-n):], blobio.Info{Size: int64(len(b))}, nil
}

// ReadRanges reads the ranges one by one.
func (w *walker) ReadRanges(_ context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		out[i] = w.object(url)[r.Start:r.End]
	}
	return out, nil
}

// object is the file that a URL's last element names.
func (w *walker) object(url string) []byte {
	b, err := os.ReadFile(filepath.Join(w.dir, filepath.Base(url)))
	w.check(err)
	return b
}

func (w *walker) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *walker) shard() {
	ctx := context.Background()
	var err error
	w.root, err = meta.OpenRoot(ctx, w, "file:///golden/shard.amudai.shard", meta.Options{})
	w.check(err)
	s, err := w.root.Schema(ctx)
	w.check(err)
	stripes, err := w.root.Stripes(ctx)
	w.check(err)
	for i := range stripes {
		for _, f := range s.Fields {
			w.field(i, f, f.Name)
		}
	}
}

// field reads the blocks of a field and of all below it.
func (w *walker) field(stripe int, n *schema.Node, path string) {
	d, anchor, err := w.root.StripeField(context.Background(), stripe, n.ID)
	w.check(err)
	buffers := 0
	for _, e := range d.GetEncodings() {
		for _, b := range e.GetNative().GetBuffers() {
			buffers++
			w.buffer(n, path, anchor, b, d.Field.DictionarySize != nil)
		}
	}
	if buffers == 0 { // constant in this stripe, and so not in blocks
		w.columns[path+"/constant"] = nil
	}
	for _, c := range n.Children {
		w.field(stripe, c, path+"/"+c.Name)
	}
}

// buffer reads the blocks of a buffer that has a block map.
func (w *walker) buffer(n *schema.Node, path, anchor string, b *metapb.EncodedBuffer, coded bool) {
	kind, elem, fixed := b.Kind.String(), elemOf(n), int(n.FixedSize)
	switch {
	case b.BlockMap == nil:
		return // value dictionaries and range indexes
	case b.Kind == metapb.BufferKind_OFFSETS:
		elem = block.Uint64
	case b.Kind == metapb.BufferKind_PRESENCE:
		elem = block.Uint8
	case coded:
		kind, elem = "DICTIONARY_CODES", block.Uint32
		w.columns[path+"/constant"] = nil
	case n.Basic == schema.Boolean:
		kind = "DATA_BITS"
	}
	if elem != block.FixedBinary {
		fixed = 0
	}
	data := w.object(or(b.Buffer.Url, anchor))[b.Buffer.Range.Start:b.Buffer.Range.End]
	m, err := colstream.ParseMap(data[b.BlockMap.Range.Start-b.Buffer.Range.Start:])
	w.check(err)
	for i := range m.Blocks() {
		start, end := m.Range(i)
		first, last := m.Span(i)
		w.block(data[start:end], b.BlockChecksums, kind, path, elem, int(last-first), fixed)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// block decodes one block and takes it apart once more in the other ways there are.
func (w *walker) block(b []byte, checksum bool, kind, path string, elem block.Elem, n, fixed int) {
	f, err := block.ParseFrame(b, checksum)
	w.check(err)
	tree, err := block.Describe(f.Values, elem, n, fixed)
	w.check(err)
	tree.Walk(func(t *block.Tree) {
		if t.Code != 0 {
			w.encodings.add(kind, t.Encoding, 1)
		}
	})
	present := make([]byte, (n+7)/8)
	_, err = block.DecodePresence(present, f.Presence, n)
	w.check(err)
	var texts []string
	if elem == block.Binary || elem == block.FixedBinary {
		texts = w.strings(f, n, fixed, present)
	} else {
		texts = w.numbers(f, elem, n)
	}
	for i := range texts {
		if present[i/8]>>(i%8)&1 == 0 {
			texts[i] = "null"
		}
	}
	if kind == "DATA" {
		w.columns[path] = append(w.columns[path], texts...)
	}
}

func (w *walker) numbers(f block.Frame, elem block.Elem, n int) []string {
	switch elem {
	case block.Int8:
		return numbers[int8](w, f.Values, n)
	case block.Int16:
		return numbers[int16](w, f.Values, n)
	case block.Int32:
		return numbers[int32](w, f.Values, n)
	case block.Int64:
		return numbers[int64](w, f.Values, n)
	case block.Uint8:
		return numbers[uint8](w, f.Values, n)
	case block.Uint16:
		return numbers[uint16](w, f.Values, n)
	case block.Uint32:
		return numbers[uint32](w, f.Values, n)
	case block.Uint64:
		return numbers[uint64](w, f.Values, n)
	case block.Float32:
		return numbers[float32](w, f.Values, n)
	}
	return numbers[float64](w, f.Values, n)
}

// numbers decodes n numbers and compares a few with random access.
func numbers[T block.Number](w *walker, sub []byte, n int) []string {
	all := make([]T, n)
	w.check(block.DecodeNumbers(all, sub, &w.s))
	texts := make([]string, n)
	for i, v := range all {
		texts[i] = number(v)
	}
	for i := 0; i < n; i += max(n/7, 1) {
		var v [1]T
		done, err := block.NumbersAt(v[:], sub, n, i, &w.s)
		w.check(err)
		if done && number(v[0]) != texts[i] {
			w.t.Fatalf("value %d alone is %v, in the block %v", i, v, texts[i])
		}
	}
	return texts
}

// number is v as the rows have it.
func number(v any) string {
	switch f := v.(type) {
	case float32:
		return strconv.FormatFloat(float64(f), 'g', -1, 32)
	case float64:
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// strings decodes n byte strings and compares a few with random access.
func (w *walker) strings(f block.Frame, n, fixed int, present []byte) []string {
	var all block.Bytes
	w.check(block.DecodeBytes(&all, f.Values, n, fixed, present, &w.s))
	texts := make([]string, n)
	for i := range texts {
		if fixed > 0 {
			texts[i] = string(all.Data[i*fixed : (i+1)*fixed])
		} else {
			texts[i] = string(all.Data[all.Offsets[i]:all.Offsets[i+1]])
		}
	}
	for i := 0; i < n; i += max(n/7, 1) {
		v, null, done, err := block.BytesAt(nil, f.Values, n, fixed, i, &w.s)
		w.check(err)
		if isPresent := present[i/8]>>(i%8)&1 == 1; done && isPresent && (null || string(v) != texts[i]) {
			w.t.Fatalf("value %d alone is %q, in the block %q", i, v, texts[i])
		}
	}
	return texts
}

func elemOf(n *schema.Node) block.Elem {
	signed := func(s, u block.Elem) block.Elem {
		if n.Signed {
			return s
		}
		return u
	}
	switch n.Basic {
	case schema.Int8:
		return signed(block.Int8, block.Uint8)
	case schema.Int16:
		return signed(block.Int16, block.Uint16)
	case schema.Int32:
		return signed(block.Int32, block.Uint32)
	case schema.Int64:
		return signed(block.Int64, block.Uint64)
	case schema.Float32:
		return block.Float32
	case schema.Float64:
		return block.Float64
	case schema.DateTime:
		return block.Uint64
	case schema.Boolean:
		return block.Uint8
	case schema.FixedSizeBinary, schema.Guid:
		return block.FixedBinary
	}
	return block.Binary
}

// compare compares the columns of plain numbers, strings and binaries with the rows.
func (w *walker) compare(c *interop.Case) {
	read := map[string]func(json.RawMessage) string{}
	for _, col := range c.Columns {
		if _, constant := w.columns[col.Name+"/constant"]; constant || w.columns[col.Name] == nil {
			continue
		}
		if f := rowText(col.Type); f != nil {
			read[col.Name] = f
		}
	}
	compared := 0
	c.ExpectedRows(w.t, func(i int, line []byte) {
		var row map[string]json.RawMessage
		w.check(json.Unmarshal(line, &row))
		for name, text := range read {
			if i >= len(w.columns[name]) {
				w.t.Fatalf("%s: %d values in blocks, row %d expected", name, len(w.columns[name]), i)
			}
			want := string(row[name])
			if want != "null" {
				want = text(row[name])
			}
			if got := w.columns[name][i]; got != want {
				w.t.Fatalf("%s, row %d: %q, want %q", name, i, got, want)
			}
			compared++
		}
	})
	if len(read) > 0 && compared == 0 && c.Rows > 0 {
		w.t.Error("no value was compared")
	}
}

// rowText turns a row's JSON value into what number and strings give, or is nil for types that need more
// than blocks.
func rowText(typ string) func(json.RawMessage) string {
	switch {
	case typ == "f32", typ == "f64":
		bits, _ := strconv.Atoi(typ[1:])
		return func(v json.RawMessage) string {
			s := strings.Trim(string(v), `"`)
			f, _ := strconv.ParseFloat(s, bits)
			return strconv.FormatFloat(f, 'g', -1, bits)
		}
	case len(typ) > 1 && (typ[0] == 'i' || typ[0] == 'u') && strings.Contains("8 16 32 64", typ[1:]):
		return func(v json.RawMessage) string { return string(v) }
	case typ == "string":
		return func(v json.RawMessage) (s string) { _ = json.Unmarshal(v, &s); return s }
	case strings.Contains(typ, "binary"):
		return func(v json.RawMessage) string {
			b, _ := base64.StdEncoding.DecodeString(strings.Trim(string(v), `"`))
			return string(b)
		}
	}
	return nil
}
