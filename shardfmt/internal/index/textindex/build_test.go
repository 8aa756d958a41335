package textindex

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// record is the values of one record; nil is null.
type record struct {
	stripe uint16
	values []*string
}

// built counts the indexes that tests have written.
var built atomic.Int64

// build writes an index of records into memory and opens it.
func build(t testing.TB, c Collation, tokenizers []Tokenizer, records []record) *Index {
	t.Helper()
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { client.Close() })
	folder := fmt.Sprintf("mem://index/%d/", built.Add(1))
	root, err := client.Mount(ctx, folder+"root.pb")
	if err != nil {
		t.Fatal(err)
	}
	fields := make([]Field, len(tokenizers))
	for i, z := range tokenizers {
		fields[i] = Field{uint32(i), z}
	}
	b := NewBuilder(c, fields)
	for stripe := uint16(0); len(records) > 0; stripe++ {
		if stripe > 0 {
			if err := b.NextStripe(); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for n < len(records) && records[n].stripe == stripe {
			n++
		}
		base := uint64(0)
		if stripe > 0 {
			base = 1000 * uint64(stripe)
		}
		for i := range fields {
			for k, r := range records[:n] {
				if v := r.values[i]; v != nil {
					if err := b.Add(i, base+uint64(k), []byte(*v)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		records = records[n:]
	}
	d, objects, err := b.Write(ctx, shardwriter.IndexTarget{Store: client, Root: root, Prefix: folder + "i-"})
	if err != nil || len(objects) != 2 {
		t.Fatal(objects, err)
	}
	x, err := Open(ctx, client, root, d, urlresolve.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// place is where a term is.
type place struct {
	stripe uint16
	field  uint32
	pos    uint64
}

// bruteForce finds the places of terms that accept takes, by reading all values.
func bruteForce(tokenizers []Tokenizer, records []record, accept func(t []byte) bool) map[place]bool {
	out := map[place]bool{}
	at := map[uint16]uint64{}
	for _, r := range records {
		pos := 1000*uint64(r.stripe) + at[r.stripe]
		at[r.stripe]++
		for i, v := range r.values {
			if v == nil {
				continue
			}
			tokenizers[i].Each([]byte(*v), func(t []byte) {
				if accept(t) || accept(tokenizer.Regular(t)) {
					out[place{r.stripe, uint32(i), pos}] = true
				}
			})
		}
	}
	return out
}

// compare holds an answer to what brute force found: certain records must be of it, all of it must be possible.
func compare(t *testing.T, what string, entries []Entry, want map[place]bool) {
	t.Helper()
	a, err := Combine(entries)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for certain, sets := range map[bool][]PositionSet{true: a.Certain, false: a.Possible} {
		for _, s := range sets {
			for _, p := range s.Positions {
				in := want[place{s.Stripe, s.Field, p}]
				if in {
					found++
				} else if certain {
					t.Fatalf("%s: record %d of field %d certainly holds it, but does not", what, p, s.Field)
				}
			}
		}
	}
	if found != len(want) {
		t.Fatalf("%s: %d of %d records were found", what, found, len(want))
	}
}

// letters are a small alphabet with all that is odd: cases, the signs of Kelvin and Ångström, long s, sharp s, marks.
var letters = []rune("aAbBkK\u212AsSſßẞåÅ\u212Bθϑϴ1ᾀᾈ½ि東")

func randomValue(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(4) {
		for range 1 + r.IntN(3) {
			b.WriteRune(letters[min(r.IntN(len(letters)), r.IntN(len(letters)))])
		}
		b.WriteString([]string{" ", "-", ".", "_", "\xff"}[r.IntN(5)])
	}
	if r.IntN(10) == 0 {
		fmt.Fprintf(&b, "10.0.%d.%d", r.IntN(3), r.IntN(3))
	}
	if r.IntN(50) == 0 {
		b.WriteString(strings.Repeat("東", 60))
	}
	return b.String()
}

// What an index answers is what reading all values finds: each term, in each spelling, and each prefix.
func TestAgainstBruteForce(t *testing.T) {
	ctx := context.Background()
	tokenizers := []Tokenizer{UnicodeWord, UnicodeLog, Trivial, IPv4}
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 1))
		collation := Collation(seed % 2)
		var records []record
		for stripe := range uint16(3) {
			for range 100 + r.IntN(300) {
				rec := record{stripe: stripe}
				for range tokenizers {
					v := randomValue(r)
					rec.values = append(rec.values, &v)
					if r.IntN(5) == 0 {
						rec.values[len(rec.values)-1] = nil
					}
				}
				records = append(records, rec)
			}
		}
		x := build(t, collation, tokenizers, records)
		for _, asked := range append(someTerms(tokenizers, records), "absent", "K", "\u212A", "") {
			key := []byte(asked)
			entries, err := x.Lookup(ctx, asked)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "term "+asked, entries, bruteForce(tokenizers, records, func(t []byte) bool { return collation.Compare(t, key) == 0 }))
			entries, err = x.Spellings(ctx, asked)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "spellings "+asked, entries, bruteForce(tokenizers, records, func(t []byte) bool { return CaseInsensitive.Compare(t, key) == 0 }))
			prefix := string([]rune(asked)[:len([]rune(asked))/2])
			entries, err = x.Prefix(ctx, prefix)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "prefix "+prefix, entries, bruteForce(tokenizers, records, func(t []byte) bool { return collation.HasPrefix(t, []byte(prefix)) }))
		}
	}
}

