package hashindex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// An index made with little memory, whose pairs and buffers went to files, is byte for byte that of a builder; also where most records have one
// value. Indexes of two shards become one that answers as both.
func TestPairsWithLittleMemory(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	root := "file://" + t.TempDir() + "/root.pb"
	r := rand.New(rand.NewPCG(4, 2))
	hashes := make([]uint64, 3000)
	for i := range hashes {
		hashes[i] = r.Uint64()
	}
	const records = 20_000
	b, p := NewBuilder(0), NewPairs(64<<10)
	var want []uint64 // of the first hash
	for i := range uint64(records) {
		h := hashes[0]
		if i%3 == 0 {
			h = hashes[r.IntN(len(hashes))]
		}
		if h == hashes[0] {
			want = append(want, i)
		}
		b.Add(h, i)
		for range 1 + i%2 { // twice is once
			if err := p.Add(h, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, objects, err := p.Write(t.Context(), shardwriter.IndexTarget{Store: client, Root: root, Prefix: root + ".pairs-"}, Type)
	if err != nil {
		t.Fatal(err)
	}
	_, built, err := b.Write(t.Context(), shardwriter.IndexTarget{Store: client, Root: root, Prefix: root + ".built-"}, Type)
	if err != nil {
		t.Fatal(err)
	}
	read := func(o Object) []byte {
		data := make([]byte, o.Size)
		if _, err := client.ReadRange(t.Context(), o.URL, 0, data); err != nil {
			t.Fatal(err)
		}
		return data
	}
	got, all := read(objects[0]), read(built[0])
	data := len(all) - 16<<10 // the metadata behind it reports when it was made
	if len(objects) != 1 || len(got) != len(all) || !slices.Equal(got[:data], all[:data]) {
		t.Errorf("%v is not as %v", objects, built)
	}
	parts := []Part{{Descriptor: d, Base: root, Store: client, Records: records}, {Descriptor: d, Base: root, Store: client, Records: records, FirstRecord: records}}
	joined, _, err := Join(t.Context(), shardwriter.IndexTarget{Store: client, Root: root, Prefix: root + ".joined-"}, parts, urlresolve.Policy{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range want[:len(want):len(want)] {
		want = append(want, p+records)
	}
	for name, x := range map[string]struct {
		of   []uint64
		hash uint64
	}{"common": {want, hashes[0]}, "absent": {nil, 1}} {
		index, err := Open(client, root, joined, urlresolve.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := index.Lookup(t.Context(), x.hash); err != nil || !slices.Equal(got, x.of) {
			t.Errorf("%s: %d positions of %d, %v", name, len(got), len(x.of), err)
		}
	}
}

// What is held of a partition while it is sorted does not grow with it.
func TestSortedHoldsLittle(t *testing.T) {
	const memory = 64 << 10
	s := &sorted{memory: memory}
	defer s.close()
	for i := range uint64(100_000) {
		if err := s.add(pair{i / 50_000, i}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.held) > memory/16 || s.tape.Held() > 2*tapeBytes || s.distinct != 2 {
		t.Errorf("%d pairs and %d bytes held, %d hashes", len(s.held), s.tape.Held(), s.distinct)
	}
	n, last := 0, pair{}
	for x, err := range s.byBucket(2) {
		if err != nil || n > 0 && (x.hash < last.hash || x.hash == last.hash && x.position <= last.position) {
			t.Fatal(fmt.Sprint(x, " after ", last), err)
		}
		n, last = n+1, x
	}
	if n != 100_000 || s.sorter.Held() > memory {
		t.Errorf("%d pairs, %d bytes held", n, s.sorter.Held())
	}
}

// TestBucketsThatNothingFills: buckets that cost no byte are not gone through where records could not fill a fraction of them.
func TestBucketsThatNothingFills(t *testing.T) {
	defer func(n uint64) { mostEmpty = n }(mostEmpty)
	mostEmpty = 64
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	root := "file://" + t.TempDir() + "/root.pb"
	b := NewBuilder(0)
	for i := range uint64(1000) {
		b.Add(i*0x9E3779B97F4A7C15, i)
	}
	d, _, err := b.Write(t.Context(), shardwriter.IndexTarget{Store: client, Root: root, Prefix: root + ".built-"}, Type)
	if err != nil {
		t.Fatal(err)
	}
	for records, refused := range map[uint64]bool{1000: false, 2: true} {
		part := Part{Descriptor: d, Base: root, Store: client, Records: records}
		_, err := Lacks(t.Context(), part, part, urlresolve.Policy{})
		if got := err != nil && strings.Contains(err.Error(), "buckets for 2 records"); got != refused {
			t.Errorf("of %d records: %v", records, err)
		}
	}
}
