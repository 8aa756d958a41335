package layerindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/layer"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// sample is an index in a folder, and the key of each record, nil for none.
type sample struct {
	client *blobio.Client
	root   string
	d      *metapb.IndexDescriptor
	path   string
	keys   [][]byte // uncut
}

// build writes an index of keys with very little memory, so that they go by way of files.
func build(t testing.TB, form Form, keys [][]byte, memory int) *sample {
	t.Helper()
	dir := filepath.ToSlash(t.TempDir())
	s := &sample{client: blobio.NewClient(blobio.ClientOptions{}), root: "file://" + dir + "/x.amudai.shard", keys: keys}
	t.Cleanup(func() { s.client.Close() })
	b := NewBuilder(form, memory)
	for i, k := range keys {
		if k == nil {
			continue
		}
		if form == Bytes {
			k = AppendBytes(nil, k)
		}
		if err := b.Add(k, uint64(i)); err != nil {
			t.Fatal(err)
		}
		if memory > 0 && b.Size() > memory+len(k)+64 {
			t.Fatalf("%d bytes are held, %d were granted", b.Size(), memory)
		}
	}
	d, objects, err := b.Write(context.Background(), shardwriter.IndexTarget{Store: s.client, Root: s.root, Prefix: "file://" + dir + "/data/x-"})
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	s.d, s.path = d, strings.TrimPrefix(objects[0].URL, "file://")
	if info, err := os.Stat(s.path); err != nil || info.Size() != objects[0].Size {
		t.Fatalf("%v, %v; %d bytes were told", info, err, objects[0].Size)
	}
	return s
}

func (s *sample) open(t *testing.T) *Index {
	t.Helper()
	x, err := Open(context.Background(), s.client, s.root, s.d, urlresolve.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// rowsOf are the positions of ranges.
func rowsOf(rows []ranges.Range) (out []int) {
	for _, r := range rows {
		for p := r.Start; p < r.End; p++ {
			out = append(out, int(p))
		}
	}
	return out
}

// want are the positions of the keys of a range.
func (s *sample) want(k Keys) (out []int) {
	for i, key := range s.keys {
		if key == nil {
			continue
		}
		low, high := 1, -1
		if k.Low != nil {
			low = bytes.Compare(key, k.Low)
		}
		if k.High != nil {
			high = bytes.Compare(key, k.High)
		}
		if (low > 0 || low == 0 && !k.LowOut) && (high < 0 || high == 0 && !k.HighOut) {
			out = append(out, i)
		}
	}
	return out
}

// Every range of keys of every form gives the records that have them, at every number of levels.
func TestRowsAgainstAScan(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(3, 3))
	makers := map[string]func() []byte{
		"signed":   func() []byte { return AppendSigned(nil, int64(r.IntN(4000)-2000)) },
		"unsigned": func() []byte { return AppendUnsigned(nil, math.MaxUint64-uint64(r.IntN(4000))) },
		"float": func() []byte {
			return AppendFloat(nil, []float64{math.Copysign(0, -1), 0, math.Inf(-1), math.MaxFloat64, r.NormFloat64(), float64(r.IntN(9) - 4)}[r.IntN(6)])
		},
		"bytes": func() []byte { return []byte(strings.Repeat("ab\x00\xff"[:1+r.IntN(4)], r.IntN(40))) },
	}
	for name, form := range map[string]Form{"signed": Signed, "unsigned": Unsigned, "float": Float, "bytes": Bytes} {
		for _, n := range []int{1, 40, 30_000} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				keys := make([][]byte, n)
				for i := range keys {
					if i == 0 || r.IntN(10) > 0 {
						keys[i] = makers[name]()
					}
				}
				s := build(t, form, keys, 64<<10)
				x := s.open(t)
				if report, err := x.Verify(ctx, uint64(n)); err != nil || !report.OK || report.UnprotectedBytes != 0 || len(report.Warnings) != 0 {
					t.Fatalf("%+v, %v", report, err)
				}
				for range 60 {
					k := Keys{LowOut: r.IntN(2) == 0, HighOut: r.IntN(2) == 0}
					switch r.IntN(4) {
					case 0:
						k = Key(makers[name]())
					case 1:
						k.Low = makers[name]()
					case 2:
						k.High = makers[name]()
					default:
						k.Low, k.High = makers[name](), makers[name]()
					}
					if k.Low == nil && k.High == nil {
						k.High = []byte{}
					}
					rows, known, err := x.Rows(ctx, []Keys{k}, uint64(n), uint64(n))
					if want := s.want(k); err != nil || !known || !slices.Equal(rowsOf(rows), want) {
						t.Fatalf("%+v: %d rows, %v, %v; want %d", k, len(rowsOf(rows)), known, err, len(want))
					} else if len(want) > 0 {
						if rows, known, err = x.Rows(ctx, []Keys{k}, uint64(len(want))-1, uint64(n)); err != nil || known || rows != nil {
							t.Fatalf("%+v: one row too many: %v, %v", k, known, err)
						}
					}
				}
			})
		}
	}
}

