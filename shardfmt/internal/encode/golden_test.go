package encode_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The block streams of the golden shards, encoded again with the profile that the reference had, must not be
// larger than the reference's by more than two in a hundred: all of a profile taken together, and those of
// each element type. Buffers that the reference stored outside the safe subset are left out.
func TestSizesAgainstReference(t *testing.T) {
	list := interop.Cases(t)
	sum := totals{}
	var worst []string
	for _, c := range list {
		w := &rewriter{t: t, profile: c.Profile}
		w.shard(c.Shard())
		for _, s := range w.streams {
			if s.unsafe {
				continue
			}
			sum.add(c.Profile, s.kind, s.theirs, s.ours)
			if s.ours > s.theirs {
				worst = append(worst, fmt.Sprintf("%7d %7d %+6d %s.%s %s %d values: %s, theirs %s", s.ours, s.theirs,
					s.ours-s.theirs, c.Name, s.path, s.kind, s.values, strings.Join(s.trees, " "), strings.Join(s.theirTrees, " ")))
			}
		}
	}
	sort.Slice(worst, func(i, j int) bool { return strings.Fields(worst[i])[2] > strings.Fields(worst[j])[2] })
	for _, line := range worst {
		t.Log(line)
	}
	sum.check(t)
}

type key struct{ profile, kind string }

// totals are bytes by profile and kind of stream; the kind "all" sums up a profile.
type totals map[key]*struct{ ours, theirs int }

func (m totals) add(profile, kind string, theirs, ours int) {
	for _, k := range []key{{profile, kind}, {profile, "all"}} {
		if m[k] == nil {
			m[k] = new(struct{ ours, theirs int })
		}
		m[k].ours += ours
		m[k].theirs += theirs
	}
}

// check prints the table and fails where a sum is more than two in a hundred above the reference's.
func (m totals) check(t *testing.T) {
	t.Helper()
	t.Logf("%-22s %-8s %10s %10s %8s", "profile", "element", "ours", "reference", "ratio")
	for _, k := range m.keys() {
		s := m[k]
		ratio := float64(s.ours) / float64(s.theirs)
		t.Logf("%-22s %-8s %10d %10d %8.3f", k.profile, k.kind, s.ours, s.theirs, ratio)
		if ratio > 1.02 {
			t.Errorf("%s, %s: %d bytes against %d", k.profile, k.kind, s.ours, s.theirs)
		}
	}
}

func (m totals) keys() []key {
	var list []key
	for k := range m {
		list = append(list, k)
	}
	sort.Slice(list, func(i, j int) bool {
		return list[i].profile+"/"+list[i].kind < list[j].profile+"/"+list[j].kind
	})
	return list
}

// rewriter reads the block streams of one shard and encodes them again.
type rewriter struct {
	t       *testing.T
	profile string
	client  *blobio.Client
	root    *meta.Root
	streams []*rewritten
	s       block.Scratch
}

// rewritten is one block stream, the reference's and ours.
type rewritten struct {
	path, kind   string
	ours, theirs int
	values       int
	unsafe       bool
	trees        []string
	theirTrees   []string
}

