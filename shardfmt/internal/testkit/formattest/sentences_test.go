package formattest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// written is a shard whose objects are available, by the URLs that its root has for them.
type written struct {
	name    string
	root    []byte
	objects func(url string) ([]byte, error)
	// own means that it is of this implementation, whose writer keeps what the pages ask of writers.
	own bool
}

// buffer is one of a shard, and where it lies in its object.
type buffer struct {
	*metapb.EncodedBuffer
	object     []byte
	start, end uint64
	positions  uint64
}

// at are the bytes of a buffer.
func (b *buffer) at() []byte { return b.object[b.start:b.end] }

// message reads the message that a reference to the root leads to.
func (w *written) message(t *testing.T, r *metapb.DataRef, m proto.Message) {
	t.Helper()
	frame := w.root[r.GetRange().GetStart():r.GetRange().GetEnd()]
	n := binary.LittleEndian.Uint32(frame)
	if err := proto.Unmarshal(frame[4:4+n], m); err != nil {
		t.Fatal(err)
	}
}

// buffers are all buffers of a shard.
func (w *written) buffers(t *testing.T) (all []buffer) {
	t.Helper()
	n := binary.LittleEndian.Uint32(w.root[len(w.root)-12:])
	d, list := new(metapb.ShardDirectory), new(metapb.StripeList)
	if err := proto.Unmarshal(w.root[len(w.root)-16-int(n):len(w.root)-16], d); err != nil {
		t.Fatal(err)
	}
	w.message(t, d.StripeListRef, list)
	for _, s := range list.Stripes {
		fields := new(metapb.DataRefArray)
		w.message(t, s.FieldListRef, fields)
		for i := range fields.Start {
			f := new(metapb.StripeFieldDescriptor)
			if fields.Start[i] == fields.End[i] {
				continue
			}
			w.message(t, meta.SelfRef(fields.Start[i], fields.End[i]), f)
			for _, e := range f.Encodings {
				for _, b := range e.GetNative().GetBuffers() {
					object, err := w.root, error(nil)
					if b.Buffer.GetUrl() != "" {
						object, err = w.objects(b.Buffer.Url)
					}
					if err != nil {
						t.Fatal(err)
					}
					r := b.Buffer.GetRange()
					all = append(all, buffer{b, object, r.GetStart(), r.GetEnd(), f.Field.PositionCount})
				}
			}
		}
	}
	return all
}

// ownShards are shards of every kind of buffer, in one object and in several.
func ownShards(t *testing.T) (all []*written) {
	t.Helper()
	const text = `{"fields":[{"name":"n","type":"Int32"},{"name":"s","type":"String"},{"name":"yes","type":"Boolean"},{"name":"few","type":"String"},` +
		`{"name":"tags","type":"List<Int64>"},{"name":"fixed","type":"FixedSizeBinary(5)"},{"name":"u","type":"Union<Int64, String>"}]}`
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, `{"n":%d,"s":"text %d","yes":%v,"few":"%d","tags":[%d],"fixed":"AQIDBA%c=","u":%d}`+"\n", i*i%977, i*7919%5000, i%3 == 0, i%5, i, 'A'+rune(i%4)*4, i)
		if i%9 == 0 {
			lines.WriteString("{}\n")
		}
	}
	for _, p := range []encode.Profile{encode.Plain, encode.Balanced, encode.MinimalSize} {
		for _, l := range []shardwriter.Layout{shardwriter.Single, shardwriter.TwoLevel} {
			all = append(all, writeShard(t, text, lines.String(), shardwriter.Options{Profile: p, Layout: l, StripeRows: 2500}))
		}
	}
	return all
}

// writeShard writes lines as a shard.
func writeShard(t *testing.T, text, lines string, o shardwriter.Options) *written {
	t.Helper()
	ctx, client := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := fileio.OpenSource(ctx, client, []string{fileio.Stdin}, fileio.SourceOptions{Format: fileio.NDJSON, Schema: s, Stdin: strings.NewReader(lines)})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	folder := fmt.Sprintf("mem://sentences/%v-%v/", o.Profile, o.Layout)
	w, err := shardwriter.New(ctx, client, folder+"shard.amudai.shard", src.Schema(), o)
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
	read := func(url string) ([]byte, error) {
		b, _, err := client.ReadAll(ctx, folder+url, 1<<26)
		return b, err
	}
	root, err := read("shard.amudai.shard")
	if err != nil {
		t.Fatal(err)
	}
	return &written{name: folder, root: root, objects: read, own: true}
}