// Keys that were cut give all records that may have them.
func TestLongKeys(t *testing.T) {
	ctx := context.Background()
	long := strings.Repeat("x", MaxKey)
	var keys [][]byte
	for _, k := range []string{"", "a", long[1:], long, long + "a", long + "b", "y"} {
		keys = append(keys, []byte(k))
	}
	s := build(t, Bytes, keys, 0)
	x := s.open(t)
	for _, low := range keys {
		for _, high := range keys {
			for _, k := range []Keys{{Low: low, High: high}, {Low: low, LowOut: true}, {High: high, HighOut: true}, {Low: low, High: high, LowOut: true, HighOut: true}} {
				rows, _, err := x.Rows(ctx, []Keys{k}, 99, 99)
				got := rowsOf(rows)
				for _, p := range s.want(k) {
					if err != nil || !slices.Contains(got, p) {
						t.Fatalf("%q to %q: record %d is missing: %v, %v", low, high, p, got, err)
					}
				}
			}
		}
	}
	if rows, _, err := x.Rows(ctx, []Keys{Key([]byte(long + "c"))}, 99, 99); err != nil || len(rowsOf(rows)) != 3 {
		t.Errorf("%v, %v", rows, err)
	}
}

// Opening an index and looking a key up costs one request for its end, and one for a block of each column at most.
func TestRequests(t *testing.T) {
	ctx := context.Background()
	const n = 200_000
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = AppendSigned(nil, int64(uint64(i)*2654435761%n*2))
	}
	s := build(t, Signed, keys, 0)
	for i := range int64(20) {
		before := s.client.Counters()
		x := s.open(t)
		key := i * n / 10
		rows, known, err := x.Rows(ctx, []Keys{Key(AppendSigned(nil, key))}, 10, n)
		if err != nil || !known || len(rowsOf(rows)) != 1 || !bytes.Equal(keys[rows[0].Start], AppendSigned(nil, key)) {
			t.Fatalf("%d: %v, %v, %v", key, rows, known, err)
		}
		if c := s.client.Counters().Sub(before); c.Gets > 3 || c.GetBytes > 128<<10 {
			t.Errorf("%d: %d GETs, %d bytes", key, c.Gets, c.GetBytes)
		}
	}
	before := s.client.Counters()
	if _, known, err := s.open(t).Rows(ctx, []Keys{{Low: AppendSigned(nil, 1000)}}, 100, n); err != nil || known {
		t.Fatal(known, err)
	}
	if c := s.client.Counters().Sub(before); c.Gets > 4 {
		t.Errorf("%d GETs to learn that there are too many", c.Gets)
	}
}

// A flipped byte is an error that names the file, or changes nothing.
func TestFlips(t *testing.T) {
	ctx := context.Background()
	keys := make([][]byte, 9000)
	for i := range keys {
		keys[i] = AppendSigned(nil, int64(i*7%5000))
	}
	s := build(t, Signed, keys, 0)
	whole, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	ask := []Keys{Key(AppendSigned(nil, 70)), {Low: AppendSigned(nil, 4000), High: AppendSigned(nil, 4010)}}
	want, _, err := s.open(t).Rows(ctx, ask, 1000, 9000)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for at := 0; at < len(whole); at += 211 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x20
		if err := os.WriteFile(s.path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := Open(ctx, s.client, s.root, s.d, urlresolve.Policy{})
		var rows []ranges.Range
		if err == nil {
			rows, _, err = x.Rows(ctx, ask, 1000, 9000)
		}
		if err != nil {
			failed++
			if !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), filepath.Base(s.path)) {
				t.Fatalf("byte %d: %v", at, err)
			}
		} else if !slices.Equal(rows, want) {
			t.Fatalf("byte %d: %v", at, rows)
		}
	}
	if failed == 0 {
		t.Error("no flip was noticed")
	}
}

