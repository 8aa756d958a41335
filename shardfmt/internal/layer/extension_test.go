package layer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Name, settings and types are in the file: in the trailer while they fit, else in a block of their own. Files that say
// nothing have no record, so that they are what other writers make.
func TestFilesDescribeThemselves(t *testing.T) {
	ctx := context.Background()
	few := []Setting{{"origin", "line 7"}, {"empty", ""}}
	var many []Setting
	for i := range 400 {
		many = append(many, Setting{fmt.Sprintf("key%d", i), strings.Repeat("v", i%50)})
	}
	for _, settings := range [][]Setting{few, many} {
		data := write(t, 1000, "i64,opt<i64>", WriteOptions{Name: "orders of May", Settings: settings, SelfDescribing: true}, even)
		f, _ := mustOpen(t, data, "")
		d := f.Description()
		if d.Name != "orders of May" || d.Writer != writerName || TypesText(d.Types) != "i64,opt<i64>" || !slices.Equal(d.Settings, settings) {
			t.Errorf("%+v", d)
		}
		if inBlock := slices.Contains(blocksOf(t, data), magicExtension); inBlock != (len(settings) > 10) {
			t.Errorf("%d settings in a block: %t", len(settings), inBlock)
		}
		if r, err := f.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK || r.UnprotectedBytes != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if src, err := f.Read(ctx, fileformat.ReadOptions{}); err != nil {
			t.Error(err)
		} else if _, err := src.Next(ctx); err != nil {
			t.Error(err)
		}
		x, err := f.Inspect(ctx, 0)
		if err != nil || !slices.ContainsFunc(x.Parts, func(p fileformat.Part) bool {
			return p.Name == "record" && p.Facts[0].Value == "orders of May" && slices.Contains(p.Facts, fileformat.Fact{Name: "key4", Value: "vvvv"}) == (len(settings) > 10)
		}) {
			t.Errorf("%+v, %v", x, err)
		}
		if _, _, err := open(t, data, "u64,()"); err == nil || !strings.Contains(err.Error(), "the file has i64,opt<i64>") {
			t.Errorf("other types: %v", err)
		}
	}
	plain := write(t, 10, "i64,i64", WriteOptions{}, even)
	if f, _ := mustOpen(t, plain, "i64,i64"); f.t.compatible&compatibleRecord != 0 || !reflect.DeepEqual(f.Description(), Description{}) {
		t.Errorf("%+v", f.Description())
	}
	pairs, _ := ParseTypes(strings.TrimSuffix(strings.Repeat("i64,()/", 8), "/"))
	if _, err := NewWriter(io.Discard, pairs, WriteOptions{Name: "x"}); !errors.Is(err, corrupt.ErrUnsupported) {
		t.Errorf("8 columns: %v", err)
	}
}

// reseal puts the checksum of a trailer right.
func reseal(data []byte) []byte {
	b := data[len(data)-trailerSize:]
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	return data
}

// Records that make no sense are refused. One of a later version is passed over where that is allowed.
func TestRecordsLie(t *testing.T) {
	data := write(t, 100, "i64,i64", WriteOptions{Name: "x", SelfDescribing: true, Filter: Partitioned}, even)
	keyless := write(t, 100, "i64,i64", WriteOptions{NoValueIndex: []int{0}}, even)
	le := binary.LittleEndian
	for name, lie := range map[string]func(b []byte){
		"magic":  func(b []byte) { b[extensionAt] = 'B' },
		"length": func(b []byte) { le.PutUint16(b[extensionAt+6:], 300) },
		"block at 2^50": func(b []byte) {
			le.PutUint16(b[extensionAt+6:], extensionInBlock)
			le.PutUint64(b[extensionAt+8:], 1<<50)
		},
		"no message":        func(b []byte) { b[extensionAt+8] = 0xFF; b[extensionAt+9] = 0xFF },
		"types":             func(b []byte) { b[extensionAt+10] = 'x' },
		"keys, unannounced": func(b []byte) { copy(b[extensionAt+6:], []byte{2, 0, 5 << 3, 1}) },
	} {
		bad := bytes.Clone(data)
		lie(bad[len(bad)-trailerSize:])
		if _, _, err := open(t, reseal(bad), ""); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	later := bytes.Clone(data)
	le.PutUint16(later[len(later)-trailerSize+extensionAt+4:], 2)
	if f, _, err := open(t, reseal(later), "i64,i64"); err != nil || f.Description().Name != "" {
		t.Errorf("a later version: %v", err)
	}
	later = bytes.Clone(keyless)
	le.PutUint16(later[len(later)-trailerSize+extensionAt+4:], 2)
	if _, _, err := open(t, reseal(later), "i64,i64"); !errors.Is(err, corrupt.ErrUnsupported) {
		t.Errorf("a later version that can't be passed over: %v", err)
	}
}
