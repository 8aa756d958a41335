package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	corrupted "github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/verify"
	"github.com/shardcat/shardcat/urlresolve"
)

const base = "mem://kit/"

// written is the kit of all tests: it takes a second or two to write.
var written = sync.OnceValues(func() (*Kit, error) { return Write(context.Background(), client, base) })

var client = blobio.NewClient(blobio.ClientOptions{})

func kit(t *testing.T) *Kit {
	t.Helper()
	k, err := written()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func rowsOf(ctx context.Context, url string) ([]byte, error) {
	shard, err := shardfmt.Open(ctx, client, url, shardfmt.OpenOptions{})
	if err != nil {
		return nil, err
	}
	s, err := shard.Project(ctx, nil, false)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &out, s, fileio.SinkOptions{})
	if err != nil {
		return nil, err
	}
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{}) {
		if err != nil {
			return nil, err
		}
		if err := sink.Write(b); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), sink.Close()
}

// miscounted are the shards that a reader reads right and a verifier does not call whole.
var miscounted = map[string]bool{"marks-without-count": true, "marks-and-one-count": true}

// Our own reader gives the records of every case of every level, and every shard is whole; the levels hold what they say.
func TestLevels(t *testing.T) {
	k := kit(t)
	levels, encodings := map[string]int{}, map[string]bool{}
	for _, c := range k.Cases {
		levels[c.Level]++
		if c.Answer != "" {
			continue
		}
		got, err := rowsOf(t.Context(), base+c.Shard)
		if err != nil {
			t.Errorf("%s/%s: %v", c.Level, c.Name, err)
			continue
		}
		want, _, err := client.ReadAll(t.Context(), base+c.Rows, 1<<26)
		if err != nil || !bytes.Equal(got, want) || bytes.Count(got, []byte("\n")) != c.Records {
			t.Errorf("%s/%s: rows differ (%v)", c.Level, c.Name, err)
		}
		r, err := verify.Shard(t.Context(), client, base+c.Shard, verify.Options{})
		if err != nil || r.OK == miscounted[c.Name] {
			t.Errorf("%s/%s: %v %+v", c.Level, c.Name, err, r)
		}
		if c.Level == "l2" {
			noteEncodings(t, base+c.Shard, encodings)
		}
	}
	for _, level := range Levels {
		if levels[level] == 0 {
			t.Errorf("%s has no case", level)
		}
	}
	for c := block.Plain; c <= block.Sparse; c++ {
		if !encodings[c.String()] {
			t.Errorf("no block of l2 has %v", c)
		}
	}
}

// noteEncodings notes the encodings of all blocks of a shard.
func noteEncodings(t *testing.T, url string, seen map[string]bool) {
	t.Helper()
	i, err := inspect.Shard(t.Context(), client, url, inspect.Options{Detail: inspect.Blocks})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	for c := block.Plain; c <= block.Sparse; c++ {
		if bytes.Contains(b, []byte(c.String())) {
			seen[c.String()] = true
		}
	}
}

// Every index of the kit is looked up in, and most lookups match.
func TestLookupsAreThere(t *testing.T) {
	k, indexes := kit(t), 0
	for _, c := range k.Cases {
		for _, l := range c.Lookups {
			indexes++
			keys, _, err := client.ReadAll(t.Context(), base+l.Keys, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			answers, _, err := client.ReadAll(t.Context(), base+l.Answers, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(keys, []byte("\n")); n < 100 || bytes.Count(answers, []byte("\n")) != n || bytes.Count(answers, []byte("[]")) != 1 {
				t.Errorf("%s: %d questions", l.Keys, n)
			}
			if _, _, err := client.ReadAll(t.Context(), base+l.Index, 1<<20); err != nil {
				t.Error(err)
			}
		}
	}
	if indexes != 4 {
		t.Errorf("%d indexes, want one of text and one of hashes for each of two stripes", indexes)
	}
}

// Our own reader refuses every damaged shard by the class that the kit states, and so does verify.
func TestDamagedShardsAreRefused(t *testing.T) {
	k := kit(t)
	classes := map[string]func(error) bool{
		corrupt:     func(err error) bool { return errors.Is(err, corrupted.ErrCorrupt) },
		unsupported: func(err error) bool { return errors.Is(err, corrupted.ErrUnsupported) },
		missing:     func(err error) bool { return errors.Is(err, blobio.ErrNotFound) },
		unsafe:      func(err error) bool { return errors.Is(err, urlresolve.ErrRefused) },
	}
	n := 0
	for _, c := range k.Cases {
		if c.Answer == "" {
			continue
		}
		n++
		_, err := rowsOf(t.Context(), base+c.Shard)
		if err == nil || !classes[c.Answer](err) {
			t.Errorf("%s (%s): %v, want %s", c.Name, c.What, err, c.Answer)
		}
		if r, err := verify.Shard(t.Context(), client, base+c.Shard, verify.Options{}); err == nil && r.OK {
			t.Errorf("%s (%s): whole for a verifier", c.Name, c.What)
		}
	}
	if n != len(damages())+len(formDamages()) || n < 80 {
		t.Errorf("%d damaged shards", n)
	}
}

// The shards of other forms have them.
func TestFormsAreThere(t *testing.T) {
	k := kit(t)
	seen := 0
	for _, c := range k.Cases {
		is := map[string]func(list *meta.RefArray, id *metapb.StripeFieldDescriptor) bool{
			"alternative-encodings": func(_ *meta.RefArray, id *metapb.StripeFieldDescriptor) bool {
				return len(id.Encodings) == 3 && id.Encodings[0].GetNative() == nil && id.Encodings[2].GetNative() != nil
			},
			"no-block-checksums": func(_ *meta.RefArray, id *metapb.StripeFieldDescriptor) bool {
				return !id.Encodings[0].GetNative().Buffers[0].BlockChecksums
			},
			"short-field-list": func(list *meta.RefArray, _ *metapb.StripeFieldDescriptor) bool { return list.Len() == formNone },
			"no-descriptor": func(list *meta.RefArray, _ *metapb.StripeFieldDescriptor) bool {
				_, start, end, err := list.At(formNone)
				return err == nil && start == end
			},
		}[c.Name]
		if is == nil {
			continue
		}
		seen++
		r, err := meta.OpenRoot(t.Context(), client, base+c.Shard, meta.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := r.StripeFieldList(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		id, _, err := r.StripeField(t.Context(), 0, formID)
		if err != nil || !is(list, id) {
			t.Errorf("%s has not its form: %v, %v", c.Name, id, err)
		}
	}
	if want := len(bookForms); seen != want {
		t.Errorf("%d forms, want %d", seen, want)
	}
}