// someTerms are some of the terms of records.
func someTerms(tokenizers []Tokenizer, records []record) (out []string) {
	for i, r := range records {
		if i%30 != 0 {
			continue
		}
		for k, v := range r.values {
			if v != nil {
				tokenizers[k].Each([]byte(*v), func(t []byte) { out = append(out, string(t)) })
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A tree of many pages has the shape of docs/format/indexes.md: 391 terms of five bytes on a leaf, 142 separators
// on a page above; these come behind all leaves.
func TestPageArithmetic(t *testing.T) {
	const terms = 391*142 + 391 + 1
	records := make([]record, 0, terms)
	for i := range terms {
		v := fmt.Sprintf("%05d", i)
		records = append(records, record{values: []*string{&v}})
	}
	x := build(t, CaseInsensitive, []Tokenizer{UnicodeWord}, records)
	ctx := context.Background()
	if n := x.terms.Records(); n != 144+1+1+1 {
		t.Errorf("%d pages", n)
	}
	for n, want := range map[uint64]struct {
		level   uint8
		entries int
	}{0: {0, 391}, 142: {0, 391}, 143: {0, 1}, 144: {1, 142}, 145: {1, 2}, 146: {2, 2}} {
		p, err := x.page(ctx, n)
		if err != nil || p.level != want.level || len(p.entries) != want.entries {
			t.Errorf("page %d: level %d, %d entries, %v", n, p.level, len(p.entries), err)
		}
	}
	for _, i := range []int{0, 390, 391, 55521, 55522, terms - 1} {
		got, err := x.Lookup(ctx, fmt.Sprintf("%05d", i))
		if err != nil || len(got) != 1 || !slices.Equal(got[0].Postings[0].Values, []uint64{uint64(i)}) {
			t.Errorf("term %d: %v, %v", i, got, err)
		}
	}
	if got, err := x.Prefix(ctx, "00"); err != nil || len(got) != 1000 {
		t.Errorf("prefix: %d, %v", len(got), err)
	}
}

// The forms of lists of docs/format/indexes.md.
func TestListForms(t *testing.T) {
	run := func(from, to, step uint64) (out []uint64) {
		for p := from; p <= to; p += step {
			out = append(out, p)
		}
		return out
	}
	for _, c := range []struct {
		in     []uint64
		kind   Kind
		values int
		last   uint64
	}{
		{run(0, 63, 1), Positions, 64, 63},
		{run(0, 64, 1), ExactRanges, 2, 65},
		{run(0, 198, 2), Positions, 100, 198},
		{append([]uint64{0}, run(1, 190, 3)...), ExactRanges, 128, 191},
		{append([]uint64{0}, run(1, 193, 3)...), ApproximateRanges, 2, 194},
		{append([]uint64{0}, run(1, 1001, 5)...), ExactRanges, 402, 1002},
		{append(run(0, 128, 2), 129), ExactRanges, 130, 130},
		{append(run(0, 128, 2), 129, 131), ApproximateRanges, 2, 132},
	} {
		var l list
		for _, p := range c.in {
			l.add(p)
		}
		if l.kind != c.kind || len(l.values) != c.values || l.values[len(l.values)-1] != c.last {
			t.Errorf("%d positions up to %d: %v, %v", len(c.in), c.in[len(c.in)-1], l.kind, l.values)
		}
	}
}

// An index that is built of the source of a golden one answers what that answers, and what its writer lost.
func TestGoldenSources(t *testing.T) {
	for _, dir := range golden(t) {
		collation, tokenizers, records := source(t, dir)
		x, n := build(t, collation, tokenizers, records), 0
		stripeStart := starts(records)
		eachLine(t, filepath.Join(dir, "expect.ndjson.gz"), func(l goldenLine) {
			if n++; n > 300 && n%20 != 0 && os.Getenv("SHARDCAT_FULL") == "" {
				return
			}
			got, err := x.Lookup(context.Background(), l.Term)
			if err != nil {
				t.Fatal(err)
			}
			have := told(got)
			for i := range have { // the test numbers records by stripe
				shift(&have[i], stripeStart[have[i].Stripe])
			}
			if collation == CasePreserving && len(l.Lost) == 0 {
				if len(have) != len(l.Postings) || len(have) > 0 && !reflect.DeepEqual(have, l.Postings) {
					t.Fatalf("%s: %q: got %v, want %v", dir, l.Term, have, l.Postings)
				}
				return
			}
			for _, p := range append(l.Postings, l.Lost...) {
				for _, v := range p.Positions {
					if !slices.ContainsFunc(have, func(h goldenPosting) bool {
						return h.Stripe == p.Stripe && h.Field == p.Field && h.holds(v)
					}) {
						t.Fatalf("%s: %q: record %d of field %d is missing in %v", dir, l.Term, v, p.Field, have)
					}
				}
			}
		})
	}
}

func (g *goldenPosting) holds(v uint64) bool {
	return slices.Contains(g.Positions, v) ||
		slices.ContainsFunc(g.Ranges, func(r [2]uint64) bool { return r[0] <= v && v < r[1] })
}

func shift(g *goldenPosting, by int64) {
	for i := range g.Positions {
		g.Positions[i] += uint64(by)
	}
	for i := range g.Ranges {
		g.Ranges[i][0] += uint64(by)
		g.Ranges[i][1] += uint64(by)
	}
}

// starts is by how much the positions of a stripe lie above those that build gives.
func starts(records []record) (out []int64) {
	for i, r := range records {
		if int(r.stripe) == len(out) {
			out = append(out, int64(i)-1000*int64(r.stripe))
		}
	}
	return out
}

// source reads the records that a golden index was built of.
func source(t *testing.T, dir string) (c Collation, tokenizers []Tokenizer, records []record) {
	t.Helper()
	var about struct {
		Collation  string
		Tokenizers []string
	}
	b, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err == nil {
		err = json.Unmarshal(b, &about)
	}
	if err == nil {
		c, err = tokenizer.ParseCollation(about.Collation)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range about.Tokenizers {
		z, err := ParseTokenizer(name)
		if err != nil {
			t.Fatal(err)
		}
		tokenizers = append(tokenizers, z)
	}
	b, err = os.ReadFile(filepath.Join(dir, "source.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(z); lines.Scan(); {
		var l struct {
			Stripe     uint16
			F0, F1, F2 *string
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		records = append(records, record{l.Stripe, []*string{l.F0, l.F1, l.F2}})
	}
	return c, tokenizers, records
}
