package hashindex

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/urlresolve"
)

// goldenLine is a line of expect.ndjson.gz.
type goldenLine struct {
	Hash       string
	Path       []string
	ValueBytes []byte `json:"value_bytes"`
	Positions  []uint64
}

// The reference's indexes answer every hash with its positions, and the hashes are those of path and value.
func TestGoldenHashes(t *testing.T) {
	ctx := context.Background()
	dirs, err := filepath.Glob(filepath.Join(interop.Dir(t), "indexes", "*hash*"))
	if err != nil || len(dirs) < 2 {
		t.Fatalf("hash indexes %v, %v", dirs, err)
	}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		b, err := os.ReadFile(filepath.Join(dir, "index.rel.pb"))
		if err != nil {
			t.Fatal(err)
		}
		d := new(metapb.IndexDescriptor)
		if err := proto.Unmarshal(b, d); err != nil {
			t.Fatal(err)
		}
		client := blobio.NewClient(blobio.ClientOptions{})
		defer client.Close()
		base, err := client.Mount(ctx, filepath.Join(dir, "index.rel.pb"))
		if err != nil {
			t.Fatal(err)
		}
		x, err := Open(client, base, d, urlresolve.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines(t, filepath.Join(dir, "expect.ndjson.gz")) {
			hash, err := strconv.ParseUint(l.Hash, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			if l.Path != nil && Hash(Prefix(l.Path...), l.ValueBytes) != hash {
				t.Errorf("%s: %v %x: hash %x, want %s", name, l.Path, l.ValueBytes, Hash(Prefix(l.Path...), l.ValueBytes), l.Hash)
			}
			got, err := x.Lookup(ctx, hash)
			if err != nil || !slices.Equal(got, l.Positions) {
				t.Fatalf("%s: %s: got %v, %v, want %v", name, l.Hash, got, err, l.Positions)
			}
		}
	}
}

func lines(t *testing.T, path string) (out []goldenLine) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(z)
	for s.Scan() {
		var l goldenLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