func (w *rewriter) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *rewriter) shard(path string) {
	ctx := context.Background()
	var err error
	w.client = blobio.NewClient(blobio.ClientOptions{})
	defer w.client.Close()
	w.root, err = meta.OpenRoot(ctx, w.client, "file://"+filepath.ToSlash(path), meta.Options{})
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

func (w *rewriter) field(stripe int, n *schema.Node, path string) {
	d, anchor, err := w.root.StripeField(context.Background(), stripe, n.ID)
	w.check(err)
	for _, e := range d.GetEncodings() {
		for _, b := range e.GetNative().GetBuffers() {
			if b.BlockMap != nil {
				w.buffer(n, path, anchor, b, d.Field.DictionarySize != nil)
			}
		}
	}
	for _, c := range n.Children {
		w.field(stripe, c, path+"/"+c.Name)
	}
}

func (w *rewriter) buffer(n *schema.Node, path, anchor string, b *metapb.EncodedBuffer, coded bool) {
	url, err := w.root.Resolve(anchor, b.Buffer.Url)
	w.check(err)
	data := make([]byte, b.Buffer.Range.End-b.Buffer.Range.Start)
	_, err = w.client.ReadRange(context.Background(), url, int64(b.Buffer.Range.Start), data)
	w.check(err)
	m, err := colstream.ParseMap(data[b.BlockMap.Range.Start-b.Buffer.Range.Start:])
	w.check(err)
	profile := w.profile
	if coded {
		profile = "minimal-compression"
	}
	p, err := encode.ParseProfile(profile)
	w.check(err)
	r := &rewritten{path: path, theirs: len(data), values: int(m.Values())}
	w.streams = append(w.streams, r)
	o := encode.Options{Profile: p, NoPresence: !b.EmbeddedPresence}
	in := stream{w: w, r: r, m: m, data: data, checksums: b.BlockChecksums}
	switch {
	case b.Kind == metapb.BufferKind_OFFSETS:
		rewrite[uint64](in, "offsets", o)
	case b.Kind == metapb.BufferKind_PRESENCE || n.Basic == schema.Boolean:
		rewrite[uint8](in, "bits", o)
	case coded:
		rewrite[uint32](in, "codes", o)
	default:
		in.values(n, o)
	}
}

// stream is the blocks of the reference.
type stream struct {
	w         *rewriter
	r         *rewritten
	m         *colstream.Map
	data      []byte
	checksums bool
}

func (in stream) values(n *schema.Node, o encode.Options) {
	switch n.Basic {
	case schema.Float32:
		rewrite[float32](in, "f32", o)
	case schema.Float64:
		rewrite[float64](in, "f64", o)
	case schema.DateTime:
		rewrite[uint64](in, "datetime", o)
	case schema.Int8:
		signedOr[int8, uint8](in, n, "8", o)
	case schema.Int16:
		signedOr[int16, uint16](in, n, "16", o)
	case schema.Int32:
		signedOr[int32, uint32](in, n, "32", o)
	case schema.Int64:
		signedOr[int64, uint64](in, n, "64", o)
	case schema.String, schema.Binary:
		rewriteBytes(in, "bytes", 0, o)
	default:
		rewriteBytes(in, "fixed", int(n.FixedSize), o)
	}
}

func signedOr[S, U block.Number](in stream, n *schema.Node, width string, o encode.Options) {
	if n.Signed {
		rewrite[S](in, "i"+width, o)
	} else {
		rewrite[U](in, "u"+width, o)
	}
}

// blocks calls f with every block and its presence, and describes it.
func (in stream) blocks(elem block.Elem, fixed int, f func(values []byte, present []byte, n int)) {
	for i := range in.m.Blocks() {
		start, end := in.m.Range(i)
		first, last := in.m.Span(i)
		n := int(last - first)
		frame, err := block.ParseFrame(in.data[start:end], in.checksums)
		in.w.check(err)
		tree, err := block.Describe(frame.Values, elem, n, fixed)
		in.w.check(err)
		in.r.theirTrees = append(in.r.theirTrees, tree.String())
		code := tree.Code
		if fixed > 0 && (code == block.BlockDictionary || code == block.SingleValue) {
			in.r.unsafe = true
		}
		present := make([]byte, (n+7)/8)
		_, err = block.DecodePresence(present, frame.Presence, n)
		in.w.check(err)
		f(frame.Values, present, n)
	}
}

func appendBits(dst []byte, at int, bits []byte, n int) []byte {
	for i := range n {
		if (at+i)%8 == 0 {
			dst = append(dst, 0)
		}
		dst[(at+i)/8] |= bits[i/8] >> (i % 8) & 1 << ((at + i) % 8)
	}
	return dst
}

func (in stream) finish(e *encode.Encoder, out *colstream.StreamWriter) {
	in.r.ours = len(out.Finish().Bytes)
}

func rewrite[T block.Number](in stream, kind string, o encode.Options) {
	in.r.kind = kind
	var all []T
	var valid []byte
	in.blocks(block.ElemOf[T](), 0, func(values, present []byte, n int) {
		at := len(all)
		all = append(all, make([]T, n)...)
		in.w.check(block.DecodeNumbers(all[at:], values, &in.w.s))
		valid = appendBits(valid, at, present, n)
	})
	e, out := encode.NewEncoder(o), new(colstream.StreamWriter)
	_, err := encode.CutNumbers(e, all, valid, true, func(b encode.Block) error {
		in.r.trees = append(in.r.trees, e.Chosen())
		return out.Add(b)
	})
	in.w.check(err)
	in.finish(e, out)
}

func rewriteBytes(in stream, kind string, fixed int, o encode.Options) {
	in.r.kind = kind
	elem := block.Binary
	if fixed > 0 {
		elem = block.FixedBinary
	}
	var all block.Bytes
	var valid []byte
	at := 0
	in.blocks(elem, fixed, func(values, present []byte, n int) {
		in.w.check(block.DecodeBytes(&all, values, n, fixed, present, &in.w.s))
		valid = appendBits(valid, at, present, n)
		at += n
	})
	e, out := encode.NewEncoder(o), new(colstream.StreamWriter)
	_, err := e.CutBytes(encode.Bytes{Data: all.Data, Offsets: all.Offsets, Fixed: fixed, Valid: valid}, true, func(b encode.Block) error {
		in.r.trees = append(in.r.trees, e.Chosen())
		return out.Add(b)
	})
	in.w.check(err)
	in.finish(e, out)
}
