package verify

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
)

// hostile puts a shard of shardfmt/testdata/hostile into memory.
func hostile(t *testing.T, name string) (*blobio.Client, string) {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("..", "testdata", "hostile", name+".amudai.shard.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return load(t, map[string][]byte{"shard.amudai.shard": b}, "", 0)
}

// What promises more than its bytes bear is refused by its metadata; what only its values tell, by reading them.
func TestHostileShardsAreNotAdmitted(t *testing.T) {
	for name, c := range map[string]struct {
		read ReadData
		why  string
	}{
		"c01-fsb-null-32768":   {ReadLeast, "one record takes"},
		"c02-fsl-null-1":       {ReadLeast, "one record takes"},
		"c05-dict-fixed-1m":    {ReadLeast, "more than the limit of"},
		"c08-union-time-bomb":  {ReadLeast, "its parent has"},
		"c25-all-deleted-2e63": {ReadLeast, "at most 65536 per byte"},
	} {
		t.Run(name, func(t *testing.T) {
			st, url := hostile(t, name)
			defer st.Close()
			err := admitAt(t.Context(), st, url, AdmitOptions{Read: c.read, MaxMemory: 64 << 20})
			if !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) ||
				!strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), url) {
				t.Error(err)
			}
		})
	}
}

// A union whose rows lie in two blocks of millions of values in turns is read at little cost where these are read one by one, and
// within the limit.
func TestUnionsAtOffsetsAreRead(t *testing.T) {
	st, url := hostile(t, "c08-union-time-bomb")
	defer st.Close()
	root, err := meta.OpenRoot(t.Context(), st, url, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := root.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := readable(t.Context(), st, root, all, 64<<20); err != nil {
		t.Error(err)
	}
	if err := readable(t.Context(), st, root, all, 1<<10); !errors.Is(err, budget.ErrExceeded) {
		t.Error(err)
	}
}

// What the reference writes is admitted by its metadata, and of each kind by its data too.
func TestGoldenShardsAreAdmitted(t *testing.T) {
	roots, err := filepath.Glob(filepath.Join(interop.Dir(t), "*", "shard.amudai.shard"))
	if err != nil || len(roots) == 0 {
		t.Fatal(len(roots), err)
	}
	st := blobio.NewClient(blobio.ClientOptions{})
	defer st.Close()
	for i, root := range roots {
		read := ReadLeast
		if i%10 == 0 {
			read = ReadSmall
		}
		if err := admitAt(context.Background(), st, "file://"+root, AdmitOptions{Read: read}); err != nil {
			t.Error(root, err)
		}
	}
}

// What a scan refuses by the metadata alone is not verified as whole, although one record of it fits, and one is read where nothing is stored.
func TestDearShardsAreNotWhole(t *testing.T) {
	st, url := hostile(t, "c01-fsb-null-32768")
	defer st.Close()
	r, err := Shard(t.Context(), st, url, Options{MaxMemory: 8 << 30})
	if err != nil || r.OK || !strings.Contains(r.Errors[0].What, "32768 records of 2147483647 bytes each") || r.Errors[0].Object != url {
		t.Errorf("%+v, error %v", r, err)
	}
}

// admitAt is Admit of the shard at a URL.
func admitAt(ctx context.Context, st Store, url string, o AdmitOptions) error {
	root, err := meta.OpenRoot(ctx, st, url, meta.Options{Policy: o.Policy})
	if err != nil {
		return err
	}
	return admit(ctx, st, root, o)
}
