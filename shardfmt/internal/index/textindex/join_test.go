package textindex

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// ofShard is a shard of random values that a test knows: those of each stripe.
type ofShard struct {
	values [][]string
	d      *metapb.IndexDescriptor
}

func (s *ofShard) records() (n uint64) {
	for _, v := range s.values {
		n += uint64(len(v))
	}
	return n
}

// words are common ones, rare ones, and spellings of both.
func words(r *rand.Rand, distinct int) string {
	text := ""
	for range 1 + r.IntN(6) {
		w := fmt.Sprintf("%c%d", 'a'+rune(r.IntN(3)), r.IntN(1+r.IntN(distinct)))
		if r.IntN(3) == 0 {
			w = strings.ToUpper(w)
		}
		if r.IntN(4) == 0 {
			w = "\u212A" + w
		}
		text += w + " "
	}
	return text
}

// writeShard writes the index of a random shard as a whole, as field number of its schema.
func writeShard(t *testing.T, client *blobio.Client, root, prefix string, r *rand.Rand, c Collation, number uint32, stripes, distinct int) *ofShard {
	t.Helper()
	s, lists, first := &ofShard{}, NewLists(2<<10), uint64(0)
	for i := range stripes {
		b := NewBuilder(c, []Field{{ID: number}})
		var values []string
		for k := range 50 + r.IntN(60) {
			v := words(r, distinct)
			values = append(values, v)
			if err := b.Add(0, uint64(k), []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		s.values = append(s.values, values)
		if err := lists.Add(b, i, first); err != nil {
			t.Fatal(err)
		}
		first += uint64(len(values))
	}
	if lists.sorter.Spills() == 0 {
		t.Fatal("nothing went to a file")
	}
	var err error
	if s.d, _, err = lists.Write(t.Context(), shardwriter.IndexTarget{Store: client, Root: root, Prefix: prefix}); err != nil {
		t.Fatal(err)
	}
	return s
}

// asBuilt holds an index to one that a builder made of all values at once: the same entries, with the same lists but for how coarse those are.
func asBuilt(t *testing.T, client *blobio.Client, root string, d *metapb.IndexDescriptor, values [][]string, c Collation, number uint32) {
	t.Helper()
	x, err := Open(t.Context(), client, root, d, urlresolve.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Prefix(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]uint64{}
	add := func(term string, stripe int, position uint64) {
		key := fmt.Sprintf("%s %d", term, stripe)
		if l := want[key]; len(l) == 0 || l[len(l)-1] != position {
			want[key] = append(l, position)
		}
	}
	position := uint64(0)
	for i, stripe := range values {
		for _, v := range stripe {
			one := NewBuilder(c, []Field{{}})
			if err := one.Add(0, 0, []byte(v)); err != nil {
				t.Fatal(err)
			}
			for term := range one.Terms() {
				add(string(term), i, position)
			}
			position++
		}
	}
	seen := 0
	var before []byte
	for _, e := range got {
		if before != nil && c.Compare(before, []byte(e.Term)) > 0 {
			t.Fatalf("%q after %q", e.Term, before)
		}
		before = []byte(e.Term)
		for i := range e.Postings {
			p := &e.Postings[i]
			positions := want[fmt.Sprintf("%s %d", e.Term, p.Stripe)]
			if p.Field != number || i > 0 && p.Stripe <= e.Postings[i-1].Stripe {
				t.Fatalf("%q: %+v", e.Term, p)
			}
			held := 0
			for _, r := range p.Ranges() {
				for v := r.Start; v < r.End; v++ {
					if slices.Contains(positions, v) {
						held++
					} else if p.Kind != ApproximateRanges {
						t.Fatalf("%q, stripe %d: position %d too many", e.Term, p.Stripe, v)
					}
				}
			}
			if held != len(positions) || held == 0 {
				t.Fatalf("%q, stripe %d: %d of %d positions", e.Term, p.Stripe, held, len(positions))
			}
			seen++
		}
	}
	if seen != len(want) {
		t.Fatalf("%d lists of %d", seen, len(want))
	}
}

// An index made of those of shards is that of all their values, in whatever number of parts and for however little memory.
func TestJoinAgainstBuilder(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	folder := "file://" + t.TempDir() + "/"
	for _, c := range []Collation{CaseInsensitive, CasePreserving} {
		for shards := 1; shards < 4; shards++ {
			r := rand.New(rand.NewPCG(uint64(shards), uint64(c)))
			root := fmt.Sprintf("%s%d.%d.pb", folder, c, shards)
			var parts []Part
			var all [][]string
			first := uint64(0)
			for i := range shards {
				s := writeShard(t, client, root, fmt.Sprintf("%s.%d-", root, i), r, c, uint32(3+i), 1+r.IntN(3), 40<<(4*i))
				asBuilt(t, client, root, s.d, s.values, c, uint32(3+i))
				parts = append(parts, Part{Descriptor: s.d, Base: root, Store: client, Stripes: len(s.values), FirstStripe: len(all), Records: s.records(), FirstRecord: first,
					Fields: map[uint32]uint32{uint32(3 + i): 9}})
				all, first = append(all, s.values...), first+s.records()
			}
			for _, memory := range []int64{1, 1 << 20} {
				empty := NewBuilder(c, []Field{{ID: 9}}).Describe()
				d, objects, err := Join(t.Context(), shardwriter.IndexTarget{Store: client, Root: root, Prefix: fmt.Sprintf("%s.joined%d-", root, memory)}, empty, parts, JoinOptions{Memory: memory})
				if err != nil || len(objects) != 2 {
					t.Fatal(objects, err)
				}
				asBuilt(t, client, root, d, all, c, 9)
			}
		}
	}
}

// What joining holds of its parts does not grow with them.
func TestJoinHoldsLittle(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	folder := "file://" + t.TempDir() + "/"
	most := func(values int) (held, size int) {
		root := fmt.Sprintf("%s%d.pb", folder, values)
		var parts []Part
		for i := range 3 {
			b := NewBuilder(CaseInsensitive, []Field{{}})
			for k := range values {
				if err := b.Add(0, uint64(k), fmt.Appendf(nil, "w%d v%d", k, k%100)); err != nil {
					t.Fatal(err)
				}
			}
			d, _, err := b.Write(t.Context(), shardwriter.IndexTarget{Store: client, Root: root, Prefix: fmt.Sprintf("%s.%d-", root, i)})
			if err != nil {
				t.Fatal(err)
			}
			size += int(d.GetIndexSize())
			parts = append(parts, Part{Descriptor: d, Base: root, Store: client, Stripes: 1, FirstStripe: i, Records: uint64(values), FirstRecord: uint64(i * values),
				Fields: map[uint32]uint32{0: 0}})
		}
		j, err := newJoin(t.Context(), parts, JoinOptions{Memory: 256 << 10})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = writeAll(t.Context(), shardwriter.IndexTarget{Store: client, Root: root, Prefix: root + ".joined-"}, parts[0].Descriptor, 256<<10, j.fill)
		if err != nil || len(j.cursors) > 0 {
			t.Fatal(err)
		}
		return j.most, size
	}
	small, smallSize := most(8_000)
	large, largeSize := most(32_000)
	t.Logf("%d bytes held of %d, %d of %d", small, smallSize, large, largeSize)
	if large > small*5/4 || largeSize < 3*smallSize || large > 512<<10 {
		t.Errorf("%d bytes held of %d, %d of %d", small, smallSize, large, largeSize)
	}
}

// What a part states that can't be is an error of damaged data, so that whoever joins leaves the index out.
func TestJoinRefuses(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	root := "file://" + t.TempDir() + "/root.pb"
	s := writeShard(t, client, root, root+".0-", rand.New(rand.NewPCG(1, 1)), CaseInsensitive, 3, 2, 500)
	good := Part{Descriptor: s.d, Base: root, Store: client, Stripes: 2, Records: s.records(), Fields: map[uint32]uint32{3: 3}}
	for name, damage := range map[string]func(*Part){
		"fewer records than positions": func(p *Part) { p.Records-- },
		"fewer stripes":                func(p *Part) { p.Stripes-- },
		"an unknown field":             func(p *Part) { p.Fields = map[uint32]uint32{4: 3} },
		"too many stripes":             func(p *Part) { p.FirstStripe = 1<<16 - 1 },
	} {
		p := good
		damage(&p)
		to := shardwriter.IndexTarget{Store: client, Root: root, Prefix: root + "." + strings.ReplaceAll(name, " ", "-") + "-"}
		_, _, err := Join(context.Background(), to, NewBuilder(CaseInsensitive, []Field{{}}).Describe(), []Part{p}, JoinOptions{})
		if !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An index of which little is held while it is written is byte for byte that of which all is held: nearly all of its buffers waited in files.
func TestSpilledArtifacts(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	folder := "file://" + t.TempDir() + "/"
	write := func(memory int64) (all [2][]byte, spilled [2]int64) {
		b := NewBuilder(CaseInsensitive, []Field{{}})
		for k := range 30_000 {
			if err := b.Add(0, uint64(k), fmt.Appendf(nil, "w%d v%d and %d", k, k%100, k/3)); err != nil {
				t.Fatal(err)
			}
		}
		var to *writer
		target := shardwriter.IndexTarget{Store: client, Root: folder + "root.pb", Prefix: fmt.Sprintf("%s%d-", folder, memory)}
		_, objects, err := writeAll(t.Context(), target, b.Describe(), memory, func(ctx context.Context, w *writer) error {
			to = w
			return b.lists(ctx, w)
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range objects {
			all[i] = make([]byte, o.Size)
			if _, err := client.ReadRange(t.Context(), o.URL, 0, all[i]); err != nil {
				t.Fatal(err)
			}
		}
		return all, [2]int64{to.terms.Spilled(), to.positions.Spilled()}
	}
	whole, none := write(0)
	parts, spilled := write(1)
	for i := range whole {
		data := len(whole[i]) - 16<<10 // the metadata behind it reports when it was made
		if data < 20_000 || len(parts[i]) != len(whole[i]) || !slices.Equal(whole[i][:data], parts[i][:data]) {
			t.Fatalf("artifact %d: %d bytes, %d where they went to a file", i, len(whole[i]), len(parts[i]))
		}
		if held := int64(len(parts[i])) - spilled[i]; none[i] != 0 || held > 16*4<<10 {
			t.Errorf("artifact %d: %d bytes of %d were held", i, held, len(parts[i]))
		}
	}
}

// Separators come back as they were, from a file and from memory.
func TestSeparators(t *testing.T) {
	spill := colstream.NewSpill(50)
	defer spill.Close()
	s := newSeparators(spill)
	for i := range 100 {
		if err := s.add(fmt.Appendf(nil, "%d", i*i), uint64(i*1000)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	err := s.each(func(e pageEntry, last bool) error {
		if string(e.term) != fmt.Sprint(n*n) || e.child != uint64(n*1000) || last != (n == 99) {
			t.Errorf("%d: %+v, %v", n, e, last)
		}
		n++
		return nil
	})
	if err != nil || n != 100 || spill.Bytes() == 0 || s.tape.Held() > 200 {
		t.Errorf("%d separators, %d bytes in a file, %d held: %v", n, spill.Bytes(), s.tape.Held(), err)
	}
}
