package meta

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/urlresolve"
)

const goldenURL = "mem://golden/here/shard.amudai.shard"

func openGolden(t testing.TB, path string) (*Root, *mapStore) {
	st := &mapStore{objects: map[string][]byte{}}
	folder := filepath.Dir(path)
	if err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, ".amudai.") {
			return err
		}
		b, err := os.ReadFile(name)
		st.objects["mem://golden/here"+strings.TrimPrefix(name, folder)] = b
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRoot(context.Background(), st, goldenURL, Options{})
	if err != nil {
		t.Fatalf("%v: %v", path, err)
	}
	return r, st
}

// TestGoldenMetadata reads every message of every golden root and writes it again to the same bytes.
func TestGoldenMetadata(t *testing.T) {
	ctx := context.Background()
	for _, path := range goldenShards(t) {
		r, _ := openGolden(t, path)
		same := func(ref *metapb.DataRef, m proto.Message) {
			t.Helper()
			if ref == nil {
				return
			}
			payload, err := r.Message(ctx, r.URL(), ref)
			if err != nil {
				t.Fatalf("%v: %v", path, err)
			}
			if err := unmarshal(payload, m); err != nil {
				t.Fatal(err)
			}
			if want, got := payload, Marshal(m); !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: got %v, want %v", path, got, want)
			}
		}
		same(r.dir.PropertiesRef, new(metapb.ShardProperties))
		same(r.dir.FieldListRef, new(metapb.DataRefArray))
		same(r.dir.StripeListRef, new(metapb.StripeList))
		same(r.dir.UrlListRef, new(metapb.UrlList))

		s, err := r.Schema(ctx)
		if err != nil {
			t.Fatalf("%v: %v", path, err)
		}
		again, err := schemawire.Unmarshal(schemawire.Marshal(s))
		if err != nil {
			t.Fatal(err)
		}
		if want, got := s, again; !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", path, got, want)
		}

		stripes, err := r.Stripes(ctx)
		if err != nil {
			t.Fatalf("%v: %v", path, err)
		}
		found := 0
		for id := range s.Count {
			f, err := r.ShardField(ctx, id)
			if err != nil {
				t.Fatalf("%v: %v", path, err)
			}
			if f != nil {
				found++
			}
			for i := range stripes {
				_, _, err := r.StripeField(ctx, i, id)
				if err != nil {
					t.Fatalf("%v: %v", path, err)
				}
			}
		}
		if len(stripes) > 0 && s.Count > 0 {
			if found == 0 {
				t.Fatalf("%v: found is 0", path)
			}
		}
	}
}

// readAll opens b as a root and requests all there is. Anything goes but a panic, or an error of no class.
func readAll(t testing.TB, b []byte) {
	ctx := context.Background()
	st := &mapStore{objects: map[string][]byte{testURL: b}}
	r, err := OpenRoot(ctx, st, testURL, Options{Size: int64(len(b))})
	check := func(err error) {
		if err != nil {
			if !(errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, corrupt.ErrUnsupported) ||
				errors.Is(err, urlresolve.ErrRefused) || errors.Is(err, fs.ErrNotExist)) {
				t.Fatalf("%v: errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, corrupt.ErrUnsupported) || errors.Is(err, urlresolve.ErrRefused) || errors.Is(err, fs.ErrNotExist) is false", err)
			}
		}
	}
	if check(err); err != nil {
		return
	}
	_, err = r.Properties(ctx)
	check(err)
	_, err = r.URLList(ctx)
	check(err)
	_, err = r.Indexes(ctx)
	check(err)
	s, err := r.Schema(ctx)
	if check(err); err != nil {
		return
	}
	stripes, err := r.Stripes(ctx)
	if check(err); err != nil {
		return
	}
	for id := range min(s.Count, 50) {
		_, err := r.ShardField(ctx, id)
		check(err)
		for i := range min(len(stripes), 5) {
			_, _, err := r.StripeField(ctx, i, id)
			check(err)
			_, err = r.StripeProperties(ctx, i)
			check(err)
			_, err = r.StripeIndexes(ctx, i)
			check(err)
		}
	}
}

// TestGoldenRootsDamaged flips one byte in every message of golden roots.
func TestGoldenRootsDamaged(t *testing.T) {
	for _, path := range goldenShards(t)[:20] {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		from := max(0, len(b)-20_000)
		for i := from; i < len(b); i += 37 {
			b[i] ^= 0x41
			readAll(t, b)
			b[i] ^= 0x41
		}
	}
}
