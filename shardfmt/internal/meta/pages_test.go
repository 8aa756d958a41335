package meta

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// page is the text of a page of the format, its lines joined.
func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/format/" + name)
	require.NoError(t, err)
	return strings.Join(strings.Fields(string(b)), " ")
}

// found are the groups of the only match in a page.
func found(t *testing.T, text, pattern string) []string {
	t.Helper()
	all := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	require.Len(t, all, 1, pattern)
	return all[0][1:]
}

// The examples of checksums on the page are those of the bytes that are written.
func TestChecksumsOfThePage(t *testing.T) {
	text := page(t, "container.md")
	of := found(t, text, "`(\\w+)` has the number 0x([0-9A-F]{8}), stored `([0-9A-F]{8})`")
	require.Equal(t, of[1], fmt.Sprintf("%08X", Checksum([]byte(of[0]))))
	frame := AppendFrame(nil, []byte(of[0]))
	require.Equal(t, of[2], strings.ToUpper(hex.EncodeToString(frame[len(frame)-4:])))
	empty := found(t, text, "frame of the empty message is `([0-9A-F]{8}) ([0-9A-F]{8})`")
	require.Equal(t, strings.Join(empty, ""), strings.ToUpper(hex.EncodeToString(AppendFrame(nil, nil))))
}

// The codes of the basic types and the numbers of buckets on the page are those of schemas that are written.
func TestSchemaOfThePage(t *testing.T) {
	text := page(t, "schema.md")
	codes := found(t, text, `\| BasicType \(enum, one byte\) \| ([^|]+) \|`)[0]
	list := strings.Split(codes, " · ")
	require.Len(t, list, int(schema.Union)+1)
	for i, code := range list {
		require.Equal(t, fmt.Sprintf("%d %s", i, schema.Basic(i)), code)
	}
	buckets := regexp.MustCompile("([0-9]+) (?:children )?have ([0-9]+)").FindAllStringSubmatch(found(t, text, "at least 2: ([^.]+)\\.")[0], -1)
	require.Len(t, buckets, 3)
	for _, of := range buckets {
		n, _ := strconv.Atoi(of[1])
		s := new(schema.Schema)
		for i := range n {
			s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprint("f", i), Basic: schema.Boolean, Nullable: true})
		}
		s.Number()
		wire := schemafb.GetRootAsSchema(schema.Marshal(s), 0)
		require.Equal(t, of[2], fmt.Sprint(wire.FieldLookup(nil).BucketsLength()-1), "%d fields", n)
		require.Equal(t, n, wire.FieldLookup(nil).EntriesLength())
	}
}

// schemaBytes is the schema of a shard as it is stored.
func schemaBytes(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	st := &mapStore{objects: map[string][]byte{testURL: b}}
	r, err := OpenRoot(context.Background(), st, testURL, Options{Size: int64(len(b))})
	require.NoError(t, err)
	payload, err := r.schemaPayload(context.Background())
	require.NoError(t, err)
	return payload
}

// The reference rounds as the page says.
func TestBucketsOfTheReference(t *testing.T) {
	seen := map[int]bool{}
	for _, path := range goldenShards(t) {
		wire := schemafb.GetRootAsSchema(schemaBytes(t, path), 0)
		n, table := wire.FieldsLength(), wire.FieldLookup(nil)
		if table == nil || n == 0 {
			continue
		}
		want := 2
		for want < n/2 {
			want *= 2
		}
		require.Equal(t, want, table.BucketsLength()-1, "%d fields", n)
		seen[n] = true
	}
	require.Greater(t, len(seen), 3)
}