// A descriptor that does not report what it must, and positions beyond the stripe, are refused.
func TestRefusals(t *testing.T) {
	ctx := context.Background()
	s := build(t, Signed, [][]byte{AppendSigned(nil, 1), AppendSigned(nil, 2)}, 0)
	x := s.open(t)
	if _, _, err := x.Rows(ctx, []Keys{{}}, 9, 1); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("a position beyond the stripe: %v", err)
	}
	if report, err := x.Verify(ctx, 1); err != nil || report.OK {
		t.Errorf("verified: %+v, %v", report, err)
	}
	for name, change := range map[string]func(d *metapb.IndexDescriptor){
		"type":       func(d *metapb.IndexDescriptor) { d.IndexType = "layer-file-v2" },
		"artifacts":  func(d *metapb.IndexDescriptor) { d.Artifacts = nil },
		"properties": func(d *metapb.IndexDescriptor) { d.Properties = nil },
		"reference":  func(d *metapb.IndexDescriptor) { d.Artifacts[0].DataRef = nil },
	} {
		other := build(t, Signed, s.keys, 0)
		change(other.d)
		if _, err := Open(ctx, other.client, other.root, other.d, urlresolve.Policy{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	types, err := layer.ParseTypes("string,()/u64,()")
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w, err := layer.NewWriter(&file, types, layer.WriteOptions{SelfDescribing: true})
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(s.path, file.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, s.client, s.root, s.d, urlresolve.Policy{}); !errors.Is(err, corrupt.ErrUnsupported) {
		t.Errorf("keys of another type: %v", err)
	}
}

// Indexes of shards become one: that of all their keys. Each is read in a few requests, and an invalid one is reported.
func TestJoin(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(8, 1))
	dir := filepath.ToSlash(t.TempDir())
	root := "file://" + dir + "/x.amudai.shard"
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	cold := blobio.NewClient(blobio.ClientOptions{})
	defer cold.Close()
	var parts []Part
	all := &sample{client: client, root: root}
	for i := range 3 {
		b := NewBuilder(Bytes, 0)
		n := 20_000 * i // none of the first
		for k := range n {
			key := fmt.Appendf(nil, "%x", r.IntN(7000))
			if err := b.Add(AppendBytes(nil, key), uint64(k)); err != nil {
				t.Fatal(err)
			}
			all.keys = append(all.keys, key)
		}
		if n == 0 {
			b.Close()
			continue
		}
		d, _, err := b.Write(ctx, shardwriter.IndexTarget{Store: client, Root: root, Prefix: fmt.Sprintf("file://%s/%d-", dir, i)})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, Part{Descriptor: d, Base: root, Store: cold, Records: uint64(n), FirstRecord: uint64(len(all.keys) - n)})
	}
	d, objects, err := Join(ctx, shardwriter.IndexTarget{Store: cold, Root: root, Prefix: "file://" + dir + "/all-"}, parts, urlresolve.Policy{}, 1<<20)
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	if c := cold.Counters(); c.Gets > 16 || c.Puts > 1 {
		t.Errorf("%+v", c)
	}
	all.d = d
	x := all.open(t)
	for range 100 {
		low := fmt.Appendf(nil, "%x", r.IntN(7000))
		k := Keys{Low: low, High: fmt.Appendf(low[:len(low):len(low)], "%x", r.IntN(16))}
		rows, known, err := x.Rows(ctx, []Keys{k}, 1<<40, uint64(len(all.keys)))
		if err != nil || !known || !slices.Equal(rowsOf(rows), all.want(k)) {
			t.Fatalf("%s to %s: %v, %v, %v", k.Low, k.High, rows, known, err)
		}
	}
	if report, err := x.Verify(ctx, uint64(len(all.keys))); err != nil || !report.OK {
		t.Errorf("%+v %v", report, err)
	}
	parts[1].Records--
	if _, _, err := Join(ctx, shardwriter.IndexTarget{Store: client, Root: root, Prefix: "file://" + dir + "/bad-"}, parts, urlresolve.Policy{}, 0); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("positions beyond the records: %v", err)
	}
	parts[1] = parts[0]
	parts[1].Descriptor = build(t, Signed, [][]byte{AppendSigned(nil, 1)}, 0).d
	parts[1].Base = root
	if _, _, err := Join(ctx, shardwriter.IndexTarget{Store: client, Root: root, Prefix: "file://" + dir + "/odd-"}, parts, urlresolve.Policy{}, 0); err == nil {
		t.Error("keys of two kinds are joined")
	}
}

// A file of which a byte is another is damaged data to who joins it, or what it was; never a crash.
func TestJoinOfDamage(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(4, 4))
	var keys [][]byte
	for range 3000 {
		keys = append(keys, AppendUnsigned(nil, r.Uint64N(900)))
	}
	s := build(t, Unsigned, keys, 0)
	good, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	other := build(t, Unsigned, keys, 0)
	told := 0
	for i := range 60 {
		bad := slices.Clone(good)
		bad[r.IntN(len(bad))] ^= byte(1 << r.IntN(8))
		if err := os.WriteFile(s.path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		parts := []Part{
			{Descriptor: other.d, Base: other.root, Store: s.client, Records: 3000},
			{Descriptor: s.d, Base: s.root, Store: s.client, Records: 3000, FirstRecord: 3000},
		}
		_, _, err := Join(ctx, shardwriter.IndexTarget{Store: s.client, Root: s.root, Prefix: fmt.Sprintf("%s.%d-", s.root, i)}, parts, urlresolve.Policy{}, 0)
		if err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Fatal(err)
		}
		if err != nil {
			told++
		}
	}
	if told < 40 {
		t.Errorf("%d of 60 are told", told)
	}
}
