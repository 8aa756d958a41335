package meta

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

const goldenURL = "mem://golden/here/shard.amudai.shard"

func openGolden(t testing.TB, path string) (*Root, *mapStore) {
	st := &mapStore{objects: map[string][]byte{}}
	folder := filepath.Dir(path)
	require.NoError(t, filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, ".amudai.") {
			return err
		}
		b, err := os.ReadFile(name)
		st.objects["mem://golden/here"+strings.TrimPrefix(name, folder)] = b
		return err
	}))
	r, err := OpenRoot(context.Background(), st, goldenURL, Options{})
	require.NoError(t, err, path)
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
			require.NoError(t, err, path)
			require.NoError(t, unmarshal(payload, m))
			require.Equal(t, payload, Marshal(m), path)
		}
		same(r.dir.PropertiesRef, new(metapb.ShardProperties))
		same(r.dir.FieldListRef, new(metapb.DataRefArray))
		same(r.dir.StripeListRef, new(metapb.StripeList))
		same(r.dir.UrlListRef, new(metapb.UrlList))

		s, err := r.Schema(ctx)
		require.NoError(t, err, path)
		again, err := schema.Unmarshal(schema.Marshal(s))
		require.NoError(t, err)
		require.Equal(t, s, again, path)

		stripes, err := r.Stripes(ctx)
		require.NoError(t, err, path)
		found := 0
		for id := range s.Count {
			f, err := r.ShardField(ctx, id)
			require.NoError(t, err, path)
			if f != nil {
				found++
			}
			for i := range stripes {
				_, _, err := r.StripeField(ctx, i, id)
				require.NoError(t, err, path)
			}
		}
		if len(stripes) > 0 && s.Count > 0 {
			require.NotZero(t, found, path)
		}
	}
}

// readAll opens b as a root and asks for all there is. Anything goes but a panic, or an error of no class.
func readAll(t testing.TB, b []byte) {
	ctx := context.Background()
	st := &mapStore{objects: map[string][]byte{testURL: b}}
	r, err := OpenRoot(ctx, st, testURL, Options{Size: int64(len(b))})
	check := func(err error) {
		if err != nil {
			require.True(t, errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, corrupt.ErrUnsupported) ||
				errors.Is(err, urlresolve.ErrRefused) || errors.Is(err, fs.ErrNotExist), "%v", err)
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
		require.NoError(t, err)
		from := max(0, len(b)-20_000)
		for i := from; i < len(b); i += 37 {
			b[i] ^= 0x41
			readAll(t, b)
			b[i] ^= 0x41
		}
	}
}