// goldenShards are those of the reference, where they are available.
func goldenShards(t *testing.T) (all []*written) {
	t.Helper()
	dir := os.Getenv("SHARDCAT_INTEROP")
	if dir == "" {
		t.Log("SHARDCAT_INTEROP is not set: only own shards are compared")
		return nil
	}
	roots, err := filepath.Glob(filepath.Join(dir, "*", "shard.amudai.shard"))
	if err != nil || len(roots) == 0 {
		t.Fatalf("no shards in %s: %v", dir, err)
	}
	for i, root := range roots {
		if i%6 != 0 {
			continue
		}
		b, err := os.ReadFile(root)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &written{name: root, root: b, objects: func(url string) ([]byte, error) {
			return os.ReadFile(filepath.Join(filepath.Dir(root), path.Base(url)))
		}})
	}
	return all
}

// streamOf is the block map of a buffer, nil if it has none.
func (b *buffer) streamOf(t *testing.T) *colstream.Map {
	t.Helper()
	if b.BlockMap == nil {
		return nil
	}
	m, err := colstream.ParseMap(b.object[b.BlockMap.Range.Start:b.BlockMap.Range.End])
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// up is the least multiple of m that is not below n.
func up(n, m uint64) uint64 { return (n + m - 1) / m * m }

// sentence is one of a page that states a size or an order, and what of a buffer it is compared with.
type sentence struct {
	page, text string
	// writers reports that it is a rule for writers, which the reference need not keep.
	writers bool
	holds   func(b *buffer, m *colstream.Map) bool
}

var sentences = []sentence{
	{"buffers.md", "A writer MUST start it at a multiple of 64 bytes, zeros before it", true, func(b *buffer, _ *colstream.Map) bool {
		return b.start%64 == 0
	}},
	{"buffers.md", "DATA, PRESENCE and OFFSETS are block streams: blocks back to back, zeros up to a multiple of 16, then the block map", false, func(b *buffer, m *colstream.Map) bool {
		stream := b.Kind <= metapb.BufferKind_OFFSETS
		return stream == (m != nil) && (m == nil || b.BlockMap.Range.Start-b.start == up(m.Bytes(), 16))
	}},
	{"buffers.md", "A writer MUST make each block a multiple of 8 bytes long", true, func(_ *buffer, m *colstream.Map) bool {
		for i := range blocksIn(m) {
			if from, to := m.Range(i); (to-from)%8 != 0 {
				return false
			}
		}
		return true
	}},
	{"buffers.md", "which a writer MUST put at its end", true, func(b *buffer, m *colstream.Map) bool {
		return m == nil || b.BlockMap.Range.End == b.end
	}},
	{"buffers.md", "Blocks go in segments of 1024; only the last is shorter", false, func(b *buffer, m *colstream.Map) bool {
		return m == nil || binary.LittleEndian.Uint64(b.object[b.BlockMap.Range.End-16:]) == 1024
	}},
	{"buffers.md", "its block map counts bytes, ceil(N/8) of them for N positions", false, func(b *buffer, m *colstream.Map) bool {
		return b.Kind != metapb.BufferKind_PRESENCE || m.Values() == (b.positions+7)/8
	}},
	{"buffers.md", "An offsets buffer holds N+1 unsigned 64-bit numbers for N lists", false, func(b *buffer, m *colstream.Map) bool {
		return b.Kind != metapb.BufferKind_OFFSETS || m.Values() == b.positions+1
	}},
	{"buffers.md", "A writer MUST NOT put more than 65,536 into one", true, func(_ *buffer, m *colstream.Map) bool {
		for i := range blocksIn(m) {
			if from, to := m.Span(i); to-from > 65536 {
				return false
			}
		}
		return true
	}},
	{"buffers.md", "A writer MUST use the least minima and the narrowest widths that fit", true, func(b *buffer, m *colstream.Map) bool {
		return m == nil || m.Canonical(b.object[b.BlockMap.Range.Start:b.BlockMap.Range.End])
	}},
	{"buffers.md", "three sections, zeros to a multiple of 64", false, func(b *buffer, _ *colstream.Map) bool {
		return b.Kind != metapb.BufferKind_VALUE_DICTIONARY || (b.end-b.start)%64 == 0
	}},
	{"buffers.md", "at least 64, so that the section is a multiple of 16", false, func(b *buffer, _ *colstream.Map) bool {
		if b.Kind != metapb.BufferKind_VALUE_DICTIONARY {
			return true
		}
		le := binary.LittleEndian
		for _, at := range []int{14, 30, 46} {
			from, to := le.Uint64(b.at()[at:]), le.Uint64(b.at()[at+8:])
			if from < to && ((to-from)%16 != 0 || to-from < 8+le.Uint64(b.at()[from:])+64+4) {
				return false
			}
		}
		return true
	}},
	{"buffers.md", "Zeros follow up to a multiple of 64; they are counted into the buffer: its range covers them", false, func(b *buffer, _ *colstream.Map) bool {
		return b.Kind != metapb.BufferKind_RANGE_INDEX || (b.end-b.start)%64 == 0
	}},
	{"buffers.md", "The reference writes 256", false, func(b *buffer, _ *colstream.Map) bool {
		if b.Kind != metapb.BufferKind_RANGE_INDEX {
			return true
		}
		per := binary.LittleEndian.Uint16(b.at()[36:])
		return per >= 256 && per <= 8192 && per&(per-1) == 0
	}},
	{"container.md", "A writer MUST put them at both ends of every object", true, func(b *buffer, _ *colstream.Map) bool {
		return bytes.HasPrefix(b.object, meta.Magic[:]) && bytes.HasSuffix(b.object, meta.Magic[:])
	}},
	{"blocks.md", "`L` is a multiple of 8, so blocks that follow each other all start aligned", false, func(_ *buffer, m *colstream.Map) bool {
		for i := range blocksIn(m) {
			if from, _ := m.Range(i); from%8 != 0 {
				return false
			}
		}
		return true
	}},
	{"blocks.md", "A writer MUST write `L` as a multiple of 8", true, func(_ *buffer, m *colstream.Map) bool {
		return m == nil || m.Bytes()%8 == 0
	}},
	{"blocks.md", "The outermost sub-block is exactly `values_size` bytes", false, func(b *buffer, m *colstream.Map) bool {
		for i := range blocksIn(m) {
			from, to := m.Range(i)
			data := b.at()[from:to]
			le := binary.LittleEndian
			presence, values := uint64(le.Uint32(data)), uint64(le.Uint32(data[4:]))
			size := up(8+presence, 8) + values
			if b.BlockChecksums {
				size += 4
			}
			if up(size, 8) != to-from {
				return false
			}
		}
		return true
	}},
}

// blocksIn is how many blocks a map has, none of nil.
func blocksIn(m *colstream.Map) int {
	if m == nil {
		return 0
	}
	return m.Blocks()
}

// pageText is a page, its lines joined.
func pageText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../../../docs/format", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// Every sentence that gives a size or an order outside of a table is on its page, and true of the bytes of shards: our own, and those of
// the reference where they are available.
func TestSentences(t *testing.T) {
	shards := append(ownShards(t), goldenShards(t)...)
	kinds := map[metapb.BufferKind]int{}
	for _, s := range sentences {
		if !strings.Contains(pageText(t, s.page), s.text) {
			t.Errorf("%s does not say: %s", s.page, s.text)
		}
	}
	for _, w := range shards {
		for _, b := range w.buffers(t) {
			kinds[b.Kind]++
			m := b.streamOf(t)
			for _, s := range sentences {
				if (w.own || !s.writers) && !s.holds(&b, m) {
					t.Errorf("%s: %v at %d to %d: not so: %s", w.name, b.Kind, b.start, b.end, s.text)
				}
			}
		}
	}
	for _, k := range []metapb.BufferKind{metapb.BufferKind_DATA, metapb.BufferKind_PRESENCE, metapb.BufferKind_OFFSETS, metapb.BufferKind_VALUE_DICTIONARY, metapb.BufferKind_RANGE_INDEX} {
		if kinds[k] == 0 {
			t.Errorf("no shard has a buffer of kind %v", k)
		}
	}
}

// Every sentence with a multiple is among those that are compared, or below a table that has it.
func TestNoOtherMultiples(t *testing.T) {
	multiple := regexp.MustCompile(`[^.|]*\bmultiples? of \d+[^.|]*`)
	known := []string{
		"Where a table says *pad*, zeros MUST follow up to the next multiple of 8", // the tables themselves: TestLayoutsOfPages
		"SHOULD take nested streams whose sizes are multiples of 8",
		"*H* is the least multiple of 8 with space",
		"but whose length is no multiple of 32", "or whose length is no multiple of 32",
		"and zeros up to a multiple of 64", // the row of the sections
		"zeros up to V, a multiple of 8",
	}
	for _, s := range sentences {
		known = append(known, s.text)
	}
	for _, page := range []string{"container.md", "directory.md", "schema.md", "fields.md", "buffers.md", "blocks.md"} {
		for _, found := range multiple.FindAllString(pageText(t, page), -1) {
			ok := strings.Contains(found, "*pad*") || strings.Contains(found, "bytes of a block, multiples of 8") // a row
			for _, k := range known {
				ok = ok || strings.Contains(found, k) || strings.Contains(k, strings.TrimSpace(found))
			}
			if !ok {
				t.Errorf("%s: compared with no bytes: %s", page, found)
			}
		}
	}
}

// The formula of FastLanes on the page unpacks what is packed, for every width of every word.
func TestFastLanesOfPage(t *testing.T) {
	text := pageText(t, "blocks.md")
	for _, line := range []string{"position(step, lane) = order[step / 8] · 16 + (step mod 8) · 128 + lane order = 0 4 2 6 1 5 3 7", "bit(step) = step · W",
		"value = (word[j] >> shift OR word[j+1] << (B - shift)) mod 2^W", "its word *j* is the word at index `j·L + l` of the chunk"} {
		if !strings.Contains(text, line) {
			t.Errorf("the page does not say: %s", line)
		}
	}
	lanes[uint8](t)
	lanes[uint16](t)
	lanes[uint32](t)
	lanes[uint64](t)
}

func lanes[T simd.Unsigned](t *testing.T) {
	t.Helper()
	bits := 8 * simd.SizeOf[T]()
	for width := 1; width <= bits; width++ {
		mask := ^uint64(0) >> (64 - width)
		vals := scattered[T](1024, 1<<53)
		for i := range vals {
			vals[i] = T(uint64(vals[i])*0x9e3779b97f4a7c15>>3&mask) | T(uint64(i&1)<<(width-1))
		}
		sub, err := encode.NumbersAs(nil, vals, nil, "FLBitPack")
		if err != nil {
			t.Fatal(err)
		}
		if int(sub[2]) != width {
			t.Fatalf("%d bits, not %d", sub[2], width)
		}
		if got := unlane[T](sub[8:], bits, width); fmt.Sprint(got) != fmt.Sprint(vals) {
			t.Errorf("%d of %d bits: the formula gives other values", width, bits)
		}
	}
}

// unlane unpacks a chunk by the page's formula.
func unlane[T simd.Unsigned](chunk []byte, bits, width int) []T {
	order := []int{0, 4, 2, 6, 1, 5, 3, 7}
	rows := 1024 / bits
	word := func(j, lane int) uint64 { return number(chunk[(j*rows+lane)*bits/8:][:bits/8]) }
	out := make([]T, 1024)
	for lane := range rows {
		for step := range bits {
			bit := step * width
			j, shift := bit/bits, bit%bits
			v := word(j, lane) >> shift
			if shift+width > bits {
				v |= word(j+1, lane) << (bits - shift)
			}
			out[order[step/8]*16+step%8*128+lane] = T(v & (^uint64(0) >> (64 - width)))
		}
	}
	return out
}

// link is where a page leads.
var link = regexp.MustCompile(`\]\(([^)#]+)`)

// The pages of the format lead to each other, and to nothing else of this repository.
func TestLinksStayInside(t *testing.T) {
	const pages = "../../../../docs/format"
	all, err := filepath.Glob(pages + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(pages + "/vectors/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(all, more...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to := filepath.Join(filepath.Dir(page), m[1])
			if rel, err := filepath.Rel(pages, to); !strings.HasPrefix(m[1], "https://") && (err != nil || strings.HasPrefix(rel, "..")) {
				t.Errorf("%s leads to %s", filepath.Base(page), m[1])
			}
		}
	}
}
