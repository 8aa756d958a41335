package catalog

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// manifestBytes is an IO that has one file.
type manifestBytes []byte

func (f manifestBytes) Open(string) (icebergio.File, error) { return nil, errors.ErrUnsupported }
func (f manifestBytes) ReadFile(string) ([]byte, error)     { return f, nil }
func (f manifestBytes) Remove(string) error                 { return errors.ErrUnsupported }

// entriesOf reads the entries of a manifest that has these bytes.
func entriesOf(m iceberg.ManifestFile, b []byte) (out []*manifest.Entry, err error) {
	for e, err := range manifest.LiveEntries(manifestBytes(b), m, nil) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// misleads reports whether an entry states other things than the one that was written, by which readers might leave out rows: less knowledge of a
// column, and statistics of columns that the table does not have, rule out nothing.
func misleads(e, written *manifest.Entry) bool {
	type shard struct {
		path                         string
		bytes, records, deleted, num int64
		created                      manifest.CreationRange
	}
	of := func(e *manifest.Entry) shard {
		return shard{e.Path, e.RootBytes, e.Records, e.Deleted, e.Stripes, e.Created}
	}
	if of(e) != of(written) || !maps.Equal(e.Partition, written.Partition) {
		return true
	}
	for id, w := range written.Columns {
		c := e.Columns[id]
		for _, n := range [][2]int64{{c.Values, w.Values}, {c.Nulls, w.Nulls}, {c.NaNs, w.NaNs}} {
			if _, ok := e.Columns[id]; ok && n[0] != n[1] && n[0] != manifest.Unknown {
				return true
			}
		}
		if c.Lower != nil && !bytes.Equal(c.Lower, w.Lower) || c.Upper != nil && !bytes.Equal(c.Upper, w.Upper) {
			return true
		}
	}
	return false
}

// TestFlippedBitsOfManifests flips a bit of each byte of a manifest. iceberg-go writes manifests by Avro's deflate codec, which has no checksum: what is not
// refused may state other things than were written. Verify compares those by which readers could leave out rows with the shard.
func TestFlippedBitsOfManifests(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	c := g.over(nil, Options{})
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	manifests, err := tbl.ice.CurrentSnapshot().Manifests(tbl.fs)
	if err != nil {
		t.Fatal(err)
	}
	m := manifests[0]
	intact, _, err := c.client.ReadAll(ctx, m.FilePath(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want, err := entriesOf(m, intact)
	if err != nil || len(want) != 1 {
		t.Fatal(len(want), err)
	}
	refused, same, harmless, misleading := 0, 0, 0, 0
	for at := range intact {
		b := slices.Clone(intact)
		b[at] ^= 1 << (at % 8)
		got, err := entriesOf(m, b)
		switch {
		case err != nil:
			if !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), m.FilePath()) {
				t.Errorf("byte %d: %v", at, err)
			}
			refused++
			continue
		case reflect.DeepEqual(got, want):
			same++
			continue
		case len(got) == 1 && !misleads(got[0], want[0]):
			harmless++
			continue
		}
		misleading++
		swap(t, c.client, m.FilePath(), func([]byte) []byte { return b })
		result, err := tbl.Verify(ctx, VerifyOptions{})
		if err == nil && result.OK && len(result.Warnings) == 0 { // a warning: a path that is none of a shard
			t.Errorf("byte %d: Verify finds nothing: %+v, written %+v", at, got[0], want[0])
		}
	}
	t.Logf("%d bytes: %d refused, %d of no effect, %d harmless, %d misleading", len(intact), refused, same, harmless, misleading)
	if misleading == 0 || refused < misleading {
		t.Error("the numbers in docs/design/faults.md differ")
	}
}
