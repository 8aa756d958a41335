package shardfmt

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

func check(t testing.TB, sp *blobio.Client, url string) *verify.Report {
	t.Helper()
	r, err := verify.Shard(context.Background(), sp, url, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Whatever byte of whatever object of our shards is flipped, Verify finds it and names the object. Every 37th
// byte is tried, all of them if SHARDCAT_EXHAUSTIVE is set.
func TestVerifyFindsEveryFlippedByte(t *testing.T) {
	for _, layout := range []Layout{TwoLevel, Single} {
		dir := t.TempDir()
		sp := blobio.NewClient()
		defer sp.Close()
		root := "file://" + dir + "/s.amudai.shard"
		written := writeSample(t, sp, root, 60, WriterOptions{Layout: layout, StripeRows: 40})
		if r := check(t, sp, root); !r.OK || r.UnprotectedBytes != 0 || r.Objects != len(written.Objects) {
			t.Fatalf("%v: %+v", layout, r)
		}
		for _, o := range written.Objects {
			flipAll(t, sp, root, o.URL)
		}
	}
}

// flipAll flips each byte of an object in turn.
func flipAll(t *testing.T, sp *blobio.Client, root, object string) {
	name := strings.TrimPrefix(object, "file://")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	stride := 37
	if os.Getenv("SHARDCAT_EXHAUSTIVE") != "" {
		stride = 1
	}
	for i := 0; i < len(good); i += stride {
		bad := slices.Clone(good)
		bad[i] ^= 0x40
		if err := os.WriteFile(name, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		r := check(t, sp, root)
		found := slices.ContainsFunc(r.Errors, func(f verify.Finding) bool { return f.Object == object })
		if r.OK || !found {
			t.Errorf("byte %d of %s: %+v", i, filepath.Base(name), r.Errors)
		}
	}
	if err := os.WriteFile(name, good, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMissingStripe(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient()
	defer sp.Close()
	w := writeSample(t, sp, "mem://v/s.amudai.shard", 300, WriterOptions{StripeRows: 200})
	if err := sp.Delete(ctx, w.Objects[0].URL, ""); err != nil {
		t.Fatal(err)
	}
	r := check(t, sp, w.URL)
	if r.OK || r.Errors[0].Object != w.Objects[0].URL {
		t.Errorf("missing stripe: %+v", r)
	}
}
